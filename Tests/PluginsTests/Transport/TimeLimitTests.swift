import GQLRunPipeline
import GQLRunTestSupport
import Testing

/// The limits of time, on a clock that the tests move.
///
/// Connecting has a limit in real time. It is as long as possible, so that a busy machine does not exceed it: an hour, or
/// a second less than the time without data that the test expects before the head.
@Suite(.timeLimit(.minutes(10))) struct TimeLimitTests {
  private func setup(
    _ clock: TestClock, change: @escaping @Sendable (inout Pipeline) -> Void = { _ in }
  ) -> Bench.Setup {
    Bench.Setup(networkClock: ServiceClock(clock), change: change)
  }

  /// Moves the clock by some seconds each time something waits for it, until the task is cancelled and the clock
  /// moves once more.
  private func passSeconds(of clock: TestClock, _ seconds: Int = 1) -> Task<Void, Never> {
    Task {
      while !Task.isCancelled {
        await clock.sleepers(1)
        clock.advance(by: .seconds(seconds))
      }
    }
  }

  private let begun = HTTPText.response(headers: ["Content-Length: 900"], body: #"{"data":{"#)

  private func expectTimeout(
    _ outcome: Outcome, _ bench: Bench, _ delivery: ChainError.Delivery, _ parts: [String]
  ) {
    #expect(outcome.failure?.layer == .transport)
    #expect(outcome.code == .timedOut)
    #expect(outcome.failure?.delivery == delivery)
    for part in parts { #expect(outcome.message.contains(part), "\(outcome.message)") }
    expectNoSecrets(outcome, bench)
  }

  /// Runs a query whose response does not end in time: it leaves the store unchanged and closes the connection.
  private func expectGivenUp(
    _ bench: Bench, _ server: RawServer, delivery: ChainError.Delivery, message: [String],
    finish: () -> Void = {}
  ) async throws {
    try await bench.prime()
    let before = await bench.dump()
    expectTimeout(await bench.run(policy: .networkOnly), bench, delivery, message)
    finish()
    #expect(await bench.dump() == before)
    await server.log.closure()
    #expect(await server.log.connections == 1)
  }

  @Test
  func `fault 10: a server that never answers is given up, and whether it acted is not known`()
    async throws
  {
    let clock = TestClock()
    let script: [RawServer.Step] = [
      .request, .run { clock.advance(by: .seconds(30)) }, .untilClosed,
    ]
    try await Bench.withServer(
      script, chain: Bench.fetching("connect_timeout: 29s"), setup: setup(clock)
    ) { bench, server in
      try await expectGivenUp(
        bench, server, delivery: .unknown, message: ["no data arrived for 30s", "idle_timeout"])
      #expect(await server.log.requests.count == 1)
    }
  }

  @Test func `fault 10: the time limit for connecting does not extend that for an answer`()
    async throws
  {
    let clock = TestClock()
    let (received, signal) = AsyncStream.makeStream(of: Void.self)
    let script: [RawServer.Step] = [.request, .run { signal.yield() }, .untilClosed]
    let chain = Bench.fetching("timeout: 24h, connect_timeout: 1h, idle_timeout: 2s")
    try await Bench.withServer(script, chain: chain, setup: setup(clock)) { bench, server in
      async let running = bench.run()
      for await _ in received { break }
      // The client may note later than the server that the request was sent: until then, an hour is permitted.
      let mover = Task {
        while !Task.isCancelled {
          await clock.sleepers(1)
          clock.advance(by: .milliseconds(10))
        }
      }
      let outcome = await running
      mover.cancel()
      clock.advance(by: .zero)
      expectTimeout(outcome, bench, .unknown, ["no data arrived for 2s", "idle_timeout"])
      await server.log.closure()
    }
  }

  @Test func `a subscription without data names the option that limits its time`() async throws {
    let clock = TestClock()
    let script: [RawServer.Step] = [
      .request, .run { clock.advance(by: .seconds(45)) }, .untilClosed,
    ]
    let chain = Bench.fetching("connect_timeout: 29s, event_timeout: 45s")
    try await Bench.withServer(script, chain: chain, setup: setup(clock)) { bench, _ in
      let outcome = await bench.run("subscription Renamed { renamed { __typename id name } }")
      expectTimeout(
        outcome, bench, .unknown, ["no data arrived for 45s", "raise the option event_timeout"])
    }
  }

  @Test func `fault 9: a server that falls silent in the body is given up`() async throws {
    let clock = TestClock()
    let (passed, signal) = AsyncStream.makeStream(of: Void.self)
    let script: [RawServer.Step] = [.request, .send(begun), .untilClosed]
    let setup = setup(clock) { $0.entries.insert(.eachChunk { signal.yield() }, at: 1) }
    // The mover may be ahead of the reader by any number of seconds: the total time must not end first.
    let chain = Bench.fetching("timeout: 24h, connect_timeout: 1h, idle_timeout: 10s")
    try await Bench.withServer(script, chain: chain, setup: setup) { bench, server in
      try await bench.prime()
      let before = await bench.dump()
      async let running = bench.run()
      for await _ in passed { break }
      // The reader comes back for the next chunk in its own time: the silence begins then.
      let mover = passSeconds(of: clock)
      let outcome = await running
      mover.cancel()
      clock.advance(by: .zero)
      expectTimeout(
        outcome, bench, .answered, ["stopped sending after 9 bytes", "no data arrived for 10s"])
      #expect(await bench.dump() == before)
      await server.log.closure()
    }
  }

  @Test
  func `a subscription that waits for a connection is a warning with the cause and a remedy`()
    async throws
  {
    let clock = TestClock()
    let document = "subscription Renamed { renamed { __typename id name } }"
    let event = #"{"data":{"renamed":{"__typename":"User","id":"1","name":"Ada"}}}"#
    let script: [RawServer.Step] = [
      .request,
      .send(HTTPText.response(type: "text/event-stream", headers: ["Connection: close"], body: "")),
      .send("event: next\ndata: \(event)\n\n"), .untilClosed,
    ]
    let help =
      "all 1 are in use, such as by subscriptions; raise the option max_connections of fetch"
    let chain = Bench.fetching("max_connections: 1, connect_timeout: 1h, event_timeout: 10s")
    try await Bench.withServer(script, chain: chain, setup: setup(clock)) { bench, server in
      let first = bench.runner.execute(try Bench.request(document))
      #expect(try await first.next()?.source == .server)
      async let running = bench.run(document)
      await bench.log.lines(1, with: "Renamed waits for a connection to http://127.0.0.1")
      #expect(bench.log.lines.contains { $0.contains(help) }, "\(bench.log.lines)")
      // The first subscription is not read, so that its limits do not count.
      let mover = passSeconds(of: clock, 60)
      let outcome = await running
      mover.cancel()
      clock.advance(by: .zero)
      expectTimeout(outcome, bench, .notSent, ["the request was not sent", "was free for", help])
      #expect(await server.log.connections == 1)
      withExtendedLifetime(first) {}
    }
  }

  @Test
  func `fault 9: after the head the shorter limit of silence counts from then on`() async throws {
    let clock = TestClock()
    let (passed, signal) = AsyncStream.makeStream(of: Void.self)
    let head = HTTPText.response(headers: ["Content-Length: 900"], body: "")
    let setup = setup(clock) { $0.entries.insert(.onHead { signal.yield() }, at: 1) }
    let chain = Bench.fetching("timeout: 24h, connect_timeout: 1h, idle_timeout: 2s")
    try await Bench.withServer([.request, .send(head), .untilClosed], chain: chain, setup: setup) {
      bench, server in
      async let running = bench.run()
      for await _ in passed { break }
      // Before the request is sent, connecting may take an hour, and then one more second.
      #expect(await clock.nextWaking() == .seconds(2))
      let mover = passSeconds(of: clock, 2)
      let outcome = await running
      mover.cancel()
      clock.advance(by: .zero)
      expectTimeout(outcome, bench, .answered, ["stopped sending after 0 bytes", "arrived for 2s"])
      await server.log.closure()
    }
  }

  @Test func `fault 8: a body that drips does not outlive the total time`() async throws {
    let clock = TestClock()
    let (passed, signal) = AsyncStream.makeStream(of: Void.self)
    let script: [RawServer.Step] = [
      .request, .send(begun),
      .sendForever(
        [0x20],
        then: {
          for await _ in passed { return }
        }),
    ]
    let setup = setup(clock) {
      $0.entries.insert(
        .eachChunk {
          clock.advance(by: .seconds(1))
          signal.yield()
        }, at: 1)
    }
    let chain = Bench.fetching("timeout: 20s, connect_timeout: 1h, idle_timeout: 10s")
    try await Bench.withServer(script, chain: chain, setup: setup) { bench, server in
      try await expectGivenUp(
        bench, server, delivery: .answered, message: ["took longer than 20s", "option timeout"]
      ) { signal.finish() }
    }
  }

  @Test func `fault 16: header fields that drip do not outlive the total time`() async throws {
    let clock = TestClock()
    let drip: [RawServer.Step] = [.send("a"), .run { clock.advance(by: .seconds(1)) }]
    // No longer than it takes: a client that is late would meet its limit of bytes instead.
    let script: [RawServer.Step] =
      [.request, .send("HTTP/1.1 200 OK\r\nX-Drip: ")] + (0..<25).flatMap { _ in drip }
      + [.untilClosed]
    let chain = Bench.fetching("timeout: 20s, connect_timeout: 29s, idle_timeout: 30s")
    try await Bench.withServer(script, chain: chain, setup: setup(clock)) { bench, server in
      try await expectGivenUp(
        bench, server, delivery: .unknown, message: ["did not answer within 20s"])
    }
  }

  @Test func `fault 16: a flood of interim answers does not outlive the total time`() async throws {
    let clock = TestClock()
    let interim: [RawServer.Step] = [
      .send("HTTP/1.1 102 Processing\r\n\r\n"), .run { clock.advance(by: .milliseconds(100)) },
    ]
    let script = [.request] + (0..<250).flatMap { _ in interim } + [.untilClosed]
    let chain = Bench.fetching("timeout: 20s, connect_timeout: 29s, idle_timeout: 30s")
    try await Bench.withServer(script, chain: chain, setup: setup(clock)) { bench, server in
      try await expectGivenUp(
        bench, server, delivery: .unknown, message: ["did not answer within 20s"])
    }
  }

  @Test func `time that we need ourselves is no silence of the server`() async throws {
    let clock = TestClock()
    let (passed, signal) = AsyncStream.makeStream(of: Void.self)
    let body = HTTPText.user
    let script: [RawServer.Step] = [
      .request,
      .send(
        HTTPText.response(
          headers: ["Content-Length: \(body.utf8.count)"], body: "\(body.prefix(20))")
      ),
      .run { for await _ in passed { break } },
      .send(String(body.dropFirst(20))),
    ]
    let setup = setup(clock) {
      $0.entries.insert(
        .eachChunk {
          clock.advance(by: .seconds(60))
          signal.yield()
        }, at: 1)
    }
    let chain = Bench.fetching("connect_timeout: 1h, idle_timeout: 10s")
    try await Bench.withServer(script, chain: chain, setup: setup) { bench, _ in
      let outcome = await bench.run()
      #expect(outcome.message == "")
      #expect(outcome.sources == [.server])
    }
  }

  @Test func `fault 32: a body that is slower than the file allows is given up`() async throws {
    let clock = TestClock()
    let (passed, signal) = AsyncStream.makeStream(of: Void.self)
    let script: [RawServer.Step] = [
      .request,
      .send(HTTPText.response(headers: ["Content-Length: 9999999"], body: "{")),
      .sendForever(
        Array(repeating: 0x20, count: 50),
        then: {
          // A reader waits a second for the next piece.
          for await _ in passed { break }
          // So that mostly the reader waits already; when it does not, the second counts as ours.
          for _ in 0..<50 { await Task.yield() }
          clock.advance(by: .seconds(1))
        }),
    ]
    let setup = setup(clock) { $0.entries.insert(.eachChunk { signal.yield() }, at: 1) }
    let chain = Bench.fetching(
      "timeout: 24h, connect_timeout: 1h, idle_timeout: 10s, min_throughput: 1KiB")
    try await Bench.withServer(script, chain: chain, setup: setup) { bench, server in
      try await expectGivenUp(
        bench, server, delivery: .answered,
        message: ["fewer than 1KiB per second", "min_throughput"]
      ) { signal.finish() }
    }
  }
}

extension PipelineEntry {
  /// Calls a closure with each chunk of a body before it passes the chunk on.
  static func eachChunk(_ work: @escaping @Sendable () async -> Void) -> PipelineEntry {
    PipelineEntry(id: "each-chunk", .http(ChunkWork(work: work)))
  }
}

extension PipelineEntry {
  /// Does something when the head of a response was received.
  static func onHead(_ work: @escaping @Sendable () async -> Void) -> PipelineEntry {
    PipelineEntry(id: "on-head", .http(HeadWork(work: work)))
  }
}

private struct HeadWork: HTTPInterceptor {
  let work: @Sendable () async -> Void

  func intercept(
    _ request: HTTPRequestMessage, context: ChainContext, next: NextHTTP
  ) async throws -> HTTPResponseMessage {
    let response = try await next(request)
    await work()
    return response
  }
}

private struct ChunkWork: HTTPInterceptor {
  let work: @Sendable () async -> Void

  func intercept(
    _ request: HTTPRequestMessage, context: ChainContext, next: NextHTTP
  ) async throws -> HTTPResponseMessage {
    try await next(request).mapChunks { chunk in
      await work()
      return chunk
    }
  }
}
