import GQLRunDemoServer
import GQLRunJSON
import GQLRunPipeline
import GQLRunTestSupport
import Testing

/// Subscriptions that share one event stream, through a whole chain, against a server with a script.
///
/// The names are those of the reference client's tests. Those of its events (`onMessage`, listeners) and of clients that
/// connect before the first subscription do not apply: `-v` and the state of a subscription show connections, and
/// connections are always lazy.
///
/// - https://github.com/enisdenjo/graphql-sse/blob/master/PROTOCOL.md#single-connection-mode
/// - https://github.com/enisdenjo/graphql-sse/blob/master/tests/client.test.ts
@Suite(.timeLimit(.minutes(10))) struct SingleConnectionTests {
  /// The answers of a server, by what a request asks for.
  struct Server: Sendable {
    var reservation = HTTPText.response("201 Created", type: "text/plain", body: "token-1")
    var head = HTTPText.response(
      type: "text/event-stream", headers: ["Connection: close"], body: ":\n\n")
    var acceptance: [RawServer.Step] = [
      .send(HTTPText.response("202 Accepted", type: nil, body: ""))
    ]
    /// What a stream sends after an operation has come, whose id this is.
    var events: @Sendable (_ id: String) -> [RawServer.Step] = { _ in [.untilClosed] }

    func with<Result: Sendable>(
      _ body: @Sendable @escaping (RawServer) async throws -> Result
    ) async throws -> Result {
      let posts = AsyncStream.makeStream(of: String.self)
      let (stream, events) = (posts.stream, events)
      return try await RawServer.withServer([
        .each { request in
          switch request.prefix(while: { $0 != " " }) {
          case "PUT": return [.send(reservation)]
          case "GET":
            return [
              .send(head),
              .steps {
                for await id in stream { return events(id) }
                return []
              },
              .end,
            ]
          case "POST":
            posts.continuation.yield(Self.id(in: request))
            return acceptance
          default: return [.send(HTTPText.response(type: nil, body: ""))]
          }
        }
      ]) { server in
        defer { posts.continuation.finish() }
        return try await body(server)
      }
    }

    /// The id of the operation in the body of a request.
    static func id(in request: String) -> String {
      let body = request.drop { $0 != "{" }
      let json = try? JSONValue(parsing: Array(body.utf8))
      return json?["extensions"]?["operationId"]?.stringValue ?? "none"
    }
  }

  static let shared: @Sendable (inout Pipeline) -> Void = { pipeline in
    pipeline.endpoint?.subscriptions = try? .init(transport: .sse, usesSingleConnection: true)
  }

  static func next(_ name: String, id: String) -> RawServer.Step {
    .send("event: next\ndata: {\"id\":\"\(id)\",\"payload\":\(SocketTests.payload(name))}\n\n")
  }

  static func complete(_ id: String) -> RawServer.Step {
    .send("event: complete\ndata: {\"id\":\"\(id)\"}\n\n")
  }

  private static func setup(_ clock: TestClock? = nil) -> Bench.Setup {
    var setup = Bench.Setup()
    setup.change = shared
    if let clock { setup.networkClock = ServiceClock(clock) }
    return setup
  }

  /// Subscribes once, and passes on what came.
  private func subscribe(
    _ chain: String = Bench.plain, to server: Server,
    check: @escaping @Sendable (Outcome, Bench, RawServer) async throws -> Void
  ) async throws {
    try await server.with { server in
      try await Bench.with(chain, url: server.url, setup: Self.setup()) { bench in
        try await check(await bench.run(SocketTests.document), bench, server)
      }
    }
  }

  // MARK: Results

  @Test func `uses the provided headers, and each event is a result`() async throws {
    var server = Server()
    server.events = { id in
      [
        Self.next("Ada", id: id), Self.next("others", id: "9\(id)"), Self.next("others", id: "x"),
        .send(": ping\n\nevent: other\ndata: nonsense\n\n"), Self.next("Bo", id: id),
        Self.complete(id), Self.complete(id), Self.next("too late", id: id), .untilClosed,
      ]
    }
    try await subscribe(to: server) { outcome, bench, server in
      #expect(outcome.error == nil, "\(outcome.message)")
      #expect(outcome.texts == [SocketTests.payload("Ada"), SocketTests.payload("Bo")])
      #expect(await bench.dump().contains(#""name":"Bo""#))
      expectNoSecrets(outcome, bench)
      let requests = await server.log.requests
      #expect(
        requests.map { $0.prefix { $0 != "\r\n" } } == [
          "PUT /graphql HTTP/1.1", "GET /graphql HTTP/1.1", "POST /graphql HTTP/1.1",
        ])
      #expect(requests.allSatisfy { $0.contains("Authorization: Bearer \(Bench.canary)\r\n") })
      let token = "X-GraphQL-Event-Stream-Token: token-1\r\n"
      #expect(requests.map { $0.contains(token) } == [false, true, true])
      #expect(requests.dropFirst().first?.contains("Accept: text/event-stream\r\n") == true)
      #expect(requests.last?.contains("Accept: application/graphql-response+json, ") == true)
      #expect(requests.last?.contains(#""query":"subscription Renamed "#) == true)
    }
  }

  @Test func `accepts multiline events`() async throws {
    var server = Server()
    server.events = { id in
      [
        .send("event: next\ndata: {\"id\":\"\(id)\",\ndata: \"payload\":"),
        .send("\ndata: \(SocketTests.payload("Ada"))\ndata: }\n\n"), Self.complete(id),
        .untilClosed,
      ]
    }
    try await subscribe(to: server) { outcome, _, _ in
      #expect(outcome.texts == [SocketTests.payload("Ada")], "\(outcome.message)")
    }
  }

  @Test func `several subscriptions share the stream`() async throws {
    try await Bench.withDemoServer("- fetch\n- parse", setup: Self.setup()) { bench, server in
      let texts = await withTaskGroup(of: [String].self) { group in
        for number in 0..<5 {
          group.addTask {
            await bench.run("subscription { countdown(from: \(number)) }").texts
          }
        }
        return await group.reduce(into: [Int: [String]]()) { $0[$1.count] = $1 }
      }
      for number in 0..<5 {
        let expected = (0...number).reversed().map { #"{"data":{"countdown":\#($0)}}"# }
        #expect(texts[number + 1] == expected)
      }
      let methods = server.log.requests.map(\.method)
      #expect(methods.filter { $0 == "PUT" }.count == 1)
      #expect(methods.filter { $0 == "GET" }.count == 1)
      #expect(methods.filter { $0 == "POST" }.count == 5)
    }
  }

  @Test func `reports validation issues of the request`() async throws {
    var server = Server()
    server.acceptance = [
      .send(
        HTTPText.response(
          "400 Bad Request", type: "application/graphql-response+json",
          body: #"{"errors":[{"message":"no such field"}]}"#))
    ]
    try await subscribe(to: server) { outcome, _, server in
      #expect(outcome.error == nil, "\(outcome.message)")
      #expect(outcome.results.map { $0.errors.map(\.message) } == [["no such field"]])
      #expect(await server.log.requests.count == 3)
    }
  }

  // MARK: Bad input

  struct Bad: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var code: ChainError.Code
    var message: String
    var server: Server

    init(
      _ name: String, _ code: ChainError.Code, _ message: String,
      _ change: (inout Server) -> Void
    ) {
      (testDescription, self.code, self.message, server) = (name, code, message, Server())
      change(&server)
    }

    /// A text on the stream.
    init(
      sent text: String, _ name: String, _ message: String,
      _ code: ChainError.Code = .malformedResponse
    ) {
      self.init(name, code, message) { server in
        server.events = { id in
          [.send(text.replacing("ID", with: id)), .untilClosed]
        }
      }
    }
  }

  static let bad: [Bad] = [
    Bad(
      "a reservation that is refused", .httpStatus,
      "answered the reservation of an event stream for all subscriptions (single_connection: true) with 405 "
        + "Method Not Allowed, where 201 Created was expected: GET, POST"
    ) { $0.reservation = HTTPText.response("405 Method Not Allowed", body: "\nGET, POST\n") },
    Bad("no credentials", .httpStatus, "401 Unauthorized") {
      $0.reservation = HTTPText.response("401 Unauthorized", body: "")
    },
    Bad("an answer that is no reservation", .httpStatus, "200 OK, where 201 Created") {
      $0.reservation = HTTPText.response()
    },
    Bad("an empty token", .malformedResponse, "a token that is not 1 to 4096 printable") {
      $0.reservation = HTTPText.response("201 Created", body: "")
    },
    Bad("a token that is no text", .malformedResponse, "a token that is not 1 to 4096 printable") {
      $0.reservation = HTTPText.response("201 Created", bytes: [0x61, 0xFF, 0x0A])
    },
    Bad("a token of a megabyte", .malformedResponse, "a token that is not 1 to 4096 printable") {
      $0.reservation = HTTPText.response(
        "201 Created", body: String(repeating: "a", count: 1 << 20))
    },
    Bad(
      "a reservation elsewhere", .redirectRefused,
      "redirects the reservation of an event stream for all subscriptions (single_connection: true) to "
        + "https://elsewhere/graphql, which is not followed"
    ) {
      $0.reservation = HTTPText.response(
        "308 Permanent Redirect", headers: ["Location: https://elsewhere/graphql?key=canary"],
        body: "")
    },
    Bad("no stream", .httpStatus, "404 Not Found, where 200 OK with text/event-stream was") {
      $0.head = HTTPText.response("404 Not Found", body: "")
    },
    Bad("a stream of another type", .httpStatus, "(with a body of type application/json)") {
      $0.head = HTTPText.response()
    },
    Bad("an operation that is refused", .httpStatus, "the server answered 404 Not Found") {
      $0.acceptance = [.send(HTTPText.response("404 Not Found", type: nil, body: "gone"))]
    },
    Bad("an operation whose request is lost", .connectionClosed, "connection") {
      $0.acceptance = [.reset]
    },
    Bad("a stream that ends", .connectionClosed, "ended the event stream before its") {
      $0.events = { _ in [] }
    },
    Bad("a stream that is cut within an event", .connectionClosed, "ended the event stream") {
      $0.events = { id in [.send("event: next\ndata: {\"id\":\"\(id)\"")] }
    },
    Bad(
      sent: "event: next\ndata: {\"payload\":{}}\n\n", "an event without an id",
      "an event `next` has no id of an operation"),
    Bad(
      sent: "event: complete\ndata: {}\n\n", "a complete without an id",
      "an event `complete` has no id of an operation"),
    Bad(
      sent: "event: complete\n\n", "a complete without data",
      "an event `complete` has no data, where an operation's id was expected"),
    Bad(sent: "event: next\ndata: nonsense\n\n", "no JSON", "is not a JSON object"),
    Bad(
      sent: "event: next\ndata: {\"id\":\"ID\",\"payload\":[]}\n\n", "a payload of another type",
      "the payload of an event `next` is not an object"),
    Bad(
      sent: "event: next\ndata: {\"id\":\"ID\",\"payload\":{\"data\":nonsense}}\n\n",
      "a payload that is not JSON", "the response is not valid JSON at byte 9"),
    Bad(
      sent: "event: next\ndata: \(String(repeating: " ", count: 2000))", "a large event",
      "an event is larger than 1024 bytes; raise the option max_message", .limitExceeded),
  ]

  @Test(arguments: bad) func `bad input is an error that says what was found`(
    _ bad: Bad
  ) async throws {
    let chain = Bench.fetching("max_message: 1KiB")
    try await subscribe(chain, to: bad.server) { outcome, bench, _ in
      #expect(outcome.code == bad.code, "\(outcome.message)")
      #expect(outcome.message.contains(bad.message), "\(outcome.message)")
      #expect(outcome.failure?.layer == .transport)
      #expect(outcome.results.isEmpty)
      expectNoSecrets(outcome, bench)
    }
  }

  @Test func `an operation whose request was lost is stopped`() async throws {
    var server = Server()
    server.acceptance = [.reset]
    try await subscribe(to: server) { outcome, _, server in
      #expect(outcome.code == .connectionClosed, "\(outcome.message)")
      let stop = await server.log.request(containing: "DELETE ")
      let start = await server.log.request(containing: "POST ")
      #expect(stop.hasPrefix("DELETE /graphql?operationId=\(Server.id(in: start)) "))
    }
  }

  // MARK: The end

  @Test func `completes subscriptions when disposing them`() async throws {
    var server = Server()
    server.events = { id in [Self.next("Ada", id: id), .untilClosed] }
    try await server.with { server in
      try await Bench.with(url: server.url + "?a=b", setup: Self.setup()) { bench in
        for try await _ in bench.runner.execute(try Bench.request(SocketTests.document)) { break }
        let stop = await server.log.request(containing: "DELETE ")
        let start = await server.log.request(containing: "POST ")
        #expect(stop.hasPrefix("DELETE /graphql?a=b&operationId=\(Server.id(in: start)) "))
        #expect(stop.contains("X-GraphQL-Event-Stream-Token: token-1\r\n"))
        #expect(stop.contains("Authorization: Bearer \(Bench.canary)\r\n"))
        #expect(await server.log.closures == 0)
      }
    }
  }

  @Test func `connects on first subscribe and disconnects some time after the last complete`()
    async throws
  {
    var server = Server()
    server.events = { id in [Self.complete(id), .untilClosed] }
    try await server.with { server in
      let clock = TestClock()
      // Unused connections of other requests are kept as long, in real time.
      let chain = Bench.fetching("keep_alive: 30m, connect_timeout: 1h, event_timeout: 24h")
      try await Bench.with(chain, url: server.url, setup: Self.setup(clock)) { bench in
        #expect(await server.log.connections == 0)
        #expect(await bench.run(SocketTests.document).error == nil)
        #expect(await server.log.closures == 0)
        let time = Task {
          while !Task.isCancelled {
            clock.advance(by: .seconds(60))
            await Task.yield()
          }
        }
        await server.log.closure()
        time.cancel()
        #expect(await bench.run(SocketTests.document).error == nil)
        #expect(await server.log.requests.filter { $0.hasPrefix("PUT ") }.count == 2)
      }
    }
  }

  @Test func `closes the stream when the client shuts down`() async throws {
    try await Server().with { server in
      try await Bench.with(url: server.url, setup: Self.setup()) { bench in
        let running = Task { await bench.run(SocketTests.document) }
        _ = await server.log.request(containing: "POST ")
        running.cancel()
        #expect(await running.value.error is CancellationError)
      }
      await server.log.closure()
    }
  }

  // MARK: Lost streams

  @Test func `keeps retrying until the attempts are exceeded`() async throws {
    var server = Server()
    server.reservation = HTTPText.response("503 Service Unavailable", body: "")
    try await subscribe(SocketTests.retrying, to: server) { outcome, _, server in
      #expect(outcome.failure?.http?.status == 503, "\(outcome.message)")
      #expect(await server.log.requests.count == 3)
    }
  }

  // MARK: The file

  @Test(arguments: ["auto", "multipart", "graphql-transport-ws"])
  func `other transports have no single connection`(_ transport: String) throws {
    let file = """
      version: 1
      endpoint: { url: "http://localhost/", subscriptions: { transport: \(transport), single_connection: true } }
      chain: [fetch, parse]
      """
    let found = #expect(throws: PipelineDiagnostics.self) { try Bench.load(file) }
    let messages = found?.all.map(\.message) ?? []
    #expect(messages == ["the transport \(transport) has no mode `single_connection`"])
    #expect(throws: Never.self) { try Bench.load(file.replacing(transport, with: "sse")) }
  }
}
