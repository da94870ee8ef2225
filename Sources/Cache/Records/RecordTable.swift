/// Records by key: the content of the memory store, and the staging area of every response.
///
/// A record is its key and its JSON text (`docs/decisions/0002-record-text.md`) behind a small
/// header in an arena that never moves. An open-addressing index of {hash tag, record number}
/// locates it; keys are compared as bytes. A lookup touches the index, one pointer and the record.
///
/// `@unchecked Sendable`: a table has one owner at a time. The normalizer fills it and passes it to
/// a store with `take`; the memory store keeps it inside an actor. No two owners hold it at the
/// same time.
package final class RecordTable: @unchecked Sendable {
  private struct Header {
    var hash: UInt64
    var keyCount: UInt32
    var textCount: UInt32
    /// The number of the last transaction or read that used the record, for eviction; ``dead`` if
    /// the record was removed.
    var lastUse: UInt32
    /// When the record was received, in seconds since 1970.
    var received: UInt32

    static let dead = UInt32.max
    var isLive: Bool { lastUse != Header.dead }
  }

  private typealias RecordPointer = UnsafeMutablePointer<Header>

  // One owner, so accesses never overlap; a dynamic check would only cost time.
  @exclusivity(unchecked) private var pointers: ContiguousArray<RecordPointer> = []
  /// `nil` before the first record: several tables of a small response never get one.
  @exclusivity(unchecked) private var slots: UnsafeMutablePointer<UInt64>?
  @exclusivity(unchecked) private var slotMask = -1
  @exclusivity(unchecked) private var usedSlots = 0
  @exclusivity(unchecked) private var arena = Arena()
  /// Bytes of keys and texts of the live records.
  @exclusivity(unchecked) package private(set) var liveBytes = 0
  /// Bytes in the arena that no live record uses.
  @exclusivity(unchecked) package private(set) var deadBytes = 0
  @exclusivity(unchecked) package private(set) var liveCount = 0
  /// Older fields by record number. Few records have any.
  @exclusivity(unchecked) private var ages: [Int: [UInt8]] = [:]
  /// The number of live records that are list segments.
  @exclusivity(unchecked) private(set) var segmentCount = 0
  /// The number of live records with errors.
  @exclusivity(unchecked) private(set) var errorCount = 0

  private static let tombstone = UInt64(UInt32.max)

  /// The size of the first index: most responses and events have a few records.
  private static let firstSlots = 16

  package init() {}

  deinit { slots?.deallocate() }

  package var isEmpty: Bool { liveCount == 0 }
  /// Bytes in the arena, live or dead.
  package var arenaBytes: Int { liveBytes + deadBytes }
  /// The numbers of the live records.
  package var live: some Sequence<Int> {
    pointers.indices.lazy.filter { [pointers] in pointers[$0].pointee.isLive }
  }

  /// When the first record was received; 0 without records.
  var firstReceived: UInt32 {
    live.first { _ in true }.map { pointers[$0].pointee.received } ?? 0
  }

  @inline(__always)
  package static func hash(_ key: Bytes) -> UInt64 {
    hashBytes(key.start, key.count, seed: processSeed)
  }

  @inline(__always)
  package func key(at index: Int) -> Bytes {
    let pointer = pointers[index]
    return Bytes(start: Self.content(pointer), count: Int(pointer.pointee.keyCount))
  }

  @inline(__always)
  package func text(at index: Int) -> Bytes {
    let pointer = pointers[index]
    return Bytes(
      start: Self.content(pointer) + Int(pointer.pointee.keyCount),
      count: Int(pointer.pointee.textCount))
  }

  package func hash(at index: Int) -> UInt64 { pointers[index].pointee.hash }

  package func lastUse(at index: Int) -> UInt32 { pointers[index].pointee.lastUse }

  package func touch(at index: Int, use: UInt32) { pointers[index].pointee.lastUse = use }

  @inline(__always)
  func received(at index: Int) -> UInt32 { pointers[index].pointee.received }

  /// When the record and its fields were received.
  package func times(at index: Int) -> RecordTimes {
    RecordTimes(received: pointers[index].pointee.received, ages: ages[index] ?? [])
  }

  package func setTimes(at index: Int, _ times: RecordTimes) {
    pointers[index].pointee.received = times.received
    if !times.ages.isEmpty || !ages.isEmpty {
      ages[index] = times.ages.isEmpty ? nil : times.ages
    }
  }

  /// Sets one receive time for the record and all its fields.
  @inline(__always)
  package func setReceived(at index: Int, _ received: UInt32) {
    pointers[index].pointee.received = received
    if !ages.isEmpty { ages[index] = nil }
  }

  package func find(_ key: Bytes) -> Int? { find(key, hash: Self.hash(key)) }

  func find(_ key: [UInt8]) -> Int? { key.withBytes { find($0) } }

  /// The text of the record with this key; `nil` if there is none.
  func text(of key: [UInt8]) -> [UInt8]? { find(key).map { text(at: $0).array } }

  @inline(__always)
  package func find(_ key: Bytes, hash: UInt64) -> Int? {
    guard let slots else { return nil }
    let tag = hash >> 32
    var position = Int(truncatingIfNeeded: tag) & slotMask
    while true {
      let slot = slots[position]
      if slot == 0 { return nil }
      if slot >> 32 == tag && slot & 0xffff_ffff != Self.tombstone {
        let index = Int(truncatingIfNeeded: slot & 0xffff_ffff) &- 1
        if self.key(at: index).equals(key) { return index }
      }
      position = (position &+ 1) & slotMask
    }
  }

  /// Inserts a record. Precondition: the table does not contain its key.
  @discardableResult
  package func insert(
    _ key: Bytes, hash: UInt64, text: Bytes, lastUse: UInt32 = 0, received: UInt32 = 0
  ) -> Int {
    precondition(pointers.count < Int(UInt32.max) - 2, "a table holds at most 2^32 - 3 records")
    if (usedSlots + 1) * 4 > (slotMask + 1) * 3 { rehash() }
    let pointer = write(
      key, text: text,
      header: Header(
        hash: hash, keyCount: UInt32(key.count), textCount: UInt32(text.count), lastUse: lastUse,
        received: received))
    pointers.append(pointer)
    claim((hash >> 32) << 32 | UInt64(pointers.count))
    usedSlots += 1
    liveBytes += key.count + text.count
    liveCount += 1
    count(key, 1)
    return pointers.count - 1
  }

  /// Counts a record that is not that of an object.
  @inline(__always)
  private func count(_ key: Bytes, _ difference: Int) {
    guard key.count > 0, key.start[0] == UInt8(ascii: "$") else { return }
    if Segments.isSegment(key: key) { segmentCount += difference }
    if ErrorRecord.isErrors(key: key) { errorCount += difference }
  }

  /// Inserts a record, unless the table contains its key.
  func insertMissing(_ key: Bytes, text: Bytes = .empty) {
    let hash = Self.hash(key)
    if find(key, hash: hash) == nil { insert(key, hash: hash, text: text) }
  }

  /// Replaces the text of the record at `index`.
  package func replace(at index: Int, text: Bytes) {
    let pointer = pointers[index]
    let old = Int(pointer.pointee.textCount)
    if text.count <= old {
      Self.content(pointer).advanced(by: Int(pointer.pointee.keyCount))
        .update(from: text.start, count: text.count)
      deadBytes += old - text.count
      pointer.pointee.textCount = UInt32(text.count)
    } else {
      let key = self.key(at: index)
      var header = pointer.pointee
      header.textCount = UInt32(text.count)
      pointers[index] = write(key, text: text, header: header)
      deadBytes += key.count + old
    }
    liveBytes += text.count - old
  }

  package func remove(at index: Int) {
    let pointer = pointers[index]
    guard pointer.pointee.isLive, let slots else { return }
    var position = Int(truncatingIfNeeded: pointer.pointee.hash >> 32) & slotMask
    while Int(slots[position] & 0xffff_ffff) != index + 1 { position = (position &+ 1) & slotMask }
    slots[position] |= Self.tombstone
    pointer.pointee.lastUse = Header.dead
    if !ages.isEmpty { ages[index] = nil }
    liveCount -= 1
    count(key(at: index), -1)
    let bytes = Int(pointer.pointee.keyCount) + Int(pointer.pointee.textCount)
    liveBytes -= bytes
    deadBytes += bytes
  }

  /// A copy without removed records.
  package func compacted() -> RecordTable {
    let table = RecordTable()
    for index in live {
      let copy = table.insert(
        key(at: index), hash: hash(at: index), text: text(at: index), lastUse: lastUse(at: index))
      table.setTimes(at: copy, times(at: index))
    }
    return table
  }

  /// The numbers of the live records, sorted by key bytes.
  package func sortedByKey() -> [Int] {
    struct Entry {
      /// The first 16 bytes of the key as two numbers in byte order, padded with zeros.
      var head: UInt64
      var tail: UInt64
      var index: Int
    }
    var entries: ContiguousArray<Entry> = []
    entries.reserveCapacity(liveCount)
    for index in live {
      let key = key(at: index)
      entries.append(Entry(head: key.word(at: 0), tail: key.word(at: 8), index: index))
    }
    // Most keys differ there, so that few records are accessed for sorting.
    entries.sort {
      if $0.head != $1.head { return $0.head < $1.head }
      if $0.tail != $1.tail { return $0.tail < $1.tail }
      return compareKeys(key(at: $0.index), key(at: $1.index))
    }
    return entries.map(\.index)
  }

  /// Removes all records, and keeps the memory for reuse.
  package func reset() {
    pointers.removeAll(keepingCapacity: true)
    slots?.initialize(repeating: 0, count: slotMask + 1)
    usedSlots = 0
    liveBytes = 0
    deadBytes = 0
    liveCount = 0
    ages = [:]
    segmentCount = 0
    errorCount = 0
    arena.reset()
  }

  /// Inserts a slot by its tag, the upper half of the hash.
  @inline(__always)
  private func claim(_ slot: UInt64) {
    guard let slots else { return }
    var position = Int(truncatingIfNeeded: slot >> 32) & slotMask
    while slots[position] != 0 { position = (position &+ 1) & slotMask }
    slots[position] = slot
  }

  /// Creates or grows the index. Slots contain their tags, so records are not accessed.
  private func rehash() {
    let (old, oldCount) = (slots, slotMask + 1)
    var capacity = max(oldCount, Self.firstSlots)
    while (liveCount + 1) * 2 > capacity { capacity *= 2 }
    let new = UnsafeMutablePointer<UInt64>.allocate(capacity: capacity)
    new.initialize(repeating: 0, count: capacity)
    slots = new
    slotMask = capacity - 1
    usedSlots = liveCount
    guard let old else { return }
    for index in 0..<oldCount where old[index] & 0xffff_ffff != Self.tombstone && old[index] != 0 {
      claim(old[index])
    }
    old.deallocate()
  }

  // MARK: Arena

  private func write(_ key: Bytes, text: Bytes, header: Header) -> RecordPointer {
    let pointer = arena.allocate(MemoryLayout<Header>.stride + key.count + text.count)
      .bindMemory(to: Header.self, capacity: 1)
    pointer.initialize(to: header)
    let content = Self.content(pointer)
    content.update(from: key.start, count: key.count)
    (content + key.count).update(from: text.start, count: text.count)
    return pointer
  }

  /// The address of a record's key, behind its header.
  @inline(__always)
  private static func content(_ pointer: RecordPointer) -> UnsafeMutablePointer<UInt8> {
    UnsafeMutableRawPointer(pointer + 1).assumingMemoryBound(to: UInt8.self)
  }
}
