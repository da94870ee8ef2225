import GQLRunLanguage
import GQLRunTestSupport
import Testing

/// Directives on directives: https://github.com/graphql/graphql-spec/pull/1206
@Suite struct DirectiveDefinitionTests {
  private func schema(_ source: String) throws -> Schema {
    try Schema(sdl: Document(parsing: source + " type Query { a: Int }"))
  }

  private func issues(_ source: String) -> [String] {
    do {
      _ = try schema(source)
      return []
    } catch let error as SchemaError {
      return error.issues.map { issue in
        issue.locations.map { "\($0.line):\($0.column)" }.joined(separator: " ")
          + " \(issue.message)"
      }
    } catch {
      return ["\(error)"]
    }
  }

  // MARK: - Grammar

  @Test(arguments: [
    SpecificationExample("3.13 Directives", "directive @example on FIELD"),
    SpecificationExample(
      "3.13 Directives", "directive @delegateField(name: String!) repeatable on OBJECT | INTERFACE"),
    SpecificationExample("3.13 Directives", "directive @onDirective on DIRECTIVE_DEFINITION"),
    SpecificationExample("3.13 Directives", "directive @foo @onDirective on OBJECT"),
    SpecificationExample(
      "3.13 Directives", "directive @baz @deprecated(reason: \"use @foo\") on OBJECT"),
    SpecificationExample(
      "3.13 Directives",
      "directive @all(a: Int = 1 @deprecated) @first @second(b: [1]) repeatable on FIELD | OBJECT"),
    SpecificationExample(
      "3.13.6 Directive Extensions", "extend directive @quux @deprecated(reason: \"...\")"),
    SpecificationExample("3.13.6 Directive Extensions", "extend directive @quux @first @second"),
  ])
  func `definitions and extensions of directives are printed as they are written`(
    _ example: SpecificationExample
  ) throws {
    let document = try Document(parsing: example.source)
    #expect(document.printed() == example.source)
    #expect(document.structure == (try Document(parsing: document.printed())).structure)
  }

  @Test(
    arguments: [
      "directive @a repeatable @b on FIELD": "1:25: Syntax Error: Expected 'on', found '@'.",
      "directive @a @b": "1:16: Syntax Error: Expected 'on', found <EOF>.",
      "directive @a @b(c: $d) on FIELD":
        "1:20: Syntax Error: Unexpected variable '$d' in constant value.",
      "extend directive @a": "1:20: Syntax Error: Unexpected <EOF>.",
      "extend directive @a on FIELD": "1:21: Syntax Error: Unexpected Name 'on'.",
      "extend directive a @b": "1:18: Syntax Error: Expected '@', found Name 'a'.",
      "extend directive @a @b on FIELD": "1:24: Syntax Error: Unexpected Name 'on'.",
      "extend directive @a(b: Int) @c": "1:20: Syntax Error: Unexpected '('.",
      "\"x\" extend directive @a @b":
        "1:1: Syntax Error: Unexpected description, descriptions are supported only on type definitions.",
    ] as [String: String])
  func `a directive has its directives before repeatable, and an extension has nothing else`(
    source: String, expected: String
  ) {
    #expect(syntaxError(source)?.description == expected)
  }

