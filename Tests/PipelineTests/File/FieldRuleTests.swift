import GQLRunCache
import Testing

@testable import GQLRunPipeline

@Suite("Rules for fields")
struct FieldRuleTests {
  /// A file with some settings and a chain without options.
  private func text(_ settings: String) -> String {
    file(chain: "  - fetch\n  - parse", settings: settings)
  }

  @Test("field_key_args names the arguments of the field key")
  func keyArguments() throws {
    let pipeline = try load(
      text(
        """
        keys: { types: { User: [login] } }
        fields: { "Query.feed": { field_key_args: [filter] }, User.posts: { field_key_args: [] } }
        """))
    #expect(
      pipeline.keys.fieldKeyArguments == ["Query": ["feed": ["filter"]], "User": ["posts": []]])
    #expect(pipeline.keys.types == ["User": ["login"]])
    #expect(
      pipeline.show().contains("  fields:\n    Query.feed:\n      field_key_args: [filter]\n"))
  }

  @Test(
    "a group that is not a name is refused, since it could be the beginning of another key",
    arguments: ["A:B", "QUERY_ROOT.x", "$segment", ""])
  func groupNames(name: String) {
    let found = check(text("keys: { groups: { Cat: \"\(name)\" } }")).errors
    #expect(found.map(\.message) == ["`\(name)` in `groups` cannot be the prefix of keys"])
  }

  @Test("merge joins pages, and groups share one identity space")
  func pages() throws {
    let pipeline = try load(
      text(
        """
        keys: { groups: { Cat: Animal, Dog: Animal } }
        fields:
          Query.feed: { merge: connection, field_key_args: [filter] }
          User.posts: { merge: offset }
        """))
    #expect(pipeline.keys.pages == ["Query": ["feed": .connection], "User": ["posts": .offset]])
    #expect(pipeline.keys.fieldKeyArguments == ["Query": ["feed": ["filter"]]])
    #expect(pipeline.keys.groups == ["Cat": "Animal", "Dog": "Animal"])
  }

  @Test("max_age says how long types and fields are fresh")
  func ages() throws {
    let pipeline = try load(
      text(
        """
        types: { User: { max_age: 1h }, Query: { max_age: 90s } }
        fields: { "Query.feed": { max_age: 5m, field_key_args: [filter] }, User.name: { max_age: 0s } }
        """))
    #expect(pipeline.ages.types == ["User": .seconds(3600), "Query": .seconds(90)])
    #expect(
      pipeline.ages.fields == ["Query": ["feed": .seconds(300)], "User": ["name": .zero]])
    #expect(pipeline.keys.fieldKeyArguments == ["Query": ["feed": ["filter"]]])
    #expect(pipeline.show().contains("  types:\n    User:\n      max_age: 1h\n"))
  }

  @Test(
    "what is no rule is an error with its location",
    arguments: [
      (
        #"types: { "User.name": { max_age: 1h } }"#, "`User.name` in `types` does not name a type"
      ),
      ("types: { User: {} }", "`User` in `types` requires the key `max_age`"),
      ("types: { User: { max_age: 60 } }", "`max_age`"),
      ("types: { User: { maxage: 1h } }", "has no key `maxage`"),
      ("types: { User: { max_age: -1s } }", "`max_age`"),
      ("fields: { feed: { key_args: [a] } }", "`feed` in `fields` does not name a field of a type"),
      (
        #"fields: { "Query.": { key_args: [a] } }"#,
        "`Query.` in `fields` does not name a field of a type"
      ),
      ("fields: { Query.feed: { keyargs: [a] } }", "has no key `keyargs`"),
      ("fields: { Query.feed: {} }", "`Query.feed` of `fields`: the rule is empty"),
      ("fields: { Query.feed: { merge: conection } }", "connection"),
      // Redirects that cannot be one.
      (
        "fields: { Query.feed: { key_args: [a], type: T, merge: offset } }",
        "the pages of `Query.feed` are merged"
      ),
      (
        "fields: { Query.feed: { type: T } }",
        "`type` of `Query.feed` is not the type of a redirect"
      ),
      (
        #"fields: { Query.feed: { key_args: [a], type: "[T" } }"#,
        "`type` of `Query.feed` is not the type of a redirect"
      ),
      (
        "fields: { Query.feed: { key_args: [a], type: QUERY.x } }",
        "`type` of `Query.feed` is not the type of a redirect"
      ),
    ] as [(String, String)])
  func wrongRules(settings: String, message: String) {
    let errors = check(text(settings)).errors
    #expect(errors.contains { $0.message.contains(message) && $0.location.line == 4 }, "\(errors)")
  }

  @Test("key_args with a type, or in a file with a schema, is a cache redirect")
  func redirects() throws {
    let pipeline = try load(
      text(
        """
        fields:
          Query.country: { key_args: [code], type: Country }
          Query.countries: { key_args: [input.codes], type: "[Country!]!", max_age: 1m }
        """))
    #expect(
      pipeline.keys.redirects == [
        "Query": [
          "country": CacheRedirect(["code"], type: "Country"),
          "countries": CacheRedirect(["input.codes"], type: "Country", isList: true),
        ]
      ])
    #expect(pipeline.keys.fieldKeyArguments == [:])
    #expect(pipeline.show().contains("      key_args: [code]\n      type: Country\n"))
    let typed = try load(
      text("schema: s.graphql\nfields: { Query.country: { key_args: [code] } }"))
    #expect(typed.keys.redirects == ["Query": ["country": CacheRedirect(["code"])]])
  }

  @Test(
    "the former meaning of key_args keeps working, with a warning",
    arguments: [
      ("Query.feed: { key_args: [filter] }", "write `field_key_args: [filter]`, or add `type`"),
      ("Query.feed: { key_args: [] }", "write `field_key_args: []`"),
      ("Query.feed: { key_args: [filter], merge: connection }", "write `field_key_args: [filter]`"),
    ])
  func formerMeaning(rule: String, hint: String) throws {
    let text = text("fields: { \(rule) }")
    let pipeline = try load(text)
    let arguments = rule.contains("filter") ? ["filter"] : []
    #expect(pipeline.keys.fieldKeyArguments == ["Query": ["feed": arguments]])
    #expect(pipeline.keys.redirects == [:])
    let warnings = check(text).warnings.filter { $0.code == .formerName }
    #expect(warnings.count == 1 && warnings[0].hint?.hasPrefix(hint) == true, "\(warnings)")
    #expect(warnings.map(\.location.line) == [4])
  }
}
