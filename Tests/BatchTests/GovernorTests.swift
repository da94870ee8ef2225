import Foundation
import GQLRunPipeline
import GQLRunTestSupport
import Synchronization
import Testing

@testable import GQLRunBatch

@Suite("Refusals, limits and outages")
struct GovernorTests {
  private let location: Place

  init() throws { location = try Place() }

  private func manifest(_ count: Int, _ more: String = "", run: String = "concurrency: 8") throws
    -> Manifest
  {
    try location.write(Bench.ids(count), to: "ids.csv")
    return try Bench.load(
      """
      version: 1
      pipeline: p.pipeline.yaml
      run: { \(run) }
      sinks: [{ ndjson: { path: o.ndjson } }]
      \(more)
      operations:
      \(Bench.users)
      """, in: location)
  }

  @Test("a storm of 429 is waited out: every task is done, and nothing is lost or doubled")
  func storm() async throws {
    let clock = TestClock.jumping()
    let transport = ScriptedTransport { number in
      number <= 40 ? .response(429, "slow down", headers: ["Retry-After": "2"]) : .response()
    }
    let summary = try await Bench.run(
      manifest(100), transport: transport, clock: ServiceClock(clock))
    #expect(summary.counters.done == 100)
    #expect(summary.counters.failed == 0)
    #expect(transport.count == 140)
    #expect(try location.lines("o.ndjson").count == 100)
    #expect(clock.now.offset >= .seconds(2))
  }

  @Test("a server that keeps refusing ends the run, which can be resumed")
  func patience() async throws {
    let transport = ScriptedTransport { _ in .response(503, "no") }
    let summary = try await Bench.run(
      manifest(1000, run: "concurrency: 8, patience: 1m"), transport: transport,
      clock: ServiceClock(TestClock.jumping()))
    #expect(summary.stop == .throttled)
    #expect(summary.counters.failed == 0)
    // Eight at the same time, then ever fewer: not a request per task.
    #expect(transport.count < 60)
    let again = try await Bench.run(
      manifest(1000, run: "concurrency: 8, patience: 1m"), Bench.resuming,
      transport: ScriptedTransport { _ in .response() })
    #expect(again.counters.done == 1000)
  }

  @Test(
    "absurd wishes of a server are bounded",
    arguments: ["999999999999999999999", "-5", "soon", "Wed, 21 Oct 1999 07:28:00 GMT"])
  func absurd(wish: String) async throws {
    let clock = TestClock.jumping()
    let transport = ScriptedTransport { number in
      number == 1 ? .response(429, "", headers: ["Retry-After": wish]) : .response()
    }
    let summary = try await Bench.run(
      manifest(3, run: "concurrency: 1, patience: 2h"), transport: transport,
      clock: ServiceClock(clock))
    #expect(summary.counters.done == 3)
    #expect(clock.now.offset <= .seconds(3_601))
  }

