/// The records of a response before they are committed: each once, in its latest form.
///
/// The same entity met again is compared first; an identical repeat costs one lookup. What was flushed
/// to the store in the middle of a large response is remembered in a small direct-mapped table, so that
/// later repeats are skipped, too.
struct Staging: ~Copyable {
  private(set) var table = RecordTable()
  private var spare: RecordTable?
  /// Records whose text holds a ``TentativeNull``.
  private var tentative: Set<Int> = []
  /// Whether others may hold one, too: it stood in a text that was staged later.
  private var hasUnplacedNulls = false
  let segmentSeed: UInt64
  private var scratch = ByteStack(capacity: 1024)
  private var recent: UnsafeMutablePointer<(key: UInt64, text: UInt64)>?
  private static let recentCount = 1 << 16

  init(segmentSeed: UInt64) { self.segmentSeed = segmentSeed }

  deinit { recent?.deallocate() }

  /// Adds a record, or joins it with what this response said of it before.
  @inline(__always)
  mutating func stage(key: Bytes, text: Bytes) {
    let hash = RecordTable.hash(key)
    if let index = table.find(key, hash: hash) {
      if !table.text(at: index).equals(text) { join(index, text) }
      return
    }
    if let recent {
      let slot = recent + Int(truncatingIfNeeded: hash & UInt64(Self.recentCount - 1))
      let content = hashBytes(text.start, text.count, seed: hash)
      if slot.pointee == (hash, content) { return }
      slot.pointee = (hash, content)
    }
    table.insert(key, hash: hash, text: text)
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
  var segments: StagedSegments { StagedSegments(table: table, seed: segmentSeed) }

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
      table, nullsAreFacts: nullsAreFacts, tentative: tentative.map { table.key(at: $0).array })
    let full = table
    table = spare ?? RecordTable()
    spare = nil
    if recent == nil {
      recent = .allocate(capacity: Self.recentCount)
      recent?.initialize(repeating: (0, 0), count: Self.recentCount)
    }
    if let recent {
      for index in full.live {
        let hash = full.hash(at: index)
        let text = full.text(at: index)
        recent[Int(truncatingIfNeeded: hash & UInt64(Self.recentCount - 1))] = (
          hash, hashBytes(text.start, text.count, seed: hash)
        )
      }
    }
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
    return RecordBatch(full)
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

  init(table: RecordTable, seed: UInt64) {
    self.table = table
    self.seed = seed
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
        table.insert(key.all, hash: hash, text: text.all)
        return name
      }
      let known = table.text(at: index)
      if known.count == elements.count + 2, known[1..<(known.count - 1)].equals(elements) {
        return name
      }
      name &+= 1
    }
  }
}
