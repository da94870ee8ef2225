import GQLRunLanguage
import Testing

/// Schemas with harmless errors are accepted with warnings.
@Suite struct ToleratedSchemaTests {
  private static let unusable = """
    type Query {
      a(x: Int! = "no", y: In = {n: null}, z: [Int!]! = [1, null]): Int
      b(i: In!, j: In2 = {s: B}): Int
      c(e: E = NOPE, o: One = {a: 1, b: "x"}): T
    }
    input In { n: Int! = "no" m: In2 = {} k: Boolean! = true }
    input In2 { r: String! = "r" s: E! = 3 }
    enum E { A B }
    input One @oneOf { a: Int b: String }
    type T { f: Int g(i: Float = 1, j: Float! = "1"): [T!] }
    directive @d(w: Int! = "x", v: E = A) on FIELD | QUERY
    """

  // By graphql-core 3.2.8.
  @Test func `an invalid default value is removed`() throws {
    let schema = try schema(Self.unusable)
    #expect(
      schema.printed() == """
        directive @d(w: Int!, v: E = A) on FIELD | QUERY

        type Query {
          a(x: Int!, y: In, z: [Int!]!): Int
          b(i: In!, j: In2 = {r: "r", s: B}): Int
          c(e: E, o: One): T
        }

        input In {
          n: Int!
          m: In2
          k: Boolean! = true
        }

        input In2 {
          r: String! = "r"
          s: E!
        }

        enum E {
          A
          B
        }

        input One @oneOf {
          a: Int
          b: String
        }

        type T {
          f: Int
          g(i: Float = 1, j: Float!): [T!]
        }
        """)
    let warnings = schema.warnings.map(\.description)
    #expect(warnings.count == 10)
    #expect(
      warnings.first
        == "11:24: The default value of @d(w:) is not a value of its type Int!, and is ignored: "
        + "\"x\"")
  }

  // By graphql-core 3.2.8.
  @Test func `an argument with an invalid default value is required`() throws {
    let schema = try schema(Self.unusable)
    let document = try Document(
      parsing: """
        query V($v: Int) @d { a a2: a(x: $v, z: 1) b(i: {}) c { f @d g { f } } }
        """)
    #expect(
      document.validate(against: schema).map {
        "\($0.locations[0].line):\($0.locations[0].column) \($0.message)"
      } == [
        "1:18 Directive '@d' argument 'w' of type 'Int!' is required, but it was not provided.",
        "1:23 Field 'a' argument 'x' of type 'Int!' is required, but it was not provided.",
        "1:23 Field 'a' argument 'z' of type '[Int!]!' is required, but it was not provided.",
        "1:49 Field 'In.n' of required type 'Int!' was not provided.",
        "1:59 Directive '@d' argument 'w' of type 'Int!' is required, but it was not provided.",
        "1:62 Field 'g' argument 'j' of type 'Float!' is required, but it was not provided.",
        "1:9 Variable '$v' of type 'Int' used in position expecting type 'Int!'.",
      ])
  }

  // By graphql-core 3.2.8.
  @Test(
    arguments: [
      "interface I { f: Int } type Query implements I { f(x: Int! = \"bad\"): Int }": [
        "Object field Query.f includes required argument x that is missing from the Interface "
          + "field I.f."
      ],
      "type Query { g(x: Int! = \"bad\" @deprecated): Int }": [
        "Required argument Query.g(x:) cannot be deprecated."
      ],
      "type Query { g(x: K): Int } input K @oneOf { a: String = 5 }": [],
      "type Query { g(x: K): Int } input K @oneOf { a: String = \"5\" }": [
        "OneOf input field K.a cannot have a default value."
      ],
      "schema { query: Q mutation: Q subscription: Q } type Q { a: Int }": [],
      "type Query { a: Int @deprecated(reason: null) }": [],
    ] as [String: [String]])
  func `types are validated without invalid default values`(source: String, expected: [String])
    throws
  {
    #expect(try Schema(unchecked: Document(parsing: source)).validate().map(\.message) == expected)
  }

  @Test func `root types may be the same, with a warning`() throws {
    let two = try schema("schema { query: Q mutation: Q } type Q { a: Int }")
    #expect(
      two.warnings.map(\.description) == [
        "1:17: All root types must be different, 'Q' type is used as query and mutation root "
          + "types."
      ])
    #expect(two.rootType(for: .mutation)?.name == "Q")
    let three = try schema(
      "schema { query: Q mutation: Q subscription: Q } type Q { a: Int }")
    #expect(
      three.warnings.map(\.message) == [
        "All root types must be different, 'Q' type is used as query, mutation, and subscription "
          + "root types."
      ])
    #expect(try Schema(introspection: two.introspection).printed() == two.printed())
  }

  @Test func `a reason that is null deprecates nothing`() throws {
    #expect(
      try schema("type Query { a: Int @deprecated(reason: null) b: Int @deprecated }").printed()
        == "type Query {\n  a: Int\n  b: Int @deprecated\n}")
  }

  // MARK: - Introspection results

  @Test func `a directive that is repeated or has no locations is a warning`()
    throws
  {
    let schema = try result(
      directives: """
        {"name": "one", "locations": ["FIELD"], "args": []},
        {"name": "one", "locations": ["QUERY"], "args": []},
        {"name": "include", "locations": ["FIELD"], "args": []},
        {"name": "include", "locations": ["FIELD"], "args": []},
        {"name": "oneOf", "locations": [], "args": []},
        {"name": "none", "locations": [], "args": []}
        """)
    #expect(schema.printed() == "directive @one on FIELD\n\ntype Query {\n  a: Query\n}")
    #expect(
      schema.warnings.map(\.description) == [
        "The directive @one is defined twice; the first definition is used.",
        "The directive @include is defined twice; the first definition is used.",
        "The directive @oneOf has no locations, and is ignored.",
        "The directive @none has no locations, and is ignored.",
      ])
    #expect(schema.directive(named: "oneOf")?.locations == [.inputObject])
  }

  @Test func `an introspection value of the wrong kind is an error`() throws {
    func problem(_ interfaces: String, _ argument: String) throws -> String? {
      let error = #expect(throws: SchemaError.self) {
        try result(directives: "", interfaces: interfaces, argument: argument)
      }
      return error?.description
    }
    #expect(
      try problem("[{\"kind\": \"LIST\", \"name\": \"I\", \"ofType\": null}]", "")
        == "The \"interfaces\" of Query must be named types, but one has the kind LIST.")
    #expect(
      try problem(
        "[]", "{\"name\": \"b\", \"type\": {\"name\": \"String\"}, \"defaultValue\": 3}")
        == "The default value of Query.a(b:) is not a string; expected a string that contains a "
        + "GraphQL value.")
    let error = #expect(throws: SchemaError.self) {
      try result(directives: "", member: "\"directives\": {}")
    }
    #expect(error?.description.contains("\"directives\" of the schema") == true)
  }

  // MARK: -

  @discardableResult
  private func result(
    directives: String, interfaces: String = "[]", argument: String = "", member: String? = nil
  ) throws -> Schema {
    try introspectedSchema(
      """
      {"__schema": {"queryType": {"name": "Query"}, "types": [
        {"kind": "OBJECT", "name": "Query", "interfaces": \(interfaces), "fields": [
          {"name": "a", "args": [\(argument)], "type": {"kind": "OBJECT", "name": "Query"}}]},
        {"kind": "SCALAR", "name": "String"}],
       \(member ?? "\"directives\": [\(directives)]")}}
      """)
  }
}
