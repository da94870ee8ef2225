/// The records of a response before they are committed: each once, in its latest form.
///
/// The same entity met again with the same text is skipped: what came last is remembered in a small
/// direct-mapped table of hashes, also over what was flushed to the store in the middle of a response.
struct Staging: ~Copyable {
  private(set) var table = RecordTable()
  private var spare: RecordTable?
  /// Records whose text holds a ``TentativeNull``.
  private var tentative: Set<Int> = []
  /// Whether others may hold one, too: it stood in a text that was staged later.
  private var hasUnplacedNulls = false
  let segmentSeed: UInt64
  /// When the response was received, in seconds since 1970.
  let received: UInt32
  private var scratch = ByteStack(capacity: 256)
  /// By key: a hash of a record's key and of the text that came last for it. The same text again
  /// changes nothing, so it is skipped without a look at the record, in memory or long flushed.
  private var recent: UnsafeMutablePointer<UInt64>?
  private static let recentCount = 1 << 16
  /// So many records are waited for before memory is spent on that.
  private static let patience = 256
  private var stagedCount = 0

  init(segmentSeed: UInt64, received: UInt32 = 0) {
    self.segmentSeed = segmentSeed
    self.received = received
  }

  deinit { recent?.deallocate() }

  /// Adds a record, or joins it with what this response said of it before.
  @inline(__always)
  mutating func stage(key: Bytes, text: Bytes) {
    let hash = RecordTable.hash(key)
    if let recent {
      let slot = recent + Int(truncatingIfNeeded: hash & UInt64(Self.recentCount - 1))
      let content = hashContent(text.start, text.count, seed: hash)
      if slot.pointee == content { return }
      slot.pointee = content
    } else {
      rememberFromNowOn()
    }
    if let index = table.find(key, hash: hash) {
      if !table.text(at: index).equals(text) { join(index, text) }
      return
    }
    table.insert(key, hash: hash, text: text, received: received)
  }

  /// Counts what was staged, and begins to remember it when there is much of it.
  @inline(never)
  private mutating func rememberFromNowOn() {
    stagedCount += 1
    guard stagedCount > Self.patience else { return }
    recent = .allocate(capacity: Self.recentCount)
    recent?.initialize(repeating: 0, count: Self.recentCount)
  }

  @inline(never)
  private mutating func join(_ index: Int, _ text: Bytes) {
    scratch.truncate(to: 0)
    var merge = Merge(nullsAreTentative: true, access: segments)
    guard merge.records(old: table.text(at: index), new: text, into: &scratch) else { return }
    if merge.hasTentativeNulls { tentative.insert(index) }
    table.replace(at: index, text: scratch.all)
  }

  /// The segments of long lists among the staged records.
  var segments: StagedSegments {
    StagedSegments(table: table, seed: segmentSeed, received: received)
  }

  /// The root fields of an operation whose root is not stored: only errors' paths begin there.
  private(set) var unstoredRoots = RecordTable()

  /// Keeps a root field that is not stored.
  mutating func keepRoot(key: Bytes, text: Bytes) {
    let hash = RecordTable.hash(key)
    guard let index = unstoredRoots.find(key, hash: hash) else {
      unstoredRoots.insert(key, hash: hash, text: text)
      return
    }
    scratch.truncate(to: 0)
    var merge = Merge(nullsAreTentative: true, access: segments)
    guard merge.records(old: unstoredRoots.text(at: index), new: text, into: &scratch) else {
      return
    }
    unstoredRoots.replace(at: index, text: scratch.all)
  }

  /// Adds a segment of a long list and tells its name.
  mutating func stageSegment(elements: Bytes) -> UInt64 {
    segments.addSegment(elements: elements)
  }

  /// Says that a text holds a tentative null that will be staged as a part of some record.
  mutating func noteTentativeNulls() { hasUnplacedNulls = true }

  /// The staged records, handed over; staging starts anew and remembers what it gave away.
  mutating func take(nullsAreFacts: Bool) -> RecordBatch {
    if nullsAreFacts { settleNulls() }
    findTentativeNulls()
    let batch = RecordBatch(
      table, received: received, nullsAreFacts: nullsAreFacts,
      tentative: tentative.map { table.key(at: $0).array })
    table = spare ?? RecordTable()
    spare = nil
    forgetNulls()
    return batch
  }

  /// Takes the memory of a batch that was written, for the next one.
  mutating func recycle(_ spent: RecordTable) {
    spent.reset()
    spare = spent
  }

  /// The staged records, handed over for good. Their nulls are facts.
  mutating func release() -> RecordBatch {
    settleNulls()
    let full = table
    table = RecordTable()
    return RecordBatch(full, received: received, nullsAreFacts: true, tentative: [])
  }

  /// Forgets what is staged: nobody wants it. Its memory is filled again.
  mutating func discard() {
    table.reset()
    forgetNulls()
  }

  private mutating func forgetNulls() {
    tentative = []
    hasUnplacedNulls = false
  }

  /// Finds the records that hold tentative nulls which were made before they were staged.
  private mutating func findTentativeNulls() {
    guard hasUnplacedNulls else { return }
    hasUnplacedNulls = false
    for index in table.live where !Segments.isSegment(key: table.key(at: index)) {
      // A list in segments may hold them there.
      if TentativeNull.mayBeIn(table.text(at: index), orIn: "{\"$segments\":") {
        tentative.insert(index)
      }
    }
  }

  /// Turns what is still tentative into plain nulls.
  private mutating func settleNulls() {
    findTentativeNulls()
    let settling = NullSettling(access: segments)
    for index in tentative {
      scratch.truncate(to: 0)
      settling.settle(table.text(at: index), into: &scratch)
      table.replace(at: index, text: scratch.all)
    }
    settling.finish()
    forgetNulls()
  }
}

/// Segments among the staged records.
final class StagedSegments: SegmentAccess {
  private let table: RecordTable
  private let seed: UInt64
  private let received: UInt32

  /// - Parameter received: The time of the segments that are added.
  init(table: RecordTable, seed: UInt64, received: UInt32 = 0) {
    self.table = table
    self.seed = seed
    self.received = received
  }

  func segment(key: [UInt8]) -> [UInt8]? {
    key.withUnsafeBufferPointer { key in
      table.find(Bytes(key)).map { table.text(at: $0).array }
    }
  }

  func removeSegment(key: [UInt8]) {
    key.withUnsafeBufferPointer { key in
      if let index = table.find(Bytes(key)) { table.remove(at: index) }
    }
  }

  func addSegment(elements: Bytes) -> UInt64 {
    var name = hashBytes(elements.start, elements.count, seed: seed)
    var key = ByteStack(capacity: 64)
    while true {
      key.truncate(to: 0)
      Segments.appendKey(name, to: &key)
      let hash = RecordTable.hash(key.all)
      guard let index = table.find(key.all, hash: hash) else {
        var text = ByteStack(capacity: elements.count + 2)
        text.append(UInt8(ascii: "["))
        text.append(elements)
        text.append(UInt8(ascii: "]"))
        table.insert(key.all, hash: hash, text: text.all, received: received)
        return name
      }
      let known = table.text(at: index)
      if known.count == elements.count + 2, known[1..<(known.count - 1)].equals(elements) {
        table.setReceived(at: index, received)
        return name
      }
      name &+= 1
    }
  }
}
