import GQLRunDemoServer
import GQLRunJSON
import Testing

/// Several operations in one request.
@Suite(.timeLimit(.minutes(10))) struct BatchRequestTests {
  private func reply(_ body: String, limit: Int = 3) async throws -> HTTPReply {
    var configuration = DemoServer.Configuration()
    configuration.maxBatch = limit
    return try await RawClient.reply(
      "POST", headers: RawClient.json, body: body, configuration: configuration)
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
    ("[]", 422), ("[1,2,3,4]", 422), ("[", 400), ("[{\"query\":\"{ __typename }\"}", 400),
  ]) func `arrays that are refused have one error`(_ body: String, status: Int) async throws {
    let reply = try await reply(body)
    #expect(reply.status == status)
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
    #expect(reply.status == 422 && reply.text.contains("batching is disabled"))
  }
}
