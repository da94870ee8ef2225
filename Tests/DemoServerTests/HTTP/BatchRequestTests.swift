import GQLRunDemoServer
import GQLRunJSON
import Testing

/// Several operations in one request, and the statuses of August 2026.
@Suite(.timeLimit(.minutes(10))) struct BatchRequestTests {
  private func reply(
    _ body: String, limit: Int = 3, isNew: Bool = false,
    accept: String = "application/graphql-response+json"
  ) async throws -> HTTPReply {
    var configuration = DemoServer.Configuration()
    configuration.maxBatch = limit
    configuration.usesNewStatuses = isNew
    return try await DemoServer.withServer(configuration) { server in
      try await RawClient(server).send(
        "POST", "/graphql", headers: ["Content-Type": "application/json", "Accept": accept],
        body: body)
    }
  }

  @Test func `an array of operations gives an array of responses in the same order`() async throws {
    let reply = try await reply(
      #" [{"query":"{ a: __typename }"},{"query":"{ nope }"},"#
        + #"{"query":"query ($c: ID!) { country(code: $c) { name } }","variables":{"c":"CA"}}]"#)
    #expect(reply.status == 200)
    let responses = try #require(try JSONValue(parsing: reply.body).arrayValue)
    #expect(responses.count == 3)
    #expect(responses[0] == ["data": ["a": "Query"]])
    #expect(responses[1]["errors"]?.arrayValue?.count == 1)
    #expect(responses[2] == ["data": ["country": ["name": "Canada"]]])
  }

  @Test(arguments: [
    "[]", "[1,2,3,4]", "[", "[{\"query\":\"{ __typename }\"}",
  ]) func `arrays that are refused have one error`(_ body: String) async throws {
    let reply = try await reply(body)
    #expect(reply.status == 400)
    #expect(try JSONValue(parsing: reply.body)["errors"]?.arrayValue?.count == 1)
  }

  @Test func `elements that are no operations have errors of their own`() async throws {
    let reply = try await reply(
      #"[1,{},{"query":"subscription { countdown(from: 1) }"}]"#)
    let responses = try #require(try JSONValue(parsing: reply.body).arrayValue)
    #expect(responses.count == 3 && responses.allSatisfy { $0["errors"] != nil })
  }

  @Test func `arrays are refused by default`() async throws {
    let reply = try await reply("[{\"query\":\"{ __typename }\"}]", limit: 0)
    #expect(reply.status == 400 && reply.text.contains("batching is disabled"))
  }

  /// An operation, the present status, and that of August 2026.
  @Test(arguments: [
    ("{ __typename }", 200, 200), ("{ nope }", 400, 422), ("{", 400, 400),
    ("query ($c: ID!) { country(code: $c) { name } }", 400, 422),
    ("{ trouble { error } }", 200, 294),
  ]) func `statuses of both editions`(_ query: String, present: Int, new: Int) async throws {
    let body = JSONValue.object(["query": .string(query)]).jsonText()
    #expect(try await reply(body).status == present)
    #expect(try await reply(body, isNew: true).status == new)
    #expect(try await reply(body, isNew: true, accept: "application/json").status == 200)
  }
}
