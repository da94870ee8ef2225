import GQLRunJSON
import GQLRunLanguage
import GQLRunPipeline
import GQLRunPlugins
import GQLRunSupport
import GQLRunTestSupport
import HTTPTypes
import Testing

@testable import GQLRunBatch

/// A server that counts the costs of requests, on a simulated clock.
private struct CostServer: Sendable {
  enum Model: Sendable {
    /// A bucket that refills. The points of a request are taken when it begins, and those that it did not need are
    /// given back when it ends.
    case shopify(most: Double, perSecond: Double)
    /// A number of points that is reset every hour. `rateLimit { cost }` may be selected.
    case github(most: Double, showsCost: Bool)
  }

  let model: Model
  private(set) var left: Double
  private var since = 0.0
  /// What requests have cost.
  private(set) var used = 0.0
  /// By hour.
  private(set) var usedInHour: [Int: Double] = [:]
  private(set) var throttled = 0

  init(_ model: Model) {
    self.model = model
    left =
      switch model {
      case .shopify(let most, _), .github(let most, _): most
      }
  }

  private mutating func advance(to time: Double) {
    switch model {
    case .shopify(let most, let perSecond): left = min(left + (time - since) * perSecond, most)
    case .github(let most, _): if Int(time / 3_600) > Int(since / 3_600) { left = most }
    }
    since = time
  }

  /// Whether a request may begin.
  mutating func begin(_ cost: Double, at time: Double) -> Bool {
    advance(to: time)
    guard left >= cost else {
      throttled += 1
      return false
    }
    left -= cost
    return true
  }

  /// Ends a request.
  ///
  /// - Parameter actual: What it cost; `nil` if it could not begin.
  mutating func end(_ requested: Double, actual: Double?, at time: Double) -> ShopTransport.Report {
    advance(to: time)
    if let actual {
      if case .shopify = model { left += requested - actual }
      used += actual
      usedInHour[Int(time / 3_600), default: 0] += actual
    }
    func number(_ value: Double) -> JSONValue { JSONNumber(value).map { .number($0) } ?? .null }
    switch model {
    case .shopify(let most, let perSecond):
      return ShopTransport.Report(
        extensions: [
          "cost": [
            "requestedQueryCost": number(requested),
            "actualQueryCost": actual.map(number) ?? .null,
            "throttleStatus": [
              "maximumAvailable": number(most), "restoreRate": number(perSecond),
              "currentlyAvailable": number(left.rounded(.down)),
            ],
          ]
        ])
    case .github(let most, _):
      return ShopTransport.Report(headers: [
        "X-RateLimit-Resource": "graphql", "X-RateLimit-Limit": "\(Int(most))",
        "X-RateLimit-Remaining": "\(Int(left))",
        "X-RateLimit-Reset": "\(Self.start + (Int(time / 3_600) + 1) * 3_600)",
      ])
    }
  }

  /// The time of day at the time 0, in seconds since 1970.
  static let start = 1_750_000_000
}

/// Workers that send requests of different costs as fast as the budget allows, as a list of events instead of tasks.
private struct CostSimulation {
  private struct Job {
    var label: String
    var estimate: RequestBudget.Estimate
    var requested: Double
    var actual: Double
  }

  private enum Event {
    case ask(Job)
    case arrive(Job, RequestBudget.Ticket)
    case end(Job, RequestBudget.Ticket, isAdmitted: Bool)
    case receive(Job, RequestBudget.Ticket, ShopTransport.Report, isAdmitted: Bool)
  }

  private(set) var server: CostServer
  private let latency: ClosedRange<Double>
  private let budget = RequestBudget.shared(in: Services(), origin: "", credential: "")
  private var random: SeededRandom
  private var events: [(time: Double, event: Event)] = []

  init(_ model: CostServer.Model, latency: ClosedRange<Double>, seed: UInt64) {
    server = CostServer(model)
    self.latency = latency
    random = SeededRandom(seed)
  }

