import Testing

@testable import GQLRunLanguage

/// What is forbidden in the types of a schema taken together; messages and places are those that
/// graphql-core 3.2 gives, those about inputs without a finite value, of graphql-js 17.
struct SchemaValidationTests {
  private func issues(_ source: String) throws -> [String] {
    let schema = try Schema(unchecked: Document(parsing: source))
    return schema.validate().map { issue in
      "\(issue.locations.map { "\($0.line):\($0.column)" }.joined(separator: " ")) \(issue.message)"
    }
  }

  @Test(
    arguments: [
      "interface I { a: Int b(x: Int): [I!] } type Query implements I { a: Int! }": [
        "1:22 1:40 Interface field I.b expected but Query does not provide it."
      ],
      "interface I { a: I } type Query implements I { a: Query } extend type Query { b: I }": [],
      "interface I { a: Int } type Query implements I { a: String }": [
        "1:18 1:53 Interface field I.a expects type Int but Query.a is type String."
      ],
      "interface I { a(x: Int y: Int): Int } type Query implements I { a(x: Int! z: Int!): Int }": [
        "1:20 1:70 Interface field argument I.a(x:) expects type Int but Query.a(x:) is type Int!.",
        "1:24 1:65 Interface field argument I.a(y:) expected but Query.a does not provide it.",
        "1:75 1:15 Object field Query.a includes required argument z that is missing from the "
          + "Interface field I.a.",
      ],
      "interface I { a: Int } interface J implements I { a: Int } type Query implements J { a: Int }":
        ["1:47 1:82 Type Query must implement I because it is implemented by J."],
      "interface I implements J { a: Int } interface J implements I { a: Int } type Query { a: I }":
        [
          "1:24 1:60 Type J cannot implement I because it would create a circular reference.",
          "1:60 1:24 Type I cannot implement J because it would create a circular reference.",
        ],
      "interface I implements I { a: Int } type Query { a: I }": [
        "1:24 Type I cannot implement itself because it would create a circular reference."
      ],
      "interface I { a: Int } type Query implements I & I { a: Int }": [
        "1:46 1:50 Type Query can only implement I once."
      ],
    ] as [String: [String]])
  func `implementations of an interface have its fields and arguments`(
    source: String, expected: [String]
  ) throws {
    #expect(try issues(source) == expected)
  }

  @Test(
    arguments: [
      "type Query": "1:1 Type Query must define one or more fields.",
      "type Query { a: U } union U": "1:21 Union type U must define one or more member types.",
      "type Query { a: E } enum E": "1:21 Enum type E must define one or more values.",
      "type Query { a(i: I): Int } input I @x extend input I @x directive @x repeatable on INPUT_OBJECT":
        "1:29 1:40 Input Object type I must define one or more fields.",
      "type Query { __a: Int }":
        "1:14 Name '__a' must not begin with '__', which is reserved by GraphQL introspection.",
      "type Query { a: Int } directive @__b on FIELD":
        "1:23 Name '__b' must not begin with '__', which is reserved by GraphQL introspection.",
      "type Query { a(i: I): Int } input I { a: Int! @deprecated }":
        "1:47 1:42 Required input field I.a cannot be deprecated.",
      "type Query { a(i: Int! @deprecated): Int }":
        "1:24 1:19 Required argument Query.a(i:) cannot be deprecated.",
      "type Query { a: Int } directive @b(i: Int! @deprecated) on FIELD":
        "1:44 1:39 Required argument @b(i:) cannot be deprecated.",
      "type Query { a(i: I): Int } input I @oneOf { a: Int! }":
        "1:49 OneOf input field I.a must be nullable.",
      "type Query { a(i: I): Int } input I @oneOf { a: Int = 1 b: Int }":
        "1:46 OneOf input field I.a cannot have a default value.",
      "type Query { a(i: I): Int } input I { a: I! }":
        "1:39 Input Object I cannot be provided a finite value because it references itself through "
        + "fields: I.a.",
      "type Query { a(i: I): Int } input I { a: J! } input J { x: [I!]! b: K! } input K { c: I! }":
        "1:39 1:66 1:84 Input Object I cannot be provided a finite value because it references itself "
        + "through fields: I.a, J.b, K.c.",
      "union Query = A type A { a: Int }":
        "1:1 Query root type must be Object type, it cannot be Query.",
      "schema { mutation: A } type A { a: Int }": "1:1 Query root type must be provided.",
    ] as [String: String])
  func `types, names, inputs and roots follow the specification`(
    source: String, expected: String
  ) throws {
    #expect(try issues(source) == [expected])
  }

