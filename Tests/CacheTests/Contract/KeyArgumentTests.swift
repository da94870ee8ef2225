import Testing

@testable import GQLRunCache

/// Rules that leave arguments out of the name under which a field is stored.
@Suite("Key arguments")
struct KeyArgumentTests {
  private let cache = CacheUnderTest(store: MemoryStore(collectsChanges: true))

  private func rules(_ type: String, _ field: String, _ arguments: [String]) -> KeyRules {
    KeyRules(fieldKeyArguments: [type: [field: arguments]])
  }

  @Test("only the arguments of the rule take part, at the root as well")
  func root() async throws {
    let keys = rules("Query", "feed", ["filter"])
    try await cache.write(
      #"{"data":{"feed":1}}"#, "{ feed(filter: NEW, after: 3, first: 10) }", keys: keys)
    try await cache.expectDump(#"{"key":"QUERY_ROOT","fields":{"feed({\"filter\":\"NEW\"})":1}}"#)
    #expect(
      try await cache.read("{ feed(first: 5, filter: NEW) }", keys: keys) == #"{"feed":1}"#)
    #expect(try await cache.read("{ feed(filter: OLD) }", keys: keys) == "miss at feed")
    #expect(try await cache.read("{ feed(filter: NEW) }") == #"{"feed":1}"#)
  }

  @Test("a rule without arguments stores all answers under the field's name")
  func none() async throws {
    let keys = rules("Query", "feed", [])
    try await cache.write(#"{"data":{"feed":1}}"#, "{ feed(after: 3) }", keys: keys)
    try await cache.expectDump(#"{"key":"QUERY_ROOT","fields":{"feed":1}}"#)
  }

  @Test("a rule of one type does not affect the fields of others, without a schema")
  func types() async throws {
    let keys = rules("User", "posts", [])
    let document = "{ nodes { id posts(first: 2) } }"
    let body = """
      {"data":{"nodes":[{"__typename":"User","id":"1","posts":1},\
      {"__typename":"Page","id":"2","posts":2}]}}
      """
    try await cache.write(body, document, keys: keys)
    try await cache.expectDump(
      #"{"key":"Page:2","fields":{"__typename":"Page","id":"2","posts({\"first\":2})":2}}"#,
      #"{"key":"QUERY_ROOT","fields":{"nodes":[{"$ref":"User:1"},{"$ref":"Page:2"}]}}"#,
      #"{"key":"User:1","fields":{"__typename":"User","id":"1","posts":1}}"#)
    #expect(
      try await cache.read(document, keys: keys)
        == #"{"nodes":[{"id":"1","posts":1},{"id":"2","posts":2}]}"#)
  }

  @Test("the type may come after the field")
  func lateType() async throws {
    let keys = rules("User", "posts", [])
    let body = #"{"data":{"user":{"posts":1,"id":"1","__typename":"User"}}}"#
    try await cache.write(body, "{ user { id posts(first: 2) } }", keys: keys)
    #expect(try await cache.dump().contains(#""posts":1"#))
  }

  @Test("with a schema the rule of an interface counts for its types, unless they have their own")
  func interfaces() async throws {
    let facts = try facts(
      """
      type Query { nodes: [N] } interface N { id: ID posts(first: Int, by: Int): Int }
      type A implements N { id: ID posts(first: Int, by: Int): Int }
      type B implements N { id: ID posts(first: Int, by: Int): Int }
      """)
    let keys = KeyRules(fieldKeyArguments: ["N": ["posts": ["by"]], "B": ["posts": []]])
    let body =
      #"{"data":{"nodes":[{"__typename":"A","id":"1","posts":1},{"__typename":"B","id":"2","posts":2}]}}"#
    try await cache.write(
      body, "{ nodes { id posts(first: 2, by: 3) } }", keys: keys, facts: facts)
    let dump = try await cache.dump()
    #expect(dump.contains(#""posts({\"by\":3})":1"#))
    #expect(dump.contains(#""posts":2"#))
  }
}
