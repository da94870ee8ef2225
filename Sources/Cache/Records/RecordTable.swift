#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// Records by key: the memory store's content, and the staging area of every response.
///
/// A record is its key and its JSON text (`docs/decisions/0002-record-text.md`), standing one behind
/// the other in an arena that grows by whole chunks and is never copied. An open-addressing index of
/// {hash tag, entry number} finds it; keys are compared as bytes.
///
/// `@unchecked Sendable`: a table has one owner at a time. The normalizer fills it and hands it to a
/// store with `take`; the memory store keeps it inside an actor. No two owners ever hold it together.
package final class RecordTable: @unchecked Sendable {
  package struct Entry {
    package var hash: UInt64
    fileprivate var start: UnsafeMutablePointer<UInt8>
    package var keyCount: Int32
    package var textCount: Int32
    /// The number of the last transaction or read that touched the record, for eviction.
    package var lastUse: UInt32
    package var isLive: Bool
  }

  package private(set) var entries: [Entry] = []
  private var slots: UnsafeMutablePointer<UInt64>
  private var slotMask: Int
  private var usedSlots = 0
  private var chunks: [UnsafeMutableRawBufferPointer] = []
  private var chunkUsed = 0
  /// Bytes of keys and text of the live records.
  package private(set) var liveBytes = 0
  /// Bytes in the arena that no live record owns any more.
  package private(set) var deadBytes = 0
  package private(set) var liveCount = 0

  private static let tombstone = UInt64(UInt32.max)

  package init() {
    slotMask = 63
    slots = .allocate(capacity: 64)
    slots.initialize(repeating: 0, count: 64)
  }

  deinit {
    slots.deallocate()
    for chunk in chunks { Self.release(chunk) }
  }

  package var isEmpty: Bool { liveCount == 0 }
  /// Bytes the arena holds, live or dead.
  package var arenaBytes: Int { liveBytes + deadBytes }

  @inline(__always)
  package static func hash(_ key: Bytes) -> UInt64 {
    hashBytes(key.start, key.count, seed: processSeed)
  }

  package func key(at index: Int) -> Bytes {
    let entry = entries[index]
    return Bytes(start: UnsafePointer(entry.start), count: Int(entry.keyCount))
  }

  package func text(at index: Int) -> Bytes {
    let entry = entries[index]
    return Bytes(
      start: UnsafePointer(entry.start + Int(entry.keyCount)), count: Int(entry.textCount))
  }

  package func find(_ key: Bytes) -> Int? { find(key, hash: Self.hash(key)) }

  @inline(__always)
  package func find(_ key: Bytes, hash: UInt64) -> Int? {
    var position = Int(truncatingIfNeeded: hash) & slotMask
    let tag = hash >> 32
    while true {
      let slot = slots[position]
      if slot == 0 { return nil }
      if slot >> 32 == tag && slot & 0xffff_ffff != Self.tombstone {
        let index = Int(slot & 0xffff_ffff) &- 1
        if self.key(at: index).equals(key) { return index }
      }
      position = (position &+ 1) & slotMask
    }
  }

  /// Adds a record whose key is not in the table.
  @discardableResult
  package func insert(_ key: Bytes, hash: UInt64, text: Bytes, lastUse: UInt32 = 0) -> Int {
    precondition(entries.count < Int(UInt32.max) - 2, "a table holds at most 2^32 - 3 records")
    if (usedSlots + 1) * 4 > (slotMask + 1) * 3 { rehash() }
    let start = allocate(key.count + text.count)
    start.update(from: key.start, count: key.count)
    (start + key.count).update(from: text.start, count: text.count)
    entries.append(
      Entry(
        hash: hash, start: start, keyCount: Int32(key.count), textCount: Int32(text.count),
        lastUse: lastUse, isLive: true))
    place(hash, entries.count - 1)
    usedSlots += 1
    liveBytes += key.count + text.count
    liveCount += 1
    return entries.count - 1
  }

  /// Gives the record at `index` another text.
  package func replace(at index: Int, text: Bytes) {
    let entry = entries[index]
    let keyCount = Int(entry.keyCount)
    if text.count <= Int(entry.textCount) {
      (entry.start + keyCount).update(from: text.start, count: text.count)
      liveBytes -= Int(entry.textCount) - text.count
      deadBytes += Int(entry.textCount) - text.count
    } else {
      let start = allocate(keyCount + text.count)
      start.update(from: entry.start, count: keyCount)
      (start + keyCount).update(from: text.start, count: text.count)
      deadBytes += keyCount + Int(entry.textCount)
      liveBytes += text.count - Int(entry.textCount)
      entries[index].start = start
    }
    entries[index].textCount = Int32(text.count)
  }

  package func touch(at index: Int, use: UInt32) { entries[index].lastUse = use }

  package func remove(at index: Int) {
    let entry = entries[index]
    guard entry.isLive else { return }
    var position = Int(truncatingIfNeeded: entry.hash) & slotMask
    while Int(slots[position] & 0xffff_ffff) != index + 1 { position = (position &+ 1) & slotMask }
    slots[position] = slots[position] | Self.tombstone
    entries[index].isLive = false
    liveCount -= 1
    liveBytes -= Int(entry.keyCount) + Int(entry.textCount)
    deadBytes += Int(entry.keyCount) + Int(entry.textCount)
  }

  /// A copy without dead entries and bytes.
  package func compacted() -> RecordTable {
    let table = RecordTable()
    for index in entries.indices where entries[index].isLive {
      table.insert(
        key(at: index), hash: entries[index].hash, text: text(at: index),
        lastUse: entries[index].lastUse)
    }
    return table
  }

  /// The numbers of the live entries, ordered by key bytes.
  package func sortedByKey() -> [Int] {
    entries.indices.filter { entries[$0].isLive }.sorted { compareKeys(key(at: $0), key(at: $1)) }
  }

  private func place(_ hash: UInt64, _ index: Int) {
    var position = Int(truncatingIfNeeded: hash) & slotMask
    while slots[position] != 0 { position = (position &+ 1) & slotMask }
    slots[position] = (hash >> 32) << 32 | UInt64(index + 1)
  }

  private func rehash() {
    var capacity = slotMask + 1
    while (liveCount + 1) * 2 > capacity { capacity *= 2 }
    slots.deallocate()
    slots = .allocate(capacity: capacity)
    slots.initialize(repeating: 0, count: capacity)
    slotMask = capacity - 1
    usedSlots = liveCount
    for index in entries.indices where entries[index].isLive { place(entries[index].hash, index) }
  }

  // MARK: Arena

  private static let hugePage = 2 << 20

  private func allocate(_ count: Int) -> UnsafeMutablePointer<UInt8> {
    if let last = chunks.last, last.count - chunkUsed >= count {
      let start = last.baseAddress! + chunkUsed
      chunkUsed += count
      return start.assumingMemoryBound(to: UInt8.self)
    }
    let previous = chunks.last?.count ?? 2048
    chunks.append(Self.map(max(count, min(previous * 4, 4 * Self.hugePage))))
    chunkUsed = count
    return chunks[chunks.count - 1].baseAddress!.assumingMemoryBound(to: UInt8.self)
  }

  /// Small chunks come from the allocator, large ones from the kernel with huge pages asked for.
  private static func map(_ count: Int) -> UnsafeMutableRawBufferPointer {
    guard count >= hugePage else { return .allocate(byteCount: count, alignment: 16) }
    let size = (count + hugePage - 1) / hugePage * hugePage
    let memory = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
    guard let memory, memory != MAP_FAILED else {
      return .allocate(byteCount: count, alignment: 16)
    }
    madvise(memory, size, MADV_HUGEPAGE)
    return UnsafeMutableRawBufferPointer(start: memory, count: size)
  }

  private static func release(_ chunk: UnsafeMutableRawBufferPointer) {
    if chunk.count >= hugePage && chunk.count % hugePage == 0 {
      munmap(chunk.baseAddress!, chunk.count)
    } else {
      chunk.deallocate()
    }
  }
}

/// Whether `a` stands before `b` in byte order.
package func compareKeys(_ a: Bytes, _ b: Bytes) -> Bool {
  let order = memcmp(a.start, b.start, min(a.count, b.count))
  return order != 0 ? order < 0 : a.count < b.count
}
