import Foundation
import GQLRunJSON
import GQLRunPipeline
import HTTPTypes
import Testing

/// The views of bodies in the log.
@Suite(.timeLimit(.minutes(10))) struct BodyLogTests {
  /// The lines about bodies.
  private func lines(
    _ options: String, _ answer: FakeNetwork.Answer,
    change: @Sendable (inout GraphQLRequest) -> Void = { _ in }
  ) async throws -> [String] {
    let chain = "- logging: { body: true\(options) }\n- fetch\n- response-code\n- parse"
    return try await Bench.with(chain, setup: .init(transport: FakeNetwork(answer))) { bench in
      _ = await bench.run(change: change)
      return bench.log.lines.filter { $0.hasPrefix("<") || $0.hasPrefix(">") }
    }
  }

  @Test func `the bodies of request and response are shown`() async throws {
    #expect(
      try await lines("", .ok) == [
        "> POST http://localhost/",
        #"> {"query":"query User {\n  user(id: \"1\") {\n    __typename\n    id\n    name\n  }\n}","operationName":"User"}"#,
        "< 200", "< \(HTTPText.user)",
      ])
  }

  @Test func `secrets are hidden, by their names and wherever a server repeats them`() async throws
  {
    let answer = FakeNetwork.Answer.body(
      #"{"data":{"user":{"__typename":"User","id":"1","name":"\#(Bench.canary)"}},"#
        + #""extensions":{"refreshToken":"r-1","email":"ada@example.com"}}"#)
    let lines = try await lines(", redact: [email]", answer) {
      $0.variables["input"] = ["password": "hunter2"]
    }.joined(separator: "\n")
    for secret in [Bench.canary, "r-1", "ada@example.com", "hunter2"] {
      #expect(!lines.contains(secret), "\(lines)")
    }
    #expect(lines.contains(#""password":"•••""#) && lines.contains(#""name":"•••""#))
  }

  @Test func `a long body is cut, and its secrets stay hidden`() async throws {
    let answer = FakeNetwork.Answer.body(
      #"{"data":{"user":{"__typename":"User","id":"1","name":"é"}},"#
        + #""extensions":{"token":"SECRET SECRET SECRET"}}"#)
    for limit in 1...110 {
      let lines = try await lines(", max_body: \(limit)B", answer)
      #expect(!lines.joined().contains("SECRET"))
      #expect(lines.last?.hasPrefix("< ") == true)
      if limit < 100 {
        #expect(lines.last?.contains("… (\(limit) of 106 bytes)") == true, "\(lines)")
      }
    }
  }

  @Test func `bytes that are no text are counted, not shown`() async throws {
    let chain = "- logging: { body: true }\n- fetch\n- response-code\n- parse"
    try await Bench.with(chain, setup: .init(transport: BinaryNetwork())) { bench in
      _ = await bench.run()
      #expect(bench.log.lines.contains("< a body of 4 bytes that are not UTF-8 text"))
    }
  }

  private struct BinaryNetwork: HTTPTransport {
    func send(
      _ request: HTTPRequestMessage, limits: HTTPLimits
    ) async throws -> HTTPResponseMessage {
      HTTPResponseMessage(
        head: HTTPResponse(status: .ok), body: HTTPBody([[0xFF, 0xFE, 0x00, 0x80] as [UInt8]]))
    }
  }

  @Test func `what has not come is said not to be received yet`() async throws {
    #expect(
      try await lines("", .failure(.connectionFailed, .notSent)).last
        == "< the response was not yet received")
    #expect(try await lines("", .response(500, body: "")).last == "< an empty body")
    // The response to a mutation whose caller stops reading after the first KiB.
    let page = FakeNetwork.Answer.response(502, body: String(repeating: "x", count: 2_000))
    let line = try #require(try await lines(", max_body: 10B", page).last)
    #expect(line == "< xxxxxxxxxx … (10 of at least 2000 bytes)")
  }
}
