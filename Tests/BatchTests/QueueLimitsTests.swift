import GQLRunJSON
import GQLRunPipeline
import GQLRunPlugins
import GQLRunPostgres
import GQLRunSupport
import Testing

@testable import GQLRunBatch

@Suite("Limits of a queue", .needsPostgres, .timeLimit(.minutes(10)))
struct QueueLimitsTests {
  private static let clock = ServiceClock(ContinuousClock())

  private static func limits(
    _ bench: QueueBench, _ rate: (perSecond: Double, burst: Int)? = nil
  ) -> QueueLimits {
    QueueLimits(
      QueueClient(QueueDatabase(url: bench.url, clock: clock)), clock: clock,
      credential: "http://server", rate: rate)
  }

  @Test("workers share the rate of a server")
  func rate() async throws {
    let (bench, _) = try QueueBench.begun(1)
    // A request in 10,000 seconds: the duration of the test does not count.
    let workers = [Self.limits(bench, (0.0001, 2)), Self.limits(bench, (0.0001, 2))]
    let start = Self.clock.now()
    var delays: [Double] = []
    for number in 0..<8 { delays.append((try await workers[number % 2].slot() - start).seconds) }
    for (number, delay) in delays.sorted().enumerated() {
      #expect(abs(delay - Double(max(number - 1, 0)) * 10_000) < 5_000, "\(delays)")
    }
  }

  @Test("a worker that reserves several requests spreads them")
  func groups() async throws {
    let (bench, _) = try QueueBench.begun(1)
    let worker = Self.limits(bench, (40, 1))
    var slots: [Duration] = []
    for _ in 0..<10 { slots.append(try await worker.slot()) }
    let gaps = zip(slots, slots.dropFirst()).map { ($1 - $0).seconds }
    #expect(gaps.allSatisfy { abs($0 - 0.025) < 0.000_1 }, "\(gaps)")
  }

  @Test("a delay that a server asked one worker for is kept by all, and never shortened")
  func pauses() async throws {
    let (bench, _) = try QueueBench.begun(1)
    let (one, two) = (Self.limits(bench), Self.limits(bench))
    #expect(try await two.update() <= .zero)
    try await one.pause(for: .seconds(900))
    try await one.pause(for: .seconds(2))
    let left = try await two.update()
    #expect(left > .seconds(600) && left <= .seconds(900))
  }

  private func points(
    _ bench: QueueBench, _ worker: QueueWorker, reserve: Double = 0
  ) -> (points: QueuePoints, budget: RequestBudget) {
    let budget = RequestBudget.shared(in: Services(), origin: "", credential: "")
    let points = QueuePoints(
      QueueClient(QueueDatabase(url: bench.url, clock: Self.clock)), worker: worker.id,
      clock: Self.clock,
      credential: "http://server", reserve: reserve, budget: budget)
    return (points, budget)
  }

  /// What GitHub reports: points until a reset in a day, longer than any test.
  private func report(
    _ left: Int, of limit: Int, to budget: RequestBudget, before age: Duration = .zero
  ) throws {
    let report = try JSONValue(
      parsing:
        #"{"data":{"rateLimit":{"cost":1,"remaining":\#(left),"limit":\#(limit),"resetAt":"2001-09-10T01:46:40Z"}}}"#
    )
    budget.note(
      report, .github, of: RequestBudget.Ticket(label: "a"), now: Self.clock.now() - age,
      time: 1_000_000_000)
  }

  /// Takes points of a request in turn until no worker gets any; returns the number of requests.
  private func exhaust(_ workers: [QueuePoints], cost: Double = 1) async throws -> Int {
    var count = 0
    while true {
      let before = count
      for worker in workers where try await worker.take(cost) == nil { count += 1 }
      if count == before { return count }
    }
  }

  @Test("workers spend the points of a server together, whichever worker received its report")
  func points() async throws {
    let (bench, manifest) = try QueueBench.begun(1)
    let one = points(bench, try bench.worker(manifest))
    let two = points(bench, try bench.worker(manifest))
    try report(100, of: 5_000, to: one.budget)
    #expect(try await exhaust([one.points, two.points]) == 100)
    // 30 requests were answered, and the server has counted them, and 10 of another client.
    for _ in 0..<30 { one.points.end(1) }
    try report(60, of: 5_000, to: one.budget)
    try await one.points.flush()
    let third = points(bench, try bench.worker(manifest))
    #expect(try await exhaust([third.points]) == 0, "60 points are left, and 70 are in flight")
    for _ in 0..<20 { two.points.end(1) }
    try report(55, of: 5_000, to: two.budget)
    try await two.points.flush()
    let fourth = points(bench, try bench.worker(manifest))
    #expect(try await exhaust([fourth.points]) == 5, "55 are left, and 50 in flight")
  }

