import GQLRunLanguage
import GQLRunTestSupport
import Testing

/// An example of the specification: its section, a text, and what is expected of it.
struct SpecificationExample: Sendable, CustomTestStringConvertible {
  var section: String
  var source: String
  var expected: [String]

  init(_ section: String, _ source: String, expected: String...) {
    self.section = section
    self.source = source
    self.expected = expected
  }

  var testDescription: String { "\(section): \(source)" }
}

@Suite struct EditionTests {
  /// A construct that an edition added: the text, and the error of older editions.
  private static let syntax: [(addition: LanguageAddition, source: String, refusal: String)] = [
    (
      .executableDescription, "\"x\" query Q { a }",
      "1:1: Syntax Error: Unexpected description, descriptions are supported only on type definitions."
    ),
    (
      .executableDescription, "\"x\" fragment F on T { a }",
      "1:1: Syntax Error: Unexpected description, descriptions are supported only on type definitions."
    ),
    (
      .executableDescription, "query Q(\"x\" $a: Int) { a(b: $a) }",
      "1:9: Syntax Error: Expected '$', found String 'x'."
    ),
    (
      .braceEscape, #"{ a(b: "\u{1F600}") }"#,
      #"1:9: Syntax Error: Invalid Unicode escape sequence: '\u{1F6'."#
    ),
    (.emptySelectionSet, "{ }", "1:3: Syntax Error: Expected Name, found '}'."),
    (.emptySelectionSet, "{ a { } }", "1:7: Syntax Error: Expected Name, found '}'."),
    (.emptySelectionSet, "{ a { ... on T { } } }", "1:18: Syntax Error: Expected Name, found '}'."),
    (.emptySelectionSet, "fragment F on T {}", "1:18: Syntax Error: Expected Name, found '}'."),
    (
      .directiveOnDirective, "directive @a @b on FIELD",
      "1:14: Syntax Error: Expected 'on', found '@'."
    ),
    (
      .directiveOnDirective, "directive @a(b: Int) @deprecated repeatable on FIELD",
      "1:22: Syntax Error: Expected 'on', found '@'."
    ),
    (
      .directiveExtension, "extend directive @a @b",
      "1:8: Syntax Error: Unexpected Name 'directive'."
    ),
    (
      .directiveDefinitionLocation, "directive @a on FIELD | DIRECTIVE_DEFINITION",
      "1:25: Syntax Error: Unexpected Name 'DIRECTIVE_DEFINITION'."
    ),
  ]

  @Test(arguments: syntax, Edition.allCases)
  func `a construct that is newer than the edition is a syntax error that names the edition`(
    _ row: (addition: LanguageAddition, source: String, refusal: String), edition: Edition
  ) throws {
    let options = ParseOptions(edition: edition)
    guard edition < row.addition.edition else {
      let document = try Document(parsing: row.source, options: options)
      #expect(try Document(parsing: document.printed()).structure == document.structure)
      return
    }
    let error = try #require(syntaxError(row.source, options: options))
    #expect(error.addition == row.addition)
    let message = "needs \(row.addition.edition); this is checked as \(edition)."
    #expect(error.description.hasPrefix(row.refusal))
    #expect(error.description.hasSuffix(message), "\(error)")
  }

  @Test(
    arguments: [
      (
        "input I @oneOf { a: Int }", Edition.october2021,
        "1:9: The directive @oneOf needs GraphQL September 2025; this is checked as GraphQL October 2021."
      ),
      (
        "input I { a: Int @deprecated }", .october2021,
        "1:18: @deprecated on an argument or input field needs GraphQL September 2025; this is checked as GraphQL "
          + "October 2021."
      ),
      (
        "directive @d(a: Int @deprecated) on FIELD", .october2021,
        "1:21: @deprecated on an argument or input field needs GraphQL September 2025; this is checked as GraphQL "
          + "October 2021."
      ),
      (
        "directive @d @deprecated on FIELD", .september2025,
        "1:14: A directive on a directive definition needs GraphQL September 2026; this is checked as GraphQL "
          + "September 2025."
      ),
      (
        "directive @d on DIRECTIVE_DEFINITION", .september2025,
        "1:1: The directive location DIRECTIVE_DEFINITION needs GraphQL September 2026; this is checked as GraphQL "
          + "September 2025."
      ),
    ])
  func `a schema with a construct that is newer than the edition is refused`(
    source: String, edition: Edition, expected: String
  ) throws {
    let document = try Document(parsing: source + " type Query { a: Int }")
    #expect(throws: Never.self) { try Schema(sdl: document) }
    let error = #expect(throws: SchemaError.self) { try Schema(sdl: document, edition: edition) }
    #expect(error?.description == expected)
  }

  @Test func `an introspection result is checked by the same editions`() throws {
    let source =
      "directive @d @deprecated on FIELD input I @oneOf { a: Int } type Query { a(i: I): Int }"
    let result = try Schema(sdl: Document(parsing: source)).introspection
    for (edition, count) in [(Edition.october2021, 2), (.september2025, 1), (.september2026, 0)] {
      do throws(SchemaError) {
        _ = try Schema(introspection: result, edition: edition)
        #expect(count == 0, "\(edition)")
      } catch {
        #expect(error.issues.count == count, "\(edition): \(error)")
        #expect(error.issues.allSatisfy { $0.message.contains("this is checked as \(edition).") })
      }
    }
  }

  @Test func `rules of newer editions are not checked by older ones`() throws {
    let schema = try Schema(
      sdl: Document(parsing: "type Query { a: Int } type Subscription { b: Int }"))
    let documents = [
      (source: "mutation { a }", since: Edition.september2025),
      ("subscription { b @skip(if: true) }", .september2025),
    ]
    for (source, since) in documents {
      for edition in Edition.allCases {
        let errors = try Document(parsing: source)
          .validate(against: schema, options: ValidationOptions(edition: edition))
        #expect(errors.isEmpty == (edition < since), "\(source) as \(edition)")
      }
    }
    let inputs: [(source: String, since: Edition)] = [
      ("input I @oneOf { a: I }", .september2026),
      ("input I { a: I = {} }", .september2025),
      ("input I { a: I! }", .october2021),
    ]
    for (source, since) in inputs {
      let document = try Document(parsing: source + " type Query { a(i: I): Int }")
      let schema = try Schema(unchecked: document)
      for edition in Edition.allCases {
        #expect(
          schema.validate(edition: edition).isEmpty == (edition < since), "\(source) as \(edition)")
      }
    }
  }

  @Test func `editions have names and an order`() {
    #expect(
      Edition.allCases.map(\.description) == [
        "GraphQL October 2021", "GraphQL September 2025", "GraphQL September 2026",
      ])
    #expect(Edition.allCases.sorted() == Edition.allCases)
    #expect(Edition.newest == Edition.allCases.max())
  }
}
