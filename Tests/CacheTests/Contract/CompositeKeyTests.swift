import GQLRunJSON
import GQLRunTestSupport
import Testing

@testable import GQLRunCache

/// Keys of several fields: two objects have one key only when all key fields have the same text.
@Suite("Composite keys")
struct CompositeKeyTests {
  static let keys = KeyRules(types: ["T": ["k1", "k2", "k3"]])

  @Test("a + inside a number does not pass for the one that joins", arguments: Way.allCases)
  func numbers(way: Way) async throws {
    try await way.withCache { cache in
      try await cache.write(
        #"{"data":{"a":{"__typename":"T","k1":1E+2,"k2":"3E","k3":4},"b":{"__typename":"T","k1":"1E","k2":2,"k3":3E+4}}}"#,
        "{ a { k1 k2 k3 } b { k1 k2 k3 } }", keys: Self.keys)
      try await cache.expectDump(
        #"{"key":"QUERY_ROOT","fields":{"a":{"$ref":"T:1E\\+2+3E+4"},"b":{"$ref":"T:1E+2+3E\\+4"}}}"#,
        #"{"key":"T:1E+2+3E\\+4","fields":{"__typename":"T","k1":"1E","k2":2,"k3":3E+4}}"#,
        #"{"key":"T:1E\\+2+3E+4","fields":{"__typename":"T","k1":1E+2,"k2":"3E","k3":4}}"#)
    }
  }

  /// The values that a key field may have, as JSON, and the text that identifies.
  static let spellings: [(json: String, text: String)] = {
    var spellings = [
      ("true", "true"), ("false", "false"), ("0", "0"), ("-0", "-0"), ("12", "12"), ("1.5", "1.5"),
    ]
    for number in ["1E+2", "1e+2", "1E2", "1.0E+2", "1E-2", "3E+4", "-1E+2", "1E+22"] {
      spellings.append((number, number))
    }
    let texts = [
      "", "+", "\\", "\\+", "+\\", "++", "\\\\", "1E", "1", "2", "3E", "1E+2", "1E\\+2", "2+3E",
      "true", "a+b", "a\\", "\\b", "e\u{301}", "é", "\u{0}", "\"", ":", "T:1",
    ]
    for text in texts { spellings.append((JSONText.quoted(text), text)) }
    return spellings
  }()

  @Test(
    "different key fields are different records, over all spellings of values",
    arguments: [StoreKind.memory, .sqlite], UInt64(1)...4)
  func injectivity(kind: StoreKind, seed: UInt64) async throws {
    var random = SeededRandom(seed)
    var tuples: [[Int]] = []
    for _ in 0..<600 { tuples.append((0..<3).map { _ in random.upTo(Self.spellings.count) }) }
    let objects = tuples.map { tuple in
      let fields = tuple.enumerated().map {
        #""k\#($0.offset + 1)":\#(Self.spellings[$0.element].json)"#
      }
      return #"{"__typename":"T",\#(fields.joined(separator: ","))}"#
    }
    let different = Set(tuples.map { tuple in tuple.map { Array(Self.spellings[$0].text.utf8) } })
    try await kind.withCache { cache, _ in
      let written = try await cache.write(
        #"{"data":{"list":[\#(objects.joined(separator: ","))]}}"#, "{ list { k1 k2 k3 } }",
        keys: Self.keys)
      #expect(written.summary?.newRecords == different.count + 1)
    }
  }

  @Test("a single key field is not escaped, unless its type shares a prefix with a composite key")
  func groups() async throws {
    let document = "{ a { id } b { x y } c { id } }"
    let response =
      #"{"data":{"a":{"__typename":"A","id":"x+y"},"b":{"__typename":"B","x":"x","y":"y"},"c":{"__typename":"C","id":"x+y"}}}"#
    try await StoreKind.memory.withCache { cache, _ in
      try await cache.write(
        response, document,
        keys: KeyRules(types: ["B": ["x", "y"]], groups: ["A": "G", "B": "G"]))
      try await cache.expectDump(
        #"{"key":"C:x+y","fields":{"__typename":"C","id":"x+y"}}"#,
        #"{"key":"G:x+y","fields":{"__typename":"B","x":"x","y":"y"}}"#,
        #"{"key":"G:x\\+y","fields":{"__typename":"A","id":"x+y"}}"#,
        #"{"key":"QUERY_ROOT","fields":{"a":{"$ref":"G:x\\+y"},"b":{"$ref":"G:x+y"},"c":{"$ref":"C:x+y"}}}"#
      )
    }
    // The group may have the name of a type.
    try await StoreKind.memory.withCache { cache, _ in
      try await cache.write(
        response, document, keys: KeyRules(types: ["B": ["x", "y"]], groups: ["A": "B"]))
      #expect(try await cache.dump().contains(#"{"key":"B:x\\+y","fields":{"__typename":"A""#))
    }
  }
}
