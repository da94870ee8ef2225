import GQLRunPipeline
import GQLRunTestSupport
import Testing

/// When a subscription whose connection was lost connects again, and when it gives up.
@Suite(.timeLimit(.minutes(10))) struct ReconnectionTests {
  private static let event = "event: next\ndata: \(SocketTests.payload("Ada"))\n\n"
  private static let part =
    "--graphql\r\nContent-Type: application/json\r\n\r\n{\"payload\":\(SocketTests.payload("Ada"))}\r\n--graphql"

  /// An event, and the loss of the connection.
  static let lost = FakeNetwork.Answer.events(event)
  private static let complete = FakeNetwork.Answer.events("event: complete\ndata:\n\n")
  private static let away = FakeNetwork.Answer.failure(.connectionFailed, .notSent)

  private static func chain(_ options: String) -> String {
    "- max-retry: { \(options) }\n" + Bench.plain
  }

  private static let usual = chain(
    "max_retries: 2, backoff: { base: 300ms, max: 30s, jitter: none }")

  private func subscribe(
    _ chain: String = usual, patience: Duration? = nil, to answers: FakeNetwork.Answer...,
    check: @Sendable (Outcome, [Duration], FakeNetwork) async throws -> Void
  ) async throws {
    let (network, clock) = (FakeNetwork(answers), TestClock.jumping())
    let setup = Bench.Setup(
      clock: ServiceClock(clock), transport: network,
      change: { if let patience { $0.subscriptions.patience = patience } })
    try await Bench.with(chain, setup: setup) { bench in
      try await check(await bench.run(SocketTests.document), clock.slept, network)
    }
  }

  @Test(arguments: [
    lost, .body(part, type: "multipart/mixed;boundary=graphql;subscriptionSpec=1.0"),
  ])
  func `a subscription that was connected keeps trying for five minutes, and says what it tried`(
    _ lost: FakeNetwork.Answer
  ) async throws {
    try await subscribe(to: lost, Self.away) { outcome, slept, network in
      #expect(outcome.results.count == 1)
      #expect(outcome.code == .connectionFailed)
      #expect(slept.reduce(.zero, +) == .seconds(300), "\(slept)")
      #expect(slept.max() == .seconds(30))
      let attempts = await network.count - 1
      #expect(attempts == slept.count && attempts > 12)
      let message = outcome.message
      #expect(message.contains("no luck; the subscription has received 1 event"), "\(message)")
      let tried = "gave up after \(attempts) attempts to connect again within 300.0 s"
      #expect(message.contains(tried), "\(message)")
      #expect(message.contains("at first because: the "), "\(message)")
    }
  }

  @Test(arguments: ["graphql-transport-ws", "graphql-ws"])
  func `a lost WebSocket connection is tried for five minutes, too`(_ name: String) async throws {
    let result = name == "graphql-ws" ? "data" : "next"
    let first: [RawServer.Step] = [
      .handshake(name), .frame, .message(SocketTests.ack), .frame,
      .message(#"{"id":"1","type":"\#(result)","payload":\#(SocketTests.payload("Ada"))}"#),
      .close(1012), .closing,
    ]
    let refusal: [RawServer.Step] = [
      .request, .send(HTTPText.response("503 Service Unavailable", body: "")),
    ]
    let clock = TestClock.jumping()
    try await Bench.withServer(
      first, refusal, chain: Self.usual, isSocket: true, setup: .init(clock: ServiceClock(clock))
    ) { bench, _ in
      let outcome = await bench.run(SocketTests.document)
      #expect(outcome.failure?.http?.status == 503, "\(outcome.message)")
      #expect(clock.slept.reduce(.zero, +) == .seconds(300), "\(clock.slept)")
      #expect(outcome.message.contains("received 1 event"), "\(outcome.message)")
      #expect(outcome.message.contains("closed the WebSocket connection with 1012"))
    }
  }

  @Test func `the patience can be set, and none is one attempt`() async throws {
    try await subscribe(patience: .seconds(10), to: Self.lost, Self.away) { outcome, slept, _ in
      #expect(slept.reduce(.zero, +) == .seconds(10), "\(slept)")
      #expect(outcome.code == .connectionFailed)
    }
    try await subscribe(patience: .zero, to: Self.lost, Self.away) { outcome, slept, network in
      #expect(outcome.code == .truncatedResponse && slept.isEmpty)
      #expect(!outcome.message.contains("gave up"), "\(outcome.message)")
      #expect(await network.count == 1)
    }
  }

  @Test func `an answer that will not change ends the subscription, and the loss is named`()
    async throws
  {
    try await subscribe(to: Self.lost, Self.away, .response(401)) { outcome, _, network in
      #expect(outcome.failure?.http?.status == 401)
      #expect(outcome.message.contains("gave up after 2 attempts"), "\(outcome.message)")
      #expect(outcome.message.contains("at first because: the event stream ended"))
      #expect(await network.count == 3)
    }
  }

  @Test func `a server that closes each connection after an event is asked ever more rarely`()
    async throws
  {
    let answers = Array(repeating: Self.lost, count: 12) + [Self.complete]
    let (network, clock) = (FakeNetwork(answers), TestClock.jumping())
    try await Bench.with(
      Self.usual,
      setup: .init(clock: ServiceClock(clock), transport: network)
    ) { bench in
      let outcome = await bench.run(SocketTests.document)
      #expect(outcome.error == nil, "\(outcome.message)")
      #expect(outcome.results.compactMap(\.gap).count == 12)
      let slept = clock.slept
      #expect(slept.prefix(3) == [.milliseconds(300), .milliseconds(600), .milliseconds(1200)])
      #expect(slept.suffix(4).allSatisfy { $0 == .seconds(30) }, "\(slept)")
    }
  }

  @Test func `after the permitted retries, short delays are a second`() async throws {
    let hasty = Self.chain("max_retries: 2, backoff: { base: 0s }")
    try await subscribe(hasty, patience: .seconds(5), to: Self.lost, Self.away) { _, slept, _ in
      #expect(slept == [.zero, .zero] + Array(repeating: .seconds(1), count: 5), "\(slept)")
    }
  }

  @Test func `a retry that the server wants later than the patience permits is not made`()
    async throws
  {
    let busy = FakeNetwork.Answer.response(503, headers: ["Retry-After": "20"])
    try await subscribe(patience: .seconds(10), to: Self.lost, busy) { outcome, slept, _ in
      #expect(outcome.failure?.http?.status == 503)
      #expect(slept == [.milliseconds(300)], "\(slept)")
    }
  }

  @Test func `max_retries: 0 connects no subscription again`() async throws {
    let once = Self.chain("max_retries: 0")
    try await subscribe(once, to: Self.lost, Self.complete) { outcome, _, network in
      #expect(outcome.code == .truncatedResponse)
      #expect(await network.count == 1)
    }
  }
}
