import GQLRunPipeline
import Testing

@Suite(.timeLimit(.minutes(10))) struct ResponseCodePluginTests {
  private func run(_ entry: String, _ answer: FakeNetwork.Answer) async throws -> Outcome {
    let chain = Bench.plain.replacing("- response-code", with: "- \(entry)")
    return try await Bench.with(
      chain, setup: .init(transport: FakeNetwork(answer))
    ) { await $0.run() }
  }

  @Test(arguments: [
    (200, "application/json", true), (201, "application/json", true),
    (299, "application/json", true), (400, "application/json", false),
    (400, "application/graphql-response+json", true),
    (400, "Application/GraphQL-Response+JSON; charset=utf-8", true),
    (401, "application/graphql-response+json", true), (404, "application/json", false),
    (500, "application/json", false), (500, "application/graphql-response+json", true),
    (599, "application/json", false), (302, "application/json", false),
    (294, "application/json", true), (294, "application/graphql-response+json", true),
    (422, "application/json", false), (422, "application/graphql-response+json", true),
  ]) func `a status is a success, or the body GraphQL's own word`(
    _ status: Int, _ type: String, _ isRead: Bool
  ) async throws {
    let outcome = try await run(
      "response-code", .body(HTTPText.user, status: status, type: type))
    #expect(outcome.results.count == (isRead ? 1 : 0), "\(outcome.message)")
    if !isRead {
      #expect(outcome.code == .httpStatus)
      #expect(outcome.failure?.entry == "response-code")
      #expect(outcome.failure?.delivery == .answered)
      #expect(outcome.failure?.http?.status == status)
    }
  }

  /// GraphQL over HTTP of September 2026: 294 is partial success, 422 an invalid document or variable. Before, both were
  /// 200 or 400.
  @Test(arguments: [
    (294, #"{"data":{"user":{"__typename":"User","id":"1","name":null}},"errors":[ERROR]}"#, true),
    (200, #"{"data":{"user":{"__typename":"User","id":"1","name":null}},"errors":[ERROR]}"#, true),
    (294, #"{"data":null,"errors":[ERROR]}"#, false), (422, #"{"errors":[ERROR]}"#, false),
  ])
  func `data and errors of the statuses of 2026 are delivered together`(
    _ status: Int, _ body: String, _ hasData: Bool
  ) async throws {
    let answer = FakeNetwork.Answer.body(
      body.replacing("ERROR", with: #"{"message":"no name","path":["user","name"]}"#),
      status: status, type: "application/graphql-response+json")
    let outcome = try await run("response-code", answer)
    #expect(outcome.results.first?.status == status, "\(outcome)")
    #expect(outcome.results.first?.errors.map(\.message) == ["no name"])
    #expect(outcome.texts.first?.contains(#""id":"1""#) == hasData)
  }

  /// The statuses that GraphQL over HTTP names, and unknown ones: of each kind.
  @Test(arguments: [
    200, 202, 250, 294, 299, 400, 401, 403, 405, 406, 408, 409, 413, 414, 415, 418, 422, 429, 431,
    499,
    500, 501, 503, 599,
  ])
  func `a GraphQL response is read with any status, and an error of the request has no data`(
    _ status: Int
  ) async throws {
    for body in [#"{"errors":[{"message":"no"}]}"#, #"{"data":null,"errors":[{"message":"no"}]}"#] {
      let type = "application/graphql-response+json; charset=utf-8"
      let outcome = try await run("response-code", .body(body, status: status, type: type))
      #expect(outcome.texts == [body], "\(outcome.message)")
      #expect(outcome.results.first?.status == status)
      let other = try await run("response-code", .body(body, status: status))
      #expect(other.texts == (status < 300 ? [body] : []))
      #expect(other.failure?.http?.status == (status < 300 ? nil : status))
    }
  }

  @Test(arguments: [(400, true), (404, false)])
  func `further statuses are accepted if an option lists them`(
    _ status: Int, _ isRead: Bool
  ) async throws {
    let outcome = try await run(
      "response-code: { accept: [400] }", .body(HTTPText.user, status: status))
    #expect(outcome.results.count == (isRead ? 1 : 0))
  }

  @Test(arguments: [
    (401, "credentials"), (403, "credentials do not allow"), (404, "path of the endpoint"),
    (302, "not followed"),
  ]) func `the message says what to check at`(_ status: Int, _ part: String) async throws {
    let outcome = try await run("response-code", .response(status))
    #expect(outcome.message.contains(part))
  }

  @Test func `304 is no redirect`() async throws {
    let outcome = try await run("response-code", .response(304))
    #expect(outcome.code == .httpStatus)
    #expect(!outcome.message.contains("redirect"), "\(outcome.message)")
  }
}