  private mutating func number(_ range: ClosedRange<Double>) -> Double {
    Double.random(in: range, using: &random)
  }

  private mutating func add(_ event: Event, at time: Double) {
    // The next event is the last one.
    var (low, high) = (0, events.count)
    while low < high {
      let middle = (low + high) / 2
      if events[middle].time < time { high = middle } else { low = middle + 1 }
    }
    events.insert((time, event), at: low)
  }

  /// A pack of one of three connections. Costs are not quite in proportion to estimates.
  private mutating func job() -> Job {
    let connection = Int.random(in: 0..<3, using: &random)
    switch server.model {
    case .shopify:
      let size = [10.0, 25, 50][Int.random(in: 0..<3, using: &random)]
      let each = 3 + size * Double(1 + connection)
      let pages = Double(Int.random(in: 1...max(Int(1_000 / each), 1), using: &random))
      let requested = (pages * each).rounded()
      return Job(
        label: "\(connection) \(pages) \(size)",
        estimate: RequestBudget.Estimate(
          group: "\(connection)", points: pages * size * (1 + 0.6 * Double(connection))),
        requested: requested, actual: (requested * number(0.3...1)).rounded())
    case .github:
      let pages = Double(Int.random(in: 1...20, using: &random))
      let points = max((pages * (1 + 50 * Double(connection)) / 100).rounded(), 1)
      return Job(
        label: "\(connection) \(pages)",
        estimate: RequestBudget.Estimate(group: "\(connection)", points: points),
        requested: points, actual: points)
    }
  }

  /// Runs until a time.
  mutating func run(workers: Int, until end: Double) {
    add(.ask(job()), at: 0)
    var hasBegun = false
    while let (time, event) = events.popLast(), time < end {
      let now = Duration.seconds(time)
      switch event {
      case .ask(let job):
        switch budget.admit(
          job.label, nil, estimate: job.estimate, reserve: .share(0), now: now,
          until: .seconds(1_000_000))
        {
        case .granted(_, let ticket): add(.arrive(job, ticket), at: time + number(0.005...0.05))
        case .later(let delay), .tooLong(let delay, _):
          // A delay below the precision of the time would never end.
          add(.ask(job), at: time + max(delay.seconds, 0.001))
        }
      case .arrive(let job, let ticket):
        let isAdmitted = server.begin(job.requested, at: time)
        add(
          .end(job, ticket, isAdmitted: isAdmitted),
          at: time + (isAdmitted ? number(latency) : 0.01))
      case .end(let job, let ticket, let isAdmitted):
        let report = server.end(job.requested, actual: isAdmitted ? job.actual : nil, at: time)
        // Large responses arrive after smaller ones that were made later.
        add(
          .receive(job, ticket, report, isAdmitted: isAdmitted), at: time + number(0.005...0.3))
      case .receive(let job, let ticket, let report, let isAdmitted):
        note(report, of: ticket, job, at: time)
        budget.noteEnd(ticket, isAnswered: isAdmitted)
        if isAdmitted { add(.ask(self.job()), at: time) } else { add(.ask(job), at: time + 0.25) }
        // The packs of a task follow its first response.
        if !hasBegun { for _ in 1..<workers { add(.ask(self.job()), at: time) } }
        hasBegun = true
      }
    }
  }

  private func note(
    _ report: ShopTransport.Report, of ticket: RequestBudget.Ticket, _ job: Job, at time: Double
  ) {
    let (now, timeOfDay) = (Duration.seconds(time), Double(CostServer.start) + time)
    var head = HTTPResponse(status: .ok)
    for (name, value) in report.headers {
      if let name = HTTPField.Name(name) { head.headerFields[name] = value }
    }
    budget.note(head, of: ticket, now: now, time: timeOfDay)
    switch server.model {
    case .shopify:
      budget.note(
        ["extensions": report.extensions ?? .null], .shopify, of: ticket, now: now, time: timeOfDay)
    case .github(_, let showsCost):
      let limit: JSONObject = ["cost": JSONNumber(job.actual).map { .number($0) } ?? .null]
      budget.note(
        ["data": showsCost ? ["rateLimit": .object(limit)] : .null], .github, of: ticket, now: now,
        time: timeOfDay)
    }
  }
}