  @Test(
    "refused credentials end the run, and leave the tasks to be run",
    arguments: [
      ("application/json", ""),
      ("application/graphql-response+json", #"{"errors":[{"message":"log in"}]}"#),
    ])
  func credentials(_ type: String, _ body: String) async throws {
    let transport = ScriptedTransport { _ in .response(401, body, headers: ["Content-Type": type]) }
    let summary = try await Bench.run(manifest(500), transport: transport)
    #expect(summary.stop == .unauthorized)
    #expect(transport.count <= 8)
    #expect(summary.counts[.failed] == 0)
  }

  @Test("an unreachable server ends the run, one that returns does not")
  func outage() async throws {
    let gone = ScriptedTransport { _ in throw ChainError.refusedConnection }
    let first = try await Bench.run(
      manifest(50), transport: gone, clock: ServiceClock(TestClock.jumping()))
    #expect(first.stop == .unreachable)
    let restarted = ScriptedTransport { number in
      if (20..<60).contains(number) { throw ChainError.refusedConnection }
      return .response()
    }
    let second = try await Bench.run(
      manifest(50, run: "concurrency: 8, patience: 1h"), Bench.resuming, transport: restarted,
      clock: ServiceClock(TestClock.jumping()))
    #expect(second.stop == nil)
    #expect(second.counters.done == 50)
    #expect(restarted.count == 90)
  }

  @Test("an outage is part of the progress with the patience that is left, until it ends")
  func reportedOutage() async throws {
    let clock = TestClock.jumping()
    let control = RunControl()
    let seen = Mutex<[Outage?]>([])
    let transport = ScriptedTransport { number in
      let outage = await control.standing()?.outage
      seen.withLock { $0.append(outage) }
      if (3..<8).contains(number) { throw ChainError.refusedConnection }
      return .response()
    }
    let summary = try await Bench.run(
      manifest(5, run: "concurrency: 1, patience: 5m"), control: control, transport: transport,
      clock: ServiceClock(clock))
    #expect(summary.stop == nil && summary.outage == nil)
    let outages = seen.withLock { $0 }
    #expect(outages.count == 10)
    #expect(outages.map { $0 == nil } == (1...10).map { !(4...8).contains($0) })
    let during = outages.compactMap { $0 }
    #expect(during.allSatisfy { $0.kind == .unreachable })
    #expect(during.allSatisfy { $0.duration + $0.remaining == .seconds(300) })
    #expect(zip(during, during.dropFirst()).allSatisfy { $0.duration < $1.duration })
  }

  @Test("a run that gives up says how long the server was unreachable")
  func endingOutage() async throws {
    let transport = ScriptedTransport { number in
      if number == 1 { return .response() }
      throw ChainError.refusedConnection
    }
    let summary = try await Bench.run(
      manifest(5, run: "concurrency: 1, patience: 2m"), transport: transport,
      clock: ServiceClock(TestClock.jumping()))
    #expect(summary.stop == .unreachable)
    #expect(summary.stopDetail?.contains("refused") == true)
    let outage = try #require(summary.outage)
    #expect(outage.kind == .unreachable && outage.remaining == .zero)
    #expect(outage.duration > .seconds(120) && outage.duration < .seconds(140))
  }

  @Test("a rate is kept")
  func rate() async throws {
    let clock = TestClock.jumping()
    let transport = ScriptedTransport { _ in .response() }
    _ = try await Bench.run(
      manifest(50, "rate_limit: { rate: 10/s, burst: 5 }"), transport: transport,
      clock: ServiceClock(clock))
    #expect(clock.now.offset >= .milliseconds(4_400))
    #expect(clock.now.offset < .milliseconds(5_100))
  }

  private static let today = 1_750_000_000.0

  /// Services whose time of day is fixed: that of the machine may advance by seconds during a test.
  private static func services(_ transport: ScriptedTransport, _ clock: TestClock) -> Services {
    Services(transport: transport, clock: ServiceClock(clock), secondsSince1970: { today })
  }

  @Test("GitHub's budget is not used when only the reserve remains")
  func github() async throws {
    let clock = TestClock.jumping()
    let reset = Int(Self.today) + 600
    let transport = ScriptedTransport { number in
      .response(
        headers: [
          "X-RateLimit-Limit": "5000", "X-RateLimit-Reset": "\(reset)",
          "X-RateLimit-Remaining": number == 3 ? "400" : "4000",
        ])
    }
    _ = try await Bench.run(
      manifest(10, "rate_limit: { adapter: github, reserve: 10% }", run: "concurrency: 1"),
      services: Self.services(transport, clock))
    #expect(clock.now.offset > .seconds(500) && clock.now.offset <= .seconds(600))
  }

  @Test("Shopify's bucket is given the time to fill")
  func shopify() async throws {
    let clock = TestClock.jumping()
    let transport = ScriptedTransport { number in
      let left = number == 2 ? 40 : 1000
      return .response(
        200,
        """
        {"data":{"user":null},"extensions":{"cost":{"requestedQueryCost":50,"throttleStatus":\
        {"maximumAvailable":1000,"currentlyAvailable":\(left),"restoreRate":50}}}}
        """)
    }
    _ = try await Bench.run(
      manifest(4, "rate_limit: { adapter: shopify, reserve: 10% }", run: "concurrency: 1"),
      transport: transport, clock: ServiceClock(clock))
    #expect(clock.now.offset > .seconds(2) && clock.now.offset < .seconds(5))
  }

  @Test(
    "a refusal with status 200 is waited out like a 429",
    arguments: [
      #"{"errors":[{"message":"Throttled","extensions":{"code":"THROTTLED"}}]}"#,
      #"{"data":null,"errors":[{"type":"RATE_LIMITED","message":"API rate limit exceeded"}]}"#,
    ])
  func refusedWithSuccess(body: String) async throws {
    let clock = TestClock.jumping()
    let transport = ScriptedTransport { number in number <= 6 ? .response(200, body) : .response() }
    let summary = try await Bench.run(
      manifest(20), transport: transport, clock: ServiceClock(clock))
    #expect(summary.counters.done == 20)
    #expect(transport.count == 26)
    #expect(clock.now.offset >= .milliseconds(250))
  }

  @Test(
    "a 403 that says when to come back is a refusal, any other a failure",
    arguments: [Int(today) + 90, (Int(today) + 90) * 1_000, 90])
  func forbidden(reset: Int) async throws {
    let clock = TestClock.jumping()
    let transport = ScriptedTransport { number in
      switch number {
      case 1: .response(403, "", headers: ["Retry-After": "30"])
      case 2:
        .response(
          403, "", headers: ["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "\(reset)"])
      case 3: .response(403, "")
      default: .response()
      }
    }
    let summary = try await Bench.run(
      manifest(10, run: "concurrency: 1"), services: Self.services(transport, clock))
    #expect(summary.counters.done == 9)
    #expect(summary.counters.failed == 1)
    #expect(clock.now.offset >= .seconds(110) && clock.now.offset <= .seconds(125))
  }

  @Test("two runs in one process share the budget of their server, and a rate is kept by both")
  func shared() async throws {
    let clock = TestClock.jumping()
    let services = Services(
      transport: ScriptedTransport { _ in .response() }, clock: ServiceClock(clock))
    let one = try manifest(20, "rate_limit: { rate: 10/s }", run: "concurrency: 2")
    let other = try GovernorTests()
    let two = try other.manifest(20, "rate_limit: { rate: 10/s }", run: "concurrency: 2")
    async let first = Bench.run(one, services: services)
    async let second = Bench.run(two, services: services)
    #expect(try await first.counters.done + second.counters.done == 40)
    #expect(clock.now.offset >= .milliseconds(3_900))
  }

  @Test("limits in the manifest and in the pipeline would count every request twice")
  func twice() throws {
    try location.write(
      """
      version: 1
      endpoint: { url: "http://127.0.0.1:9/" }
      store: { kind: none }
      chain: [rate-limit: { requests: 5 }, fetch, response-code, parse]
      """, to: "p.pipeline.yaml")
    let found = try #require(throws: PipelineDiagnostics.self) {
      _ = try manifest(1, "rate_limit: { rate: 10/s }")
    }
    #expect(found.errors.map(\.message).joined().contains("limited twice"), "\(found.errors)")
  }

  @Test("a limit of failures ends the run")
  func failures() async throws {
    let transport = ScriptedTransport { _ in .errors("no") }
    let one = try await Bench.run(
      manifest(500, run: "concurrency: 4, fail_fast: true"), transport: transport)
    #expect(one.stop == .tooManyFailures)
    #expect(one.counters.failed <= 4)
    let share = try await Bench.run(
      manifest(500, run: "concurrency: 4, max_failures: 50%"), transport: transport)
    #expect(share.stop == .tooManyFailures)
    #expect((100...104).contains(share.counters.failed))
  }

  @Test("after the deadline no task is begun")
  func deadline() async throws {
    let clock = TestClock.jumping()
    let transport = ScriptedTransport { _ in
      try await ServiceClock(clock).sleep(for: .seconds(60))
      return .response()
    }
    let summary = try await Bench.run(
      manifest(500, run: "concurrency: 2, deadline: 1ms"), transport: transport)
    #expect(summary.stop == .deadline)
    #expect(summary.counters.done < 500)
  }

  @Test("a page that is too costly is asked for at half its size")
  func halving() async throws {
    let manifest = try Bench.load(
      """
      version: 1
      pipeline: p.pipeline.yaml
      sinks: [{ ndjson: { path: o.ndjson } }]
      operations:
        - id: a
          query: "query($first: Int!, $after: String) { list(first: $first, after: $after) { nodes { id } pageInfo { hasNextPage endCursor } } }"
          paginate: { connection: list, page_size: { start: 100, min: 10, on_error: halve } }
          emit: list.nodes[*]
      """, in: location)
    let transport = ScriptedTransport { number in
      switch number {
      case 1:
        .response(200, #"{"data":null,"errors":[{"message":"Query has complexity 1001"}]}"#)
      case 2: .response(504, "timeout")
      default:
        .page(of: "list", #"{"id":"1"}"#, hasNextPage: false, endCursor: "x")
      }
    }
    let summary = try await Bench.run(manifest, transport: transport)
    #expect(summary.counters.done == 1)
    #expect(transport.count == 3)
  }

  @Test("a cursor that comes again ends the pages with a failure")
  func repeatingCursor() async throws {
    let manifest = try Bench.load(
      """
      version: 1
      pipeline: p.pipeline.yaml
      sinks: [{ ndjson: { path: o.ndjson } }]
      operations:
        - id: a
          query: "query($after: String) { list(after: $after) { nodes { id } pageInfo { hasNextPage endCursor } } }"
          paginate: { connection: list }
          emit: list.nodes[*]
      """, in: location)
    let transport = ScriptedTransport { number in
      .page(
        of: "list", #"{"id":"\#(number)"}"#, hasNextPage: true, endCursor: "\(number % 3)")
    }
    let summary = try await Bench.run(manifest, transport: transport)
    #expect(summary.counters.failed == 1)
    #expect(transport.count == 4)
    #expect(try location.lines("o.ndjson").count == 3)
  }

  @Test(
    "only files that are open together take connections away",
    arguments: [
      ("declared", "o.ndjson", 18), ("interleaved", "o.ndjson", 915),
      ("declared", "o-{{op}}.ndjson", 317),
    ])
  func openFiles(_ order: String, _ output: String, _ expected: Int) throws {
    let operations = (1...300).map {
      """
        - id: o\($0)
          document: u.graphql
          foreach: { csv: ids.csv, key: "{{row.id}}" }
          variables: { id: "{{row.id}}" }
          emit: user
      """
    }
    try location.write(Bench.ids(1), to: "ids.csv")
    let manifest = try Bench.load(
      """
      version: 1
      pipeline: p.pipeline.yaml
      run: { order: \(order) }
      sinks:
        - ndjson: { path: "\(output)" }
        - sqlite: { path: o.db, table: a }
        - sqlite: { path: o.db, table: b }
      operations:
      \(operations.joined(separator: "\n"))
      """, in: location)
    let run = BatchRun(manifest, options: RunOptions(), services: Services())
    // Every output stays open; then eight others, three of the database, three for each reader.
    #expect(run.filesBesideConnections(try SinkPlan(manifest)) == expected)
  }

  @Test(
    "no more requests at a time than there can be connections, and one at least",
    arguments: [
      (64, nil, 10, 64), (64, 1_000_000, 10, 64), (64, 74, 10, 64), (64, 73, 10, 63),
      (64, 5, 10, 1),
      (4, 0, 0, 1),
    ] as [(Int, Int?, Int, Int)])
  func requestsByOpenFiles(_ wanted: Int, _ left: Int?, _ others: Int, _ expected: Int) {
    #expect(OpenFiles.requests(wanted, left: left, others: others) == expected)
  }
}
