import GQLRunTestSupport
import Testing

@testable import GQLRunCache

@Suite("Scattered keys")
struct KeySpreadTests {
  private static func table(_ keys: some Sequence<String>) -> RecordTable {
    let table = RecordTable()
    for key in keys { table.insert(key, "") }
    return table
  }

  /// Keys of two types in turn, as posts and their comments come.
  private static func counted(_ range: Range<Int>) -> [String] {
    range.flatMap { ["Post:\($0)", "Comment:\($0 * 3)"] }
  }

  private static func random(_ seed: UInt64) -> [String] {
    var random = SeededRandom(seed)
    return (0..<1000).flatMap { _ in
      ["Post:\(random.next())", "Comment:\(String(random.next(), radix: 16))"]
    }
  }

  @Test("keys that count up are not scattered, also where a digit is added")
  func counting() {
    var spread = KeySpread()
    for start in stride(from: 0, to: 12_000, by: 1000) {
      let isScattered = spread.add(Self.table(Self.counted(start..<(start + 1000))))
      #expect(!isScattered, "from \(start) on")
    }
  }

  @Test("random keys are scattered, from the second batch on")
  func random() {
    var spread = KeySpread()
    let found = (1...3).map { spread.add(Self.table(Self.random($0))) }
    #expect(found == [false, true, true])
  }

  @Test("records are sorted by all bytes of their keys")
  func order() {
    let keys =
      Self.random(4) + Self.counted(0..<50)
      + ["", "A", "AB", "Comment:", "Comment:0", "Comment:00000000", "Comment:00000000\u{0}", "é"]
    let unique = Set(keys)
    let table = Self.table(unique)
    let sorted = table.sortedByKey().map { table.key(at: $0).array }
    #expect(sorted == unique.map { Array($0.utf8) }.sorted { $0.lexicographicallyPrecedes($1) })
  }
}
