/// The records of a response before they are committed: each once, in its latest form.
///
/// An entity that occurs again with the same text is skipped: the latest text is remembered in a
/// small direct-mapped table of hashes, even after it was written to the store during the response.
struct Staging: ~Copyable {
  private(set) var table = RecordTable()
  private var spare: RecordTable?
  /// Records whose text contains a ``TentativeNull``.
  private var tentative: Set<Int> = []
  /// Whether other records may contain one, because it was in a text that was staged later.
  private var hasUnplacedNulls = false
  let segmentSeed: UInt64
  /// When the response was received, in seconds since 1970.
  let received: UInt32
  private var scratch = ByteStack(capacity: 256)
  /// For each key, a hash of a record's key and latest text. The same text again changes nothing,
  /// so it is skipped without accessing the record, in memory or written.
  private var recent: UnsafeMutablePointer<UInt64>?
  /// The size of the table, minus 1.
  private var recentMask: UInt64 = 0
  /// The number of records before memory is allocated for a small table.
  private static let smallPatience = 256
  /// The number of records before the large table replaces the small one.
  private static let largePatience = 1 << 13
  private var stagedCount = 0

  init(segmentSeed: UInt64, received: UInt32) {
    self.segmentSeed = segmentSeed
    self.received = received
  }

  deinit { recent?.deallocate() }

  /// Adds a record, or merges it with the same record of this response.
  @inline(__always)
  mutating func stage(key: Bytes, text: Bytes) {
    let hash = RecordTable.hash(key)
    if let recent {
      let slot = recent + Int(truncatingIfNeeded: hash & recentMask)
      let content = hashContent(text.start, text.count, seed: hash)
      if slot.pointee == content { return }
      slot.pointee = content
    }
    stagedCount &+= 1
    if stagedCount == Self.smallPatience { remember(1 << 13) }
    if stagedCount == Self.largePatience { remember(1 << 16) }
    if let index = table.find(key, hash: hash) {
      if !table.text(at: index).equals(text), join(text, to: index, in: table) {
        tentative.insert(index)
      }
      return
    }
    table.insert(key, hash: hash, text: text, received: received)
  }

  /// Remembers the texts from now on in a new table, whose size is a power of 2.
  @inline(never)
  private mutating func remember(_ size: Int) {
    recent?.deallocate()
    recent = .allocate(capacity: size)
    recent?.initialize(repeating: 0, count: size)
    recentMask = UInt64(size - 1)
  }

  /// Merges a text with that of a record; returns whether the record has got tentative nulls.
  @inline(never)
  private mutating func join(_ text: Bytes, to index: Int, in table: RecordTable) -> Bool {
    scratch.truncate(to: 0)
    var merge = Merge(nullsAreTentative: true, access: records)
    guard merge.records(old: table.text(at: index), new: text, into: &scratch) else { return false }
    table.replace(at: index, text: scratch.all)
    return merge.hasTentativeNulls
  }

  /// The staged records, with the segments of long lists.
  var records: StagedRecords {
    StagedRecords(table: table, seed: segmentSeed, received: received)
  }

  /// The root fields of an operation whose root is not stored, because the paths of errors start
  /// there.
  private(set) var unstoredRoots = RecordTable()

  /// Keeps a root field that is not stored.
  mutating func keepRoot(key: Bytes, text: Bytes) {
    let hash = RecordTable.hash(key)
    if let index = unstoredRoots.find(key, hash: hash) {
      _ = join(text, to: index, in: unstoredRoots)
    } else {
      unstoredRoots.insert(key, hash: hash, text: text)
    }
  }

  /// Adds a segment of a long list and returns its name.
  mutating func stageSegment(elements: Bytes) -> UInt64 {
    records.addSegment(elements: elements)
  }

  /// Records that a text with a tentative null will be staged as part of a record.
  mutating func noteTentativeNulls() { hasUnplacedNulls = true }

