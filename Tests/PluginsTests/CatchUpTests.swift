import GQLRunCache
import GQLRunJSON
import GQLRunLanguage
import GQLRunPipeline
import GQLRunTestSupport
import HTTPTypes
import Testing

/// A query that fetches what a subscription has missed, and events that wait for a slow caller, through a
/// whole chain.
@Suite(.timeLimit(.minutes(10))) struct CatchUpTests {
  private static let document = """
    subscription Renamed($id: ID, $since: Int) { renamed(id: $id, since: $since) { __typename id name } }
    query State($id: ID) { user(id: $id) { __typename id name } }
    mutation Rename { rename { __typename id name } }
    """
  private static let chain = "- max-retry: { max_retries: 2 }\n" + Bench.plain

  private static func lost(_ names: String...) -> FakeNetwork.Answer { answer(names, end: "") }
  private static func complete(_ names: String...) -> FakeNetwork.Answer {
    answer(names, end: "event: complete\ndata:\n\n")
  }

  private static func answer(_ names: [String], end: String) -> FakeNetwork.Answer {
    let events = names.map {
      "event: next\ndata: {\"data\":{\"renamed\":{\"__typename\":\"User\",\"id\":\"1\",\"name\":\"\($0)\"}}}\n\n"
    }
    return .events(events.joined() + end)
  }

  private static func state(_ name: String) -> FakeNetwork.Answer {
    .body(#"{"data":{"user":{"__typename":"User","id":"1","name":"\#(name)"}}}"#)
  }

  private func subscribe(
    _ catchUp: SubscriptionSettings.CatchUp?, to answers: FakeNetwork.Answer...,
    check: @Sendable (Outcome, Bench, FakeNetwork) async throws -> Void
  ) async throws {
    let network = FakeNetwork(answers)
    let setup = Bench.Setup(
      clock: ServiceClock(TestClock.jumping()), transport: network,
      change: { $0.subscriptions.catchUp = catchUp })
    try await Bench.with(Self.chain, setup: setup) { bench in
      let operation = try PreparedOperation(
        document: Document(parsing: Self.document), operationName: "Renamed",
        variables: ["id": "1", "since": 5])
      try await check(await bench.outcome(of: GraphQLRequest(operation)), bench, network)
    }
  }

  private func body(_ request: HTTPRequestMessage) -> String {
    String(decoding: request.body ?? [], as: UTF8.self)
  }

  @Test
  func `after a reconnect, the query runs before further events, and its result is in the cache`()
    async throws
  {
    try await subscribe(
      .init(query: "State"), to: Self.lost("Ada"), Self.complete(), Self.state("Bo")
    ) { outcome, bench, network in
      #expect(outcome.error == nil)
      #expect(outcome.results.map(\.gap) == [nil, 784_111_777])
      #expect(outcome.results.map(\.catchUp) == [nil, "succeeded"])
      #expect(await bench.dump().contains(#""name":"Bo""#))
      let bodies = await network.requests.map(body)
      #expect(bodies.count == 3)
      // The query has its own variables only.
      #expect(
        bodies[2].contains("query State") && bodies[2].contains(#""variables":{"id":"1"}"#),
        "\(bodies)")
    }
  }

  @Test func `the result is delivered after the gap if asked for, marked`() async throws {
    try await subscribe(
      .init(query: "State", isDelivered: true), to: Self.lost("Ada"), Self.complete("Cy"),
      Self.state("Bo")
    ) { outcome, bench, _ in
      #expect(outcome.error == nil)
      #expect(outcome.results.map(\.isCatchUp) == [false, false, true, false])
      #expect(outcome.results.map { $0.gap != nil } == [false, true, false, false])
      #expect(outcome.texts[2].contains("Bo") && outcome.texts[3].contains("Cy"))
      // The event is newer than the result.
      #expect(await bench.dump().contains(#""name":"Cy""#))
    }
  }

  @Test func `a query of another document is used as well`() async throws {
    let other = try Document(parsing: "{ user(id: 1) { __typename id name } }")
    try await subscribe(
      .init(document: other, file: "state.graphql"), to: Self.lost("Ada"), Self.complete(),
      Self.state("Bo")
    ) { outcome, bench, _ in
      #expect(outcome.results.map(\.catchUp) == [nil, "succeeded"])
      #expect(await bench.dump().contains(#""name":"Bo""#))
    }
  }

  @Test func `a query that fails is part of the gap, and events continue`() async throws {
    try await subscribe(
      .init(query: "State"), to: Self.lost("Ada"), Self.complete("Cy"),
      .body(#"{"data":null,"errors":[{"message":"no state"}]}"#)
    ) { outcome, _, _ in
      #expect(outcome.error == nil)
      #expect(outcome.results[1].catchUp?.contains("no state") == true)
      #expect(outcome.texts.last?.contains("Cy") == true)
    }
    try await subscribe(
      .init(query: "State"), to: Self.lost("Ada"), Self.complete("Cy"), .response(500)
    ) { outcome, _, _ in
      #expect(outcome.error == nil)
      #expect(outcome.results[1].catchUp?.contains("500") == true)
    }
  }

  @Test func `without a lost connection the query does not run`() async throws {
    try await subscribe(.init(query: "State"), to: Self.complete("Ada", "Bo")) {
      outcome, _, network in
      #expect(outcome.results.count == 2)
      #expect(await network.count == 1)
    }
  }

  @Test(arguments: [("Stat", "Stat"), ("Rename", "is a mutation")])
  func `a query that the document does not have is an error before anything is sent`(
    _ query: String, _ text: String
  ) async throws {
    try await subscribe(.init(query: query), to: Self.complete("Ada")) { outcome, _, network in
      #expect(
        outcome.code == .invalidRequest && outcome.message.contains(text), "\(outcome.message)")
      #expect(outcome.message.contains("`catch_up` of `subscriptions`"))
      #expect(await network.count == 0)
    }
  }

  // MARK: The cached state

  @Test func `cache-and-network gives the cached state first, once, and then events`() async throws
  {
    let keys = try Bench.load(
      """
      version: 1
      endpoint: { url: "http://localhost/" }
      store: { kind: memory }
      fields: { Subscription.renamed: { key_args: [id], type: User } }
      chain: [fetch, parse, cache-write]
      """
    ).keys
    let network = FakeNetwork(Self.lost("Ada"), Self.complete("Bo"))
    let setup = Bench.Setup(clock: ServiceClock(TestClock.jumping()), transport: network)
    let chain = "- max-retry\n- cache-read: { policy: cache-and-network }\n" + Bench.plain
    try await Bench.with(chain, setup: setup) { bench in
      try await bench.prime()
      let operation = try PreparedOperation(
        document: Document(
          parsing: "subscription S($id: ID) { renamed(id: $id) { __typename id name } }"),
        variables: ["id": "1"], keys: keys)
      let request = GraphQLRequest(operation, cachePolicy: .cacheAndNetwork)
      let outcome = await bench.outcome(of: request)
      #expect(outcome.error == nil)
      #expect(outcome.sources == [.cache, .server, .server, .server])
      #expect(outcome.results.map { $0.gap != nil } == [false, false, true, false])
      #expect(outcome.texts[0].contains("Old") && outcome.texts[1].contains("Ada"))
      // The policy of the chain alone does not read the cache.
      let plain = await bench.outcome(of: GraphQLRequest(operation))
      #expect(!plain.sources.contains(.cache))
    }
  }

  // MARK: Back-pressure

  /// Server-sent events as the reader asks for them.
  private actor CountingSource: HTTPTransport {
    private(set) var pulls = 0
    private var hasEnded: CheckedContinuation<Void, Never>?
    private let count: Int

    init(_ count: Int) { self.count = count }

    func pull() -> (any BodyChunk)? {
      pulls += 1
      guard pulls <= count else {
        hasEnded.take()?.resume()
        return pulls == count + 1 ? Array("event: complete\ndata:\n\n".utf8) : nil
      }
      return Array(
        "event: next\ndata: {\"data\":{\"renamed\":{\"__typename\":\"User\",\"id\":\"1\",\"name\":\"\(pulls)\"}}}\n\n"
          .utf8)
    }

    /// Waits until all events were taken.
    func ended() async {
      guard pulls <= count else { return }
      await withCheckedContinuation { hasEnded = $0 }
    }

    func send(
      _ request: HTTPRequestMessage, limits: HTTPLimits
    ) async throws -> HTTPResponseMessage {
      var head = HTTPResponse(status: .ok)
      head.headerFields[.contentType] = "text/event-stream"
      return HTTPResponseMessage(head: head, body: HTTPBody { await self.pull() })
    }
  }

  private func withSource(
    _ overflow: SubscriptionSettings.Overflow, _ count: Int,
    body: @Sendable (ResponseStream, CountingSource, Bench) async throws -> Void
  ) async throws {
    let source = CountingSource(count)
    let setup = Bench.Setup(transport: source, change: { $0.subscriptions.overflow = overflow })
    try await Bench.with(setup: setup) { bench in
      let stream = bench.runner.execute(
        try Bench.request("subscription { renamed { __typename id name } }"))
      try await body(stream, source, bench)
    }
  }

  @Test func `by default nothing is read ahead of a slow caller`() async throws {
    try await withSource(.block, 100_000) { stream, source, _ in
      for number in 1...3 {
        let event = try await stream.next()
        #expect(event != nil)
        #expect(await source.pulls == number)
      }
    }
  }

  @Test func `dropped events are missing in the sequence, and not in the cache`() async throws {
    try await withSource(.dropOldest, 5_000) { stream, source, bench in
      var (events, dropped) = (0, 0)
      while let response = try await stream.next() {
        if let gap = response.gap { dropped += gap.dropped } else { events += 1 }
        // All others have arrived before the second one is read.
        await source.ended()
      }
      #expect(events + dropped == 5_000 && events <= 1_002, "\(events) \(dropped)")
      #expect(await bench.dump().contains(#""name":"5000""#))
    }
  }
}
