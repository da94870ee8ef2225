import GQLRunLanguage
import Testing

@Suite struct SchemaChangeTests {
  private func changes(_ old: String, _ new: String) throws -> [SchemaChange] {
    let query = " type Query { q: Int! }"
    return try schema(new + query).changes(from: schema(old + query))
  }

  private static let cases: [(String, String, [String])] = [
    (
      "type A { a: Int } type B { b: Int }", "type A { a: Int }", ["TYPE_REMOVED: B was removed."]
    ),
    (
      "type A { a: ID }", "type A { a: String }",
      [
        "TYPE_REMOVED: Standard scalar ID was removed because it is not referenced anymore.",
        "FIELD_CHANGED_KIND: A.a changed type from ID to String.",
      ]
    ),
    (
      "interface A { a: Int }", "union A = Query",
      ["TYPE_CHANGED_KIND: A changed from an Interface type to a Union type."]
    ),
    (
      "type A { a: Int b: [Int!] c: [Int]! d: Int }",
      "type A { a: Int! b: [Int!]! c: [Int] e: Int }",
      [
        "FIELD_REMOVED: A.d was removed.",
        "FIELD_CHANGED_KIND_SAFE: A.a changed type from Int to Int!.",
        "FIELD_CHANGED_KIND_SAFE: A.b changed type from [Int!] to [Int!]!.",
        "FIELD_CHANGED_KIND: A.c changed type from [Int]! to [Int].",
        "FIELD_ADDED: A.e was added.",
      ]
    ),
    (
      "union U = A | B type A { a: Int } type B { a: Int } type C { a: Int }",
      "union U = A | C type A { a: Int } type B { a: Int } type C { a: Int }",
      [
        "TYPE_ADDED_TO_UNION: C was added to union type U.",
        "TYPE_REMOVED_FROM_UNION: B was removed from union type U.",
      ]
    ),
    (
      "enum E { A B }", "enum E { A C }",
      [
        "VALUE_ADDED_TO_ENUM: C was added to enum type E.",
        "VALUE_REMOVED_FROM_ENUM: B was removed from enum type E.",
      ]
    ),
    (
      "input I { a: Int b: Int! c: Int }", "input I { a: Int! b: Int d: Int! e: Int }",
      [
        "REQUIRED_INPUT_FIELD_ADDED: A required field d on input type I was added.",
        "OPTIONAL_INPUT_FIELD_ADDED: An optional field e on input type I was added.",
        "FIELD_REMOVED: I.c was removed.",
        "FIELD_CHANGED_KIND: I.a changed type from Int to Int!.",
        "FIELD_CHANGED_KIND_SAFE: I.b changed type from Int! to Int.",
      ]
    ),
    (
      "input I { a: Int b: Int }", "input I @oneOf { a: Int b: Int }",
      ["ONE_OF_ADDED: I now takes exactly one field."]
    ),
    (
      "interface I { a: Int } interface J { a: Int } type A implements I { a: Int }",
      "interface I { a: Int } interface J { a: Int } type A implements J { a: Int }",
      [
        "IMPLEMENTED_INTERFACE_ADDED: J added to interfaces implemented by A.",
        "IMPLEMENTED_INTERFACE_REMOVED: A no longer implements interface I.",
      ]
    ),
    (
      "type A { f(a: Int, b: Int!, c: Int = 1, d: Int = 1, e: Int, g: Int): Int }",
      "type A { f(a: Int!, b: Int, c: Int, d: Int = 2, e: Int = 3, h: Int, i: Int!): Int }",
      [
        "ARG_REMOVED: A.f arg g was removed.",
        "ARG_CHANGED_KIND: A.f arg a has changed type from Int to Int!.",
        "ARG_CHANGED_KIND_SAFE: A.f arg b has changed type from Int! to Int.",
        "ARG_DEFAULT_VALUE_CHANGE: A.f arg c defaultValue was removed.",
        "ARG_DEFAULT_VALUE_CHANGE: A.f arg d has changed defaultValue from 1 to 2.",
        "ARG_DEFAULT_VALUE_ADDED: A.f arg e defaultValue 3 was added.",
        "OPTIONAL_ARG_ADDED: An optional arg h on A.f was added.",
        "REQUIRED_ARG_ADDED: A required arg i on A.f was added.",
      ]
    ),
    (
      "directive @a(x: Int, y: Int) repeatable on FIELD | QUERY directive @b on FIELD",
      "directive @a(x: Int, z: Int!, w: Int) on FIELD | ENUM directive @c on FIELD",
      [
        "REQUIRED_DIRECTIVE_ARG_ADDED: A required arg z on directive a was added.",
        "OPTIONAL_DIRECTIVE_ARG_ADDED: An optional arg w on directive a was added.",
        "DIRECTIVE_ARG_REMOVED: y was removed from a.",
        "DIRECTIVE_REPEATABLE_REMOVED: Repeatable flag was removed from a.",
        "DIRECTIVE_LOCATION_REMOVED: QUERY was removed from a.",
        "DIRECTIVE_LOCATION_ADDED: ENUM was added to a.",
        "DIRECTIVE_REMOVED: b was removed.",
        "DIRECTIVE_ADDED: c was added.",
      ]
    ),
    (
      "schema { query: Query mutation: A } type A { \"x\" a: Int b: Int @deprecated }",
      "schema { query: Query } type A { \"y\" a: Int @deprecated(reason: \"why\") b: Int } scalar S",
      [
        "ROOT_TYPE_CHANGED: The mutation root A was removed.",
        "DESCRIPTION_CHANGED: The description of A.a changed.",
        "DEPRECATION_CHANGED: A.a is now deprecated: why",
        "DEPRECATION_CHANGED: A.b is no longer deprecated.",
        "TYPE_ADDED: S was added.",
      ]
    ),
    (
      "input I { a: Int b: Int } type A { f(i: I = {a: 1, b: 2}): Int }",
      "input I { b: Int a: Int } type A { f(i: I = {b: 2, a: 1}): Int }", []
    ),
    // A default value that goes makes a non-null argument required.
    (
      "type A { f(a: Int! = 10, b: [Int!]! = [], c: Int! = 10): Int }",
      "type A { f(a: Int!, b: [Int!]!, c: Int): Int }",
      [
        "ARG_BECAME_REQUIRED: A.f arg a defaultValue was removed, so a value is required.",
        "ARG_BECAME_REQUIRED: A.f arg b defaultValue was removed, so a value is required.",
        "ARG_CHANGED_KIND_SAFE: A.f arg c has changed type from Int! to Int.",
        "ARG_DEFAULT_VALUE_CHANGE: A.f arg c defaultValue was removed.",
      ]
    ),
    // Non-null with a default value refuses the null that was allowed, and so does a list a single variable.
    (
      "type A { f(a: Int = 1, b: Int, c: Int): Int }",
      "type A { f(a: Int! = 1, b: Int! = 1, c: [Int]): Int }",
      [
        "ARG_CHANGED_KIND: A.f arg a has changed type from Int to Int!.",
        "ARG_CHANGED_KIND: A.f arg b has changed type from Int to Int!.",
        "ARG_CHANGED_KIND: A.f arg c has changed type from Int to [Int].",
      ]
    ),
    (
      "interface N { f(a: Int! = 1): Int } type A implements N { f(a: Int! = 1): Int }",
      "interface N { f(a: Int!): Int } type A implements N { f(a: Int! = 1): Int }",
      ["ARG_BECAME_REQUIRED: N.f arg a defaultValue was removed, so a value is required."]
    ),
    (
      "input I { a: Int! = 1 b: Int = 1 c: Int = 1 d: Int e: Int! f: [Int!]! }",
      "input I { a: Int! b: Int c: Int = 2 d: Int = 3 e: Int! = 4 f: [Int]! }",
      [
        "INPUT_FIELD_BECAME_REQUIRED: I.a defaultValue was removed, so a value is required.",
        "INPUT_FIELD_DEFAULT_VALUE_CHANGE: I.b defaultValue was removed.",
        "INPUT_FIELD_DEFAULT_VALUE_CHANGE: I.c has changed defaultValue from 1 to 2.",
        "INPUT_FIELD_DEFAULT_VALUE_ADDED: I.d defaultValue 3 was added.",
        "INPUT_FIELD_DEFAULT_VALUE_ADDED: I.e defaultValue 4 was added.",
        "FIELD_CHANGED_KIND_SAFE: I.f changed type from [Int!]! to [Int]!.",
      ]
    ),
    (
      "input I { a: Int! = 1 }", "input I { a: Int! = 1 b: Int! = 2 }",
      ["OPTIONAL_INPUT_FIELD_ADDED: An optional field b on input type I was added."]
    ),
    (
      "directive @a(b: Int! = 1, c: Int = 1, d: Int = 1, e: Int, f: Int, g: Int!) on FIELD",
      "directive @a(b: Int!, c: Int, d: Int = 2, e: Int = 3, f: String, g: Int) on FIELD",
      [
        "DIRECTIVE_ARG_BECAME_REQUIRED: @a arg b defaultValue was removed, so a value is required.",
        "DIRECTIVE_ARG_DEFAULT_VALUE_CHANGE: @a arg c defaultValue was removed.",
        "DIRECTIVE_ARG_DEFAULT_VALUE_CHANGE: @a arg d has changed defaultValue from 1 to 2.",
        "DIRECTIVE_ARG_DEFAULT_VALUE_ADDED: @a arg e defaultValue 3 was added.",
        "DIRECTIVE_ARG_CHANGED_KIND: @a arg f has changed type from Int to String.",
        "DIRECTIVE_ARG_CHANGED_KIND_SAFE: @a arg g has changed type from Int! to Int.",
      ]
    ),
    (
      "directive @a on FIELD", "directive @a repeatable on FIELD",
      ["DIRECTIVE_REPEATABLE_ADDED: Repeatable flag was added to a."]
    ),
    (
      "input I @oneOf { a: Int b: Int }", "input I { a: Int b: Int }",
      ["ONE_OF_REMOVED: I no longer takes exactly one field."]
    ),
    (
      "type A { a: Int }", "schema { query: Query mutation: A } type A { a: Int }",
      ["ROOT_TYPE_ADDED: The mutation root A was added."]
    ),
    (
      "schema { query: Query mutation: A } type A { a: Int } type B { a: Int }",
      "schema { query: Query mutation: B } type A { a: Int } type B { a: Int }",
      ["ROOT_TYPE_CHANGED: The mutation root changed from A to B."]
    ),
    // Another possible type is as dangerous for fragments as another member of a union.
    (
      "interface N { a: Int } type A implements N { a: Int }",
      "interface N { a: Int } type A implements N { a: Int } type B implements N { a: Int } interface M implements N { a: Int }",
      [
        "TYPE_ADDED: B was added.",
        "TYPE_ADDED_TO_INTERFACE: The new type B implements interface N.",
        "TYPE_ADDED: M was added.",
      ]
    ),
    (
      "enum E { A @deprecated(reason: \"x\") B } type A { a(b: Int @deprecated): Int @deprecated(reason: \"x\") } directive @d(a: Int) on FIELD",
      "enum E { A @deprecated(reason: \"y\") B @deprecated } type A { a(b: Int): Int @deprecated(reason: \"y\") } directive @d(a: Int @deprecated) on FIELD",
      [
        "DEPRECATION_CHANGED: The reason why E.A is deprecated changed: y",
        "DEPRECATION_CHANGED: E.B is now deprecated: No longer supported",
        "DEPRECATION_CHANGED: A.a arg b is no longer deprecated.",
        "DEPRECATION_CHANGED: The reason why A.a is deprecated changed: y",
        "DEPRECATION_CHANGED: @d arg a is now deprecated: No longer supported",
      ]
    ),
  ]

