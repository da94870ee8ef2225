import GQLRunJSON
import GQLRunLanguage
import Testing

@testable import GQLRunCache

@Suite("Segments of long lists")
struct SegmentsTests {
  /// A text of a segmented list, as a damaged database may have it.
  private static func list(_ names: String..., count: String) -> String {
    let names = names.map { "\"\($0)\"" }.joined(separator: ",")
    return #"{"$segments":[\#(names)],"count":\#(count)}"#
  }

  @Test("a list has the names and the number of elements of its text")
  func valid() throws {
    let text = Self.list("00000000000000a1", "ffffffffffffffff", count: "4294967295")
    let found = try #require(Array(text.utf8).withBytes { Segments.keys(of: $0) })
    #expect(found.count == 4_294_967_295)
    #expect(
      found.keys.map { String(decoding: $0, as: UTF8.self) }
        == ["$segment:00000000000000a1", "$segment:ffffffffffffffff"])
  }

  @Test(
    "names and numbers that no writer writes are damage",
    arguments: [
      list("00000000000000a1", count: "9223372036854775807"),
      list("00000000000000a1", count: "4294967296"), list("00000000000000a1", count: "-1"),
      list("00000000000000a1", count: "99999999999999999999"),
      list("zzzzzzzzzzzzzzzz", count: "1"), list("a1", count: "1"),
    ])
  func damaged(text: String) {
    #expect(Array(text.utf8).withBytes { Segments.keys(of: $0) } == nil)
  }

  @Test(
    "a page is added to a list with a damaged text without a crash",
    arguments: [
      list("00000000000000a1", count: "9223372036854775807"), list("zzzzzzzzzzzzzzzz", count: "1"),
    ])
  func page(text: String) async throws {
    let store = MemoryStore()
    await store.insert([
      ("QUERY_ROOT.list", #"{"list":\#(text)}"#), ("$segment:00000000000000a1", "[1]"),
      ("$segment:zzzzzzzzzzzzzzzz", "[1]"),
    ])
    let operation = try prepare(
      "{ list { __typename x } }", keys: KeyRules(pages: ["Query": ["list": .append]]))
    let body = #"{"data":{"list":[{"__typename":"Row","x":1}]}}"#
    try await normalize(body.utf8, operation, into: store)
    // An error of the store, or a miss: never a list that no server has sent.
    let answer = try? await CacheUnderTest(store: store).read(operation)
    #expect(answer?.hasPrefix("miss at list") ?? true)
  }
}

extension MemoryStore {
  /// Inserts records as they are.
  fileprivate func insert(_ records: [(key: String, text: String)]) {
    for (key, text) in records { table.insert(key, text, received: 7) }
  }
}
