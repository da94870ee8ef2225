import GQLRunLanguage
import Testing

@testable import GQLRunCache

/// How an object gets its identity.
@Suite("Object keys")
struct ObjectKeyTests {
  static let viewer = "{ viewer { id name } }"

  static func root(_ key: String) -> String {
    #"{"key":"QUERY_ROOT","fields":{"viewer":{"$ref":"\#(key)"}}}"#
  }

  // MARK: Order of fields

  /// Selections that read the same records in three ways: fields known at once, known by the type, and
  /// known only when the type is.
  static let selections = [
    "{ viewer { id name } }",
    "{ viewer { id ... on User { name } } }",
    "{ viewer { ... on User { id name } ... on Org { id name: title } } }",
  ]

  static let permutations: [[String]] = permute([
    #""__typename":"User""#, #""id":"1""#, #""name":"Ada""#,
  ])

  @Test(
    "an object is the same record in whatever order its fields come", arguments: Way.allCases,
    selections)
  func fieldOrder(way: Way, selection: String) async throws {
    let operation = try prepare(selection)
    for fields in Self.permutations {
      try await way.withCache { cache in
        let text = fields.joined(separator: ",")
        let written = try await cache.write(#"{"data":{"viewer":{\#(text)}}}"#, operation)
        try await cache.expectDump(
          Self.root("User:1"),
          #"{"key":"User:1","fields":{"__typename":"User","id":"1","name":"Ada"}}"#,
          comment: "\(text)")
        #expect(written.response.diagnostics == [])
        let asked = fields.filter { !$0.contains("__typename") }.joined(separator: ",")
        #expect(written.data == #"{"viewer":{\#(asked)}}"#)
        #expect(try await cache.read(operation) == #"{"viewer":{"id":"1","name":"Ada"}}"#)
      }
    }
  }

  @Test("nested objects whose types all come last are the same records", arguments: Way.allCases)
  func lateTypes(way: Way) async throws {
    let document = """
      { a { ...F b { ...F c { ...F } list { ...F } } } }
      fragment F on Node { id ... on A { v: x } ... on B { v: y } ... on C { v: z } }
      """
    let response = #"""
      {"data":{"a":{
        "b":{"list":[{"v":1,"id":9,"__typename":"A"},null,{"id":8,"v":{"deep":[1]},"__typename":"B"}],
             "c":{"v":3,"id":3,"__typename":"C"},"v":2,"id":2,"__typename":"B"},
        "v":"\u00e9\n","__typename":"A","id":1}}}
      """#
    try await way.withCache { cache in
      try await cache.write(response, document)
      try await cache.expectDump(
        #"{"key":"A:1","fields":{"__typename":"A","b":{"$ref":"B:2"},"id":1,"x":"é\n"}}"#,
        #"{"key":"A:9","fields":{"__typename":"A","id":9,"x":1}}"#,
        #"{"key":"B:2","fields":{"__typename":"B","c":{"$ref":"C:3"},"id":2,"list":[{"$ref":"A:9"},null,{"$ref":"B:8"}],"y":2}}"#,
        #"{"key":"B:8","fields":{"__typename":"B","id":8,"y":{"deep":[1]}}}"#,
        #"{"key":"C:3","fields":{"__typename":"C","id":3,"z":3}}"#,
        #"{"key":"QUERY_ROOT","fields":{"a":{"$ref":"A:1"}}}"#)
      #expect(
        try await cache.read(document)
          == #"{"a":{"id":1,"v":"é\n","b":{"id":2,"v":2,"c":{"id":3,"v":3},"list":[{"id":9,"v":1},null,{"id":8,"v":{"deep":[1]}}]}}}"#
      )
    }
  }

  // MARK: Values of key fields

  struct Identifier: Sendable, CustomTestStringConvertible {
    /// The value of `id` as the server sends it.
    var sent: String
    /// As the dump shows it.
    var stored: String
    /// The key as the dump shows it.
    var key: String

    init(_ sent: String, stored: String? = nil, key: String) {
      self.sent = sent
      self.stored = stored ?? sent
      self.key = key
    }

    var testDescription: String { sent }
  }

  static let identifiers = [
    Identifier(#""1""#, key: "User:1"),
    Identifier("1", key: "User:1"),
    Identifier("-0", key: "User:-0"),
    Identifier("123456789012345678901234567890", key: "User:123456789012345678901234567890"),
    Identifier(#""a+b""#, key: "User:a+b"),
    Identifier(#""""#, key: "User:"),
    Identifier(#"":""#, key: "User::"),
    Identifier(#""a\"b""#, key: #"User:a\"b"#),
    Identifier(#""a\\b""#, key: #"User:a\\b"#),
    Identifier(#""a\/b""#, stored: #""a/b""#, key: "User:a/b"),
    Identifier(#""\u0000""#, key: #"User:\u0000"#),
    Identifier(#""a\u0000b""#, key: #"User:a\u0000b"#),
    Identifier(#""\u001F\u007f""#, stored: "\"\\u001f\u{7f}\"", key: "User:\\u001f\u{7f}"),
    Identifier(#""\b\f\n\r\t""#, key: #"User:\b\f\n\r\t"#),
    Identifier(#""\u00e9""#, stored: #""é""#, key: "User:é"),
    Identifier("\"e\u{301}\"", key: "User:e\u{301}"),
    Identifier(#""\ud83d\ude80""#, stored: #""🚀""#, key: "User:🚀"),
    Identifier(#""{\"$ref\":\"x\"}""#, key: #"User:{\"$ref\":\"x\"}"#),
    Identifier(
      "\"" + String(repeating: "x", count: 70_000) + "\"",
      key: "User:" + String(repeating: "x", count: 70_000)),
  ]

  @Test(
    "an ID is compared as its text", arguments: Way.allCases, identifiers)
  func idValues(way: Way, id: Identifier) async throws {
    // A byte-by-byte run of a long text says nothing that a short one does not.
    if id.sent.utf8.count > 1000, way.arrival.pieces == [1] { return }
    try await way.withCache { cache in
      let written = try await cache.write(
        #"{"data":{"viewer":{"__typename":"User","id":\#(id.sent),"name":"Ada"}}}"#, Self.viewer)
      try await cache.expectDump(
        Self.root(id.key),
        #"{"key":"\#(id.key)","fields":{"__typename":"User","id":\#(id.stored),"name":"Ada"}}"#)
      #expect(written.data == #"{"viewer":{"id":\#(id.stored),"name":"Ada"}}"#)
      #expect(try await cache.read(Self.viewer) == #"{"viewer":{"id":\#(id.stored),"name":"Ada"}}"#)
    }
  }

  @Test("an integer id and the same id as a string are one object", arguments: Way.allCases)
  func integerAndString(way: Way) async throws {
    try await way.withCache { cache in
      let document = "{ a { id name } b { id email } }"
      try await cache.write(
        #"{"data":{"a":{"__typename":"User","id":1,"name":"Ada"},"b":{"__typename":"User","id":"1","email":"a@x"}}}"#,
        document)
      try await cache.expectDump(
        #"{"key":"QUERY_ROOT","fields":{"a":{"$ref":"User:1"},"b":{"$ref":"User:1"}}}"#,
        #"{"key":"User:1","fields":{"__typename":"User","email":"a@x","id":"1","name":"Ada"}}"#)
    }
  }

  @Test(
    "ids that differ only in their Unicode composition are two objects", arguments: Way.allCases)
  func unicodeComposition(way: Way) async throws {
    try await way.withCache { cache in
      let written = try await cache.write(
        #"{"data":{"a":{"__typename":"U","id":"\u00e9"},"b":{"__typename":"U","id":"e\u0301"}}}"#,
        "{ a { id } b { id } }")
      try await cache.expectDump(
        "{\"key\":\"QUERY_ROOT\",\"fields\":{\"a\":{\"$ref\":\"U:\u{e9}\"},\"b\":{\"$ref\":\"U:e\u{301}\"}}}",
        "{\"key\":\"U:e\u{301}\",\"fields\":{\"__typename\":\"U\",\"id\":\"e\u{301}\"}}",
        "{\"key\":\"U:\u{e9}\",\"fields\":{\"__typename\":\"U\",\"id\":\"\u{e9}\"}}"
      )
      // Two root fields and the two fields of each of the two objects.
      #expect(written.changes.count == 6)
    }
  }

  // MARK: No identity

  @Test(
    "an object without a usable ID is stored in its parent, with one diagnostic per type and field",
    arguments: Way.allCases, ["", #","id":null"#, #","id":{"a":1}"#, #","id":["1"]"#])
  func noIdentity(way: Way, id: String) async throws {
    try await way.withCache { cache in
      let one = #"{"__typename":"User"\#(id),"name":"Ada"}"#
      let written = try await cache.write(
        #"{"data":{"users":[\#(one),\#(one)],"viewer":\#(one)}}"#,
        "{ users { id name } viewer { id name } }")
      let fields = #"{"__typename":"User"\#(id),"name":"Ada"}"#
      try await cache.expectDump(
        #"{"key":"QUERY_ROOT","fields":{"users":[\#(fields),\#(fields)],"viewer":\#(fields)}}"#)
      #expect(
        written.response.diagnostics == [CacheDiagnostic(typename: "User", keyField: "id")])
    }
  }

  @Test(
    "a key field that only the cache selects is not in the result, whatever its value is",
    arguments: Way.allCases, [#""1""#, "null", #"{"a":1}"#, #"["1"]"#, #"[["1"],{}]"#, "[]"])
  func addedKeyField(way: Way, id: String) async throws {
    let operation = try prepare(
      "{ viewer { name } }",
      facts: facts("type Query { viewer: User } type User { id: ID! name: String }"))
    try await way.withCache { cache in
      let written = try await cache.write(
        #"{"data":{"viewer":{"__typename":"User","id":\#(id),"name":"Ada"}}}"#, operation)
      #expect(written.data == #"{"viewer":{"name":"Ada"}}"#)
      #expect(try await cache.read(operation) == #"{"viewer":{"name":"Ada"}}"#)
    }
  }

  @Test("an object without a type name is stored in its parent", arguments: Way.allCases)
  func noTypename(way: Way) async throws {
    for selection in ["{ viewer { id name } }", "{ viewer { id name ... on User { name } } }"] {
      try await way.withCache { cache in
        let written = try await cache.write(
          #"{"data":{"viewer":{"id":"1","name":"Ada"}}}"#, selection)
        try await cache.expectDump(
          #"{"key":"QUERY_ROOT","fields":{"viewer":{"id":"1","name":"Ada"}}}"#)
        #expect(
          written.response.diagnostics == [CacheDiagnostic(typename: "", keyField: "__typename")])
      }
    }
  }

  @Test(
    "a type name that is not a GraphQL name does not identify an object", arguments: Way.allCases,
    ["", "QUERY_ROOT.viewer", "$segment", "a b", "1", "é", "A:B", "a\\nb", "a\\\"b"])
  func strangeTypenames(way: Way, name: String) async throws {
    try await way.withCache { cache in
      try await cache.write(
        #"{"data":{"viewer":{"__typename":"\#(name)","id":"1","name":"Ada"}}}"#, Self.viewer)
      try await cache.expectDump(
        #"{"key":"QUERY_ROOT","fields":{"viewer":{"__typename":"\#(name)","id":"1","name":"Ada"}}}"#
      )
    }
  }

  @Test(
    "a type name that is not a string is a malformed response", arguments: Way.allCases,
    ["null", "5", "true", "1.5e3", "{}", "[]", #"["User"]"#, #"{"a":"User"}"#])
  func wrongTypenames(way: Way, value: String) async throws {
    for selection in Self.selections + ["{ viewer { t: __typename id name } }"] {
      for key in ["__typename", "t"] where key == "__typename" || selection.contains("t:") {
        for rest in [#","id":"1","name":"Ada""#, ""] {
          for isFirst in [true, false] {
            try await way.withCache { cache in
              let member = #""\#(key)":\#(value)"#
              let fields =
                isFirst ? member + rest : rest.dropFirst() + (rest.isEmpty ? "" : ",") + member
              let code = try await code {
                try await cache.write(#"{"data":{"viewer":{\#(fields)}}}"#, selection)
              }
              #expect(code == .malformedResponse, "\(fields) for \(selection)")
              #expect(try await cache.dump() == "")
            }
          }
        }
      }
    }
  }

  // MARK: Rules

  static let order = KeyRules(types: ["Order": ["shop", "number"]])
  static let orders = "{ order { shop number total } }"

  @Test(
    "several key fields are joined by +, with + and \\ escaped", arguments: Way.allCases,
    [
      (#""a""#, "7", "Order:a+7"),
      (#""a+b""#, "7", #"Order:a\\+b+7"#),
      (#""a+""#, #""b""#, #"Order:a\\++b"#),
      (#""a""#, #""+b""#, #"Order:a+\\+b"#),
      (#""a\\""#, #""b""#, #"Order:a\\\\+b"#),
      (#""""#, #""""#, "Order:+"),
      (#""\u0000+\"""#, "0", #"Order:\u0000\\+\"+0"#),
    ])
  func joinedKeys(way: Way, parts: (shop: String, number: String, key: String)) async throws {
    try await way.withCache { cache in
      for fields in permute([
        #""__typename":"Order""#, #""shop":\#(parts.shop)"#, #""number":\#(parts.number)"#,
      ]) {
        try await cache.store.clear()
        try await cache.write(
          #"{"data":{"order":{\#(fields.joined(separator: ",")),"total":1}}}"#, Self.orders,
          keys: Self.order)
        try await cache.expectDump(
          #"{"key":"\#(parts.key)","fields":{"__typename":"Order","number":\#(parts.number),"shop":\#(parts.shop),"total":1}}"#,
          #"{"key":"QUERY_ROOT","fields":{"order":{"$ref":"\#(parts.key)"}}}"#)
      }
    }
  }

  @Test("the diagnostic names the key field that is missing", arguments: Way.allCases)
  func missingPart(way: Way) async throws {
    for (fields, missing) in [
      (#""shop":"a""#, "number"), (#""number":7"#, "shop"),
      (#""shop":"a","number":null"#, "number"),
    ] {
      try await way.withCache { cache in
        let written = try await cache.write(
          #"{"data":{"order":{"__typename":"Order",\#(fields)}}}"#, Self.orders, keys: Self.order)
        #expect(
          written.response.diagnostics == [CacheDiagnostic(typename: "Order", keyField: missing)])
        #expect(!(try await cache.dump().contains("$ref")))
      }
    }
  }

  @Test("a key field is found under its alias", arguments: Way.allCases)
  func aliasedKey(way: Way) async throws {
    try await way.withCache { cache in
      let document = "{ viewer { key: id id: name } }"
      try await cache.write(
        #"{"data":{"viewer":{"id":"Ada","__typename":"User","key":"1"}}}"#, document)
      try await cache.expectDump(
        Self.root("User:1"),
        #"{"key":"User:1","fields":{"__typename":"User","id":"1","name":"Ada"}}"#)
      #expect(try await cache.read(document) == #"{"viewer":{"key":"1","id":"Ada"}}"#)
    }
  }

  @Test(
    "an added key field does not conflict with a field that is merged with it",
    arguments: [
      ("{ node { ... on Issue { id: name } } }", #""id":"one""#),
      ("{ node { id: name ... on Issue { n } } }", #""id":"one","n":1"#),
      (
        "{ node { ...F } } fragment F on Node { ... on Issue { n ...G } } fragment G on Node { id: name }",
        #""n":1,"id":"one""#
      ),
      ("{ node { id(short: true) } }", #""id":"1""#),
      ("{ node: item { ... on Issue { n } ... on Note { text } } }", #""n":1"#),
    ])
  func mergedKey(document: String, shown: String) async throws {
    let facts = try facts(
      """
      interface Node { id(short: Boolean): ID! name: String }
      type Issue implements Node { id(short: Boolean): ID! name: String n: Int }
      type Note { id: Int text: String }
      union Item = Issue | Note
      type Query { node: Node item: Item }
      """)
    let operation = try prepare(document, facts: facts)
    let schema = try #require(facts.schema)
    let sent = try Document(parsing: operation.document)
    #expect(sent.validate(against: schema) == [], "\(operation.document)")
    let cache = CacheUnderTest(store: MemoryStore())
    let ids = #""gqlrun_Node_id":"1","gqlrun_Issue_id":"1""#
    try await cache.write(
      #"{"data":{"node":{"__typename":"Issue",\#(ids),\#(shown)}}}"#, operation)
    #expect(try await cache.dump().contains(#"{"key":"Issue:1","#))
    #expect(try await cache.read(operation) == #"{"node":{\#(shown)}}"#)
  }

  @Test("without a schema, the key field of a fragment does not conflict with one around it")
  func mergedKeyWithoutSchema() throws {
    let operation = try prepare(
      "{ node { id: name ... on Issue { n } } }", keys: KeyRules(types: ["Issue": ["id"]]))
    #expect(operation.document.contains("gqlrun_Issue_id: id"), "\(operation.document)")
  }

  @Test("a field with arguments is not a key field", arguments: Way.allCases)
  func keyFieldWithArguments(way: Way) async throws {
    try await way.withCache { cache in
      let written = try await cache.write(
        #"{"data":{"viewer":{"__typename":"User","id":"1"}}}"#, "{ viewer { id(format: SHORT) } }")
      try await cache.expectDump(
        #"{"key":"QUERY_ROOT","fields":{"viewer":{"__typename":"User","id({\"format\":\"SHORT\"})":"1"}}}"#
      )
      #expect(
        written.response.diagnostics == [CacheDiagnostic(typename: "User", keyField: "id")])
    }
  }

  @Test("types of one group share identities", arguments: Way.allCases)
  func groups(way: Way) async throws {
    try await way.withCache { cache in
      let keys = KeyRules(groups: ["User": "Actor", "Bot": "Actor"])
      try await cache.write(
        #"{"data":{"a":{"__typename":"User","id":"1","name":"Ada"},"b":{"__typename":"Bot","id":"1","url":"x"},"c":{"__typename":"Org","id":"1"}}}"#,
        "{ a { id name } b { id url } c { id } }", keys: keys)
      try await cache.expectDump(
        #"{"key":"Actor:1","fields":{"__typename":"Bot","id":"1","name":"Ada","url":"x"}}"#,
        #"{"key":"Org:1","fields":{"__typename":"Org","id":"1"}}"#,
        #"{"key":"QUERY_ROOT","fields":{"a":{"$ref":"Actor:1"},"b":{"$ref":"Actor:1"},"c":{"$ref":"Org:1"}}}"#
      )
    }
  }

  @Test("a type with an empty rule has no identity, and no diagnostic", arguments: Way.allCases)
  func emptyRule(way: Way) async throws {
    try await way.withCache { cache in
      let written = try await cache.write(
        #"{"data":{"viewer":{"__typename":"User","id":"1","name":"Ada"}}}"#, Self.viewer,
        keys: KeyRules(types: ["User": []]))
      try await cache.expectDump(
        #"{"key":"QUERY_ROOT","fields":{"viewer":{"__typename":"User","id":"1","name":"Ada"}}}"#)
      #expect(written.response.diagnostics == [])
    }
  }

  @Test(
    "an interface's key rule applies to its types, under their own names", arguments: Way.allCases)
  func interfaceRule(way: Way) async throws {
    let facts = try facts(
      """
      type Query { node: Coded pet: Pet country: Country }
      interface Coded { code: ID! }
      type Country implements Coded { code: ID! name: String }
      type City implements Coded { code: ID! id: ID! name: String }
      type Dog { id: ID! } type Cat implements Coded { code: ID! }
      union Pet = Dog | Cat
      """)
    let keys = KeyRules(types: ["Coded": ["code"], "City": ["id"]])
    try await way.withCache { cache in
      let operation = try prepare(
        "{ node { ... on City { name } ... on Country { name } } pet { ... on Cat { code } } country { name } }",
        keys: keys, facts: facts)
      let written = try await cache.write(
        #"""
        {"data":{"node":{"__typename":"City","id":"5","code":"B","name":"Berlin"},
         "pet":{"__typename":"Cat","code":"C"},"country":{"__typename":"Country","code":"DE","name":"Germany"}}}
        """#, operation)
      try await cache.expectDump(
        #"{"key":"Cat:C","fields":{"__typename":"Cat","code":"C"}}"#,
        #"{"key":"City:5","fields":{"__typename":"City","code":"B","id":"5","name":"Berlin"}}"#,
        #"{"key":"Country:DE","fields":{"__typename":"Country","code":"DE","name":"Germany"}}"#,
        #"{"key":"QUERY_ROOT","fields":{"country":{"$ref":"Country:DE"},"node":{"$ref":"City:5"},"pet":{"$ref":"Cat:C"}}}"#
      )
      #expect(written.response.diagnostics == [])
      #expect(
        operation.document.filter { !$0.isWhitespace }
          == "{node{__typenamecode...onCity{idname}...onCountry{codename}}pet{__typename...onCat{code}}country{__typenamecodename}}"
      )
    }
  }
}

func permute<T>(_ values: [T]) -> [[T]] {
  guard values.count > 1 else { return [values] }
  return values.indices.flatMap { index in
    var rest = values
    let first = rest.remove(at: index)
    return permute(rest).map { [first] + $0 }
  }
}
