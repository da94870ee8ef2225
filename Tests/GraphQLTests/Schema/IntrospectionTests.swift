import GQLRunLanguage
import Testing

@Suite struct IntrospectionTests {
  static let zoo = """
    \"\"\"
    All about animals.
    Really all.
    \"\"\"
    schema {
      query: Zoo
      mutation: Mutation
    }

    "Marks things"
    directive @mark(
      "How"
      how: [String!]! = ["well"]

      level: Int = 1 @deprecated
    ) repeatable on FIELD | OBJECT

    type Zoo {
      animals(first: Int = 10, near: Point = {x: 1.5, y: -2, tags: [A, B]}): [Animal!]!

      \"\"\"Just one\"\"\"
      animal(
        "Its id"
        id: ID!
      ): Animal @deprecated(reason: "use \\"animals\\"")
      any: CatOrDog
    }

    type Mutation {
      add(name: One): Cat
    }

    interface Node {
      id: ID!
    }

    interface Animal implements Node {
      id: ID!
      born: Date
    }

    type Cat implements Animal & Node {
      id: ID!
      born: Date
    }

    type Dog implements Animal & Node {
      id: ID!
      born: Date
    }

    union CatOrDog = Cat | Dog

    enum Tag {
      A

      \"\"\"the second\"\"\"
      B @deprecated
    }

    input Point {
      x: Float!
      y: Float = 0
      tags: [Tag!]
    }

    input One @oneOf {
      a: String
      b: Int
    }

    scalar Date @specifiedBy(url: "https://example.com/date")
    """

  // MARK: - The query

  @Test(
    arguments: [
      (IntrospectionQuery(), 0xa3b6_2549_d096_52ed),
      (IntrospectionQuery(descriptions: false), 0x52b4_0dbd_d8e8_c8b5),
      (IntrospectionQuery.complete, 0xd204_5af8_3477_c746),
    ] as [(IntrospectionQuery, UInt64)])
  func `the query is that of the reference implementation, and valid`(
    query: IntrospectionQuery, fingerprint: UInt64
  ) throws {
    let document = try Document(parsing: query.text)
    #expect(document.printed().fingerprint == fingerprint)
    #expect(document.validate(against: try schema("type Query { a: Int }")).isEmpty)
    #expect(document.operations.first?.name?.value == IntrospectionQuery.operationName)
    #expect(!query.text.contains("\n\n\n"))
  }

  // MARK: - Printing