  /// Takes the staged records; staging continues with an empty table, and remembers their hashes.
  mutating func take(nullsAreFacts: Bool) -> RecordBatch {
    if nullsAreFacts { settleNulls() }
    findTentativeNulls()
    let batch = RecordBatch(
      table: table, received: received, nullsAreFacts: nullsAreFacts,
      tentative: tentative.map { table.key(at: $0).array })
    table = spare ?? RecordTable()
    spare = nil
    forgetNulls()
    return batch
  }

  /// Reuses the memory of a written batch.
  mutating func recycle(_ spent: RecordTable) {
    spent.reset()
    spare = spent
  }

  /// Takes the staged records at the end of the response, or of one of its parts. Their nulls are final.
  mutating func release() -> RecordBatch {
    settleNulls()
    let full = table
    table = RecordTable()
    // Between two parts, others may write the same records.
    recent?.deallocate()
    recent = nil
    stagedCount = 0
    if !unstoredRoots.isEmpty { unstoredRoots = RecordTable() }
    return RecordBatch(table: full, received: received, nullsAreFacts: true, tentative: [])
  }

  /// Discards the staged records, and reuses their memory.
  mutating func discard() {
    table.reset()
    forgetNulls()
  }

  private mutating func forgetNulls() {
    tentative = []
    hasUnplacedNulls = false
  }

  /// Finds the records with tentative nulls that were created before they were staged.
  private mutating func findTentativeNulls() {
    guard hasUnplacedNulls else { return }
    hasUnplacedNulls = false
    for index in table.live where !Segments.isSegment(key: table.key(at: index)) {
      if TentativeNull.mayBeIn(table.text(at: index)) { tentative.insert(index) }
    }
  }

  /// Makes the remaining tentative nulls permanent.
  private mutating func settleNulls() {
    findTentativeNulls()
    guard !tentative.isEmpty else { return }
    let settling = NullSettling(access: records)
    for index in tentative {
      scratch.truncate(to: 0)
      settling.settle(table.text(at: index), into: &scratch)
      table.replace(at: index, text: scratch.all)
    }
    settling.finish()
    forgetNulls()
  }
}

/// The records of a table: those of a response before they are written to the store, or those of a store in memory.
final class StagedRecords: RecordAccess {
  private let table: RecordTable
  let segmentSeed: UInt64
  private let received: UInt32

  /// - Parameter received: The receive time of added segments.
  init(table: RecordTable, seed: UInt64, received: UInt32 = 0) {
    self.table = table
    segmentSeed = seed
    self.received = received
  }

  func text(of key: [UInt8]) -> [UInt8]? { table.text(of: key) }

  func storeSegment(_ key: Bytes, _ text: Bytes) -> Bool {
    let hash = RecordTable.hash(key)
    guard let index = table.find(key, hash: hash) else {
      table.insert(key, hash: hash, text: text, received: received)
      return true
    }
    guard table.text(at: index).equals(text) else { return false }
    table.setReceived(at: index, received)
    return true
  }

  func removeSegment(_ key: [UInt8]) {
    if let index = table.find(key) { table.remove(at: index) }
  }

  func recordBefore(key: [UInt8]) -> [UInt8]? { nil }

  var holdsOnlyThisResponse: Bool { true }

  func addErrors(_ errors: StoredErrors, of owner: [UInt8]) {
    let key = owner.withBytes { ErrorRecord.key(of: $0) }
    guard let index = table.find(key) else {
      return key.withBytes { key in
        errors.text.withBytes { text in
          _ = table.insert(key, hash: RecordTable.hash(key), text: text, received: received)
        }
      }
    }
    let known = table.text(at: index).array
    let merged = errors.text.withBytes { Merge.merged(known, $0, access: self) }
    merged?.withBytes { table.replace(at: index, text: $0) }
  }

  func setRecord(key: [UInt8], text: [UInt8]?, fields: [[UInt8]]) {
    guard let index = table.find(key) else { return }
    guard let text else { return table.remove(at: index) }
    let before = table.text(at: index).array
    if let joined = table.times(at: index).joined(before, after: text, lists: fields) {
      table.setTimes(at: index, joined)
    }
    text.withBytes { table.replace(at: index, text: $0) }
  }
}

