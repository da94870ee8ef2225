import GQLRunLanguage
import Testing

@testable import GQLRunCache

/// Selection sets without selections, of GraphQL September 2026.
@Suite("Empty selection sets")
struct EmptySelectionSetTests {
  private static let schema = """
    type Query { hero: Hero list: [Hero] any: Any n: Int }
    type Hero { id: ID! name: String friend: Hero place: Place }
    type Place { city: String }
    union Any = Hero | Place
    """
  private static let full =
    #"{"data":{"hero":{"__typename":"Hero","id":"1","name":"R2","place":{"__typename":"Place","city":"Oslo"}}}}"#

  @Test("an existing object is a hit", arguments: StoreKind.allCases)
  func existing(kind: StoreKind) async throws {
    try await kind.withCache { cache, _ in
      let facts = try facts(Self.schema)
      #expect(try await cache.read("{ hero { } }", facts: facts) == "miss at hero")
      try await cache.write(Self.full, "{ hero { id name place { city } } }", facts: facts)
      for (document, expected) in [
        ("{ hero { } }", #"{"hero":{}}"#),
        ("{ hero { place { } } }", #"{"hero":{"place":{}}}"#),
        ("{ hero { } hero { name } }", #"{"hero":{"name":"R2"}}"#),
        ("{ hero { place { } } hero { place { city } } }", #"{"hero":{"place":{"city":"Oslo"}}}"#),
        ("{ hero { ...F } } fragment F on Hero { }", #"{"hero":{}}"#),
        ("{ hero { ... on Hero { } name } }", #"{"hero":{"name":"R2"}}"#),
        ("{ a: hero { } b: hero { id } }", #"{"a":{},"b":{"id":"1"}}"#),
        ("{ }", "{}"), ("{ ... { } }", "{}"),
        ("{ hero { friend { } } }", "miss at hero.friend"),
      ] {
        #expect(try await cache.read(document, facts: facts) == expected, "\(document)")
      }
    }
  }

  @Test(
    "a response with empty objects is stored, and keeps what is stored",
    arguments: StoreKind.allCases)
  func written(kind: StoreKind) async throws {
    try await kind.withCache { cache, _ in
      let facts = try facts(Self.schema)
      try await cache.write(Self.full, "{ hero { id name place { city } } }", facts: facts)
      let written = try await cache.write(
        #"{"data":{"hero":{"__typename":"Hero","id":"1","place":{"__typename":"Place"}},"list":[{"__typename":"Hero","id":"2"},null]}}"#,
        "{ hero { place { } } list { } }", facts: facts)
      #expect(written.data == #"{"hero":{"place":{}},"list":[{},null]}"#)
      #expect(try await cache.read("{ list { } }", facts: facts) == #"{"list":[{},null]}"#)
      #expect(
        try await cache.read("{ hero { name place { city } } }", facts: facts)
          == #"{"hero":{"name":"R2","place":{"city":"Oslo"}}}"#)
      #expect(try await cache.read("{ list { name } }", facts: facts) == "miss at list[0].name")
    }
  }

  @Test("an object without identity is not null", arguments: StoreKind.allCases)
  func withoutIdentity(kind: StoreKind) async throws {
    try await kind.withCache { cache, _ in
      try await cache.write(#"{"data":{"v":{"__typename":"V"},"w":null}}"#, "{ v { } w { } }")
      #expect(try await cache.read("{ v { } w { } }") == #"{"v":{},"w":null}"#)
      #expect(try await cache.read("{ v { a } }") == "miss at v.a")
      try await cache.write(#"{"data":{"u":{"__typename":"V","a":1}}}"#, "{ u { } u { a } }")
      #expect(try await cache.read("{ u { } u { a } }") == #"{"u":{"a":1}}"#)
      #expect(try await cache.write(#"{"data":{}}"#, "{ }").data == "{}")
    }
  }

  @Test("an empty deferred fragment has nothing to deliver")
  func deferred() async throws {
    let cache = CacheUnderTest(store: MemoryStore(collectsChanges: true))
    let document = "{ hero { id ... @defer { } ... on Hero @defer(label: \"x\") { } } }"
    let written = try await cache.write(
      #"{"data":{"hero":{"__typename":"Hero","id":"1"}}}"#, document)
    #expect(written.data == #"{"hero":{"id":"1"}}"#)
    #expect(try await cache.read(document) == #"{"hero":{"id":"1"}}"#)
  }

  @Test("the caller's document keeps them; objects are sent with the name of their type")
  func documents() throws {
    let operation = try prepare("{ hero { } ... { } }")
    #expect(operation.callerDocument == "{\n  hero { }\n  ... { }\n}")
    #expect(operation.document == "{\n  hero {\n    __typename\n  }\n  ... { }\n}")
    let others = try ["{ hero { } }", "{ hero { __typename } }", "{ hero }"].map {
      try prepare($0).callerDocument
    }
    #expect(Set(others).count == 3)
  }

  // MARK: - Servers of older editions

  @Test(
    "the error of an older server has the location and what to write instead",
    arguments: [
      ("query Q { }", "Syntax Error: Expected Name, found \"}\".", [(1, 11)], "1:9"),
      ("{ hero {\n id ... on Hero { } } }", "unexpected }", [(5, 17)], "2:17"),
      ("{ hero {\n id ... on Hero { } } }", "unexpected }", [(5, 19)], "2:17"),
      ("{ ... { } }", "syntax error before: '}'", [], "1:7"),
      ("{ ... { } }", "A selection must not be empty", [], "1:7"),
    ])
  func refused(
    document: String, message: String, locations: [(Int, Int)], expected: String
  ) throws {
    let hint = try prepare(document).emptySelectionSetHint(
      message: message, locations: locations.map { (line: $0.0, column: $0.1) })
    #expect(
      hint
        == "the server is older than GraphQL September 2026, which allows the empty selection set at "
        + "\(expected); write `{ __typename }`, which all servers accept, or leave out the fragment with it"
    )
  }

  @Test(
    "other errors have no such hint",
    arguments: [
      ("{ hero { } }", "Syntax Error: Expected Name, found }.", [(2, 3)]),
      ("query Q { ... { } x }", "Cannot query field \"x\" on type \"Query\".", [(3, 3)]),
      ("query Q { ... { } }", "not allowed", []),
    ])
  func others(document: String, message: String, locations: [(Int, Int)]) throws {
    let operation = try prepare(document)
    #expect(
      operation.emptySelectionSetHint(
        message: message, locations: locations.map { (line: $0.0, column: $0.1) }) == nil)
  }

  @Test("an operation is refused before it is sent if introspection shows that the server is older")
  func older() throws {
    func facts(_ directive: String) throws -> TypeFacts {
      func type(_ name: String, _ fields: [String]) -> IntrospectionValue {
        .object([
          "kind": .string("OBJECT"), "name": .string(name), "interfaces": .list([]),
          "fields": .list(
            fields.map { field in
              .object([
                "name": .string(field), "args": .list([]),
                "type": .object(["kind": .string("OBJECT"), "name": .string("Query")]),
              ])
            }),
        ])
      }
      let types = [
        type("Query", ["a"]), type("__Type", ["isOneOf"]), type("__Directive", [directive]),
      ]
      return TypeFacts(
        try Schema(
          introspection: .object([
            "__schema": .object([
              "queryType": .object(["name": .string("Query")]), "types": .list(types),
            ])
          ])))
    }
    let error = #expect(throws: CacheError.self) {
      try prepare("{ a { ... { } } }", facts: facts("name"))
    }
    #expect(error?.code == .invalidOperation)
    #expect(error?.location == SourceLocation(line: 1, column: 11, offset: 10))
    #expect(
      error?.message
        == "the server is of GraphQL September 2025, as its introspection shows, and an empty selection set "
        + "needs GraphQL September 2026; write `{ __typename }`, which all servers accept, or leave out the "
        + "fragment with it")
    #expect(throws: Never.self) { try prepare("{ a { } }", facts: facts("name")) }
    #expect(throws: Never.self) { try prepare("{ a { ... { } } }", facts: facts("isDeprecated")) }
    #expect(throws: Never.self) {
      try prepare("{ a { ... { } } }", facts: CacheTests.facts(Self.schema))
    }
  }
}
