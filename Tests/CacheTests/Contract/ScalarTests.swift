import Testing

@testable import GQLRunCache

/// Leaf values: records and results contain them as they were received.
@Suite("Leaf values")
struct ScalarTests {
  /// A value as it is sent, and as it is stored, shown and delivered.
  struct Value: Sendable, CustomTestStringConvertible {
    var sent: String
    var kept: String

    init(_ sent: String, kept: String? = nil) {
      self.sent = sent
      self.kept = kept ?? sent
    }

    var testDescription: String { String(sent.prefix(60)) }
  }

  static let numbers = [
    "0", "-0", "1", "-1", "1.0", "1.50", "0.1", "-0.0", "1e400", "-1E+400", "1E+2", "1e-2",
    "1.5e+00",
    "9007199254740993", "123456789012345678901234567890", "-0.000000000000000000000000000001",
    "12345678", "123456789", "1234567", String(repeating: "7", count: 1024),
  ].map { Value($0) }

  static let strings = [
    Value(#""""#), Value(#"" ""#), Value(#""null""#), Value(#""\"""#), Value(#""\\""#),
    Value(#""\/""#, kept: #""/""#), Value(#""\u002F""#, kept: #""/""#),
    Value(#""\b\f\n\r\t""#), Value(#""\u0008\u000c\u000A\u000d\u0009""#, kept: #""\b\f\n\r\t""#),
    Value(#""\u0000""#), Value(#""a\u0000b\u001fc\u007f""#, kept: "\"a\\u0000b\\u001fc\u{7f}\""),
    Value(#""\u000B""#, kept: #""\u000b""#), Value(#""\u0041""#, kept: #""A""#),
    Value(#""\u00e9""#, kept: "\"\u{e9}\""), Value("\"\u{e9}\""), Value("\"e\u{301}\""),
    Value(#""\u6771\u4EAC""#, kept: #""東京""#), Value(#""\ud83d\ude80""#, kept: #""🚀""#),
    Value(#""\uFFFD\ufffe\uffff""#, kept: "\"\u{fffd}\u{fffe}\u{ffff}\""),
    Value(#""\u2028""#, kept: "\"\u{2028}\""),
    Value(#"" {\"$ref\":\"x\"}""#), Value(#""[1,2]}],\"""#),
    Value("\"" + String(repeating: "\\\\", count: 40) + "\""),
    Value("\"12345678\\\"12345678\""), Value("\"1234567\\n\""), Value("\"12345678\\t\""),
    Value("\"" + String(repeating: "long é ", count: 20_000) + "\""),
  ]

  static let literals = [Value("true"), Value("false"), Value("null")]

  /// Objects and lists where the operation selects nothing: custom scalars.
  static let opaque = [
    Value("{}"), Value("[]"), Value("[[]]"), Value("[{}]"), Value(#"{"":{}}"#), Value(#"{"a":[]}"#),
    Value(#"{"b":1,"a":2}"#), Value(#"{"a":{"b":{"c":[1,[2,{"d":null}]]}}}"#),
    Value(#"{"$ref":"User:1"}"#), Value(#"{"$null":1}"#), Value(#"{"$null":{"$null":null}}"#),
    Value(#"{"$segments":["0123456789abcdef"],"count":1}"#),
    Value(#"{"$values":["0123456789abcdef"],"count":1}"#),
    Value(#"{"__typename":"User","id":"1"}"#), Value(#"{"id":"1","__typename":"User"}"#),
    Value(#"[{"$ref":"User:1"},{"$null":2},{"$segments":[],"count":0}]"#),
    Value(#"[1,null,"x",[true,{"k":-0}],1e400]"#), Value(#"[[[[[[[[1]]]]]]]]"#),
    Value(#"{"k\u0000\"\\":"\ud83d\ude80\u0000"}"#, kept: #"{"k\u0000\"\\":"🚀\u0000"}"#),
    Value("{ \"a\" : [ 1 , 2 ] ,\n\t\"b\" : { } }", kept: #"{"a":[1,2],"b":{}}"#),
    Value("{\"\u{e9}\":1,\"e\u{301}\":2}"),
  ]

  static let values = numbers + strings + literals + opaque

  @Test("a leaf value is stored unchanged", arguments: Way.allCases)
  func leaves(way: Way) async throws {
    try await way.withCache { cache in
      let values = Self.values.filter { $0.sent.utf8.count < 3000 || way.arrival.pieces != [1] }
      let names = values.indices.map { "f\($0)" }
      let document = "{ v { id \(names.joined(separator: " ")) } }"
      let sent = zip(names, values).map { "\"\($0)\":\($1.sent)" }.joined(separator: ",")
      let kept = zip(names, values).map { "\"\($0)\":\($1.kept)" }
      let written = try await cache.write(
        #"{"data":{"v":{"__typename":"V","id":1,\#(sent)}}}"#, document)
      let result = #"{"v":{"id":1,\#(kept.joined(separator: ","))}}"#
      expectBytes(written.data, result)
      expectBytes(try await cache.read(document), result)
      try await cache.expectDump(
        #"{"key":"QUERY_ROOT","fields":{"v":{"$ref":"V:1"}}}"#,
        #"{"key":"V:1","fields":{"__typename":"V",\#((kept + [#""id":1"#]).sorted().joined(separator: ","))}}"#
      )
      // The same again changes nothing, whatever the white space.
      let again = try await cache.write(
        #"{"data":{"v":{"__typename":"V","id":1,\#(zip(names, values).map { "\"\($0)\" : \($1.kept)" }.joined(separator: " ,\n"))}}}"#,
        document)
      #expect(again.changes == [])
      #expect(again.summary?.changedRecords == 0 && again.summary?.newRecords == 0)
    }
  }

  @Test(
    "a leaf value in a list, an embedded object and at the root is stored unchanged",
    arguments: Way.allCases)
  func otherPlaces(way: Way) async throws {
    try await way.withCache { cache in
      let values = Self.values.filter { $0.sent.utf8.count < 3000 }
      let sent = values.map(\.sent).joined(separator: ",")
      let kept = values.map(\.kept).joined(separator: ",")
      let roots = values.indices.map { "r\($0)" }
      let document = "{ \(roots.joined(separator: " ")) list nested v { x list } }"
      let written = try await cache.write(
        #"""
        {"data":{\#(zip(roots, values).map { "\"\($0)\":\($1.sent)" }.joined(separator: ",")),
        "list":[\#(sent)],"nested":[[\#(sent)],null,[]],"v":{"x":{"y":[]},"list":[\#(sent)]}}}
        """#, document)
      let root = zip(roots, values).map { "\"\($0)\":\($1.kept)" }
      let result =
        #"{\#(root.joined(separator: ",")),"list":[\#(kept)],"nested":[[\#(kept)],null,[]],"v":{"x":{"y":[]},"list":[\#(kept)]}}"#
      expectBytes(written.data, result)
      expectBytes(try await cache.read(document), result)
      try await cache.expectDump(
        #"{"key":"QUERY_ROOT","fields":{"list":[\#(kept)],"nested":[[\#(kept)],null,[]],\#(root.sorted().joined(separator: ",")),"v":{"list":[\#(kept)],"x":{"y":[]}}}}"#
      )
    }
  }

  @Test(
    "a custom scalar is replaced as a whole, and is changed if its text differs",
    arguments: Way.allCases)
  func replacedWhole(way: Way) async throws {
    try await way.withCache { cache in
      let values = [
        #"{"a":1,"b":[1,2]}"#, #"{"b":[1,2]}"#, #"{"b":[1,null]}"#, #"[{"__typename":"A","x":1}]"#,
        #"[{"__typename":"A","y":1}]"#, "1", "1.0", #""1.0""#, "null",
      ]
      for (number, value) in values.enumerated() {
        let response = #"{"data":{"v":{"__typename":"V","id":1,"x":\#(value)}}}"#
        let changes = try await cache.write(response, "{ v { id x } }").changes
        #expect(number == 0 ? changes.contains("V:1.x") : changes == ["V:1.x"], "\(value)")
        #expect(try await cache.write(response, "{ v { id x } }").changes == [])
      }
      #expect(try await cache.read("{ v { x } }") == #"{"v":{"x":null}}"#)
    }
  }

  @Test(
    "\\u escapes and raw UTF-8 are the same text, in values, keys and ids", arguments: Way.allCases)
  func escapes(way: Way) async throws {
    let escaped =
      #"{"data":{"v":{"__typename":"\u0056","i\u0064":"\u00e9\ud83d\ude80\u0022","x":{"k\u00e9":"\u6771"}}}}"#
    let raw = #"{"data":{"v":{"__typename":"V","id":"é🚀\"","x":{"ké":"東"}}}}"#
    try await way.withCache { cache in
      let first = try await cache.write(escaped, "{ v { id x } }")
      let dump = try await cache.dump()
      let second = try await cache.write(raw, "{ v { id x } }")
      #expect(second.changes == [])
      expectBytes(try await cache.dump(), dump)
      expectBytes(first.data, try #require(second.data))
      try await cache.expectDump(
        #"{"key":"QUERY_ROOT","fields":{"v":{"$ref":"V:é🚀\""}}}"#,
        #"{"key":"V:é🚀\"","fields":{"__typename":"V","id":"é🚀\"","x":{"ké":"東"}}}"#)
    }
  }
}

/// Compares bytes: Swift's own equality would pass composed for decomposed text.
func expectBytes(
  _ actual: String?, _ expected: String,
  sourceLocation: Testing.SourceLocation = #_sourceLocation
) {
  guard let actual, Array(actual.utf8) != Array(expected.utf8) else {
    #expect(actual != nil, sourceLocation: sourceLocation)
    return
  }
  let common = zip(actual.utf8, expected.utf8).prefix { $0 == $1 }.count
  func excerpt(_ text: String) -> String {
    String(decoding: Array(text.utf8).dropFirst(max(0, common - 40)).prefix(120), as: UTF8.self)
  }
  Issue.record(
    "texts differ from byte \(common) on:\n  found:    …\(excerpt(actual))\n  expected: …\(excerpt(expected))",
    sourceLocation: sourceLocation)
}
