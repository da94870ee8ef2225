import Foundation
import GQLRunPipeline
import GQLRunSupport
import GQLRunTestSupport
import HTTPTypes
import Testing

/// Subscriptions over server-sent events and multipart responses, through a whole chain.
@Suite(.timeLimit(.minutes(10))) struct SubscriptionTests {
  private static let document = #"subscription Renamed { renamed { __typename id name } }"#

  private static func payload(_ id: String, _ name: String) -> String {
    #"{"data":{"renamed":{"__typename":"User","id":"\#(id)","name":"\#(name)"}}}"#
  }

  private static func event(_ id: String, _ name: String) -> String {
    "event: next\ndata: \(payload(id, name))\n\n"
  }

  private static let complete = "event: complete\ndata:\n\n"

  private static func multipart(_ text: String) -> FakeNetwork.Answer {
    .body(text, type: "multipart/mixed;boundary=graphql;subscriptionSpec=1.0,application/json")
  }

  private static func part(_ message: String) -> String {
    "\r\n--graphql\r\nContent-Type: application/json\r\n\r\n\(message)"
  }

  private func subscribe(
    _ chain: String = Bench.plain, to answer: FakeNetwork.Answer,
    check: @Sendable (Outcome, Bench, FakeNetwork) async throws -> Void
  ) async throws {
    let network = FakeNetwork(answer)
    try await Bench.with(chain, setup: .init(transport: network)) { bench in
      try await check(await bench.run(Self.document), bench, network)
    }
  }

  @Test func `parts of a multipart response are results, and empty ones are not`() async throws {
    let body =
      "\r\n\r\n{}" + Self.part("{}") + Self.part(#"{"payload":\#(Self.payload("1", "Ada"))}"#)
      + Self.part(#"{ "extensions": {}, "payload" : \#(Self.payload("2", "Bo")) }"#) + Self.part("")
      + "\r\n--graphql\r\n--graphql--\r\n"
    try await subscribe(to: Self.multipart(body)) { outcome, _, _ in
      #expect(outcome.error == nil)
      #expect(outcome.texts == [Self.payload("1", "Ada"), Self.payload("2", "Bo")])
    }
  }

  /// The parts of a response, and how many of their payloads are results before the errors.
  @Test(
    arguments: [
      ([#"{"payload":null,"errors":[{"message":"the router stopped"}]}"#], 0),
      (["{}", #"{"errors":[]}"#, #"{"errors":[{"message":"the router stopped"}]}"#], 0),
      (
        ["{}", #"{"errors":[]}"#, #"{"errors":[{"message":"the router stopped"}],"data":null}"#], 0
      ),
      (
        [
          #"{"payload":\#(payload("1", "Ada")),"errors":[]}"#,
          #"{"errors":null,"payload":\#(payload("2", "Bo"))}"#,
          #"{"payload":\#(payload("3", "Cy")),"errors":[{"message":"the router stopped"}]}"#,
        ], 3
      ),
    ] as [([String], Int)])
  func `errors outside of a payload end the subscription, after the payload of their part`(
    _ parts: [String], _ results: Int
  ) async throws {
    let unread = Self.part(#"{"payload":\#(Self.payload("4", "Di"))}"#) + "\r\n--graphql--"
    let body = parts.map(Self.part).joined() + unread
    try await subscribe(to: Self.multipart(body)) { outcome, _, _ in
      #expect(outcome.error == nil)
      #expect(
        outcome.results.map { $0.errors.map(\.message) }
          == Array(repeating: [String](), count: results) + [["the router stopped"]])
      let payloads = [Self.payload("1", "Ada"), Self.payload("2", "Bo"), Self.payload("3", "Cy")]
      #expect(outcome.texts.dropLast() == payloads.prefix(results))
    }
  }

  @Test func `a response with one result is the only one`() async throws {
    try await subscribe(to: .body(#"{"errors":[{"message":"no such field"}]}"#)) { outcome, _, _ in
      #expect(outcome.error == nil)
      #expect(outcome.results.map { $0.errors.map(\.message) } == [["no such field"]])
    }
  }

  @Test(arguments: [
    ("event: next\ndata: {\"data\":\n\n", "not complete", false),
    ("event: next\ndata: nonsense\n\n", "not valid JSON", false),
    ("event: next\ndata:\n\n", "empty", false),
    (event("1", "Ada"), "without the event `complete`", true),
    (event("1", "Ada") + "event: next\ndata: {", "inside an event", true),
    ("data: {}\nevent: complete\n\n", "must precede", false),
  ]) func `what is no event stream is an error`(_ body: String, _ message: String, _ isCut: Bool)
    async throws
  {
    try await subscribe(to: .events(body)) { outcome, _, _ in
      #expect(outcome.message.contains(message), "\(outcome.message)")
      #expect(outcome.failure?.layer == .transport)
      #expect(outcome.failure?.isTransient == isCut)
    }
  }

  @Test(
    arguments: [
      (part("[]") + "\r\n--graphql--", "not a JSON object"),
      (part("{}"), "without its last boundary"),
      (part(#"{"payload":{"data":{}"#) + "\r\n--graphql--", "ended"),
      (part(#"{"payload":null,"errors":[}}"#) + "\r\n--graphql--", "not a list of errors"),
      (part(#"{"payload":null,"errors":[]}"#) + "\r\n--graphql--", "not a list of errors"),
      (part(#"{"payload":"text"}"#) + "\r\n--graphql--", "GraphQL response"),
      (part(#"{"data":{"renamed":null}}"#) + "\r\n--graphql--", "but no member `payload`"),
    ] as [(String, String)]) func `what is no multipart response is an error`(
      _ body: String, _ message: String
    )
    async throws
  {
    try await subscribe(to: Self.multipart(body)) { outcome, _, _ in
      #expect(outcome.message.contains(message), "\(outcome.message)")
    }
  }

  @Test func `an event that is longer than the limit is an error, and its records are not kept`()
    async throws
  {
    let body =
      Self.event("1", String(repeating: "a", count: 900))
      + Self.event("2", String(repeating: "b", count: 1_100))
    let chain = Bench.plain.replacingOccurrences(
      of: "- parse", with: "- parse: { max_event: 1KiB }")
    try await subscribe(chain, to: .events(body)) { outcome, bench, _ in
      #expect(outcome.results.count == 1)
      #expect(outcome.code == .limitExceeded)
      #expect(outcome.message.contains("longer than 1024 bytes"), "\(outcome.message)")
      let dump = await bench.dump()
      #expect(dump.contains("aaa") && !dump.contains("bbb"))
    }
  }

  @Test func `only subscriptions accept event streams`() async throws {
    let stream = FakeNetwork.Answer.events(Self.complete)
    try await subscribe(to: stream) { _, bench, network in
      let fields = try #require(await network.requests.first?.head.headerFields)
      #expect(
        fields[.accept]
          == "text/event-stream, multipart/mixed;subscriptionSpec=1.0, "
          + "application/graphql-response+json, application/json;q=0.9")
      #expect(fields[.acceptEncoding] == "identity")
      let outcome = await bench.run()
      #expect(outcome.code == .unexpectedContentType)
      let query = try #require(await network.requests.last?.head.headerFields)
      #expect(query[.accept] == "application/graphql-response+json, application/json;q=0.9")
    }
  }

  // MARK: Lost connections

  private static let retrying = "- max-retry: { max_retries: 2 }\n" + Bench.plain

  @Test(arguments: [5, 40])
  func `neither max_retries nor the budget of retries limits a subscription that receives events`(
    _ count: Int
  ) async throws {
    let lost = FakeNetwork.Answer.events(Self.event("1", "Ada"))
    let end = FakeNetwork.Answer.events(Self.complete)
    let network = FakeNetwork(Array(repeating: lost, count: count) + [end])
    let setup = Bench.Setup(clock: ServiceClock(TestClock.jumping()), transport: network)
    try await Bench.with(Self.retrying, setup: setup) { bench in
      let outcome = await bench.run(Self.document)
      #expect(outcome.error == nil, "\(outcome.message)")
      #expect(await network.count == count + 1)
      #expect(outcome.results.compactMap(\.gap).count == count)
    }
  }

  @Test func `a thousand subscriptions connect again, spread over the first delay`() async throws {
    let lost = FakeNetwork.Answer.events(Self.event("1", "Ada"))
    let network = FakeNetwork(
      Array(repeating: lost, count: 1_000)
        + [.events(Self.complete)])
    let clock = TestClock()
    let numbers = Locked(SeededRandom(1))
    let setup = Bench.Setup(
      clock: ServiceClock(clock),
      random: { numbers.withLock { Double.random(in: 0..<1, using: &$0) } }, transport: network)
    // The delays of the ready-made pipeline `live`.
    let chain =
      "- max-retry: { backoff: { base: 500ms, factor: 2, max: 30s, jitter: full } }\n" + Bench.plain
    try await Bench.with(chain, setup: setup) { bench in
      await withTaskGroup(of: Outcome.self) { group in
        for _ in 0..<1_000 { group.addTask { await bench.run(Self.document) } }
        await clock.sleepers(1_000)
        let counts = (0..<10).map { _ in clock.advance(by: .milliseconds(50)) }
        #expect(counts.reduce(0, +) == 1_000)
        #expect(counts.allSatisfy { (60...140).contains($0) }, "\(counts)")
        for await outcome in group { #expect(outcome.error == nil, "\(outcome.message)") }
      }
      #expect(await network.count == 2_000)
    }
  }

  /// Connections without an event, each lost after a time.
  private func lose(
    after time: Duration, times: Int, delay: String,
    check: @Sendable (Outcome, FakeNetwork) async throws -> Void
  ) async throws {
    let clock = ServiceClock(TestClock.jumping())
    let lost = FakeNetwork.Answer.lost(
      headers: ["Content-Type": "text/event-stream"], after: time, on: clock)
    let end = FakeNetwork.Answer.events(Self.complete)
    let network = FakeNetwork(Array(repeating: lost, count: times) + [end])
    let setup = Bench.Setup(
      clock: clock, secondsSince1970: { 1_000 + clock.now() / .seconds(1) }, transport: network)
    let chain =
      "- max-retry: { max_retries: 2, backoff: { base: \(delay), max: \(delay), jitter: none } }\n"
      + Bench.plain
    try await Bench.with(chain, setup: setup) { bench in
      try await check(await bench.run(Self.document), network)
    }
  }

  @Test func `a connection that lasted 30 seconds begins a new time of patience`() async throws {
    try await lose(after: .seconds(30), times: 80, delay: "60s") { outcome, network in
      #expect(outcome.error == nil, "\(outcome.message)")
      #expect(await network.count == 81)
      #expect(outcome.results.compactMap(\.gap).count == 80)
    }
  }

  @Test func `the delay before a retry does not count as time of the connection`() async throws {
    try await lose(after: .seconds(29), times: 80, delay: "60s") { outcome, network in
      #expect(outcome.code == .connectionClosed, "\(outcome.message)")
      // 300 seconds after the first loss: four of 89 seconds each.
      #expect(await network.count == 5)
    }
  }

  @Test func `a gap begins when the connection is lost, not when it is open again`() async throws {
    try await lose(after: .seconds(5), times: 2, delay: "60s") { outcome, _ in
      let gaps = outcome.results.compactMap(\.gap)
      #expect(gaps.first == 1_005 && gaps.count == 2, "\(gaps)")
    }
  }

  @Test func `the state of the connections is observable`() async throws {
    let network = FakeNetwork([
      .events(Self.event("1", "Ada")),
      .failure(.connectionFailed, .notSent),
      .events(Self.complete),
    ])
    let setup = Bench.Setup(clock: ServiceClock(TestClock.jumping()), transport: network)
    try await Bench.with(Self.retrying, setup: setup) { bench in
      let register = SubscriptionRegister.of(bench.runner.services)
      var states = register.states().makeAsyncIterator()
      #expect(await bench.run(Self.document).error == nil)
      #expect(register.current == .idle)
      for state in ["idle", "connecting", "open", "waiting", "connecting", "waiting"] {
        #expect("\(await states.next() ?? .idle)".hasPrefix(state))
      }
      for state in [ConnectionState.connecting, .open, .idle] {
        #expect(await states.next() == state)
      }
    }
  }
}