  @Test func `a schema prints as the reference implementation prints it`() throws {
    let printed = try schema(Self.zoo).printed()
    #expect(
      printed
        == Self.zoo
        .replacing("\"Marks things\"", with: "\"\"\"Marks things\"\"\"")
        .replacing("  \"How\"", with: "  \"\"\"How\"\"\"")
        .replacing("    \"Its id\"", with: "    \"\"\"Its id\"\"\"")
        .replacing("\n\n  level: Int", with: "\n  level: Int"))
    #expect(try schema(printed).printed() == printed)
  }

  @Test(
    arguments: [
      "type Query { a(b: [Int!] = 1): Int }": "type Query {\n  a(b: [Int!] = [1]): Int\n}",
      "type Query { a(b: I = {c: {}}): Int } input I { d: Int = 2 c: I }":
        "type Query {\n  a(b: I = {d: 2, c: {d: 2}}): Int\n}\n\ninput I {\n  d: Int = 2\n  c: I\n}",
      // A default value that its type does not allow is none.
      "type Query { a(b: I = {c: 1}): Int } input I { c: Int d: String = X }":
        "type Query {\n  a(b: I = {c: 1}): Int\n}\n\ninput I {\n  c: Int\n  d: String\n}",
      "type Query { a(b: I = {c: 1}): Int } input I { c: Int d: String! = X }":
        "type Query {\n  a(b: I): Int\n}\n\ninput I {\n  c: Int\n  d: String!\n}",
      "type Query { a(b: ID = \"12\"): Int }": "type Query {\n  a(b: ID = 12): Int\n}",
      "type Query { a(b: ID = \"012\"): Int }": "type Query {\n  a(b: ID = \"012\"): Int\n}",
      "type Query { a(b: Float = 1.0): Int }": "type Query {\n  a(b: Float = 1): Int\n}",
      "type Query { a(b: Float = 1e9): Int }": "type Query {\n  a(b: Float = 1e+09): Int\n}",
      "type Query { a(b: Float = 0.0001): Int }": "type Query {\n  a(b: Float = 0.0001): Int\n}",
      "type Query { a(b: Float = -0.00001): Int }": "type Query {\n  a(b: Float = -1e-05): Int\n}",
      "type Query { a(b: Float = 3.14159265358979): Int }":
        "type Query {\n  a(b: Float = 3.14159265358979): Int\n}",
      "schema { query: Query } type Query { a: Int }": "type Query {\n  a: Int\n}",
      "\"\" type Query { a: Int }": "\"\"\"\"\"\"\ntype Query {\n  a: Int\n}",
      "\" x\\ny\\r\" type Query { a: Int }": "\" x\\ny\\r\"\ntype Query {\n  a: Int\n}",
    ] as [String: String])
  func `defaults and descriptions are printed as by servers`(
    source: String, expected: String
  ) throws {
    #expect(try schema(source).printed() == expected)
  }

  @Test func `defaults that double at every level are printed unchanged`() throws {
    let inputs = (0..<60).map { "input I\($0) { a: I\($0 + 1) = {} b: I\($0 + 1) = {} }" }
    let source =
      "type Query { a(b: I0 = {}): Int } input I60 { c: Int } " + inputs.joined(separator: " ")
    #expect(try schema(source).printed().hasPrefix("type Query {\n  a(b: I0 = {}): Int\n}"))
  }

  @Test(Shared.whenPresent) func `the schema of GitHub is equal after printing and parsing`() throws
  {
    let schema = try Schema(sdl: try Document(parsingUTF8: try Shared.real("github.graphql")))
    let printed = schema.printed()
    // By graphql-core, given the schema without the second of each repeated field.
    #expect(printed.utf8.count == 1_155_410)
    #expect(printed.fingerprint == 1_699_803_488_456_243_372)
    #expect(try GraphQLTests.schema(printed).printed() == printed)
    #expect(try Schema(introspection: schema.introspection).printed() == printed)
    #expect(try GraphQLTests.schema(printed).changes(from: schema).isEmpty)
  }

  // MARK: - Results

  @Test func `a schema survives introspection`() throws {
    let schema = try schema(Self.zoo)
    let data = schema.introspection
    let copy = try Schema(introspection: data)
    #expect(copy.printed() == schema.printed())
    #expect(copy.introspection == data)
    #expect(copy.rootType(for: .query)?.name == "Zoo")
    #expect(copy.isSubtype("Cat", of: "Node"))
    let response = IntrospectionValue.object(["data": data, "errors": .null])
    #expect(try Schema(introspection: response).printed() == schema.printed())
  }

  @Test func `a result of the smallest query is a schema`() throws {
    let json = """
      {"__schema": {"queryType": {"name": "Query"}, "types": [
        {"kind": "OBJECT", "name": "Query", "interfaces": [], "fields": [
          {"name": "a", "args": [{"name": "b", "type": {"kind": "SCALAR", "name": "Int"}}],
           "type": {"kind": "NON_NULL", "ofType": {"kind": "LIST", "ofType":
             {"kind": "ENUM", "name": "E"}}}, "isDeprecated": true}]},
        {"kind": "SCALAR", "name": "Int"}, {"kind": "OBJECT", "name": "__Schema", "fields": null},
        {"kind": "ENUM", "name": "E", "enumValues": [{"name": "X"}]}]}}
      """
    #expect(
      try introspectedSchema(json).printed()
        == "type Query {\n  a(b: Int): [E]! @deprecated\n}\n\nenum E {\n  X\n}")
  }

  @Test func `a server's definitions of standard directives and repeated definitions are harmless`()
    throws
  {
    let json = """
      {"__schema": {"queryType": {"name": "Query"}, "types": [
        {"kind": "OBJECT", "name": "Query", "interfaces": []},
        {"kind": "OBJECT", "name": "Query", "interfaces": [], "fields": [
          {"name": "a"},
          {"name": "a", "isDeprecated": true, "deprecationReason": "old", "args": [
            {"name": "b", "isDeprecated": true, "type": {"kind": "SCALAR", "name": "String"}}],
           "type": {"kind": "OBJECT", "name": "Query"}}]},
        {"kind": "SCALAR", "name": "String"}],
       "directives": [{"name": "deprecated", "locations": ["ENUM_VALUE"], "args": []}]}}
      """
    #expect(
      try introspectedSchema(json).printed()
        == "type Query {\n  a(b: String @deprecated): Query @deprecated(reason: \"old\")\n}")
  }

  @Test func `unknown directive locations are ignored with a warning`() throws {
    let json = """
      {"__schema": {"queryType": {"name": "Query"}, "types": [
        {"kind": "OBJECT", "name": "Query", "interfaces": [], "fields": [
          {"name": "a", "args": [], "type": {"kind": "OBJECT", "name": "Query"}}]},
        {"kind": "SCALAR", "name": "String"}],
       "directives": [
        {"name": "deprecated", "locations": ["ENUM_VALUE", "DIRECTIVE_DEFINITION"], "args": [
          {"name": "reason", "type": {"kind": "SCALAR", "name": "String"}}]},
        {"name": "some", "locations": ["FIELD", "MOON"], "args": []},
        {"name": "none", "locations": ["MOON"], "args": []}]}}
      """
    let schema = try introspectedSchema(json)
    #expect(schema.printed() == "directive @some on FIELD\n\ntype Query {\n  a: Query\n}")
    #expect(
      schema.warnings.map(\.description) == [
        "The directive @some has unknown locations, which are ignored: MOON",
        "The directive @none has unknown locations, which are ignored: MOON",
      ])
  }

  @Test(
    arguments: [
      "{}": #"has no "__schema""#,
      #"{"errors": [], "data": null}"#: #"has no "__schema""#,
      #"{"__schema": {"types": [{"kind": "SCALAR", "name": "A\nB"}]}}"#:
        #"is not a GraphQL name: "A\nB""#,
      #"{"__schema": {"types": [{"kind": "ENUM", "name": "A", "enumValues": [{"name": "true"}]}]}}"#:
        "The name 'true' is reserved and cannot be used for a value of A.",
      #"{"__schema": {"types": [{"kind": "ODD", "name": "A"}]}}"#:
        #"The type A has the unknown kind "ODD"."#,
      #"{"__schema": {"types": [{"kind": "OBJECT", "name": "A", "fields": "#
        + #"[{"name": "b", "args": [], "type": {"kind": "LIST", "ofType": null}}]}]}}"#:
        "The type of A.b has more list and non-null wrappers than the query selected.",
      #"{"__schema": {"types": [{"kind": "INPUT_OBJECT", "name": "A", "inputFields": "#
        + #"[{"name": "b", "defaultValue": "{", "type": {"name": "Int"}}]}]}}"#:
        "The default value of A.b is not a GraphQL value",
      #"{"__schema": {"types": [{"kind": "OBJECT", "name": "A", "interfaces": [], "fields": "#
        + #"[{"name": "b", "args": [], "type": {"name": "Nope"}}]}]}}"#:
        "Unknown type 'Nope'.",
      #"{"__schema": {"types": [{"kind": "OBJECT", "name": "A", "interfaces": [], "fields": "#
        + #"[{"name": "b", "args": [], "type": {"name": "Float"}}]}]}}"#:
        "The result refers to the type Float, but does not define it.",
      #"{"__schema": {"types": [{"kind": "OBJECT", "name": "A", "fields": "#
        + #"[{"name": "b", "type": {"name": "A"}}]}]}}"#:
        #"has no "interfaces" of A; a full introspection query selects them."#,
      #"{"__schema": {"types": [{"kind": "OBJECT", "name": "A", "interfaces": [], "fields": "#
        + #"[{"name": "b", "type": {"name": "A"}}]}]}}"#: #"has no "args" of A.b"#,
      #"{"__schema": {"types": [], "directives": [{"name": "d", "args": []}]}}"#:
        #"has no "locations" of @d"#,
      #"{"__schema": {"types": [{"kind": "UNION", "name": "A"}]}}"#:
        #"has no "possibleTypes" of A"#,
    ] as [String: String])
  func `an invalid introspection result is an error with its cause`(json: String, expected: String)
    throws
  {
    let error = #expect(throws: SchemaError.self) { try introspectedSchema(json) }
    #expect(error?.description.contains(expected) == true, "\(error?.description ?? "")")
  }
}