@Suite("Costs of requests for tables")
struct TableCostTests {
  @Test(
    "Shopify's bucket is used at 95 % of its rate, and no request is refused",
    arguments: [(4, 0.05, 0.1), (16, 0.2, 3), (32, 1, 5)])
  func shopify(workers: Int, fastest: Double, slowest: Double) {
    for seed in 1...3 as ClosedRange<UInt64> {
      var simulation = CostSimulation(
        .shopify(most: 2_000, perSecond: 100), latency: fastest...slowest, seed: seed)
      simulation.run(workers: workers, until: 600)
      #expect(simulation.server.throttled == 0)
      #expect(simulation.server.used >= 0.95 * (2_000 + 600 * 100), "\(simulation.server.used)")
    }
  }

  @Test(
    "GitHub's points of an hour are used at 95 %, and no request is refused",
    arguments: [(4, true), (16, true), (16, false), (64, false)])
  func github(workers: Int, showsCost: Bool) {
    for seed in 1...3 as ClosedRange<UInt64> {
      var simulation = CostSimulation(
        .github(most: 5_000, showsCost: showsCost), latency: 0.2...3, seed: seed)
      simulation.run(workers: workers, until: 3 * 3_600)
      #expect(simulation.server.throttled == 0)
      for hour in 0..<3 {
        let used = simulation.server.usedInHour[hour] ?? 0
        #expect(used >= 0.95 * 5_000 && used <= 5_000, "\(hour): \(used)")
      }
    }
  }

  // MARK: Runs

  @Test("a run follows the reports of a server without being asked: Shopify's bucket")
  func shopifyRun() async throws {
    let run = try await Self.run(.shopify(most: 300, perSecond: 20))
    #expect(run.summary.counters.done == 1)
    #expect(run.server.throttled == 0)
    let permitted = 300 + 20 * run.seconds
    #expect(run.server.used >= 0.95 * permitted, "\(run.server.used) of \(permitted)")
  }

  @Test("a run follows the reports of a server without being asked: GitHub's hour")
  func githubRun() async throws {
    let run = try await Self.run(.github(most: 60, showsCost: false))
    #expect(run.summary.counters.done == 1)
    #expect(run.server.throttled == 0)
    let hours = Int(run.seconds / 3_600)
    #expect(hours > 2)
    for hour in 0..<hours {
      let used = run.server.usedInHour[hour] ?? 0
      #expect(used >= 0.95 * 60 && used <= 60, "\(hour): \(used)")
    }
  }

  @Test(
    "a document that selects `rateLimit` tells the costs of all of its pages, without header fields"
  )
  func rateLimit() async throws {
    let location = try Place()
    try Shop.write(
      schema: Shop.schema + """

        extend type Query { rateLimit: RateLimit }
        type RateLimit { cost: Int! limit: Int! remaining: Int! resetAt: String! }
        """,
      document:
        "{ customers(first: 3) { nodes { id } } rateLimit { cost limit remaining resetAt } }",
      to: location)
    let manifest = try Shop.manifest("to: \"sqlite:out.db\"", run: "", in: location)
    let transport = ShopTransport(
      Shop(orders: Array(repeating: 0, count: 8)),
      report: { request in
        ShopTransport.Report(rateLimit: [
          "__typename": "RateLimit", "cost": 1, "limit": 5_000,
          "remaining": .number(JSONNumber(5_000 - request.number)),
          "resetAt": "2025-06-15T16:06:40Z",
        ])
      })
    let services = Services(
      transport: transport, clock: ServiceClock(TestClock.jumping()),
      secondsSince1970: { Double(CostServer.start) })
    let summary = try await Bench.run(manifest, services: services)
    #expect(summary.counters.done == 1 && transport.requests.count == 3)
    #expect(summary.tables?.tables.map(\.name) == ["customers"])
    let left = Governor.budget(manifest.pipeline.endpoint, services).left(now: .zero)
    #expect(left?.left == 4_997 && left?.all == 5_000)
  }

