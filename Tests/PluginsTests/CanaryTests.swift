import Foundation
import GQLRunPipeline
import GQLRunTestSupport
import HTTPTypes
import Testing

/// One secret in every place that takes one, and in everything a server answers.
@Suite(.timeLimit(.minutes(10))) struct CanaryTests {
  private static let canary = Bench.canary

  private static let chain = """
    - error-tap
    - correlation-id
    - audit: { file: "${env:DIR}/audit.ndjson", values: [correlation_id] }
    - logging: { level: info }
    - max-retry: { backoff: { base: 0s } }
    - cache-read: { policy: network-only }
    - deduplicate
    - token-refresh:
        oauth2:
          token_url: "https://login.example.com/token?key=${env:CANARY}"
          client_id: c
          client_secret: "${env:CANARY}"
          grant: refresh-token
          refresh_token: "${env:CANARY}"
          store: "${env:DIR}/token.json"
    - apq
    - headers: { set: { X-Api-Key: "${env:CANARY}", X-Plain: "${env:CANARY}", Cookie: "a=${env:CANARY}" } }
    - logging: { headers: true, body: true, max_body: 1MiB }
    - rate-limit
    - record-replay: { file: "${env:DIR}/recording.ndjson", mode: record }
    - fetch
    - response-code
    - parse
    - cache-write
    """

  /// Answers with the status, and repeats everything it was sent.
  private struct Echo: HTTPTransport {
    let status: Int
    let type: String

    func send(
      _ request: HTTPRequestMessage, limits: HTTPLimits
    ) async throws -> HTTPResponseMessage {
      var head = HTTPResponse(status: .init(code: status))
      head.headerFields[.contentType] = type
      head.headerFields[.setCookie] = CanaryTests.canary
      let all =
        request.head.headerFields.map { "\($0.name): \($0.value)" }.joined(separator: " ")
        + String(decoding: request.body ?? [], as: UTF8.self).replacing("\"", with: "'")
      if request.head.path?.hasPrefix("/token") == true {
        head.headerFields[.contentType] = "application/json"
        head.status = .ok
        let token = "\(CanaryTests.canary)-access"
        let body = #"{"access_token":"\#(token)","refresh_token":"\#(CanaryTests.canary)-2"}"#
        return .init(head: head, body: HTTPBody([Array(body.utf8)]))
      }
      let text =
        status == 200 && type == "application/json"
        ? #"{"data":{"user":null},"errors":[{"message":"\#(all)","path":["user"],"#
          + #""extensions":{"code":"UNAUTHENTICATED","debug":{"sent":["\#(all)"]}}}]}"#
        : "refused: \(all)"
      return .init(head: head, body: HTTPBody([Array(text.utf8)]))
    }
  }

  @Test(arguments: [
    (200, "application/json"), (200, "text/html"), (400, "text/plain"), (401, "text/plain"),
    (403, "application/json"), (500, "text/html"), (503, "text/plain"),
  ]) func `a secret is seen nowhere but on the wire and in the store of tokens`(
    _ status: Int, _ type: String
  ) async throws {
    var setup = Bench.Setup()
    setup.transport = Echo(status: status, type: type)
    // Nothing waits for long here.
    setup.clock = ServiceClock(TestClock())
    setup.variables = ["CANARY": Self.canary]
    try await Bench.with(
      Self.chain, url: "http://localhost/graphql?key=\(Self.canary)", setup: setup
    ) { bench in
      let outcome = await bench.run { $0.context.named = ["user": "ada"] }
      var reflected = ""
      dump(bench.runner.pipeline, to: &reflected)
      if let error = outcome.error { dump(error, to: &reflected) }
      for (name, text) in [
        ("log", bench.log.everything), ("error", outcome.message),
        ("reflected", reflected), ("shown", bench.runner.pipeline.show()),
        ("recording", bench.text(of: "recording.ndjson")),
        ("audit", bench.text(of: "audit.ndjson")),
        ("cache", await bench.dump()),
        (
          "result",
          outcome.results.flatMap(\.errors).map { "\($0) \($0.extensions as Any)" }.joined()
        ),
      ] {
        #expect(
          !text.contains(Self.canary),
          "\(name): \(text.split(separator: "\n").filter { $0.contains(Self.canary) })")
      }
      #expect(bench.text(of: "token.json").contains(Self.canary))
      for name in ["recording.ndjson", "audit.ndjson"] { #expect(!bench.text(of: name).isEmpty) }
      #expect(bench.log.everything.contains("•••"))
    }
  }
}