/// The records of a complete response, before they are committed.
public struct PendingWrite: Sendable {
  enum Content: Sendable {
    case open(any RecordTransaction)
    case staged(RecordBatch)
  }

  let content: Content
  let store: any RecordStore
  private(set) var epoch: Int

  /// Commits the records: they become visible at once.
  ///
  /// Writes nothing if the store was cleared after the response was requested.
  ///
  /// - Parameter layer: The optimistic layer for this response; it is removed at the same moment,
  ///   even if nothing is written.
  /// - Throws: ``CacheError``; the layer then remains.
  public func commit(
    settling layer: OptimisticLayer?
  ) async throws(CacheError) -> WriteSummary {
    switch content {
    case .staged(let batch): try await store.write(batch, since: epoch, settling: layer)
    case .open(let transaction):
      try await store.finish(transaction, since: epoch, settling: layer)
    }
  }

  /// Commits the records: they become visible at once.
  ///
  /// Writes nothing if the store was cleared after the response was requested.
  public func commit() async throws(CacheError) -> WriteSummary { try await commit(settling: nil) }

  /// Commits the records of parts of one response together, in their order. All become visible at once; if their records
  /// cannot be joined (``JoinedParts``), some do before the others.
  ///
  /// - Returns: The changes of all parts.
  /// - Throws: ``CacheError``; what is visible then is that of the first parts, or of none.
  package static func commit(_ parts: [PendingWrite]) async throws(CacheError) -> WriteSummary {
    var summary: WriteSummary?
    var batches: [RecordBatch] = []
    for part in parts {
      guard case .staged(let batch) = part.content, part.epoch == parts[0].epoch else { break }
      batches.append(batch)
    }
    if batches.count == parts.count, let first = parts.first {
      let joined = JoinedParts(batches, segmentSeed: first.store.segmentSeed)
      for batch in joined.batches {
        let written = try await first.store.write(batch, since: first.epoch, settling: nil)
        summary = summary?.adding(written) ?? written
      }
    } else {
      for part in parts {
        let written = try await part.commit()
        summary = summary?.adding(written) ?? written
      }
    }
    return summary ?? WriteSummary()
  }

  /// The same records, of a response that was requested after as many clearings of the store.
  func requested(at epoch: Int) -> PendingWrite {
    var write = self
    write.epoch = epoch
    return write
  }

  /// Discards the records; the store is unchanged.
  public func rollback() async {
    if case .open(let transaction) = content { await transaction.rollback() }
  }
}

/// A value that is captured as text or skipped, while it is open.
struct Capture {
  /// What the captured text is for.
  enum Target: UInt8 {
    /// A custom scalar as the value of a field, or as a list element.
    case leaf, element
    /// An object whose type comes after fields whose meaning depends on it.
    case deferred
    /// A member of the response beside `data`.
    case errors, extensions
  }

  private(set) var target = Target.leaf
  /// The start of the captured text.
  private(set) var start = 0
  /// The number of open containers of the value, and of objects among them.
  private var depth = 0
  private var objectDepth = 0
  private var keys = KeyHashes()

  /// Starts a value that is captured as the text from `start` on.
  mutating func begin(_ target: Target, start: Int, opening: UInt8) {
    self.target = target
    self.start = start
    begin(opening)
  }

  /// Starts a container of the value; the first one starts a skipped value.
  mutating func begin(_ opening: UInt8) {
    depth &+= 1
    guard opening == UInt8(ascii: "{") else { return }
    keys.begin(objectDepth)
    objectDepth &+= 1
  }

  /// Ends a container; returns whether the value is complete.
  mutating func end(_ closing: UInt8) -> Bool {
    depth &-= 1
    if closing == UInt8(ascii: "}") { objectDepth &-= 1 }
    return depth == 0
  }

  /// Adds a key of the innermost object; returns false if the object already has it.
  mutating func add(_ key: Bytes) -> Bool {
    keys.insert(key, at: objectDepth &- 1)
  }
}