  @Test(arguments: cases)
  func `every kind of change is reported`(old: String, new: String, expected: [String]) throws {
    let found = try changes(old, new).map { "\($0.kind.rawValue): \($0.description)" }
    #expect(found == expected)
  }

  @Test func `there is a case for every kind of change`() throws {
    var kinds: Set<SchemaChange.Kind> = []
    for (old, new, _) in Self.cases { kinds.formUnion(try changes(old, new).map(\.kind)) }
    #expect(Set(SchemaChange.Kind.allCases).subtracting(kinds).isEmpty)
  }

  @Test(
    "what makes valid documents invalid is breaking",
    arguments: [
      (
        "type A { f(a: Int! = 10): Int }", "type A { f(a: Int!): Int }",
        SchemaChange.Severity.breaking
      ),
      ("input I { a: Int! = 10 }", "input I { a: Int! }", .breaking),
      ("directive @a(b: Int! = 1) on FIELD", "directive @a(b: Int!) on FIELD", .breaking),
      ("directive @a(b: Int) on FIELD", "directive @a(b: Int!) on FIELD", .breaking),
      ("type A { f(a: Int = 10): Int }", "type A { f(a: Int): Int }", .dangerous),
      ("input I { a: Int = 1 }", "input I { a: Int = 2 }", .dangerous),
      ("input I @oneOf { a: Int b: Int }", "input I { a: Int b: Int }", .safe),
      ("type A { f(a: Int!): Int }", "type A { f(a: Int! = 10): Int }", .safe),
    ])
  func severities(old: String, new: String, severity: SchemaChange.Severity) throws {
    #expect(try changes(old, new).map(\.severity) == [severity])
  }

