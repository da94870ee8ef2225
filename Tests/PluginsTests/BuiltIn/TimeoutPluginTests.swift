import GQLRunPipeline
import GQLRunTestSupport
import Testing

@Suite(.timeLimit(.minutes(10))) struct TimeoutPluginTests {
  private func setup(_ clock: TestClock, _ network: FakeNetwork?) -> Bench.Setup {
    Bench.Setup(clock: ServiceClock(clock), transport: network)
  }

  private func expectTimeout(_ outcome: Outcome, _ total: String = "30s") {
    #expect(outcome.failure?.layer == .transport)
    #expect(outcome.code == .timedOut)
    #expect(outcome.failure?.entry == "timeout")
    #expect(outcome.message.contains("took longer than \(total) in total"), "\(outcome.message)")
  }

  private static let chain = "- timeout: { total: 30s }\n" + Bench.plain

  @Test(arguments: [nil, 2] as [Int?])
  func `a server that does not answer is given up after the total time, or that of the request`(
    _ seconds: Int?
  ) async throws {
    let clock = TestClock()
    let setup = setup(clock, FakeNetwork(.silence))
    try await Bench.with(Self.chain, setup: setup) { bench in
      async let outcome = bench.run { $0.timeout = seconds.map { Duration.seconds($0) } }
      await clock.sleepers(1)
      let total = seconds ?? 30
      clock.advance(by: .seconds(total))
      expectTimeout(await outcome, "\(total)s")
    }
  }

  @Test func `the time of the body counts`() async throws {
    let clock = TestClock()
    let script: [RawServer.Step] = [
      .request, .send(HTTPText.response(headers: ["Content-Length: 900"], body: #"{"data":{"#)),
      .run { clock.advance(by: .seconds(30)) }, .untilClosed,
    ]
    try await Bench.withServer(script, chain: Self.chain, setup: setup(clock, nil)) {
      bench, server in
      expectTimeout(await bench.run())
      #expect(await bench.dump() == "")
      await server.log.closure()
    }
  }

  @Test func `the time of a response in parts counts, until its last part`() async throws {
    let clock = TestClock()
    let first =
      "--p\r\nContent-Type: application/json\r\n\r\n"
      + #"{"data":{"user":{"id":"1"}},"pending":[{"id":"0","path":["user"]}],"hasNext":true}"#
      + "\r\n--p"
    let script: [RawServer.Step] = [
      .request,
      .send(
        HTTPText.response(
          type: "multipart/mixed; boundary=p", headers: ["Connection: close"], body: "")),
      .send(first), .untilClosed,
    ]
    try await Bench.withServer(script, chain: Self.chain, setup: setup(clock, nil)) {
      bench, server in
      let document = "query User { user { id ... @defer { name } } }"
      let results = bench.runner.execute(try Bench.request(document))
      #expect(try await results.next()?.isComplete == false)
      async let rest = results.next()
      await clock.sleepers(1)
      clock.advance(by: .seconds(30))
      do {
        _ = try await rest
        Issue.record("the next part took no time")
      } catch {
        #expect((error as? ChainError)?.code == .timedOut)
      }
      await server.log.closure()
    }
  }

  @Test func `what comes in time is delivered`() async throws {
    let clock = TestClock()
    let network = FakeNetwork(.ok, before: { clock.advance(by: .seconds(29)) })
    try await Bench.with(Self.chain, setup: setup(clock, network)) {
      let outcome = await $0.run()
      #expect(outcome.sources == [.server])
    }
  }

  // MARK: With retries

  private static let aboveTimeout =
    "- max-retry: { backoff: { base: 0s } }\n- timeout: { total: 25s }\n" + Bench.plain

  @Test func `retries from above the timeout do not restart the time`() async throws {
    let clock = TestClock()
    let network = FakeNetwork(
      .response(503), .response(503), .silence, before: { clock.advance(by: .seconds(10)) })
    try await Bench.with(Self.aboveTimeout, setup: setup(clock, network)) {
      expectTimeout(await $0.run(), "25s")
      #expect(await network.count == 3)
    }
  }

  @Test(arguments: [
    "- max-retry: { backoff: { base: 61s, max: 5m } }\n- timeout: { total: 30s }\n",
    "- max-retry: { backoff: { base: 30s, max: 5m, jitter: none } }\n- timeout: { total: 30s }\n",
  ]) func `a wait that ends after the total time is not begun`(_ entries: String) async throws {
    let clock = TestClock()
    let network = FakeNetwork(.response(503))
    let setup = setup(clock, network)
    try await Bench.with(entries + Bench.plain, setup: setup) {
      let outcome = await $0.run()
      #expect(outcome.failure?.http?.status == 503)
      #expect(await network.count == 1)
    }
  }

  @Test func `the delay of a retry counts when the timeout is above it`() async throws {
    let clock = TestClock()
    let network = FakeNetwork(.response(503))
    let chain =
      "- timeout: { total: 30s }\n- max-retry: { backoff: { base: 20s, max: 29s, jitter: none } }\n"
      + Bench.plain
    try await Bench.with(chain, setup: setup(clock, network)) { bench in
      async let outcome = bench.run()
      // The total time, and the wait.
      await clock.sleepers(2)
      clock.advance(by: .seconds(20))
      // The next wait would end after 20 s and 29 s: it is not begun.
      let ended = await outcome
      #expect(ended.failure?.http?.status == 503)
      #expect(await network.count == 2)
    }
  }

  @Test func `an operation that took too long may be answered from the cache`() async throws {
    let clock = TestClock()
    let chain =
      "- cache-read: { policy: network-first }\n- max-retry\n- timeout: { total: 30s }\n"
      + Bench.bare
    let (asked, ask) = AsyncStream.makeStream(of: Void.self)
    let network = FakeNetwork(.silence, before: { ask.yield() })
    try await Bench.with(chain, setup: setup(clock, network)) { bench in
      try await bench.prime()
      async let outcome = bench.run()
      for await _ in asked { break }
      await clock.sleepers(1)
      clock.advance(by: .seconds(30))
      let ended = await outcome
      #expect(ended.sources == [.cache])
      #expect(await network.count == 1)
    }
  }
}
