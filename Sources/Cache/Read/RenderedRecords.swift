/// The JSON text of records that occur repeatedly in a result, such as the author of many comments:
/// the first two times they are read, then they are copied.
///
/// Used for one read, during which no record changes. Its size is limited: when it is full, it is
/// cleared. A record is added the second time it occurs, so that a single occurrence costs one
/// word.
struct RenderedRecords: ~Copyable {
  private struct Entry {
    /// The offset of the key, which the text follows.
    var start: Int
    var keyCount: Int32
    var textCount: Int32
    var hash: UInt64
    var node: Int32
  }

  /// The maximum size of a text, in bytes.
  static let longest = 4096
  private static let bytesLimit = 16 << 20
  private static let entriesLimit = 1 << 16
  private static let seenCount = 1 << 15
  /// The number of lookups before memory is allocated.
  private static let patience = 128

  private var lookups = 0
  private var seen: UnsafeMutablePointer<UInt32>?
  private var entries: [Entry] = []
  /// By hash: the upper half of the hash and the number of the entry from 1; 0 for a free slot.
  /// Small, so that it stays in the processor's cache.
  private var slots: UnsafeMutablePointer<UInt64>?
  private var capacity = 0
  private var bytes = ByteStack(capacity: 64)

  deinit {
    seen?.deallocate()
    slots?.deallocate()
  }

  @inline(__always)
  static func hash(_ key: Bytes, node: Int32) -> UInt64 {
    hashBytes(
      key.start, key.count,
      seed: processSeed ^ UInt64(truncatingIfNeeded: node) &* 0x9e37_79b9_7f4a_7c15)
  }

  /// The text of a record under a selection; nil if it is not stored. Valid until the next one is
  /// added.
  @inline(__always)
  func find(_ key: Bytes, node: Int32, hash: UInt64) -> Bytes? {
    guard let slots else { return nil }
    var position = Int(truncatingIfNeeded: hash) & (capacity &- 1)
    while true {
      let slot = slots[position]
      if slot == 0 { return nil }
      if slot >> 32 == hash >> 32 {
        let number = Int(truncatingIfNeeded: slot & 0xffff_ffff) &- 1
        if let text = text(of: number, key, node) { return text }
      }
      position = (position &+ 1) & (capacity &- 1)
    }
  }

  @inline(__always)
  private func text(of number: Int, _ key: Bytes, _ node: Int32) -> Bytes? {
    let entry = entries[number]
    let middle = entry.start &+ Int(entry.keyCount)
    guard entry.node == node, bytes.bytes(entry.start..<middle).equals(key) else { return nil }
    return bytes.bytes(middle..<(middle &+ Int(entry.textCount)))
  }

  /// Whether the record with this hash occurred before, as far as is known.
  @inline(__always)
  mutating func isSeenAgain(_ hash: UInt64) -> Bool {
    lookups &+= 1
    guard let seen else {
      if lookups > Self.patience { makeRoom() }
      return false
    }
    let slot = seen + Int(truncatingIfNeeded: hash & UInt64(Self.seenCount - 1))
    let tag = UInt32(truncatingIfNeeded: hash >> 32)
    if slot.pointee == tag { return true }
    slot.pointee = tag
    return false
  }

  @inline(never)
  private mutating func makeRoom() {
    seen = .allocate(capacity: Self.seenCount)
    seen?.initialize(repeating: 0, count: Self.seenCount)
  }

  /// Adds a text.
  @inline(never)
  mutating func keep(_ text: Bytes, key: Bytes, node: Int32, hash: UInt64) {
    guard text.count <= Self.longest else { return }
    if bytes.count + key.count + text.count > Self.bytesLimit || entries.count >= Self.entriesLimit
    {
      forget()
    }
    if (entries.count + 1) * 2 > capacity { grow() }
    let start = bytes.count
    bytes.append(key)
    bytes.append(text)
    entries.append(
      Entry(
        start: start, keyCount: Int32(key.count), textCount: Int32(text.count), hash: hash,
        node: node))
    insert(entries.count)
  }

  private mutating func forget() {
    bytes.truncate(to: 0)
    entries.removeAll(keepingCapacity: true)
    slots?.update(repeating: 0, count: capacity)
  }

  private mutating func grow() {
    slots?.deallocate()
    capacity = max(256, capacity * 2)
    slots = .allocate(capacity: capacity)
    slots?.initialize(repeating: 0, count: capacity)
    for number in 0..<entries.count { insert(number + 1) }
  }

  /// Adds the entry with this number, counted from 1, to the hash table.
  private func insert(_ number: Int) {
    guard let slots else { return }
    let hash = entries[number - 1].hash
    var position = Int(truncatingIfNeeded: hash) & (capacity - 1)
    while slots[position] != 0 { position = (position + 1) & (capacity - 1) }
    slots[position] = (hash >> 32) << 32 | UInt64(number)
  }
}