  @Test func `the definition keeps its directives, and an extension adds others`() throws {
    let schema = try schema(
      """
      extend directive @a @third
      directive @a @first on FIELD
      directive @first on DIRECTIVE_DEFINITION
      directive @second(x: Int) repeatable on DIRECTIVE_DEFINITION
      directive @third on DIRECTIVE_DEFINITION
      extend directive @a @second(x: 1) @second(x: 2)
      extend directive @skip @first
      """)
    let directive = try #require(schema.directive(named: "a"))
    #expect(
      directive.directives.map { $0.printed() } == [
        "@first", "@third", "@second(x: 1)", "@second(x: 2)",
      ])
    #expect(!directive.isExtension)
    #expect(directive.locations == [.field])
    #expect(schema.directive(named: "skip")?.directives.map(\.name.value) == ["first"])
  }

  // MARK: - Validation

  @Test(arguments: [
    SpecificationExample(
      "3.13 Type Validation",
      "directive @invalidExample(arg: String @invalidExample) on ARGUMENT_DEFINITION",
      expected: "1:27 1:39 Directive '@invalidExample' forms a reference cycle through: "
        + "'@invalidExample(arg:)', directive application '@invalidExample'."),
    SpecificationExample(
      "3.13 Type Validation", "directive @self @self on DIRECTIVE_DEFINITION",
      expected:
        "1:17 Directive '@self' forms a reference cycle through: directive application '@self'."),
    SpecificationExample(
      "3.13 Type Validation",
      "directive @a @b on DIRECTIVE_DEFINITION directive @b @a on DIRECTIVE_DEFINITION",
      expected:
        "1:14 1:54 Directive '@a' forms a reference cycle through: directive application '@b', "
        + "directive application '@a'."),
    SpecificationExample(
      "3.13 Type Validation",
      "directive @a(i: I) on INPUT_FIELD_DEFINITION input I { self: I @a }",
      expected:
        "1:14 1:17 1:56 1:64 Directive '@a' forms a reference cycle through: '@a(i:)', 'I', 'I.self', "
        + "directive application '@a'."),
    SpecificationExample(
      "3.13 Type Validation", "directive @a(i: E) on ENUM_VALUE enum E { V @a }",
      expected:
        "1:14 1:17 1:43 1:45 Directive '@a' forms a reference cycle through: '@a(i:)', 'E', 'E.V', "
        + "directive application '@a'."),
    SpecificationExample(
      "3.13 Type Validation", "directive @a(i: S) on SCALAR scalar S @a",
      expected:
        "1:14 1:17 1:39 Directive '@a' forms a reference cycle through: '@a(i:)', 'S', directive "
        + "application '@a'."),
    SpecificationExample(
      "3.13 Type Validation",
      "directive @entry(i: I) on FIELD directive @a(i: I) on INPUT_FIELD_DEFINITION input I { x: Int @a }",
      expected:
        "1:46 1:49 1:88 1:95 Directive '@a' forms a reference cycle through: '@a(i:)', 'I', 'I.x', "
        + "directive application '@a'."),
    SpecificationExample(
      "3.13 Type Validation",
      "directive @a(x: Int @b, y: Int @c) on ARGUMENT_DEFINITION "
        + "directive @b(z: Int @a) on ARGUMENT_DEFINITION directive @c(z: Int @a) on ARGUMENT_DEFINITION",
      expected:
        "1:14 1:21 1:72 1:79 Directive '@a' forms a reference cycle through: '@a(x:)', directive "
        + "application '@b', '@b(z:)', directive application '@a'.",
      "1:25 1:32 1:119 1:126 Directive '@a' forms a reference cycle through: '@a(y:)', directive "
        + "application '@c', '@c(z:)', directive application '@a'."),
    SpecificationExample(
      "3.13.6 Directive Extensions",
      "directive @a on DIRECTIVE_DEFINITION directive @b @a on DIRECTIVE_DEFINITION extend directive @a @b",
      expected:
        "1:98 1:51 Directive '@a' forms a reference cycle through: directive application '@b', "
        + "directive application '@a'."),
    SpecificationExample(
      "3.13.6 Directive Extensions", "extend directive @missing @deprecated",
      expected: "1:19 Cannot extend directive '@missing' because it is not defined."),
    SpecificationExample(
      "3.13.6 Directive Extensions",
      "directive @once on DIRECTIVE_DEFINITION directive @a @once on FIELD extend directive @a @once",
      expected: "1:54 1:89 The directive '@once' can only be used once at this location."),
    SpecificationExample(
      "3.13.6 Directive Extensions",
      "directive @many repeatable on DIRECTIVE_DEFINITION directive @a @many on FIELD extend directive @a @many"
    ),
    SpecificationExample(
      "5.7.2 Directives Are in Valid Locations",
      "directive @b on FIELD directive @a @b on FIELD",
      expected: "1:36 Directive '@b' may not be used on directive definition."),
    SpecificationExample(
      "5.7.1 Directives Are Defined", "directive @a @unknown on FIELD",
      expected: "1:14 Unknown directive '@unknown'."),
    SpecificationExample(
      "3.13.3 @deprecated", "directive @a @deprecated(reason: 1) on FIELD",
      expected: "1:34 Argument 'reason' has invalid value 1."),
    SpecificationExample(
      "3.10 Input Objects", "directive @a(i: I) on FIELD input I { self: I }"),
    SpecificationExample(
      "3.13 Type Validation", "directive @a(i: Int @b) on FIELD directive @b on ARGUMENT_DEFINITION"
    ),
    SpecificationExample(
      "3.13 Type Validation",
      "directive @a @deprecated on FIELD type a @a2 { b: Int } directive @a2 on OBJECT"),
  ])
  func `a directive does not lead back to itself, and its directives fit`(
    _ example: SpecificationExample
  ) {
    #expect(issues(example.source) == example.expected, "\(example.section)")
  }

  @Test func `an extension closes a cycle with the extended schema, which has its own cycles`()
    throws
  {
    let schema = try schema(
      "directive @a @b on DIRECTIVE_DEFINITION directive @b on DIRECTIVE_DEFINITION")
    func errors(_ source: String) throws -> [String] {
      try Document(parsing: source).validateTypeSystem(extending: schema).map(\.message)
    }
    #expect(
      try errors("extend directive @b @a") == [
        "Directive '@a' forms a reference cycle through: directive application '@b', directive "
          + "application '@a'."
      ])
    #expect(try errors("directive @c @a on FIELD").isEmpty)
    #expect(
      try errors("directive @a on FIELD extend directive @aa @b") == [
        "Directive '@a' already exists in the schema. It cannot be redefined.",
        "Cannot extend directive '@aa' because it is not defined. Did you mean 'a'?",
      ])
  }

  @Test func `a chain of 200,000 directives is followed once`() throws {
    let count = 200_000
    func definition(_ index: Int, leadingTo next: Int?) -> Definition {
      let location = SourceLocation(line: 1, column: 1, offset: index)
      let applied = next.map { [Directive(name: Name("d\($0)", at: location), location: location)] }
      return .typeSystem(
        .directive(
          DirectiveDefinition(
            name: Name("d\(index)", at: location), directives: applied ?? [],
            locations: [.directiveDefinition], location: location)))
    }
    var definitions = (0..<count).map { definition($0, leadingTo: $0 + 1 < count ? $0 + 1 : nil) }
    let options = ValidationOptions(rules: [.noDirectiveDefinitionCycles])
    #expect(Document(definitions: definitions).validateTypeSystem(options: options).isEmpty)
    definitions[count - 1] = definition(count - 1, leadingTo: 0)
    let errors = Document(definitions: definitions).validateTypeSystem(options: options)
    #expect(errors.count == 1)
    #expect(errors[0].message.hasPrefix("Directive '@d0' forms a reference cycle through: "))
    #expect(errors[0].message.hasSuffix(", and 199000 more."))
  }

  @Test func `each step of a long chain may close a cycle`() throws {
    // Without directives, these cycles are allowed; with 200,000 of them none may be copied.
    let count = 20_000
    let types = (0..<count).map { "input I\($0) { n: I\(min($0 + 1, count - 1)) b: I0 }" }
    let document = try Document(
      parsing: "directive @a(i: I0) on FIELD " + types.joined(separator: " "))
    let options = ValidationOptions(rules: [.noDirectiveDefinitionCycles])
    #expect(document.validateTypeSystem(options: options).isEmpty)
    let closed = try Document(
      parsing: "directive @a(i: I0) on INPUT_FIELD_DEFINITION "
        + types.joined(separator: " ").replacing("b: I0", with: "b: I0 @a"))
    #expect(closed.validateTypeSystem(options: options).count == 100)
  }

  // MARK: - Deprecation

  @Test func `the use of a deprecated directive is a warning`() throws {
    let schema = try schema(
      "directive @old @deprecated(reason: \"use @new\") on FIELD | QUERY directive @new on FIELD")
    let document = try Document(parsing: "query Q @old { a @old b: a @new }")
    #expect(document.validate(against: schema).isEmpty)
    #expect(
      document.warnings(against: schema).map(\.description) == [
        "1:9: The directive @old is deprecated. use @new",
        "1:18: The directive @old is deprecated. use @new",
      ])
    #expect(schema.directive(named: "old")?.deprecationReason == "use @new")
    #expect(schema.directive(named: "new")?.deprecationReason == nil)
  }

  @Test(arguments: [
    (
      "directive @a on FIELD", "directive @a @deprecated(reason: \"x\") on FIELD",
      ["DEPRECATION_CHANGED @a: @a is now deprecated: x"]
    ),
    (
      "directive @a @deprecated on FIELD", "directive @a on FIELD",
      ["DEPRECATION_CHANGED @a: @a is no longer deprecated."]
    ),
    (
      "directive @a @deprecated(reason: \"x\") on FIELD",
      "directive @a on FIELD extend directive @a @deprecated(reason: \"y\")",
      ["DEPRECATION_CHANGED @a: The reason why @a is deprecated changed: y"]
    ),
    (
      "directive @a on FIELD", "directive @a on FIELD | DIRECTIVE_DEFINITION",
      ["DIRECTIVE_LOCATION_ADDED @a: DIRECTIVE_DEFINITION was added to a."]
    ),
    (
      "directive @a on FIELD | DIRECTIVE_DEFINITION", "directive @a on FIELD",
      ["DIRECTIVE_LOCATION_REMOVED @a: DIRECTIVE_DEFINITION was removed from a."]
    ),
    // A server of an older edition defines it so.
    (
      "type A { a: Int }",
      "type A { a: Int } directive @deprecated(reason: String! = \"No longer supported\") on FIELD_DEFINITION "
        + "| ARGUMENT_DEFINITION | INPUT_FIELD_DEFINITION | ENUM_VALUE", []
    ),
    // The introspection of a server, and its type definitions, which do not have the directive.
    (
      "type A { a: Int } \"Marks\" directive @deprecated(\"Why\" reason: String = \"No longer supported\") "
        + "on FIELD_DEFINITION | ENUM_VALUE", "type A { a: Int }", []
    ),
  ])
  func `the deprecation of a directive is a change of the schema`(
    old: String, new: String, expected: [String]
  ) throws {
    let changes = try schema(new).changes(from: schema(old))
    #expect(
      changes.map { "\($0.kind.rawValue) \($0.coordinate): \($0.description)" } == expected)
  }

  // MARK: - Introspection

  private static let printed = """
    directive @old(a: Int) @deprecated(reason: "use @new") repeatable on FIELD

    directive @new on FIELD | DIRECTIVE_DEFINITION

    type Query {
      a: Int
    }
    """

  @Test func `a schema with deprecated directives survives introspection and printing`() throws {
    let schema = try Schema(
      sdl: Document(parsing: Self.printed.replacing("@deprecated(", with: "@new @deprecated(")))
    // Of the directives that are applied, introspection has only the standard ones.
    #expect(schema.printed() == Self.printed)
    let copy = try Schema(introspection: schema.introspection)
    #expect(copy.printed() == Self.printed)
    #expect(copy.introspection == schema.introspection)
    #expect(copy.serverEdition == .september2026)
    #expect(try Schema(sdl: Document(parsing: Self.printed)).changes(from: copy).isEmpty)
  }

  @Test func `only the query of this edition selects deprecated directives`() throws {
    let schema = try Schema(sdl: Document(parsing: Self.printed))
    for query in [IntrospectionQuery.september2026, .complete, IntrospectionQuery()] {
      let document = try Document(parsing: query.text)
      #expect(document.validate(against: schema).isEmpty)
      let isNew = query.directiveDeprecation
      #expect(query.text.contains("directives(includeDeprecated: true) {") == isNew)
      #expect(
        query.text.contains("      isDeprecated\n      deprecationReason\n      loc") == isNew)
    }
    #expect(IntrospectionQuery.september2026.directiveDeprecation)
    #expect(!IntrospectionQuery.complete.directiveDeprecation)
  }

  @Test(arguments: [
    (["isOneOf", "name"], ["isDeprecated"], Edition.september2026),
    (["isOneOf"], ["name"], .september2025), (["name"], ["name"], .october2021),
  ])
  func `the introspection types show the edition of the server`(
    type: [String], directive: [String], expected: Edition
  ) throws {
    func json(_ name: String, _ fields: [String]) -> String {
      let fields = fields.map { "{\"name\": \"\($0)\"}" }.joined(separator: ", ")
      return "{\"kind\": \"OBJECT\", \"name\": \"\(name)\", \"fields\": [\(fields)]}"
    }
    let text = """
      {"__schema": {"queryType": {"name": "Query"}, "types": [
        {"kind": "OBJECT", "name": "Query", "interfaces": [], "fields": [
          {"name": "a", "args": [], "type": {"kind": "OBJECT", "name": "Query"}}]},
        \(json("__Type", type)), \(json("__Directive", directive))]}}
      """
    #expect(try introspectedSchema(text).serverEdition == expected)
    #expect(try schema("").serverEdition == nil)
  }
}
