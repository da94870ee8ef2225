import GQLRunLanguage
import Testing

@testable import GQLRunCache

/// Key rules and field rules of the schema.
@Suite("Rules of the schema")
struct SchemaKeyRuleTests {
  private func joined(
    _ directives: String, _ rules: KeyRules = KeyRules()
  ) throws -> (rules: KeyRules, warnings: [String]) {
    let schema = try Schema(
      sdl: Document(
        parsing: """
          type Query {
            book(isbn: ID, author: ID, by: Int): Book
            feed(first: Int, after: ID, by: Int): [Book]
          }
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
      extend type Query @fieldPolicy(forField: "book", keyArgs: "isbn author")
        @fieldPolicy(forField: "feed", paginationArgs: "first, after")
      directive @fieldPolicy(forField: String!, keyArgs: String, paginationArgs: String)
        repeatable on OBJECT | INTERFACE
      """)
    #expect(warnings == [])
    #expect(rules.types == ["Book": ["isbn", "author"], "Node": ["id"]])
    #expect(rules.fieldKeyArguments == ["Query": ["feed": ["by"]]])
    #expect(rules.redirects == ["Query": ["book": CacheRedirect(["isbn", "author"])]])
    #expect(rules.pages == ["Book": ["tags": .connection]])
  }

  @Test("given rules override those of the schema, and a contradiction is a warning")
  func conflict() throws {
    let own = KeyRules(
      types: ["Book": ["author"]], fieldKeyArguments: ["Query": ["feed": ["by"]]],
      redirects: ["Query": ["book": CacheRedirect(["by"], type: "Book")]])
    let (rules, warnings) = try joined(
      """
      extend type Book @typePolicy(keyFields: "isbn")
      extend type Query @fieldPolicy(forField: "book", keyArgs: "isbn")
        @fieldPolicy(forField: "feed", paginationArgs: "first")
      """, own)
    #expect(rules == own)
    #expect(warnings.count == 3)
    #expect(warnings[2].contains("the keys of Book are author by the rules given, and isbn by"))
    #expect(warnings[0].contains("Query.book are (by) by the rules given, and (isbn) by"))
    #expect(warnings[1].contains("Query.feed are (by) by the rules given, and (after, by) by"))
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

  @Test(
    "a redirect that finds no record is ignored with a warning",
    arguments: [
      (#"forField: "book", keyArgs: "isbn""#, "do not cover the key fields of `Book`"),
      (#"forField: "book", keyArgs: "author isbn""#, "not in the order of the key fields"),
      (#"forField: "book", keyArgs: "isbn autor""#, "has no argument `autor`"),
      (#"forField: "feed", keyArgs: "after by""#, "its key arguments contain no list"),
    ])
  func misfit(arguments: String, warning: String) throws {
    let (rules, warnings) = try joined(
      """
      extend type Book @typePolicy(keyFields: "isbn author")
      extend type Query @fieldPolicy(\(arguments))
      """)
    #expect(rules.redirects.isEmpty && rules.fieldKeyArguments.isEmpty)
    #expect(warnings.count == 1 && warnings[0].contains(warning), "\(warnings)")
  }

  @Test("keyArgs of pages keeps its former meaning, with a warning")
  func formerMeaning() throws {
    let (rules, warnings) = try joined(
      """
      extend type Query @typePolicy(connectionFields: "feed")
        @fieldPolicy(forField: "feed", keyArgs: "by")
      """)
    #expect(rules.redirects.isEmpty)
    #expect(rules.fieldKeyArguments == ["Query": ["feed": ["by"]]])
    #expect(warnings.count == 1 && warnings[0].contains("deprecated"), "\(warnings)")
  }
}