  @Test func `a directive that only a variable has concerns its document`() throws {
    let query = "type Query { q(a: Int): Int } "
    let old = try schema(query + "directive @a(x: Int) on VARIABLE_DEFINITION")
    let changes = try schema(query).changes(from: old)
    func concerning(_ document: String) throws -> [String] {
      try old.changes(changes, concerning: Document(parsing: document)).map(\.description)
    }
    #expect(try concerning("query($v: Int @a(x: 1)) { q(a: $v) }") == ["a was removed."])
    #expect(try concerning("query($v: Int) { q(a: $v) }") == [])
  }

  @Test(
    "changes of what documents leave out, and of the types of an interface, concern them",
    arguments: [
      ("q(a: Int! = 1): Int", "q(a: Int!): Int", "", "{ q }", ["ARG_BECAME_REQUIRED"]),
      ("q(a: Int): Int", "q(a: Int!): Int", "", "{ q }", ["ARG_CHANGED_KIND"]),
      ("q(a: Int = 1): Int", "q(a: Int!): Int", "", "{ q }", ["ARG_CHANGED_KIND"]),
      ("q(a: Int): Int", "q(a: String): Int", "", "{ q }", []),
      ("q(a: Int = 1): Int", "q(a: Int = 2): Int", "", "{ q }", ["ARG_DEFAULT_VALUE_CHANGE"]),
      ("q(a: Int = 1): Int", "q(a: Int): Int", "", "{ q }", ["ARG_DEFAULT_VALUE_CHANGE"]),
      ("q(a: Int = 1): Int r: Int", "q(a: Int = 2): Int r: Int", "", "{ r }", []),
      ("q: Int", "q(a: Int!): Int", "", "{ q }", ["REQUIRED_ARG_ADDED"]),
      ("q: Int", "q(a: Int): Int", "", "{ q }", []),
      (
        "q: N", "q: N", "type B implements N { n: Int }", "{ q { n } }", ["TYPE_ADDED_TO_INTERFACE"]
      ),
      ("q: N a: A", "q: N a: A", "type B implements N { n: Int }", "{ a { n } }", []),
      (
        "q: N", "q: N", "extend type C implements N", "{ q { n } }", ["IMPLEMENTED_INTERFACE_ADDED"]
      ),
    ] as [(String, String, String, String, [String])])
  func concerned(
    old: String, new: String, addition: String, document: String, expected: [String]
  ) throws {
    let others = "interface N { n: Int } type A implements N { n: Int } type C { n: Int } "
    let before = try schema(others + "type Query { \(old) }")
    let after = try schema(others + "type Query { \(new) } " + addition)
    let changes = before.changes(
      after.changes(from: before), concerning: try Document(parsing: document))
    #expect(changes.filter { $0.severity != .safe }.map(\.kind.rawValue) == expected)
  }

  @Test func `a directive argument that a document leaves out concerns it`() throws {
    func schema(_ argument: String) throws -> Schema {
      try GraphQLTests.schema("type Query { q: Int } directive @a(x: \(argument)) on FIELD")
    }
    let old = try schema("Int! = 1")
    for (new, kind) in [
      ("Int!", SchemaChange.Kind.directiveArgumentBecameRequired),
      ("Int! = 2", .directiveArgumentDefaultValueChange),
    ] {
      let changes = old.changes(
        try schema(new).changes(from: old), concerning: try Document(parsing: "{ q @a }"))
      #expect(changes.map(\.kind) == [kind])
    }
  }

  @Test func `changes have a severity`() {
    #expect(SchemaChange.Kind.fieldRemoved.severity == .breaking)
    #expect(SchemaChange.Kind.valueAddedToEnum.severity == .dangerous)
    #expect(SchemaChange.Kind.typeAdded.severity == .safe)
    #expect(SchemaChange.Severity.allCases.sorted() == [.breaking, .dangerous, .safe])
  }
}
