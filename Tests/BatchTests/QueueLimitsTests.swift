import GQLRunPipeline
import GQLRunPostgres
import GQLRunTestSupport
import Testing

@testable import GQLRunBatch

@Suite(
  "Limits of a queue",
  .enabled(
    if: PostgresServer.isInstalled, "PostgreSQL is not installed: apt-get install postgresql"))
struct QueueLimitsTests {
  private static let clock = ServiceClock(ContinuousClock())

  private static func limits(
    _ bench: QueueBench, _ rate: (perSecond: Double, burst: Int)? = nil
  ) -> QueueLimits {
    QueueLimits(
      QueueClient(bench.url, clock: clock), clock: clock, credential: "http://server", rate: rate)
  }

  @Test("workers share the rate of a server")
  func rate() async throws {
    let bench = try QueueBench()
    try bench.begin(bench.manifest(1))
    // A request in 100 seconds: the duration of the test does not count.
    let workers = [Self.limits(bench, (0.01, 2)), Self.limits(bench, (0.01, 2))]
    let start = Self.clock.now()
    var delays: [Double] = []
    for number in 0..<8 { delays.append((try await workers[number % 2].slot() - start).seconds) }
    for (number, delay) in delays.sorted().enumerated() {
      #expect(abs(delay - Double(max(number - 1, 0)) * 100) < 50, "\(delays)")
    }
  }

  @Test("a worker that reserves several requests spreads them")
  func groups() async throws {
    let bench = try QueueBench()
    try bench.begin(bench.manifest(1))
    let worker = Self.limits(bench, (40, 1))
    var slots: [Duration] = []
    for _ in 0..<10 { slots.append(try await worker.slot()) }
    let gaps = zip(slots, slots.dropFirst()).map { ($1 - $0).seconds }
    #expect(gaps.allSatisfy { abs($0 - 0.025) < 0.000_1 }, "\(gaps)")
  }

  @Test("a delay that a server asked one worker for is kept by all, and never shortened")
  func pauses() async throws {
    let bench = try QueueBench()
    try bench.begin(bench.manifest(1))
    let (one, two) = (Self.limits(bench), Self.limits(bench))
    #expect(try await two.pauseLeft() <= .zero)
    try await one.pause(for: .seconds(900))
    try await one.pause(for: .seconds(2))
    let left = try await two.pauseLeft()
    #expect(left > .seconds(600) && left <= .seconds(900))
  }
}