  @Test("the points of a lost worker are free again, and a share is left to other clients")
  func lostPoints() async throws {
    let (bench, manifest) = try QueueBench.begun(1)
    let lost = try bench.worker(manifest)
    let one = points(bench, lost, reserve: 0.5)
    let two = points(bench, try bench.worker(manifest), reserve: 0.5)
    try report(100, of: 100, to: one.budget)
    #expect(try await exhaust([one.points, two.points]) == 50)
    let before = try bench.connection.run(
      "SELECT points FROM gq_share WHERE worker = $1::uuid", .text(lost.id)
    ).double(0, 0)
    #expect(before > 0)
    try bench.lose(lost)
    let three = points(bench, try bench.worker(manifest), reserve: 0.5)
    #expect(try await exhaust([three.points]) == Int(before))
  }

  @Test("an older report of a worker does not replace a newer one")
  func oldReports() async throws {
    let (bench, manifest) = try QueueBench.begun(1)
    let one = points(bench, try bench.worker(manifest))
    let two = points(bench, try bench.worker(manifest))
    try report(500, of: 5_000, to: one.budget, before: .seconds(60))
    try report(7, of: 5_000, to: two.budget)
    #expect(try await two.points.take(1) == nil)
    #expect(try await one.points.take(1) == nil)
    #expect(try await exhaust([one.points, two.points]) == 5)
  }

  @Test(
    "a server that hardly restores points is asked again, as one that restores some",
    arguments: ["1e-8", "1e-200", "5e-324"])
  func slowRestoring(_ rate: String) async throws {
    let (bench, manifest) = try QueueBench.begun(1)
    let worker = points(bench, try bench.worker(manifest))
    let report = try JSONValue(
      parsing: """
        {"extensions":{"cost":{"requestedQueryCost":1,"actualQueryCost":1,
        "throttleStatus":{"maximumAvailable":10,"currentlyAvailable":0,"restoreRate":\(rate)}}}}
        """)
    let now = Self.clock.now()
    worker.budget.note(
      report, .shopify, of: RequestBudget.Ticket(label: "a"), now: now, time: 1_000_000_000)
    #expect(try await worker.points.take(1) == Duration.seconds(2))
    // A worker of an earlier version stored the rate as the server reported it.
    try bench.connection.run("UPDATE gq_budget SET per_second = \(rate)")
    let other = points(bench, try bench.worker(manifest))
    #expect(try await other.points.take(1) == Duration.seconds(2))
  }

  @Test("neither a rate nor points wait for a clock of the database that was set back")
  func clockSetBack() async throws {
    let (bench, manifest) = try QueueBench.begun(1)
    let rated = Self.limits(bench, (1, 2))
    _ = try await rated.slot()
    try bench.connection.run("UPDATE gq_budget SET updated_at = updated_at + interval '1 day'")
    #expect(try await rated.slot() - Self.clock.now() < .seconds(600))

    let one = points(bench, try bench.worker(manifest))
    try report(0, of: 5_000, to: one.budget)
    #expect(try await one.points.take(1) != nil)
    try bench.connection.run(
      """
      UPDATE gq_budget SET reported_at = reported_at + interval '1 day',
        resets_at = resets_at + interval '1 day'
      """)
    let two = points(bench, try bench.worker(manifest))
    #expect(try await two.points.take(1) == nil)
    // The next report counts, although that from the future is the latest.
    two.points.end(1)
    try report(7, of: 5_000, to: two.budget)
    try await two.points.flush()
    let three = points(bench, try bench.worker(manifest))
    #expect(try await three.points.take(1) != nil)
  }

  @Test("times of the database without an end are long delays")
  func endlessTimes() async throws {
    let (bench, _) = try QueueBench.begun(1)
    let worker = Self.limits(bench, (1, 1))
    _ = try await worker.slot()
    try bench.connection.run("UPDATE gq_budget SET remaining = '-Infinity'")
    #expect(try await worker.slot() - Self.clock.now() > .seconds(900_000_000))
  }

  @Test("workers of a run share what a server reports about its points")
  func runs() async throws {
    let (bench, manifest) = try QueueBench.begun(
      60, run: " }\nrate_limit: { adapter: shopify")
    let transport = ScriptedTransport { number in
      .response(
        200,
        """
        {"data":{"user":{"id":"1","login":"a"}},"extensions":{"cost":{"requestedQueryCost":3,"actualQueryCost":3,\
        "throttleStatus":{"maximumAvailable":1000000,"currentlyAvailable":\(1_000_000 - 3 * number),"restoreRate":0.001}}}}
        """)
    }
    try await bench.work(manifest, workers: 2, transport: transport)
    #expect(transport.count == 60)
    let rows = try bench.connection.run(
      "SELECT points, most, per_second, (SELECT count(*) FROM gq_share) FROM gq_budget")
    #expect(rows.double(0, 0) < 1_000_000)
    #expect(rows.double(0, 1) == 1_000_000)
    #expect(rows.double(0, 2) == 0.001)
    #expect(rows.int(0, 3) >= 1)
  }
}
