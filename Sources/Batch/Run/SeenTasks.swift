/// Which tasks have been seen.
///
/// Of each id it keeps 32 bits, at a place that 18 others choose: five bytes a task. "No" is sure; "yes" is wrong
/// about once in a hundred million times when a million are known, and the journal is asked then.
struct SeenTasks {
  private static let places = 1 << 18
  /// A table with more than three quarters of its places taken is slow to look through.
  private static let most = places / 4 * 3

  /// Open addressing; zero is a free place. Only the last table is not full.
  private var tables: [[UInt32]] = []
  private var count = most

  mutating func insert(_ id: TaskID) {
    if count == Self.most {
      tables.append([UInt32](repeating: 0, count: Self.places))
      count = 0
    }
    let (place, isThere) = Self.find(id, in: tables[tables.count - 1])
    guard !isThere else { return }
    tables[tables.count - 1][place] = Self.mark(of: id)
    count += 1
  }

  func mayContain(_ id: TaskID) -> Bool {
    tables.contains { Self.find(id, in: $0).isThere }
  }

  /// Where the id stands, or would.
  private static func find(_ id: TaskID, in table: [UInt32]) -> (place: Int, isThere: Bool) {
    let mark = mark(of: id)
    var place = Int(truncatingIfNeeded: id.low >> 32) & (places - 1)
    while table[place] != 0 {
      if table[place] == mark { return (place, true) }
      place = (place + 1) & (places - 1)
    }
    return (place, false)
  }

  /// The id is a hash already: its parts are independent. The other half chooses shards.
  private static func mark(of id: TaskID) -> UInt32 { max(UInt32(truncatingIfNeeded: id.low), 1) }
}
