import GQLRunPipeline
import HTTPTypes
import Testing

/// Subscriptions whose transport is not declared: first over HTTP, and over WebSocket if that brings no stream.
@Suite(.timeLimit(.minutes(10))) struct TransportChoiceTests {
  struct Answer: Sendable, CustomTestStringConvertible {
    var status = "200 OK"
    var type = "application/json"
    var body: String

    var bytes: [UInt8] { HTTPText.response(status, type: type, body: body) }
    var testDescription: String { "\(status) \(body)" }
  }

  private static let noStream =
    #"{"data":null,"errors":[{"message":"Cannot return null for non-nullable field"}]}"#

  static let noStreams = [
    Answer(body: noStream),
    Answer(body: #"{"data":null}"#),
    Answer(type: "application/graphql-response+json", body: #"{"errors":[{"message":"no"}]}"#),
    Answer(type: "text/html", body: "<html>"),
    Answer(status: "400 Bad Request", body: #"{"errors":[{"message":"no"}]}"#),
    Answer(status: "404 Not Found", type: "text/plain", body: "nothing"),
    Answer(status: "405 Method Not Allowed", type: "text/plain", body: ""),
    Answer(status: "426 Upgrade Required", type: "text/plain", body: ""),
    Answer(status: "501 Not Implemented", type: "text/plain", body: ""),
  ]

  private static let socket = RawServer.Step.greeted(
    .message(SocketTests.next("Ada")), .message(SocketTests.complete()))

  private func run(
    _ scripts: [RawServer.Step]..., times: Int = 1, accept: String? = nil,
    check: @escaping @Sendable (Outcome, Bench, [String]) async throws -> Void
  ) async throws {
    try await RawServer.withServer(scripts, tls: nil) { server in
      try await Bench.with(url: server.url) { bench in
        var outcome = Outcome()
        for number in 0..<times {
          // Subscriptions with other fields have connections of their own.
          let field = HTTPField.Name("X-Number")
          outcome = await bench.run(SocketTests.document) { request in
            if let field { request.additionalHeaders[field] = "\(number)" }
            if let accept { request.additionalHeaders[.accept] = accept }
          }
        }
        let methods = await server.log.requests.map { String($0.prefix { $0 != " " }) }
        try await check(outcome, bench, methods)
      }
    }
  }

  @Test(arguments: noStreams)
  func `an answer that is no stream leads to WebSocket at the same address, which is remembered`(
    _ answer: Answer
  ) async throws {
    try await run([.request, .send(answer.bytes)], Self.socket, times: 2) { outcome, _, methods in
      #expect(outcome.texts == [SocketTests.payload("Ada")], "\(outcome.message)")
      #expect(methods == ["POST", "GET", "GET"])
    }
  }

  @Test func `if WebSocket fails, too, a result is delivered, and a warning names the failure`()
    async throws
  {
    let refusal: [RawServer.Step] = [
      .request, .send(HTTPText.response("404 Not Found", type: "text/plain", body: "no socket")),
    ]
    let answer: [RawServer.Step] = [
      .request, .send(HTTPText.response(headers: ["Connection: close"], body: Self.noStream)),
    ]
    try await run(answer, refusal, answer, times: 2) { outcome, bench, methods in
      #expect(outcome.results.first?.errors.first?.message.contains("Cannot return null") == true)
      #expect(bench.log.everything.contains("WebSocket failed, too: "), "\(bench.log.everything)")
      #expect(bench.log.everything.contains("no socket"))
      // A refusal is remembered.
      #expect(methods == ["POST", "GET", "POST"])
    }
  }

  @Test func `if WebSocket fails, too, the error names both failures`() async throws {
    try await run(
      [.request, .send(Answer(status: "400 Bad Request", type: "text/plain", body: "no").bytes)],
      [.request, .send(Answer(status: "404 Not Found", type: "text/plain", body: "gone").bytes)]
    ) { outcome, _, methods in
      #expect(outcome.failure?.http?.status == 400)
      #expect(outcome.message.contains("400 Bad Request"), "\(outcome.message)")
      #expect(outcome.message.contains("; and over WebSocket: "), "\(outcome.message)")
      #expect(outcome.message.contains("404 Not Found") && outcome.message.contains("gone"))
      #expect(methods == ["POST", "GET"])
    }
  }

  @Test(arguments: [
    "401 Unauthorized", "403 Forbidden", "429 Too Many Requests", "500 Internal Server Error",
    "503 Service Unavailable",
  ])
  func `an answer about credentials or load is reported as it is`(_ status: String) async throws {
    try await run(
      [.request, .send(Answer(status: status, type: "text/plain", body: "no").bytes)]
    ) { outcome, _, methods in
      #expect(outcome.failure?.http?.status == Int(status.prefix(3)))
      #expect(!outcome.message.contains("WebSocket"), "\(outcome.message)")
      #expect(methods == ["POST"])
    }
    let refusal = Answer(
      status: status, type: "application/graphql-response+json",
      body: #"{"errors":[{"message":"busy"}]}"#)
    try await run([.request, .send(refusal.bytes)]) { outcome, _, methods in
      #expect(outcome.results.map { $0.errors.map(\.message) } == [["busy"]])
      #expect(methods == ["POST"])
    }
  }

  @Test(
    arguments: [
      #"{"data":{"renamed":{"__typename":"User","id":"1","name":"Ada"}}}"#,
      #"{"data":{"renamed":null},"errors":[{"message":"no name"}]}"#,
    ], ["application/json", "application/json ; charset=utf-8", "text/json"])
  func `a single result with data is a result, and is not asked for again`(
    _ body: String, type: String
  ) async throws {
    try await run(
      [.request, .send(HTTPText.response(type: type, body: body))]
    ) { outcome, _, methods in
      #expect(outcome.error == nil && outcome.results.count == 1, "\(outcome.message)")
      #expect(methods == ["POST"])
    }
  }

  @Test(arguments: ["text/event-stream", "Text/Event-Stream ; charset=utf-8"])
  func `a server that has sent a stream is not asked for another transport`(
    _ type: String
  ) async throws {
    let events = HTTPText.response(
      type: type, headers: ["Connection: close"], body: "event: complete\ndata:\n\n")
    try await run(
      [.request, .send(events)], [.request, .send(HTTPText.response(body: Self.noStream))], times: 2
    ) { outcome, _, methods in
      #expect(outcome.results.first?.errors.count == 1, "\(outcome.message)")
      #expect(methods == ["POST", "POST"])
    }
  }

  @Test func `a field Accept chooses a transport over HTTP`() async throws {
    try await run(
      [.request, .send(HTTPText.response(body: Self.noStream))], accept: "text/event-stream"
    ) { outcome, _, methods in
      #expect(outcome.results.first?.errors.count == 1, "\(outcome.message)")
      #expect(methods == ["POST"])
    }
  }

  @Test func `a server that no longer opens WebSocket connections is asked over HTTP again`()
    async throws
  {
    let events = HTTPText.response(
      type: "text/event-stream",
      body: "event: next\ndata: \(SocketTests.payload("Bo"))\n\nevent: complete\ndata:\n\n")
    let answer = HTTPText.response(headers: ["Connection: close"], body: Self.noStream)
    try await run(
      [.request, .send(answer)], Self.socket,
      [.request, .send(HTTPText.response("404 Not Found", body: ""))], [.request, .send(events)],
      times: 2
    ) { outcome, _, methods in
      #expect(outcome.texts == [SocketTests.payload("Bo")], "\(outcome.message)")
      #expect(methods == ["POST", "GET", "GET", "POST"])
    }
  }
}
