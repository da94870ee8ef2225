import GQLRunLanguage
import Testing

@testable import GQLRunCache

/// Key rules and field rules that stand in the schema.
@Suite("Rules of the schema")
struct SchemaKeyRuleTests {
  private func joined(
    _ directives: String, _ rules: KeyRules = KeyRules()
  ) throws -> (rules: KeyRules, warnings: [String]) {
    let schema = try Schema(
      sdl: Document(
        parsing: """
          type Query { book(id: ID, by: Int): Book feed(first: Int, after: ID, by: Int): [Book] }
          type Book { isbn: ID author: ID tags(first: Int): [String] } interface Node { id: ID }
          \(directives)
          """))
    return rules.joined(with: schema)
  }

  @Test("key fields, arguments and connections are read from directives, on extensions as well")
  func read() throws {
    let (rules, warnings) = try joined(
      """
      extend type Book @typePolicy(keyFields: "isbn author", connectionFields: "tags")
      extend interface Node @typePolicy(keyFields: "id")
      extend type Query @fieldPolicy(forField: "book", keyArgs: "id")
        @fieldPolicy(forField: "feed", paginationArgs: "first, after")
      directive @fieldPolicy(forField: String!, keyArgs: String, paginationArgs: String)
        repeatable on OBJECT | INTERFACE
      """)
    #expect(warnings == [])
    #expect(rules.types == ["Book": ["isbn", "author"], "Node": ["id"]])
    #expect(rules.keyArguments == ["Query": ["book": ["id"], "feed": ["by"]]])
    #expect(rules.pages == ["Book": ["tags": .connection]])
  }

  @Test("given rules override those of the schema, and a contradiction is a warning")
  func conflict() throws {
    let own = KeyRules(
      types: ["Book": ["author"]], keyArguments: ["Query": ["book": ["by"], "feed": ["by"]]])
    let (rules, warnings) = try joined(
      """
      extend type Book @typePolicy(keyFields: "isbn")
      extend type Query @fieldPolicy(forField: "book", keyArgs: "id")
      """, own)
    #expect(rules == own)
    #expect(warnings.count == 2)
    #expect(warnings[1].contains("the keys of Book are author by the rules given, and isbn by"))
    #expect(warnings[0].contains("Query.book are (by) by the rules given, and (id) by"))
  }

  @Test("a rule for an unknown field is ignored with a warning")
  func unknown() throws {
    let (rules, warnings) = try joined(
      """
      extend type Book @typePolicy(keyFields: "id")
      extend type Query @fieldPolicy(forField: "boook", keyArgs: "id")
      """)
    #expect(rules == KeyRules())
    #expect(warnings.count == 2)
  }
}
