import GQLRunTestSupport
import Testing

@testable import GQLRunCache

/// Records with more fields than a word has bits.
@Suite("Wide records")
struct WideRecordTests {
  private let names = (0..<500).map { "field\($0)" }

  private func body(_ fields: [(name: String, value: Int)]) -> String {
    let members = fields.map { #""\#($0.name)":\#($0.value)"# }.joined(separator: ",")
    return #"{"data":{"wide":{"__typename":"Wide","id":1,\#(members)}}}"#
  }

  @Test(
    "a record with hundreds of fields is stored, merged and read like any other",
    arguments: Way.allCases)
  func hundreds(way: Way) async throws {
    try await way.withCache { cache in
      var random = SeededRandom(1)
      let document = "{ wide { id \(names.joined(separator: " ")) } }"
      let first = names.enumerated().map { (name: $1, value: $0) }
      let written = try await cache.write(body(first.shuffled(using: &random)), document)
      #expect(written.changes.count == names.count + 3)
      let shown = first.map { #""\#($0.name)":\#($0.value)"# }.joined(separator: ",")
      #expect(try await cache.read(document) == #"{"wide":{"id":1,\#(shown)}}"#)

      let again = try await cache.write(body(first.shuffled(using: &random)), document)
      #expect(again.changes.isEmpty, "another order is no change")

      // A third of the fields come again, in another order; some have changed.
      let some = first.filter { $0.value % 3 == 0 }.map {
        (name: $0.name, value: $0.value % 9 == 0 ? -1 : $0.value)
      }
      let part = "{ wide { id \(some.map(\.name).joined(separator: " ")) } }"
      let merged = try await cache.write(body(some.shuffled(using: &random)), part)
      #expect(
        Set(merged.changes) == Set(first.filter { $0.value % 9 == 0 }.map { "Wide:1.\($0.name)" }))
      let now = first.map { #""\#($0.name)":\#($0.value % 9 == 0 ? -1 : $0.value)"# }
      #expect(
        try await cache.read(document) == #"{"wide":{"id":1,\#(now.joined(separator: ","))}}"#)
    }
  }
}
