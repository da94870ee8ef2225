import Foundation
import GQLRunCache
import GQLRunJSON
import GQLRunLanguage
import GQLRunPipeline
import GQLRunPlugins
import GQLRunTestSupport
import HTTPTypes
import Testing

@testable import GQLRunProfile

@Suite("Events of subscriptions", .timeLimit(.minutes(10)))
struct SubscriptionRunTests {
  private final class Positions: @unchecked Sendable {
    // `@unchecked Sendable`: one reader.
    private var delays: [Int]
    private var ends = 0

    init(_ delays: [Int]) { self.delays = delays }

    /// Whether the end is read for the first time.
    var isAtEnd: Bool { ends == 1 }

    func next() -> Int? {
      guard !delays.isEmpty else {
        ends += 1
        return nil
      }
      return delays.removeFirst()
    }
  }

  /// Takes two milliseconds for each event.
  private struct Slow: GraphQLInterceptor {
    let clock: TestClock

    func intercept(
      _ request: GraphQLRequest, context: ChainContext, next: NextGraphQL
    ) async throws -> ResponseStream {
      await next(request).map { response in
        clock.advance(by: .milliseconds(2))
        return response
      }
    }
  }

  /// Runs subscriptions whose connections have events after the given milliseconds; all but the last are lost.
  private func run(
    _ connections: [[Int]], count: Int = 1, _ services: Services? = nil
  ) async throws -> SubscriptionReport {
    // The delay before a retry is short, the measured time is long.
    let clock = TestClock { $0 <= .seconds(60) }
    let services =
      services
      ?? Services(
        transport: Answers(
          clock, connections.map { .events($0, unit: .milliseconds(1)) },
          last: .failure(.tlsFailed)
        ) {},
        store: .memory(), clock: ServiceClock(clock), random: { 0.5 })
    return try await subscriptions(services, clock, count: count).run()
  }

  private func subscriptions(
    _ services: Services, _ clock: TestClock, count: Int, maxRetries: Int = 3
  ) throws -> SubscriptionRun {
    var pipeline = try PipelineFile.load(
      Array(
        """
        version: 1
        endpoint: { url: "http://localhost/" }
        store: { kind: memory }
        chain: [{ max-retry: { max_retries: \(maxRetries) } }, fetch, response-code, parse, cache-write]
        """.utf8), file: "x.pipeline.yaml", registry: .builtIn,
      environment: PipelineFileEnvironment()
    ).pipeline
    pipeline.entries.insert(
      PipelineEntry(id: "slow", .graphQL(Slow(clock: clock))), at: 1)
    let operation = try PreparedOperation(document: Document(parsing: "subscription { n }"))
    let mix = LoadMix([.init(name: "S", requests: [GraphQLRequest(operation)])])
    return SubscriptionRun(
      PipelineRunner(pipeline, services: services), mix, count: count,
      duration: .seconds(3_600), processTime: { 0 })
  }

