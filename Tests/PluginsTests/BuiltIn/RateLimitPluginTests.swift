import GQLRunJSON
import GQLRunPipeline
import GQLRunPlugins
import GQLRunTestSupport
import Testing

@Suite(.timeLimit(.minutes(10))) struct RateLimitPluginTests {
  /// Uses a chain with options of the plugin.
  private func with<Result: Sendable>(
    _ options: String, _ network: FakeNetwork, clock: TestClock,
    body: @Sendable (Bench) async throws -> Result
  ) async throws -> Result {
    try await Bench.with(
      "- rate-limit\(options.isEmpty ? "" : ": { \(options) }")\n- fetch\n- response-code\n- parse",
      setup: .init(clock: ServiceClock(clock), transport: network), body: body)
  }

  /// Runs operations one after the other; returns how long the clock was slept on, and the outcomes.
  private func naps(
    _ options: String, _ answers: [FakeNetwork.Answer], documents: [String] = [Bench.user],
    operations: Int
  ) async throws -> (naps: [Duration], outcomes: [Outcome], requests: Int) {
    let clock = TestClock.jumping()
    let network = FakeNetwork(answers)
    return try await with(options, network, clock: clock) { bench in
      var outcomes: [Outcome] = []
      for index in 0..<operations {
        outcomes.append(await bench.run(documents[index % documents.count]))
      }
      return (clock.slept, outcomes, await network.count)
    }
  }

  @Test(arguments: [
    ("requests: 10", [0, 100, 100, 100]), ("requests: 2, per: 1m", [0, 30_000, 30_000, 30_000]),
    ("requests: 10, burst: 3", [0, 0, 0, 100]), ("budget: headers", [0, 0, 0, 0]),
  ]) func `requests begin at the given rate`(_ options: String, _ waits: [Int]) async throws {
    let result = try await naps(options, [.ok], operations: 4)
    #expect(result.naps == waits.filter { $0 > 0 }.map { .milliseconds($0) })
    #expect(result.outcomes.allSatisfy { $0.error == nil })
  }

  @Test func `a request that fails before the network leaves its turn`() async throws {
    let unsent = FakeNetwork.Answer.failure(.invalidRequest, .notSent)
    let result = try await naps(
      "requests: 10", [unsent, unsent, .failure(.connectionFailed, .notSent), .ok], operations: 5)
    #expect(result.naps == [.milliseconds(100), .milliseconds(100)])
    #expect(result.requests == 5)
  }

  @Test func `many operations at once are held to the rate together`() async throws {
    let clock = TestClock()
    let network = FakeNetwork(.ok)
    try await with("requests: 10", network, clock: clock) { bench in
      let tasks = (0..<50).map { _ in Task { await bench.run() } }
      await clock.sleepers(49)
      // The one without a delay may still be in flight.
      #expect(await network.count <= 1)
      clock.advance(by: .milliseconds(4_900))
      for task in tasks { #expect(await task.value.error == nil) }
      #expect(await network.count == 50)
    }
  }

  @Test func `a request that is cancelled while it waits leaves its turn to another one`()
    async throws
  {
    let clock = TestClock()
    try await with("requests: 10", FakeNetwork(.ok), clock: clock) { bench in
      #expect(await bench.run().error == nil)
      let tasks = (0..<50).map { _ in Task { await bench.run() } }
      await clock.sleepers(50)
      for task in tasks { task.cancel() }
      for task in tasks { #expect(await task.value.error is CancellationError) }
      let next = Task { await bench.run() }
      #expect(await clock.nextWaking() == .milliseconds(100))
      clock.advance(by: .seconds(10))
      #expect(await next.value.error == nil)
    }
  }

  private static func answer(
    _ status: Int, _ headers: [String: String]
  ) -> FakeNetwork.Answer {
    .body(HTTPText.user, status: status, headers: headers)
  }

  /// The clock of these tests says Sun, 06 Nov 1994 08:49:37 GMT, which is 784,111,777.
  @Test(arguments: [
    (429, ["Retry-After": "7"], 7.0), (503, ["Retry-After": "7"], 7),
    (429, ["Retry-After": "Sun, 06 Nov 1994 08:49:47 GMT"], 10),
    (
      429,
      ["Retry-After": "Sun, 06 Nov 1994 08:49:47 GMT", "Date": "Sun, 06 Nov 1994 08:49:45 GMT"], 2
    ),
    (429, ["Retry-After": "-5"], 0), (429, ["Retry-After": "soon"], 0), (429, [:], 0),
    (200, ["Retry-After": "7"], 0),
    (403, ["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "784111797"], 20),
    (200, ["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "784111797"], 20),
    (200, ["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "784111797000"], 20),
    (200, ["X-RateLimit-Remaining": "1", "X-RateLimit-Reset": "784111797"], 0),
    (200, ["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "30"], 30),
    (200, ["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "784111000"], 0),
    (200, ["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "nan"], 0),
    (200, ["RateLimit-Remaining": "0", "RateLimit-Reset": "5"], 5),
  ]) func `what the server asks for in fields holds for all that follow`(
    _ status: Int, _ headers: [String: String], _ wait: Double
  ) async throws {
    let result = try await naps(
      "budget: headers", [Self.answer(status, headers), .ok], operations: 2)
    #expect(result.naps == (wait > 0 ? [.seconds(wait)] : []))
    #expect(result.outcomes[1].error == nil)
  }

  @Test(arguments: ["99999999999999999999", "86401", "Sat, 06 Nov 2094 08:49:47 GMT"])
  func `a delay that is too long fails the request, with a reason`(_ value: String)
    async throws
  {
    let result = try await naps(
      "max_wait: 1m", [Self.answer(429, ["Retry-After": value])], operations: 3)
    #expect(result.naps == [] && result.requests == 1)
    #expect(result.outcomes.map(\.code) == [.httpStatus, .rateLimited, .rateLimited])
    #expect(result.outcomes[1].failure?.delivery == .notSent)
    #expect(result.outcomes[1].message.contains("asked for a delay (Retry-After)"))
  }

  private static func shopify(_ cost: Int, _ available: Int) -> FakeNetwork.Answer {
    .body(
      #"{"data":{"user":{"__typename":"User","id":"1","name":"Ada"}},"extensions":{"cost":{"#
        + #""requestedQueryCost":\#(cost),"actualQueryCost":3,"throttleStatus":{"#
        + #""maximumAvailable":1000,"currentlyAvailable":\#(available),"restoreRate":50}}}}"#)
  }

  @Test func `Shopify's cost budget: what an operation cost the last time must be there`()
    async throws
  {
    let result = try await naps(
      "budget: shopify", [Self.shopify(100, 50), Self.shopify(100, 500), .ok], operations: 3)
    // 50 are missing, and 50 come back each second.
    #expect(result.naps == [.milliseconds(1_001)])
    let reserved = try await naps(
      "budget: shopify, reserve: 100", [Self.shopify(100, 150), .ok], operations: 2)
    #expect(reserved.naps == [.milliseconds(1_001)])
    // Not asked to be heeded.
    #expect(
      try await naps("requests: 1000000", [Self.shopify(100, 0), .ok], operations: 2).naps
        .allSatisfy { $0 < .milliseconds(1) })
  }

  @Test(arguments: [
    ("1e308", "0", "1e-300"), ("-1e308", "-1e308", "1"), ("1e308", "1e308", "1e308"),
  ])
  func `no number that a server reports overflows`(cost: String, left: String, rate: String) throws
  {
    let budget = RequestBudget.shared(in: Services(), origin: "", credential: "")
    let report = try JSONValue(
      parsing: #"{"extensions":{"cost":{"requestedQueryCost":\#(cost),"actualQueryCost":\#(cost),"#
        + #""throttleStatus":{"maximumAvailable":1000,"currentlyAvailable":\#(left),"restoreRate":\#(rate)}}}}"#
    )
    for second in 0..<4 {
      let now = Duration.seconds(second)
      switch budget.admit("a", nil, reserve: .count(0), now: now, until: .seconds(1_000_000)) {
      case .granted(_, let ticket):
        budget.note(report, .shopify, of: ticket, now: now, time: 0)
        budget.noteEnd(ticket, isAnswered: true)
      case .later(let delay): #expect(delay > .zero && delay <= .seconds(86_401))
      case .tooLong: Issue.record("the delay is too long")
      }
    }
  }

  private static func github(_ cost: Int, _ left: Int, _ reset: String) -> FakeNetwork.Answer {
    .body(
      #"{"data":{"rateLimit":{"cost":\#(cost),"remaining":\#(left),"resetAt":"\#(reset)"},"#
        + #""user":{"__typename":"User","id":"1","name":"Ada"}}}"#)
  }

  @Test func `GitHub's budget: what is left must do for the operation, else its reset is awaited`()
    async throws
  {
    let document = #"query User { rateLimit { cost remaining resetAt } user(id: "1") { id name } }"#
    for (cost, left, wait) in [(5, 10, 0), (5, 4, 60), (1, 0, 60)] {
      let result = try await naps(
        "budget: github", [Self.github(cost, left, "1994-11-06T08:50:37Z"), .ok],
        documents: [document], operations: 2)
      #expect(result.naps == (wait > 0 ? [.seconds(wait)] : []), "\(cost) \(left)")
    }
  }

  @Test func `credentials have budgets of their own, and entries of one name share theirs`()
    async throws
  {
    let clock = TestClock.jumping()
    let setup = Bench.Setup(
      clock: ServiceClock(clock),
      transport: FakeNetwork(Self.answer(429, ["Retry-After": "7"]), .ok))
    let chain = """
      - rate-limit: { credential: a }
        when: { type: query }
      - rate-limit: { credential: b }
        when: { operation: [Rename] }
      - rate-limit: { credential: a }
        when: { operation: [Other] }
      - fetch
      - response-code
      - parse
      """
    try await Bench.with(chain, setup: setup) { bench in
      _ = await bench.run()
      _ = await bench.run(Bench.rename)
      #expect(clock.slept == [])
      _ = await bench.run("mutation Other { rename(id: \"1\") { name } }")
      #expect(clock.slept == [.seconds(7)])
    }
  }

  @Test func `a waiting caller can be cancelled`() async throws {
    let clock = TestClock()
    let network = FakeNetwork(Self.answer(429, ["Retry-After": "7"]), .ok)
    try await with("", network, clock: clock) { bench in
      _ = await bench.run()
      let task = Task { await bench.run() }
      await clock.sleepers(1)
      task.cancel()
      #expect(await task.value.error is CancellationError)
    }
  }
}
