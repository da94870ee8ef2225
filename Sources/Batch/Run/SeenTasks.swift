/// The set of known tasks, as a compact filter.
///
/// Stores 32 bits of each id in a slot chosen by 18 other bits, about five bytes per task. A
/// negative answer is certain; a positive one is wrong about once in 100 million at one million
/// tasks, so callers check the journal then.
struct SeenTasks {
  private static let slots = 1 << 18
  /// Lookups become slow in a table that is more than three quarters full.
  private static let most = slots / 4 * 3

  /// Open addressing; zero is an empty slot. Only the last table has room.
  private var tables: [[UInt32]] = []
  private var count = most

  mutating func insert(_ id: TaskID) {
    if count == Self.most {
      tables.append([UInt32](repeating: 0, count: Self.slots))
      count = 0
    }
    let (slot, isThere) = Self.find(id, in: tables[tables.count - 1])
    guard !isThere else { return }
    tables[tables.count - 1][slot] = Self.mark(of: id)
    count += 1
  }

  func mayContain(_ id: TaskID) -> Bool {
    tables.contains { Self.find(id, in: $0).isThere }
  }

  /// The slot of the id, or the one where it would be inserted.
  private static func find(_ id: TaskID, in table: [UInt32]) -> (slot: Int, isThere: Bool) {
    let mark = mark(of: id)
    var slot = Int(truncatingIfNeeded: id.low >> 32) & (slots - 1)
    while table[slot] != 0 {
      if table[slot] == mark { return (slot, true) }
      slot = (slot + 1) & (slots - 1)
    }
    return (slot, false)
  }

  /// The id is a hash, so its parts are independent. The other half chooses shards.
  private static func mark(of id: TaskID) -> UInt32 { max(UInt32(truncatingIfNeeded: id.low), 1) }
}
