import Testing

@testable import GQLRunCache

/// Under which name a field is stored.
@Suite("Field keys")
struct FieldKeyTests {
  struct Case: Sendable, CustomTestStringConvertible {
    var field: String
    var declared: String
    var variables: String
    var key: String

    init(_ field: String, _ declared: String = "", _ variables: String = "{}", key: String) {
      self.field = field
      self.declared = declared
      self.variables = variables
      self.key = key
    }

    var testDescription: String { "\(field) \(declared) \(variables)" }
    var document: String { "query Q\(declared.isEmpty ? "" : "(\(declared))") { f: \(field) }" }
  }

  static let cases = [
    Case("f", key: "f"),
    Case("f(a: 1)", key: #"f({"a":1})"#),
    Case("f(a: -0)", key: #"f({"a":-0})"#),
    Case("f(a: 1.0)", key: #"f({"a":1.0})"#),
    Case("f(a: 1e3)", key: #"f({"a":1e3})"#),
    Case(
      "f(a: 123456789012345678901234567890)", key: #"f({"a":123456789012345678901234567890})"#),
    Case(#"f(a: "1")"#, key: #"f({"a":"1"})"#),
    Case("f(a: null)", key: #"f({"a":null})"#),
    Case(#"f(a: "null")"#, key: #"f({"a":"null"})"#),
    Case("f(a: true)", key: #"f({"a":true})"#),
    Case(#"f(a: "true")"#, key: #"f({"a":"true"})"#),
    Case("f(a: RED)", key: #"f({"a":"RED"})"#),
    Case("f(a: [])", key: #"f({"a":[]})"#),
    Case("f(a: [1, 2])", key: #"f({"a":[1,2]})"#),
    Case("f(a: [2 1])", key: #"f({"a":[2,1]})"#),
    Case("f(a: {})", key: #"f({"a":{}})"#),
    Case("f(b: 2, a: 1)", key: #"f({"a":1,"b":2})"#),
    Case("f(aa: 1, a: 2, B: 3, _: 4)", key: #"f({"B":3,"_":4,"a":2,"aa":1})"#),
    Case(
      "f(a: {z: {y: null, x: [{c: 1, b: 2}]}, a: RED})",
      key: #"f({"a":{"a":"RED","z":{"x":[{"b":2,"c":1}],"y":null}}})"#),
    Case(
      #"f(a: "q\" \\ \/ \n \u00e9 \u{1F680} \u0001")"#, key: #"f({"a":"q\" \\ / \n é 🚀 \u0001"})"#),
    Case("f(a: \"\"\"\n  block \"q\"\n\"\"\")", key: #"f({"a":"block \"q\""})"#),
    Case("f(a: \"\u{e9}\")", key: "f({\"a\":\"\u{e9}\"})"),
    Case("f(a: \"e\u{301}\")", key: "f({\"a\":\"e\u{301}\"})"),
    // Variables
    Case("f(a: $x)", "$x: Int", #"{"x":1}"#, key: #"f({"a":1})"#),
    Case("f(a: $x)", "$x: String", #"{"x":"1"}"#, key: #"f({"a":"1"})"#),
    Case("f(a: $x)", "$x: ID", #"{"x":1}"#, key: #"f({"a":"1"})"#),
    Case("f(a: $x)", "$x: Float", #"{"x":1.50E+2}"#, key: #"f({"a":1.50E+2})"#),
    Case("f(a: $x)", "$x: Int", "{}", key: "f"),
    Case("f(a: $x, b: 1)", "$x: Int", "{}", key: #"f({"b":1})"#),
    Case("f(a: $x)", "$x: Int", #"{"x":null}"#, key: #"f({"a":null})"#),
    Case("f(a: $x)", "$x: Int = 7", "{}", key: #"f({"a":7})"#),
    Case("f(a: $x)", "$x: Int = 7", #"{"x":8}"#, key: #"f({"a":8})"#),
    Case("f(a: $x)", "$x: Int = 7", #"{"x":null}"#, key: #"f({"a":null})"#),
    Case("f(a: $x)", "$x: C = RED", "{}", key: #"f({"a":"RED"})"#),
    Case(
      "f(a: $x)", "$x: I = {b: 1, a: [RED, null]}", "{}", key: #"f({"a":{"a":["RED",null],"b":1}})"#
    ),
    Case(
      "f(a: $x)", "$x: I", #"{"x":{"b":1,"a":{"d":[1.0],"c":"\u00e9"}}}"#,
      key: #"f({"a":{"a":{"c":"é","d":[1.0]},"b":1}})"#),
    Case("f(a: {b: $x, c: 1})", "$x: Int", "{}", key: #"f({"a":{"c":1}})"#),
    Case("f(a: {b: $x})", "$x: Int", "{}", key: #"f({"a":{}})"#),
    Case("f(a: [1, $x])", "$x: Int", "{}", key: #"f({"a":[1,null]})"#),
    Case("f(a: [1, $x])", "$x: Int", #"{"x":2}"#, key: #"f({"a":[1,2]})"#),
  ]

  @Test("a field is stored under its name and canonical arguments", arguments: cases)
  func storedName(test: Case) async throws {
    let cache = CacheUnderTest(store: MemoryStore(collectsChanges: true))
    let operation = try prepare(test.document, variables: test.variables)
    let written = try await cache.write(#"{"data":{"f":1}}"#, operation)
    #expect(written.changes.map { Array($0.utf8) } == [Array("QUERY_ROOT.\(test.key)".utf8)])
    #expect(try await cache.read(operation) == #"{"f":1}"#)
  }

  @Test("every field of a table of different fields has its own value", arguments: Way.allCases)
  func different(way: Way) async throws {
    try await way.withCache { cache in
      // Of fields with one key, one is enough.
      let different = Dictionary(Self.cases.map { (Array($0.key.utf8), $0) }) { one, _ in one }
      let cases = different.values.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
      for (number, test) in cases.enumerated() {
        try await cache.write(
          #"{"data":{"f":\#(number)}}"#, test.document, variables: test.variables)
      }
      for (number, test) in cases.enumerated() {
        #expect(
          try await cache.read(test.document, variables: test.variables) == #"{"f":\#(number)}"#)
      }
      let fields = cases.enumerated().map { "\(JSONText.quoted($1.key)):\($0)" }
      try await cache.expectDump(
        #"{"key":"QUERY_ROOT","fields":{\#(fields.joined(separator: ","))}}"#)
    }
  }

  @Test("an alias names the response, not the record", arguments: Way.allCases)
  func alias(way: Way) async throws {
    try await way.withCache { cache in
      try await cache.write(
        #"{"data":{"me":{"__typename":"U","key":"1","n":"Ada"}}}"#,
        "{ me: viewer { key: id n: name } }")
      try await cache.expectDump(
        #"{"key":"QUERY_ROOT","fields":{"viewer":{"$ref":"U:1"}}}"#,
        #"{"key":"U:1","fields":{"__typename":"U","id":"1","name":"Ada"}}"#)
      #expect(
        try await cache.read("{ viewer { x: name y: name name id } }")
          == #"{"viewer":{"x":"Ada","y":"Ada","name":"Ada","id":"1"}}"#)
    }
  }

  @Test("two aliases of one field are one stored field", arguments: Way.allCases)
  func twoAliases(way: Way) async throws {
    let document = """
      query($n: Int) { viewer { id a: f(n: 1) { x } b: f(n: $n) { y } c: f(n: 2) { x } d: name e: name } }
      """
    let fields = [
      #""id":"1""#, #""__typename":"U""#, #""a":{"__typename":"F","x":1}"#,
      #""b":{"__typename":"F","y":2}"#, #""c":{"__typename":"F","x":3}"#, #""d":"Ada""#,
      #""e":"Ada""#,
    ]
    for shift in fields.indices {
      try await way.withCache { cache in
        let text = (fields[shift...] + fields[..<shift]).joined(separator: ",")
        let operation = try prepare(document, variables: #"{"n":1}"#)
        let written = try await cache.write(#"{"data":{"viewer":{\#(text)}}}"#, operation)
        try await cache.expectDump(
          #"{"key":"QUERY_ROOT","fields":{"viewer":{"$ref":"U:1"}}}"#,
          #"{"key":"U:1","fields":{"__typename":"U","f({\"n\":1})":{"__typename":"F","x":1,"y":2},"f({\"n\":2})":{"__typename":"F","x":3},"id":"1","name":"Ada"}}"#
        )
        #expect(
          written.changes == [
            "QUERY_ROOT.viewer", "U:1.__typename", #"U:1.f({"n":1})"#, #"U:1.f({"n":2})"#, "U:1.id",
            "U:1.name",
          ])
        #expect(
          try await cache.read(operation)
            == #"{"viewer":{"id":"1","a":{"x":1},"b":{"y":2},"c":{"x":3},"d":"Ada","e":"Ada"}}"#)
      }
    }
  }

  @Test("aliases at the root join like others", arguments: Way.allCases)
  func rootAliases(way: Way) async throws {
    try await way.withCache { cache in
      let document =
        "{ a: user(id: 1) { id name } b: user(id: 1) { id email } c: stats { x } d: stats { y } }"
      let operation = try prepare(document)
      try await cache.write(
        #"""
        {"data":{"a":{"__typename":"U","id":1,"name":"Ada"},"b":{"__typename":"U","id":1,"email":"a@x"},
         "c":{"__typename":"S","x":[1]},"d":{"__typename":"S","y":{"z":0}}}}
        """#, operation)
      try await cache.expectDump(
        #"{"key":"QUERY_ROOT","fields":{"stats":{"__typename":"S","x":[1],"y":{"z":0}},"user({\"id\":1})":{"$ref":"U:1"}}}"#,
        #"{"key":"U:1","fields":{"__typename":"U","email":"a@x","id":1,"name":"Ada"}}"#)
      #expect(
        try await cache.read(operation)
          == #"{"a":{"id":1,"name":"Ada"},"b":{"id":1,"email":"a@x"},"c":{"x":[1]},"d":{"y":{"z":0}}}"#
      )
    }
  }

  @Test(
    "when aliases of one field disagree, the later one in the response counts",
    arguments: Way.allCases)
  func disagreement(way: Way) async throws {
    for (text, value) in [
      (#""a":1,"b":2"#, "2"), (#""b":2,"a":1"#, "1"), (#""a":null,"b":2"#, "2"),
      (#""b":2,"a":null"#, "null"),
    ] {
      try await way.withCache { cache in
        try await cache.write(
          #"{"data":{"v":{"__typename":"U","id":"1",\#(text)}}}"#, "{ v { id a: n b: n } }")
        try await cache.expectDump(
          #"{"key":"QUERY_ROOT","fields":{"v":{"$ref":"U:1"}}}"#,
          #"{"key":"U:1","fields":{"__typename":"U","id":"1","n":\#(value)}}"#)
      }
    }
  }

  @Test("aliases of a list join its elements", arguments: Way.allCases, [2, 3000])
  func listAliases(way: Way, count: Int) async throws {
    if count > 100, way.arrival.pieces == [1] { return }
    try await way.withCache { cache in
      let document = "{ v { id a: items { x ref { id } } b: items { y ref { id n } } } }"
      let a = (0..<count).map {
        #"{"__typename":"I","x":\#($0),"ref":{"__typename":"R","id":\#($0)}}"#
      }
      let b = (0..<count).map {
        #"{"__typename":"I","y":"value \#($0)","ref":{"__typename":"R","id":\#($0),"n":\#($0)}}"#
      }
      let operation = try prepare(document)
      let written = try await cache.write(
        #"{"data":{"v":{"__typename":"U","id":"1","a":[\#(a.joined(separator: ","))],"b":[\#(b.joined(separator: ","))]}}}"#,
        operation)
      #expect(try await cache.read(operation) == written.data)
      let joined = (0..<count).map {
        #"{"__typename":"I","ref":{"$ref":"R:\#($0)"},"x":\#($0),"y":"value \#($0)"}"#
      }
      let dump = try await cache.dump()
      #expect(
        dump.contains(
          #"{"key":"U:1","fields":{"__typename":"U","id":"1","items":[\#(joined.joined(separator: ","))]}}"#
        ))
    }
  }
}