  @Test(arguments: [
    ("!", "I0!", "Input Object I0 cannot be provided a finite value"),
    (
      " = {}", "I19999 = {}",
      "field I19999.n references itself via the default values of: I20000.n."
    ),
  ])
  func `chains as long as a schema are traversed without recursion`(
    end: String, last: String, message: String
  ) throws {
    var source = "type Query { a(i: I0): Int }"
    for index in 0..<20_000 { source += " input I\(index) { n: I\(index + 1)\(end) }" }
    #expect(try issues(source + " input I20000 { n: Int }").isEmpty)
    let cycle = try issues(source + " input I20000 { n: \(last) }")
    #expect(cycle.count == 1)
    #expect(cycle[0].contains(message))
  }

  /// What graphql-core 3.3, of the newer specification, says of them.
  @Test(
    arguments: [
      "type Query { a(b: I = {}): Int } input I { c: I = {} }": [
        "1:51 Invalid circular reference. The default value of Input Object field I.c references "
          + "itself."
      ],
      "type Query { a(b: A = {}): Int } input A { b: B = {} } input B { a: A = {} x: Int}": [
        "1:51 1:73 Invalid circular reference. The default value of Input Object field A.b references "
          + "itself via the default values of: B.a."
      ],
      "type Query { a(b: A = {}): Int } input A { b: B = {} l: [A] = [{b: null, l: null}, {}] } "
        + "input B { a: A = {b: null} x: Int}": [
          "1:51 1:107 1:63 Invalid circular reference. The default value of Input Object field A.b "
            + "references itself via the default values of: B.a, A.l.",
          "1:63 Invalid circular reference. The default value of Input Object field A.l references "
            + "itself.",
        ],
      "type Query { a(b: A): Int } input A { x: A = {x: null} y: [A!] = [] z: A }": [],
    ] as [String: [String]])
  func `default values do not contain themselves`(source: String, expected: [String]) throws {
    #expect(try issues(source) == expected)
  }

  @Test func `unions and implementations as long as a schema take a comparison for each name`()
    throws
  {
    let count = 30_000
    let members = (0..<count).map { "T\($0)" }.joined(separator: " | ")
    let interfaces = (0..<count).map { "I\($0)" }.joined(separator: " & ")
    let types = (0..<count).map { "type T\($0) { a: Int } interface I\($0) { a: Int } " }
    let document = try Document(
      parsing: "type Query implements \(interfaces) { a: Int u: U } union U = \(members) "
        + types.joined())
    let schema = try Schema(unchecked: document)
    var validator = SchemaValidator(schema: schema)
    validator.checkAll()
    #expect(validator.issues.isEmpty)
    // Each member, each interface and its field.
    #expect(validator.comparisons == 3 * count)
  }

  @Test func `an invalid default value is ignored with a warning`() throws {
    let schema = try Schema(
      sdl: Document(
        parsing: """
          type Query {
            a(b: Int = "x", c: [Int!]! = [1, null], d: I = {y: 2}, e: [Int] = 1): Int
          }
          input I { x: String! y: Float = 3 }
          directive @d(a: E = Z) on FIELD
          enum E { A }
          """))
    #expect(
      schema.warnings.map(\.description) == [
        "5:21: The default value of @d(a:) is not a value of its type E, and is ignored: Z",
        "2:14: The default value of Query.a(b:) is not a value of its type Int, and is ignored: "
          + "\"x\"",
        "2:32: The default value of Query.a(c:) is not a value of its type [Int!]!, and is "
          + "ignored: [1, null]",
        "2:50: The default value of Query.a(d:) is not a value of its type I, and is ignored: "
          + "{y: 2}",
      ])
    #expect(schema.printed().contains("a(b: Int, c: [Int!]!, d: I, e: [Int] = [1]): Int"))
  }

  @Test func `a schema that breaks these rules cannot be built`() throws {
    let document = try Document(parsing: "type Query { a: U } union U")
    let error = #expect(throws: SchemaError.self) { try Schema(sdl: document) }
    #expect(
      error?.description == "1:21: Union type U must define one or more member types.")
  }

  @Test(Shared.whenPresent) func `the schema of GitHub is valid`() throws {
    let document = try Document(parsingUTF8: try Shared.real("github.graphql"))
    #expect(try Schema(unchecked: document).validate().isEmpty)
  }
}