  /// Answers connections one after the other; the last connection with events is completed.
  actor Answers: HTTPTransport {
    enum Answer {
      case status(Int)
      case failure(ChainError.Code)
      case events([Int], unit: Duration = .seconds(1))
      case errors
      /// Stays open until the load ends, which it does after the seconds.
      case open(Int, hasError: Bool = false)
    }

    private let clock: TestClock
    private var answers: [Answer]
    private let last: Answer
    private let end: @Sendable () -> Void

    /// - Parameter last: The answer after all others.
    init(
      _ clock: TestClock, _ answers: [Answer], last: Answer = .status(500),
      end: @escaping @Sendable () -> Void
    ) {
      (self.clock, self.answers, self.last, self.end) = (clock, answers, last, end)
    }

    func send(
      _ request: HTTPRequestMessage, limits: HTTPLimits
    ) async throws -> HTTPResponseMessage {
      // A single result over HTTP is followed by WebSocket, which this server does not speak.
      let isHTTP = request.webSocket == nil
      let answer =
        !isHTTP ? .status(501) : answers.isEmpty ? last : answers.removeFirst()
      let (clock, end, isLast) = (clock, end, answers.isEmpty)
      func response(_ type: String, _ body: HTTPBody) -> HTTPResponseMessage {
        HTTPResponseMessage(
          head: HTTPResponse(status: .ok, headerFields: [.contentType: type]), body: body)
      }
      switch answer {
      case .status(let code):
        return HTTPResponseMessage(
          head: HTTPResponse(status: .init(code: code)), body: HTTPBody { nil })
      case .failure(let code):
        throw ChainError(
          .transport, code: code, message: "no connection", delivery: .notSent)
      case .errors:
        return response(
          "application/json", HTTPBody([Array(#"{"errors":[{"message":"not allowed"}]}"#.utf8)]))
      case .open(let seconds, let hasError):
        let first = Positions([0])
        return response(
          "text/event-stream",
          HTTPBody {
            if hasError, first.next() != nil {
              return Array("event: next\ndata: {\"errors\":[{\"message\":\"no\"}]}\n\n".utf8)
            }
            clock.advance(by: .seconds(seconds))
            end()
            let (forever, hold) = AsyncStream.makeStream(of: Void.self)
            defer { hold.finish() }
            for await _ in forever {}
            return nil
          })
      case .events(let delays, let unit):
        let events = Positions(delays)
        return response(
          "text/event-stream",
          HTTPBody {
            if let delay = events.next() {
              clock.advance(by: unit * delay)
              return Array("event: next\ndata: {\"data\":{\"n\":1}}\n\n".utf8)
            }
            guard isLast, events.isAtEnd else { return nil }
            end()
            return Array("event: complete\ndata:\n\n".utf8)
          })
      }
    }
  }

  /// Keeps a subscription open until the last answer is read.
  private func held(_ answers: [Answers.Answer]) async throws -> SubscriptionReport {
    let clock = TestClock { $0 <= .seconds(60) }
    let (ended, end) = AsyncStream.makeStream(of: Void.self)
    let network = Answers(clock, answers) { end.yield() }
    let services = Services(
      transport: network, store: .memory(), clock: ServiceClock(clock), random: { 0.5 })
    let run = try subscriptions(services, clock, count: 1, maxRetries: 0)
    return await run.run(beside: { for await _ in ended { return } }).1
  }

  @Test("beside a load, a subscription that cannot be opened is counted, and opened again")
  func refusedBesideLoad() async throws {
    let report = try await held([.status(500), .errors, .events([1, 1])])
    #expect(report.failed == 2 && report.opened == 1 && report.lost == 0 && report.events == 2)
    #expect(report.failures.contains { $0.message == "GraphQL error: not allowed" })
    #expect(report.reconnects == 0 && report.eventsWithErrors == 0)
  }

  /// The answers until a load ends, and the figures then.
  struct EndOfLoad: Sendable {
    let answers: [Answers.Answer]
    let opened, failed, events: Int

    init(_ answers: [Answers.Answer], opened: Int, failed: Int, events: Int) {
      (self.answers, self.opened, self.failed, self.events) = (answers, opened, failed, events)
    }
  }

  private static let ends = [
    EndOfLoad([.errors, .open(0)], opened: 0, failed: 1, events: 0),
    EndOfLoad([.errors, .open(0, hasError: true)], opened: 0, failed: 2, events: 0),
    EndOfLoad([.errors, .open(2)], opened: 1, failed: 1, events: 0),
    EndOfLoad([.errors, .open(2, hasError: true)], opened: 1, failed: 1, events: 1),
    EndOfLoad([.errors, .errors, .errors, .open(2)], opened: 0, failed: 3, events: 0),
    EndOfLoad(
      [.errors, .errors, .errors, .open(2, hasError: true)], opened: 0, failed: 4, events: 0),
    EndOfLoad([.errors, .errors, .errors, .open(4)], opened: 1, failed: 3, events: 0),
    EndOfLoad([.errors, .status(500), .open(0)], opened: 1, failed: 2, events: 0),
    EndOfLoad([.open(0)], opened: 1, failed: 0, events: 0),
    EndOfLoad([.open(0, hasError: true)], opened: 1, failed: 0, events: 1),
  ]

  @Test(
    "an attempt after refused ones, without a result at the end of the load, is opened if that took longer than they did",
    arguments: ends)
  func endsAfterRefusal(_ end: EndOfLoad) async throws {
    let report = try await held(end.answers)
    #expect(report.opened == end.opened && report.failed == end.failed)
    #expect(report.events == end.events && report.lost == 0 && report.completed == 0)
  }

  @Test("alone, a subscription whose only result is an error without data is not opened either")
  func refusedAlone() async throws {
    let clock = TestClock { $0 <= .seconds(60) }
    let services = Services(
      transport: Answers(clock, [.errors]) {}, store: .memory(), clock: ServiceClock(clock),
      random: { 0.5 })
    var whole = ProfileReport.empty()
    whole.subscription = try await subscriptions(services, clock, count: 1, maxRetries: 0).run()
    #expect(whole.subscription?.failed == 1 && whole.subscription?.events == 0)
    #expect(
      BudgetResult.ofSuccess(whole).compactMap(\.violation) == [
        "events: at least one subscription is opened is not met: none of 1 was opened; the most frequent error: "
          + "GraphQL error: not allowed (1 x)"
      ])
  }

  @Test("a refusal after a lost connection is neither a reconnect nor the end of the gap")
  func refusedAfterLoss() async throws {
    let report = try await held([.events([1]), .errors, .events([1])])
    #expect(report.failed == 1 && report.opened == 2 && report.lost == 1 && report.reconnects == 1)
    #expect(try #require(report.steps).reduce(0) { $0 + $1.gaps } == 1)
  }

  @Test(
    "beside a load, a lost connection is counted in its step, and the gap where events continue")
  func lostBesideLoad() async throws {
    // Steps of 6 s: two events at 1 and 2 s, then the loss; a refusal; the third event at 14 s.
    let report = try await held([.events([1, 1]), .status(503), .events([10])])
    #expect(report.lost == 1 && report.failed == 1 && report.opened == 2 && report.reconnects == 1)
    #expect(report.events == 3 && report.intervals?.count == 1)
    let steps = try #require(report.steps)
    #expect(report.stepSeconds == 6 && steps.map(\.events) == [2, 0, 1])
    #expect(steps.map(\.lost) == [1, 0, 0] && steps.map(\.failed) == [1, 0, 0])
    #expect(steps.reduce(0) { $0 + $1.gaps } == 1)
    var whole = ProfileReport.empty()
    whole.subscription = report
    #expect(whole.text.contains("opened: 2; lost connections: 1; could not be opened: 1"))
    #expect(try whole.html.contains("Events per second, over time"))
    #expect(whole.prometheus.contains("gqlrun_profile_lost_connections 1.0"))
    for (budget, isMet) in [
      ("lost<=0", false), ("lost<=1", true), ("unopened<=0", false), ("events>=3", true),
      ("events>=100/s", false), ("delay<=1s", false),
    ] {
      let results = try Budget(budget).results(in: whole)
      #expect(results.map(\.isMet) == [isMet], "\(budget)")
    }
  }

  @Test(
    "the time in an event is ISO 8601, seconds or milliseconds",
    arguments: [
      ("\"1970-01-01T00:01:40Z\"", 100.0), ("\"1970-01-01T00:01:40.500Z\"", 100.5), ("100", 100),
      ("1700000000000", 1_700_000_000), ("1700000000.5", 1_700_000_000.5), ("\"soon\"", nil),
      ("null", nil), ("true", nil), ("1700000000000000", nil),
    ])
  func timeInEvent(text: String, seconds: Double?) throws {
    #expect(EventTime.seconds(try JSONValue(parsing: text)) == seconds)
  }

  @Test(
    "a path to the time begins with data", arguments: ["", "data", "at", "data..at", "data.at."])
  func badPathToTime(path: String) {
    #expect(throws: ProfileError.self) { try EventTime(path) }
    #expect(throws: Never.self) { try EventTime("data.posted.at") }
  }

  @Test("the time from arrival to delivery, the intervals and their jitter are measured")
  func measured() async throws {
    let report = try await run([[10, 10, 20, 10]])
    #expect(report.events == 4 && report.reconnects == 0 && report.failures.isEmpty)
    let delivery = try #require(report.delivery)
    #expect(delivery.count == 4 && abs(delivery.highest - 0.002) < 0.0001)
    let intervals = try #require(report.intervals)
    #expect(intervals.count == 3 && abs(intervals.highest - 0.022) < 0.0001)
    // From 12 to 22 and back to 12 milliseconds.
    let jitter = try #require(report.jitterSeconds)
    #expect(abs(jitter - 0.010) < 0.0001)
    #expect(abs(report.eventsPerSecond - 4 / 0.058) < 0.5)
  }

  @Test("a reconnect is counted, and no interval goes over it")
  func reconnect() async throws {
    let report = try await run([[10, 10], [500, 10]])
    #expect(report.events == 4 && report.reconnects == 1)
    #expect(report.intervals?.count == 2)
    #expect((report.intervals?.highest ?? 1) < 0.1)
  }

  @Test("a subscription that ends with an error is in the report; without an event it is the error")
  func failure() async throws {
    let report = try await run([[10]], count: 2)
    #expect(report.events == 1 && report.failures.map(\.count) == [1])
    #expect(report.failures.first?.message.contains("no connection") == true)
    await #expect(throws: ChainError.self) { try await run([]) }
  }

  /// A clock whose measured time ends when a retry is due, for which nothing is sent.
  private final class RetryClock: Clock, Sendable {
    private let retries = AsyncStream.makeStream(of: Void.self)
    let minimumResolution = Swift.Duration.zero
    var now: TestClock.Instant { TestClock.Instant(offset: .zero) }

    func sleep(until deadline: TestClock.Instant, tolerance: Swift.Duration?) async throws {
      if deadline.offset == .seconds(3_600) {
        for await _ in retries.stream { return }
      } else {
        retries.continuation.yield()
        let (stream, end) = AsyncStream.makeStream(of: Void.self)
        defer { end.finish() }
        for await _ in stream {}
      }
      throw CancellationError()
    }
  }

  @Test("without a connection the error is that of the last attempt, although a retry is due")
  func unreachable() async throws {
    let refusal = Answers(TestClock(), [], last: .failure(.connectionFailed)) {}
    let services = Services(
      transport: refusal, clock: ServiceClock(RetryClock()), random: { 0.5 })
    let error = await #expect(throws: ChainError.self) {
      try await run([], count: 1, services)
    }
    #expect(error?.code == .connectionFailed)
  }

  @Test("the report is JSON and text, and without events neither fails")
  func report() async throws {
    var report = ProfileReport.empty(operation: "subscription S")
    report.subscription = try await run([[10, 10, 20]])
    let text = report.text
    for line in [
      "3 events of 1 subscription", "from event to delivery", "jitter: 10.00 ms", "reconnects: 0",
    ] {
      #expect(text.contains(line), "\(text)")
    }
    let copy = try JSONDecoder().decode(ProfileReport.self, from: report.json())
    #expect(copy.subscription?.events == 3)
    #expect(report.prometheus.contains("gqlrun_profile_event_jitter_seconds 0.00999"))
    #expect(try report.html.contains("3 events of 1 subscription"))
    #expect(try Budget("p99<=1ms").violations(in: report).count == 1)
    #expect(try Budget("p99<=1s").violations(in: report).isEmpty)
    report.subscription = try await run([[]])
    #expect(report.text.contains("0 events of 1 subscription"))
    #expect(
      try Budget("p99<=1s").violations(in: report).first?.contains("no event arrived") == true)
  }
}