  private final class SharedServer: Sendable {
    let state: Locked<CostServer>

    init(_ model: CostServer.Model) { state = Locked(CostServer(model)) }
  }

  /// Fills tables from a server that is one request away from its limit most of the time.
  private static func run(
    _ model: CostServer.Model
  ) async throws -> (server: CostServer, seconds: Double, summary: RunSummary) {
    let location = try Place()
    try Shop.write(to: location)
    let manifest = try Shop.manifest(
      "to: \"sqlite:out.db\"", run: "concurrency: 1", in: location)
    let clock = TestClock.jumping()
    let server = SharedServer(model)
    let time = { @Sendable in clock.now.offset.seconds }
    let transport = ShopTransport(
      Shop(orders: (0..<400).map { $0 * 7 % 10 }),
      before: { request in
        let cost = try cost(request, model)
        let isAdmitted = server.state.withLock { $0.begin(cost, at: time()) }
        try await ServiceClock(clock).sleep(for: .milliseconds(200))
        guard !isAdmitted else { return nil }
        let report = server.state.withLock { $0.end(cost, actual: nil, at: time()) }
        let body: JSONObject = [
          "errors": [["message": "Throttled", "extensions": ["code": "THROTTLED"]]],
          "extensions": report.extensions ?? [:],
        ]
        return .response(200, JSONValue.object(body).jsonText(), headers: report.headers)
      },
      report: { request in
        let requested = (try? cost(request, model)) ?? 0
        let actual = if case .shopify = model { (requested * 0.7).rounded() } else { requested }
        return server.state.withLock { $0.end(requested, actual: actual, at: time()) }
      })
    let summary = try await Bench.run(
      manifest,
      services: Services(
        transport: transport, clock: ServiceClock(clock),
        secondsSince1970: { Double(CostServer.start) + time() }))
    return (server.state.withLock { $0 }, time(), summary)
  }

  /// What a document costs before it is executed. Shopify: an object 1, and a connection 2. GitHub: a hundredth of the
  /// connections, at least 1.
  private static func cost(
    _ request: ShopTransport.Request, _ model: CostServer.Model
  ) throws -> Double {
    let document = try Document(parsing: request.document)
    let isShopify = if case .shopify = model { true } else { false }
    func cost(_ set: SelectionSet, parents: Double) -> Double {
      set.selections.reduce(0) { sum, selection in
        switch selection {
        case .inlineFragment(let fragment):
          return sum + cost(fragment.selectionSet, parents: parents)
        case .fragmentSpread(let spread):
          let fragment = document.fragments.first { $0.name == spread.name }
          return sum + (fragment.map { cost($0.selectionSet, parents: parents) } ?? 0)
        case .field(let field):
          guard let set = field.selectionSet, field.name.value != "pageInfo" else { return sum }
          guard let first = field.arguments.first(where: { $0.name.value == "first" }) else {
            return sum + (isShopify ? parents : 0) + cost(set, parents: parents)
          }
          let size: Double? =
            switch first.value {
            case .int(let text, _): Double(text)
            case .variable(let name): request.variables[name.value]?.doubleValue
            default: nil
            }
          return sum + (isShopify ? 2 : 1) * parents + cost(set, parents: parents * (size ?? 10))
        }
      }
    }
    let points = cost(document.operations[0].selectionSet, parents: 1)
    return isShopify ? points : max((points / 100).rounded(), 1)
  }
}
