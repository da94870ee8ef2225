import GQLRunJSON
import GQLRunPipeline
import GQLRunPlugins
import GQLRunTestSupport
import HTTPTypes
import Testing

/// Operations over WebSocket through a whole chain, against a server with a script.
///
/// The names are those of the reference client's tests. These do not apply:
///
/// - WebSocket implementations, `generateID`, JSON revivers and replacers, listeners of events: there are none. The log, `-v`
///   and the state of a client's subscriptions show connections.
/// - Clients that connect before the first operation (`lazy: false`): a connection belongs to its operations.
/// - Connection parameters that take too long: they are ready before the connection is opened, and the plugin `timeout`
///   limits the time until then.
/// - Pings that are not answered on request, `terminate` and a second disposal: a sequence ends once, and
///   `pauseSubscriptions` closes connections.
///
/// https://github.com/enisdenjo/graphql-ws/blob/master/tests/client.test.ts
@Suite(.timeLimit(.minutes(10))) struct SocketTests {
  static let document = #"subscription Renamed { renamed { __typename id name } }"#
  static let ack = #"{"type":"connection_ack"}"#
  static let retrying = "- max-retry: { max_retries: 2, backoff: { base: 0s } }\n" + Bench.plain

  static func payload(_ name: String) -> String {
    #"{"data":{"renamed":{"__typename":"User","id":"1","name":"\#(name)"}}}"#
  }

  static func next(_ name: String, id: Int = 1) -> String {
    #"{"id":"\#(id)","type":"next","payload":\#(payload(name))}"#
  }

  static func complete(_ id: Int = 1) -> String { #"{"id":"\#(id)","type":"complete"}"# }

  /// Subscribes once, and passes on what came.
  private func subscribe(
    _ chain: String = Bench.plain, to scripts: [RawServer.Step]...,
    change: @escaping @Sendable (inout Pipeline) -> Void = { _ in },
    check: @escaping @Sendable (Outcome, Bench, RawServer) async throws -> Void
  ) async throws {
    try await RawServer.withServer(scripts, tls: nil) { server in
      let url = "ws://127.0.0.1:\(server.port)/graphql?a=b"
      try await Bench.with(chain, url: url, setup: .init(change: change)) { bench in
        try await check(await bench.run(Self.document), bench, server)
      }
    }
  }

  // MARK: Results

  @Test func `each event is a result, and its records are in the store`() async throws {
    let script = RawServer.Step.greeted(
      .message(Self.next("Ada")), .message(#"{"type":"next","id":"9","payload":{}}"#),
      .message(#"{"payload":\#(Self.payload("Bo")),"type":"next","id":"1"}"#),
      .message(Self.complete()), .message(Self.next("too late")))
    try await subscribe(to: script) { outcome, bench, server in
      #expect(outcome.error == nil, "\(outcome.message)")
      #expect(outcome.texts == [Self.payload("Ada"), Self.payload("Bo")])
      #expect(await bench.dump().contains(#""name":"Bo""#))
      let request = try #require(await server.log.requests.first)
      #expect(request.hasPrefix("GET /graphql?a=b HTTP/1.1\r\n"))
      #expect(request.contains("Sec-WebSocket-Protocol: graphql-transport-ws, graphql-ws\r\n"))
      #expect(request.contains("Authorization: Bearer \(Bench.canary)\r\n"))
      let frames = await server.log.frames
      #expect(frames.first == #"{"type":"connection_init"}"#)
      #expect(
        frames.last?.hasPrefix(
          #"{"id":"1","type":"subscribe","payload":{"query":"subscription Renamed "#) == true)
      #expect(frames.last?.hasSuffix(#""operationName":"Renamed"}}"#) == true)
      #expect(frames.count == 2)
      expectNoSecrets(outcome, bench)
    }
  }

  @Test func `fields of a body are not in the handshake`() async throws {
    let script = RawServer.Step.greeted(.message(Self.next("Ada")), .message(Self.complete()))
    try await subscribe(
      to: script,
      change: {
        $0.endpoint?.headers[.contentLength] = "3"
        $0.endpoint?.headers[.transferEncoding] = "chunked"
        $0.endpoint?.headers[.acceptLanguage] = "nl"
      }
    ) { outcome, _, server in
      #expect(outcome.error == nil, "\(outcome.message)")
      let request = try #require(await server.log.requests.first).lowercased()
      #expect(request.contains("accept-language: nl\r\n"), "\(request)")
      #expect(!request.contains("content-length") && !request.contains("transfer-encoding"))
    }
  }

  @Test func `a message may have any number of frames, with others in between`() async throws {
    let text = Array(Self.next("Ada").utf8)
    let script = RawServer.Step.greeted(
      .send(SocketFrame.bytes(Array(text[..<10]), isFinal: false)),
      .send(SocketFrame.bytes(Array("?".utf8), opcode: 9)),
      .send(SocketFrame.bytes(Array(text[10..<40]), opcode: 0, isFinal: false)),
      .send(SocketFrame.bytes(Array(text[40...]), opcode: 0)), .frame, .message(Self.complete()))
    try await subscribe(to: script) { outcome, _, server in
      #expect(outcome.texts == [Self.payload("Ada")], "\(outcome.message)")
      #expect(await server.log.frames.last == "pong ?")
    }
  }

  @Test func `reports an error as the last result, without a complete`() async throws {
    let script = RawServer.Step.greeted(
      .message(Self.next("Ada")),
      .message(#"{"id":"1","type":"error","payload":[{"message":"no such field"}]}"#))
    try await subscribe(to: script) { outcome, _, server in
      #expect(outcome.error == nil)
      #expect(outcome.texts.last == #"{"errors":[{"message":"no such field"}]}"#)
      #expect(await server.log.frames.count == 2)
    }
  }

  @Test func `queries and mutations share the connection`() async throws {
    let script = RawServer.Step.greeted(
      .message(#"{"id":"1","type":"next","payload":\#(HTTPText.user)}"#),
      .message(Self.complete()), .frame,
      .message(#"{"id":"2","type":"next","payload":{"data":{"rename":{"name":"Ada"}}}}"#),
      .message(Self.complete(2)))
    try await Bench.withServer(script, isSocket: true) { bench, server in
      #expect(await bench.run(policy: .networkOnly).texts == [Bench.answered])
      let renamed = await bench.run(Bench.rename)
      #expect(renamed.texts == [#"{"data":{"rename":{"name":"Ada"}}}"#], "\(renamed.message)")
      #expect(await server.log.connections == 1)
    }
  }

  @Test func `receives messages even if one caller leaves while another one subscribes`()
    async throws
  {
    let script = RawServer.Step.greeted(
      .message(Self.next("Ada")), .frame, .frame, .message(Self.next("too late")),
      .message(Self.next("Bo", id: 2)), .message(Self.complete(2)))
    try await Bench.withServer(script, isSocket: true) { bench, server in
      for try await _ in bench.runner.execute(try Bench.request(Self.document)) { break }
      let other = await bench.run(Self.document)
      #expect(other.texts == [Self.payload("Bo")], "\(other.message)")
      #expect(await server.log.frames.filter { $0.contains("complete") }.count == 1)
      #expect(await server.log.connections == 1)
    }
  }

  @Test func `speaks the legacy protocol if the server chooses it`() async throws {
    let script: [RawServer.Step] = [
      .handshake("graphql-ws"), .frame, .message(#"{"type":"ka"}"#), .message(Self.ack), .frame,
      .message(#"{"type":"data","id":"1","payload":\#(Self.payload("Ada"))}"#),
      .message(#"{"type":"error","id":"1","payload":{"message":"m"}}"#), .closing,
    ]
    try await subscribe(to: script) { outcome, _, server in
      #expect(outcome.error == nil, "\(outcome.message)")
      #expect(outcome.texts.first == Self.payload("Ada"))
      #expect(outcome.results.last?.errors.map(\.message) == ["m"])
      #expect(await server.log.frames.last?.contains(#""type":"start""#) == true)
    }
  }

  // MARK: Bad input

  /// A script of a server, and the error that follows from it.
  struct Refusal: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var message: String
    var code: ChainError.Code
    var script: [RawServer.Step]

    init(
      _ name: String, _ message: String, _ code: ChainError.Code = .malformedResponse,
      script: [RawServer.Step]
    ) {
      (testDescription, self.message, self.code, self.script) = (name, message, code, script)
    }

    /// A refusal of what follows the greeting.
    init(
      _ name: String, _ message: String, _ code: ChainError.Code = .malformedResponse,
      greeted steps: RawServer.Step...
    ) {
      self.init(name, message, code, script: RawServer.Step.greeting + steps + [.closing])
    }
  }

  static let refusals: [Refusal] = [
    Refusal(
      "a status instead of 101",
      "answered the WebSocket handshake with 400 Bad Request, where 101 Switching Protocols was "
        + "expected: no socket here", .webSocketRefused,
      script: [
        .request, .send(HTTPText.response("400 Bad Request", body: "\nno socket here\nmore")),
      ]),
    Refusal(
      "an answer that is no handshake", "with 200 OK", .webSocketRefused,
      script: [.request, .send(HTTPText.response())]),
    Refusal(
      "a wrong key", "Sec-WebSocket-Accept", .webSocketRefused,
      script: [
        .request,
        .send(
          "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            + "Sec-WebSocket-Accept: wrong\r\n\r\n"), .untilClosed,
      ]),
    Refusal(
      "another protocol", "without the field Upgrade: websocket", .webSocketRefused,
      script: [
        .request,
        .send("HTTP/1.1 101 Switching Protocols\r\nUpgrade: smtp\r\nConnection: Upgrade\r\n\r\n"),
        .untilClosed,
      ]),
    Refusal(
      "another subprotocol", "a WebSocket subprotocol that was not offered",
      script: [.handshake("mqtt"), .closing]),
    Refusal(
      "a close without a subprotocol", "4406 Subprotocol not acceptable", .webSocketClosed,
      script: [.handshake(nil), .frame, .close(4406, "Subprotocol not acceptable"), .closing]),
    Refusal(
      "a message that is not JSON", "a message is not a JSON object",
      greeted: .message("nonsense")),
    Refusal(
      "a first message that is no acknowledgement",
      "the first message cannot be of the type `next`",
      script: [.handshake("graphql-transport-ws"), .frame, .message(next("Ada")), .closing]),
    Refusal(
      "a frame of 200 MB", "a message is larger than 16MiB; raise the option max_message",
      .limitExceeded, greeted: .send(SocketFrame.bytes([1], length: 200_000_000))),
    Refusal(
      "text that is not UTF-8", "not UTF-8",
      greeted: .send(SocketFrame.bytes([0x22, 0xC3, 0x28, 0x22]))),
    Refusal(
      "a fragmented control frame", "a control frame is fragmented",
      greeted: .send(SocketFrame.bytes([], opcode: 9, isFinal: false))),
    Refusal(
      "a masked frame", "a frame of the server is masked",
      greeted: .send(SocketFrame.bytes(Array("{}".utf8), isMasked: true))),
    Refusal(
      "a continuation without a beginning", "a continuation has no beginning",
      greeted: .send(SocketFrame.bytes([1], opcode: 0))),
    Refusal(
      "a message within another one", "a message begins within another one",
      greeted: .send(SocketFrame.bytes([1], isFinal: false) + SocketFrame.bytes([1]))),
    Refusal(
      "an unknown opcode", "a frame has an unknown opcode",
      greeted: .send(SocketFrame.bytes([1], opcode: 5))),
    Refusal(
      "a binary message", "a message is not text",
      greeted: .send(SocketFrame.bytes([1], opcode: 2))),
    Refusal(
      "a close frame of one byte", "a close frame has half a code",
      greeted: .send(SocketFrame.bytes([3], opcode: 8))),
    Refusal(
      "a connection that ends", "the WebSocket connection to ws://127.0.0.1", .connectionClosed,
      script: RawServer.Step.greeting + [.reset]),
    Refusal(
      "a close in mid message", "was lost", .connectionClosed,
      script: RawServer.Step.greeting
        + [.send(Array(SocketFrame.text(next("Ada")).dropLast(9))), .reset]),
    Refusal(
      "a close with a code that ends it", "closed the WebSocket connection with 4400 bad",
      .webSocketClosed, greeted: .close(4400, "bad")),
    Refusal(
      "a malformed error, although a complete follows", "the payload of `error` is not a list",
      greeted: .message(#"{"id":"1","type":"error","payload":"malformed"}"#), .message(complete())),
    Refusal(
      "a rejection", "4403 Forbidden", .connectionRejected,
      script: [.handshake("graphql-transport-ws"), .frame, .close(4403, "Forbidden"), .closing]),
    Refusal(
      "a legacy rejection", "rejected the connection: not you", .connectionRejected,
      script: [
        .handshake("graphql-ws"), .frame,
        .message(#"{"type":"connection_error","payload":{"message":"not you"}}"#), .closing,
      ]),
  ]

  @Test(arguments: refusals) func `bad input is an error that says what was found`(
    _ refusal: Refusal
  ) async throws {
    try await subscribe(to: refusal.script) { outcome, bench, server in
      #expect(outcome.code == refusal.code, "\(outcome.message)")
      #expect(outcome.message.contains(refusal.message), "\(outcome.message)")
      #expect(outcome.failure?.layer == .transport)
      #expect(outcome.results.isEmpty)
      #expect(await server.log.connections == 1)
      expectNoSecrets(outcome, bench)
    }
  }

  @Test func `a close frame of the server is answered with its code`() async throws {
    try await subscribe(to: RawServer.Step.greeted(.close(4400, "bad"))) { outcome, _, server in
      #expect(outcome.code == .webSocketClosed, "\(outcome.message)")
      #expect(await server.log.frame(containing: "close") == "close 4400 ")
    }
    try await subscribe(to: RawServer.Step.greeted(.send([0x88, 0]))) { _, _, server in
      #expect(await server.log.frame(containing: "close") == "close")
    }
  }

  @Test func `a payload that is not JSON fails its operation and no other`() async throws {
    let script = RawServer.Step.greeted(
      .message(#"{"id":"1","type":"next","payload":{"data":nonsense}}"#), .frame)
    try await subscribe(to: script) { outcome, _, server in
      #expect(outcome.code == .malformedResponse, "\(outcome.message)")
      #expect(!outcome.message.contains("200"), "\(outcome.message)")
      #expect(
        await server.log.frame(containing: "complete") == #"{"id":"1","type":"complete"}"#)
    }
  }

  // MARK: Time

  /// Runs a subscription, and lets the time fly once the server has received a frame.
  private func late(
    _ script: [RawServer.Step], after frame: String?, _ message: String
  ) async throws {
    let clock = TestClock()
    // Connecting has a limit in real time, too. Without a frame, the same limit ends on the clock.
    let chain = frame == nil ? Bench.plain : Bench.fetching("connect_timeout: 1h")
    try await Bench.withServer(
      script, chain: chain, isSocket: true, setup: .init(networkClock: ServiceClock(clock))
    ) { bench, server in
      async let running = bench.run(Self.document)
      if let frame { _ = await server.log.frame(containing: frame) }
      let time = Self.flying(clock)
      let outcome = await running
      time.cancel()
      #expect(outcome.code == .timedOut, "\(outcome.message)")
      #expect(outcome.message.contains(message), "\(outcome.message)")
      #expect(outcome.failure?.isTransient == true)
    }
  }

  private static func flying(_ clock: TestClock) -> Task<Void, Never> {
    Task {
      while !Task.isCancelled {
        clock.advance(by: .milliseconds(500))
        await Task.yield()
      }
    }
  }

  @Test func `a handshake that is not answered ends`() async throws {
    try await late([.request, .untilClosed], after: nil, "did not answer the WebSocket handshake")
  }

  @Test func `a refused handshake is refused also if its body does not end`() async throws {
    let head = "HTTP/1.1 401 Unauthorized\r\nContent-Length: 100\r\n\r\nno"
    let clock = TestClock()
    let transport = AsyncHTTPTransport(clock: ServiceClock(clock), meter: nil) { event in
      if case .received = event { clock.advance(by: .seconds(60)) }
    }
    try await Bench.withServer(
      [.request, .send(Array(head.utf8)), .untilClosed], isSocket: true,
      setup: .init(transport: transport)
    ) { bench, _ in
      let outcome = await bench.run(Self.document)
      #expect(outcome.code == .webSocketRefused, "\(outcome.message)")
      #expect(outcome.message.contains("with 401 Unauthorized"), "\(outcome.message)")
    }
    await transport.shutdown()
  }

  @Test func `a connection that is not acknowledged ends with 4504`() async throws {
    let script: [RawServer.Step] = [.handshake("graphql-transport-ws"), .frame, .closing]
    try await late(script, after: "connection_init", "did not acknowledge the WebSocket connection")
  }

  @Test func `pings are sent, and a connection without a pong ends with 4499`() async throws {
    let script = RawServer.Step.greeted(.frame)
    try await late(script, after: "subscribe", "did not answer a ping")
  }

  @Test func `a server that does not read any more is given up, also while much waits to be sent`()
    async throws
  {
    let clock = TestClock()
    let gate = Gate()
    let script: [RawServer.Step] = [
      .handshake("graphql-transport-ws"), .frame, .message(Self.ack), .bytes(1),
      .run { await gate.pass() },
    ]
    try await Bench.withServer(
      script, chain: Bench.fetching("connect_timeout: 1h"), isSocket: true,
      setup: .init(networkClock: ServiceClock(clock))
    ) { bench, server in
      // More than the system takes without a reader.
      let text = JSONValue.string(String(repeating: "x", count: 16 << 20))
      async let running = bench.run(Self.document) { $0.extensions = ["text": text] }
      _ = await server.log.bytes()
      let time = Self.flying(clock)
      let outcome = await running
      time.cancel()
      await gate.open()
      #expect(outcome.code == .timedOut, "\(outcome.message)")
      #expect(outcome.message.contains("did not answer a ping"), "\(outcome.message)")
    }
  }

  @Test func `disconnects after the last operation, and connects for the next one`() async throws {
    let script = RawServer.Step.greeted(.message(Self.complete()))
    let clock = TestClock()
    // Closed before the first ping is due, whose answer takes real time.
    let chain = Bench.fetching("connect_timeout: 1h, keep_alive: 5s")
    try await Bench.withServer(
      script, chain: chain, isSocket: true, setup: .init(networkClock: ServiceClock(clock))
    ) { bench, server in
      #expect(await bench.run(Self.document).error == nil)
      let time = Self.flying(clock)
      #expect(await server.log.frame(containing: "close") == "close 1000 ")
      time.cancel()
      #expect(await bench.run(Self.document).error == nil)
      #expect(await server.log.connections == 2)
    }
  }

  // MARK: Lost connections

  @Test(arguments: [1000, 1001, 1005, 1006, 1012, 1013, 1014, 4403, 4408, 4499, 4504])
  func `reconnects silently after a close that passes`(_ code: Int) async throws {
    let first = RawServer.Step.greeted(.message(Self.next("Ada")), .close(code))
    let second = RawServer.Step.greeted(.message(Self.complete()))
    try await subscribe(Self.retrying, to: first, second) { outcome, _, server in
      #expect(outcome.error == nil, "\(outcome.message)")
      #expect(await server.log.connections == 2)
    }
  }

  @Test(arguments: [1002, 1011, 4004, 4005, 4400, 4401, 4406, 4409, 4429, 4500])
  func `reports a fatal close at once`(_ code: Int) async throws {
    let script = RawServer.Step.greeted(.message(Self.next("Ada")), .close(code))
    try await subscribe(Self.retrying, to: script) { outcome, _, server in
      #expect(outcome.failure?.closeCode == code, "\(outcome.message)")
      #expect(await server.log.connections == 1)
    }
  }

  @Test func `resubscribes everything that still runs, over one connection`() async throws {
    let first = RawServer.Step.greeted(.frame, .message(Self.next("Ada")), .close(1001))
    let second = RawServer.Step.greeted(
      .frame, .message(Self.next("Bo", id: 2)), .message(Self.next("Bo")),
      .message(Self.complete(2)), .message(Self.complete()))
    try await Bench.withServer(first, second, chain: Self.retrying, isSocket: true) {
      bench, server in
      async let one = bench.run(Self.document)
      _ = await server.log.frame(containing: "subscribe")
      let two = await bench.run(Self.document)
      #expect(two.texts.last == Self.payload("Bo"), "\(two.message)")
      #expect(await one.texts.last == Self.payload("Bo"))
      #expect(await server.log.connections == 2)
    }
  }

  @Test func `does not reconnect if the caller leaves while it waits`() async throws {
    let script = RawServer.Step.greeted(.close(1001))
    let clock = TestClock()
    try await Bench.withServer(
      script, chain: Self.retrying.replacing("0s", with: "10s"), isSocket: true,
      setup: .init(clock: ServiceClock(clock))
    ) { bench, server in
      let task = Task { await bench.run(Self.document) }
      await clock.sleepers(1)
      task.cancel()
      #expect(await task.value.error is CancellationError)
      #expect(await server.log.connections == 1)
    }
  }

  @Test func `a mutation whose connection is lost in the handshake is sent again`() async throws {
    let script = RawServer.Step.greeted(
      .message(#"{"id":"1","type":"next","payload":{"data":{"rename":null}}}"#),
      .message(Self.complete()))
    try await Bench.withServer([.request], script, chain: Self.retrying, isSocket: true) {
      bench, server in
      let outcome = await bench.run(Bench.rename)
      #expect(outcome.texts == [#"{"data":{"rename":null}}"#], "\(outcome.message)")
      #expect(await server.log.connections == 2)
    }
  }

  @Test func `a query that was sent is not sent again`() async throws {
    let script = RawServer.Step.greeting + [.reset]
    try await Bench.withServer(script, chain: Self.retrying, isSocket: true) { bench, server in
      let outcome = await bench.run()
      #expect(outcome.code == .webSocketClosed, "\(outcome.message)")
      #expect(outcome.message.contains("not sent again"), "\(outcome.message)")
      #expect(outcome.failure?.delivery == .unknown)
      #expect(await server.log.connections == 1)
    }
  }

  @Test func `a mutation that was not sent is sent again`() async throws {
    let first: [RawServer.Step] = [.handshake("graphql-transport-ws"), .frame, .reset]
    let second = RawServer.Step.greeted(
      .message(#"{"id":"1","type":"next","payload":{"data":{"rename":{"name":"Ada"}}}}"#),
      .message(Self.complete()))
    try await Bench.withServer(first, second, chain: Self.retrying, isSocket: true) {
      bench, server in
      let outcome = await bench.run(Bench.rename)
      #expect(outcome.error == nil, "\(outcome.message)")
      #expect(await server.log.connections == 2)
    }
  }

  // MARK: Callers

  @Test(arguments: [false, true]) func `leaving a loop by break or throw completes`(
    _ throwing: Bool
  ) async throws {
    struct Left: Error {}
    let script = RawServer.Step.greeted(.message(Self.next("Ada")), .frame)
    try await RawServer.withServer([script], tls: nil) { server in
      try await Bench.with(url: server.socketURL) { bench in
        let request = try Bench.request(Self.document)
        do {
          for try await _ in bench.runner.execute(request) {
            if throwing { throw Left() } else { break }
          }
        } catch is Left {}
        #expect(
          await server.log.frame(containing: "complete") == #"{"id":"1","type":"complete"}"#)
      }
      #expect(await server.log.frame(containing: "close") == "close 1000 ")
    }
  }

  @Test func `cancelling completes the operation, and the shutdown closes`() async throws {
    let script = RawServer.Step.greeted(.message(Self.next("Ada")), .frame)
    try await RawServer.withServer([script], tls: nil) { server in
      try await Bench.with(url: server.socketURL) { bench in
        let task = Task { await bench.run(Self.document) }
        _ = await server.log.frame(containing: "subscribe")
        task.cancel()
        #expect(await task.value.error is CancellationError)
      }
      #expect(await server.log.frame(containing: "close") == "close 1000 ")
      #expect(await server.log.frames.contains(#"{"id":"1","type":"complete"}"#))
    }
  }

  @Test func `distinct operations have distinct results`() async throws {
    let script = RawServer.Step.greeted(
      .frame, .message(Self.next("Bo", id: 2)), .message(Self.next("Ada")),
      .message(Self.complete(2)), .message(Self.complete()))
    try await Bench.withServer(script, isSocket: true) { bench, server in
      async let first = bench.run(Self.document)
      _ = await server.log.frame(containing: #""id":"1""#)
      let second = await bench.run(Self.document)
      #expect(second.texts == [Self.payload("Bo")], "\(second.message)")
      #expect(await first.texts == [Self.payload("Ada")])
      #expect(await server.log.connections == 1)
    }
  }
}
