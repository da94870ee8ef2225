import Testing

@testable import DemoServer

@Suite struct SmokeTests {
  @Test func smoke() throws {
    let e = DemoExecutor()
    for q in [
      "{ country(code: \"CA\") { name capital emoji emojiU continent { name } languages { code name } states { code } } }",
      "{ feed(first: 1) { totalCount edges { cursor node { id title body ratio tags { name color } author { login name } comments(first: 2) { edges { node { body createdAt score } } pageInfo { hasNextPage endCursor } } } } pageInfo { hasNextPage endCursor } } }",
      "{ trouble { ok error requiredNested { requiredError } items a: nested { requiredError } } }",
      "{ __type(name: \"Country\") { name fields { name type { kind name ofType { name } } } } }",
      "{ feed(first: -1) { totalCount } }",
    ] {
      print(String(decoding: e.execute(q), as: UTF8.self))
    }
  }
  @Test func live() async throws {
    try await DemoServer.withServer { s in print(s.url) }
  }
}
