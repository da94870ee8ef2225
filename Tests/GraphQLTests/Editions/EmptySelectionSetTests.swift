import GQLRunLanguage
import GQLRunTestSupport
import Testing

/// Selection sets without selections: https://github.com/graphql/graphql-spec/pull/1227
@Suite struct EmptySelectionSetTests {
  private static let types = """
    type Query { launch(id: ID): Launch u: U node: Node a: A n: Int }
    type Subscription { news: A }
    type Launch { isInCart: Boolean site: String }
    interface Node { id: ID }
    type A implements Node { id: ID a: Int self: A }
    type B { b: Int }
    union U = A | B
    """

  private func errors(_ source: String) throws -> [String] {
    let schema = try Schema(sdl: Document(parsing: Self.types))
    return try Document(parsing: source).validate(against: schema).map(\.description)
  }

  // MARK: - Tree and printer

  @Test func `an empty selection set is not an absent one`() throws {
    func field(_ source: String) throws -> Field? {
      let document = try Document(parsing: source)
      guard case .field(let field)? = document.operations.first?.selectionSet.selections.first
      else { return nil }
      return field
    }
    #expect(try field("{ hero }")?.selectionSet == nil)
    #expect(try field("{ hero { } }")?.selectionSet?.selections == [])
    #expect(
      try field("{ hero { } }")?.selectionSet?.location
        == SourceLocation(line: 1, column: 8, offset: 7))
    #expect(try field("{ hero { } }") != field("{ hero }"))
  }

  @Test(arguments: [
    SpecificationExample("2.5 Selection Sets", "{ }", expected: "{ }"),
    SpecificationExample("2.5 Selection Sets", "query Q { }", expected: "query Q { }"),
    SpecificationExample("2.5 Selection Sets", "{hero{}}", expected: "{\n  hero { }\n}"),
    SpecificationExample(
      "2.5 Selection Sets", "{ hero(id: 1) @include(if: true) { , # nothing\n } x }",
      expected: "{\n  hero(id: 1) @include(if: true) { }\n  x\n}"),
    SpecificationExample(
      "2.9 Fragments", "fragment F on T @d { } mutation M { ... { } ... on T @d { } }",
      expected: "fragment F on T @d { }\n\nmutation M {\n  ... { }\n  ... on T @d { }\n}"),
  ])
  func `empty selection sets are printed on one line`(_ example: SpecificationExample) throws {
    let document = try Document(parsing: example.source)
    #expect(document.printed() == example.expected[0])
    #expect(try Document(parsing: document.printed()).structure == document.structure)
    #expect(
      try strippingIgnoredCharacters(of: document.printed())
        == strippingIgnoredCharacters(of: example.source))
  }

  @Test func `documents that differ in an empty selection set differ in their text`() throws {
    let texts = try ["{ hero }", "{ hero { } }", "{ hero { __typename } }"].map {
      try strippingIgnoredCharacters(of: Document(parsing: $0).printed())
    }
    #expect(texts == ["{hero}", "{hero{}}", "{hero{__typename}}"])
  }

  @Test(arguments: ["{ a {", "{ a { ", "{", "fragment F on T", "{ a { } } }", "{ a() { } }"])
  func `braces that are not closed are errors as before`(source: String) {
    #expect(syntaxError(source) != nil)
    #expect(syntaxError(source)?.addition == nil)
  }

  // MARK: - Validation

  @Test(arguments: [
    SpecificationExample("5.3.3 Leaf Field Selections", "{ launch(id: 1) { } }"),
    SpecificationExample("5.3.3 Leaf Field Selections", "{ u { } node { } a { self { } } }"),
    SpecificationExample("5.3.3 Leaf Field Selections", "{ u { ... on A { } } }"),
    SpecificationExample("2.5 Selection Sets", "{ }"),
    SpecificationExample("2.5 Selection Sets", "query Q { ...F } fragment F on Query { }"),
    SpecificationExample(
      "5.3.3 Leaf Field Selections", "{ n { } }",
      expected: "1:5: Field 'n' must not have a selection since type 'Int' has no subfields."),
    SpecificationExample(
      "5.3.3 Leaf Field Selections", "{ a { id { } } }",
      expected: "1:10: Field 'id' must not have a selection since type 'ID' has no subfields."),
    SpecificationExample(
      "5.3.3 Leaf Field Selections", "{ launch }",
      expected:
        "1:3: Field 'launch' of type 'Launch' must have a selection of subfields. Did you mean "
        + "'launch { ... }'?"),
    SpecificationExample("5.3.2 Field Selection Merging", "{ a { } a { a } a { } }"),
    SpecificationExample(
      "5.3.2 Field Selection Merging", "{ x: a { } x: launch { } }",
      expected:
        "1:3: Fields 'x' conflict because 'a' and 'launch' are different fields. Use different aliases "
        + "on the fields to fetch both if this was intentional."),
    SpecificationExample(
      "5.5.2.3 Fragment Spread Is Possible", "{ a { ... on B { } } }",
      expected:
        "1:7: Fragment cannot be spread here as objects of type 'A' can never be of type 'B'."),
    SpecificationExample("5.5.1.4 Fragments Must Be Used", "{ a { ...F } } fragment F on A { }"),
    SpecificationExample(
      "5.5.1.4 Fragments Must Be Used", "{ } fragment F on A { }",
      expected: "1:5: Fragment 'F' is never used."),
    SpecificationExample(
      "5.8.4 All Variables Used", "query ($v: ID) { a { } }",
      expected: "1:8: Variable '$v' is never used."),
    SpecificationExample("5.2.4.1 Single Root Field", "subscription { news { } }"),
    SpecificationExample(
      "5.2.4.1 Single Root Field", "subscription { }",
      expected: "1:14: Anonymous Subscription must select one top level field."),
    SpecificationExample(
      "5.2.4.1 Single Root Field",
      "subscription S { ... { } ...F } fragment F on Subscription { }",
      expected: "1:16: Subscription 'S' must select one top level field."),
  ])
  func `a composite type may have an empty selection set, a leaf none`(
    _ example: SpecificationExample
  ) throws {
    #expect(try errors(example.source) == example.expected, "\(example.section)")
  }

  @Test func `200,000 empty selection sets take linear time`() throws {
    let source = "{ " + String(repeating: "a { } ", count: 200_000) + "}"
    let document = try Document(parsing: source)
    let schema = try Schema(sdl: Document(parsing: Self.types))
    let options = ValidationOptions(maxSteps: 8 * source.utf8.count)
    #expect(document.validate(against: schema, options: options).isEmpty)
    #expect(document.printed().utf8.count == 200_000 * 8 + 3)
  }

  @Test func `empty selection sets are nested as deep as others`() throws {
    let options = ParseOptions(maxDepth: 5)
    #expect(
      try Document(parsing: "{ a { a { a { a { } } } } }", options: options).operations.count == 1)
    #expect(
      syntaxError("{ a { a { a { a { a { } } } } } }", options: options)?.description
        == "1:21: Syntax Error: Document is nested more than 5 levels deep. Parsing aborted.")
  }
}
