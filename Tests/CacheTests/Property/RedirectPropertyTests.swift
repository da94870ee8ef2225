import GQLRunJSON
import GQLRunTestSupport
import Testing

@testable import GQLRunCache

/// Redirects against the records as they were written: for any values of key fields, the keys that arguments form
/// are those that objects get.
@Suite("Random redirects")
struct RedirectPropertyTests {
  private static let alphabet = [
    "a", "B", "1", "0", "+", "\\", "\"", ":", "é", "e\u{301}", "😀", "\u{301}", "\n",
  ]

  private static func value(_ random: inout SeededRandom) -> JSONValue {
    if random.chance(20) { return .number(JSONNumber(random.upTo(40) - 20)) }
    if random.chance(10) { return .boolean(random.chance(50)) }
    return .string((0...random.upTo(3)).map { _ in random.pick(alphabet) }.joined())
  }

  @Test(
    "a redirect finds the object with these key fields, and no other",
    arguments: 0..<60 as Range<UInt64>)
  func keys(seed: UInt64) async throws {
    var random = SeededRandom(seed)
    let fields: [String] = Array(["k", "l", "m"][..<(1 + random.upTo(3))])
    let keys = KeyRules(
      types: ["T": fields],
      redirects: [
        "Query": [
          "one": CacheRedirect(fields, type: "T"),
          "many": CacheRedirect(fields, type: "T", isList: true),
        ]
      ])
    let cache = CacheUnderTest(store: MemoryStore())
    // An integer and the same digits as a string are one key, so the later object is what is stored.
    var stored: [[String]: Int] = [:]
    var objects: [JSONValue] = []
    var tuples: [[JSONValue]] = []
    for index in 0..<30 {
      let tuple = fields.map { _ in Self.value(&random) }
      tuples.append(tuple)
      if random.chance(30) { continue }
      var object: JSONObject = ["__typename": "T", "index": .number(JSONNumber(index))]
      for (field, value) in zip(fields, tuple) { object[field] = value }
      objects.append(.object(object))
      stored[Self.text(tuple)] = index
    }
    let list = fields.joined(separator: " ")
    try await cache.write(
      JSONValue.object(["data": ["all": .array(objects)]]).jsonText(), "{ all { \(list) index } }",
      keys: keys)
    let declared = fields.map { "$\($0): Key" }.joined(separator: ", ")
    let passed = fields.map { "\($0): $\($0)" }.joined(separator: ", ")
    for tuple in tuples {
      var variables = JSONObject()
      for (field, value) in zip(fields, tuple) { variables[field] = value }
      let found = try await cache.read(
        "query(\(declared)) { one(\(passed)) { index } }",
        variables: JSONValue.object(variables).jsonText(), keys: keys)
      let expected = stored[Self.text(tuple)].map { #"{"one":{"index":\#($0)}}"# } ?? "miss at one"
      #expect(found == expected, "seed \(seed), \(tuple)")
      // The last key field as a list, with some others of the same beginning.
      let siblings = tuples.filter { $0.dropLast() == tuple.dropLast() }.shuffled(using: &random)
      variables[fields[fields.count - 1]] = .array(siblings.compactMap(\.last))
      let answer = try await cache.read(
        "query(\(declared)) { many(\(passed)) { index } }",
        variables: JSONValue.object(variables).jsonText(), keys: keys)
      let indices = siblings.compactMap { stored[Self.text($0)] }.map { #"{"index":\#($0)}"# }
      #expect(
        answer
          == (indices.count == siblings.count
            ? #"{"many":[\#(indices.joined(separator: ","))]}"# : "miss at many"),
        "seed \(seed), \(siblings)")
    }
  }

  /// What identifies an object: the texts of its key fields, as bytes.
  private static func text(_ tuple: [JSONValue]) -> [String] {
    tuple.map { value in
      let text = value.stringValue ?? value.jsonText()
      return text.utf8.map { String($0) }.joined(separator: " ")
    }
  }
}
