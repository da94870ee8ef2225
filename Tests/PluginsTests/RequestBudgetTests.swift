import GQLRunJSON
import GQLRunPipeline
import GQLRunPlugins
import HTTPTypes
import Testing

@Suite("The account of a server's rate limit")
struct RequestBudgetTests {
  private let budget = RequestBudget.shared(in: Services(), origin: "", credential: "")

  /// Asks for a request at a time in seconds; `nil` if it has to wait.
  private func ask(
    _ label: String, points: Double? = nil, group: String = "", at time: Double
  ) -> RequestBudget.Ticket? {
    let estimate = points.map { RequestBudget.Estimate(group: group, points: $0) }
    let admission = budget.admit(
      label, nil, estimate: estimate, reserve: .share(0), now: .seconds(time),
      until: .seconds(1_000_000))
    return if case .granted(_, let ticket) = admission { ticket } else { nil }
  }

  /// The end of a request with Shopify's report.
  private func end(
    _ ticket: RequestBudget.Ticket, requested: Int, actual: Int, left: Int, at time: Double
  ) {
    let report: JSONValue = [
      "extensions": [
        "cost": [
          "requestedQueryCost": .number(JSONNumber(requested)),
          "actualQueryCost": .number(JSONNumber(actual)),
          "throttleStatus": [
            "maximumAvailable": 1000, "restoreRate": 10,
            "currentlyAvailable": .number(JSONNumber(left)),
          ],
        ]
      ]
    ]
    budget.note(report, .shopify, of: ticket, now: .seconds(time), time: time)
    budget.noteEnd(ticket, isAnswered: true)
  }

  /// The end of a request with the remainder in the header fields.
  private func end(_ ticket: RequestBudget.Ticket, left: Int, at time: Double) {
    var head = HTTPResponse(status: .ok)
    for (name, value) in [("Limit", 100), ("Remaining", left), ("Reset", 1_000_000_000)] {
      if let name = HTTPField.Name("X-RateLimit-\(name)") { head.headerFields[name] = "\(value)" }
    }
    budget.note(head, of: ticket, now: .seconds(time), time: 999_999_000 + time)
    budget.noteEnd(ticket, isAnswered: true)
  }

  /// Makes the cost of a label known.
  private func teach(_ label: String, cost: Int, left: Int) throws {
    end(try #require(ask(label, at: 0)), requested: cost, actual: cost, left: left, at: 0)
  }

  @Test(
    "the turn of a request that was not sent is the next one's, and no two requests have the same")
  func freeTurns() throws {
    let rate = RequestBudget.Rate(interval: .seconds(1), burst: 2)
    func turn(at now: Duration) -> (start: Duration, ticket: RequestBudget.Ticket)? {
      let admission = budget.admit(
        "a", rate, reserve: .count(0), now: now, until: now + .seconds(3))
      guard case .granted(let delay, let ticket) = admission else { return nil }
      return (now + delay, ticket)
    }
    let turns = (0..<5).map { _ in turn(at: .zero) }
    #expect(
      turns.map { $0?.start } == [.zero, .zero, .seconds(1), .seconds(2), .seconds(3)])
    #expect(turn(at: .zero)?.start == nil)
    for unsent in [turns[3], turns[2]] { if let unsent { budget.noteUnsent(unsent.ticket) } }
    let others = (0..<3).map { _ in turn(at: .zero)?.start }
    #expect(others == [.seconds(1), .seconds(2), nil])
    if let last = turns[4] { budget.noteUnsent(last.ticket) }
    // One that has passed is part of the burst, until the whole burst is free anyway.
    for start in [3.5, 4] { #expect(turn(at: .seconds(3.5))?.start == .seconds(start)) }
    let first = try #require(turn(at: .seconds(20)))
    for start in [30.0, 30] { #expect(turn(at: .seconds(30))?.start == .seconds(start)) }
    budget.noteUnsent(first.ticket)
    #expect(turn(at: .seconds(30.5))?.start == .seconds(31))
  }

  @Test("a report that has counted the requests in flight does not count them twice")
  func inFlight() throws {
    try teach("a", cost: 200, left: 1_000)
    let first = try #require(ask("a", at: 0))
    let others = try (0..<3).map { _ in try #require(ask("a", at: 0)) }
    // All four are at the server, which has 200 left.
    end(first, requested: 200, actual: 200, left: 200, at: 0)
    #expect(ask("a", at: 0) != nil)
    #expect(ask("a", at: 0) == nil)
    for other in others { end(other, requested: 200, actual: 200, left: 0, at: 0) }
    #expect(ask("a", at: 19) == nil)
    #expect(ask("a", at: 20.1) != nil)
  }

  @Test("reports that arrive in another order give no points back")
  func order() throws {
    try teach("a", cost: 400, left: 1_000)
    let first = try #require(ask("a", at: 0))
    let second = try #require(ask("a", at: 0))
    // The first response was made before the second request arrived, and is read after the second response.
    end(second, requested: 400, actual: 400, left: 200, at: 0)
    end(first, requested: 400, actual: 400, left: 600, at: 0)
    #expect(ask("a", at: 0) == nil)
    #expect(budget.left(now: .zero)?.left == 200)
  }

  @Test("points that a request did not use, or that was refused, are there for the next one")
  func refunds() throws {
    try teach("a", cost: 600, left: 1_000)
    let first = try #require(ask("a", at: 0))
    #expect(ask("a", at: 0) == nil)
    end(first, requested: 600, actual: 50, left: 950, at: 0)
    budget.noteUnsent(try #require(ask("a", at: 0)))
    #expect(ask("a", at: 0) != nil)
  }

  @Test("what another client uses is not sent")
  func otherClients() throws {
    try teach("a", cost: 100, left: 1_000)
    let ticket = try #require(ask("a", at: 0))
    end(ticket, requested: 100, actual: 100, left: 30, at: 0)
    #expect(ask("a", at: 0) == nil)
  }

  @Test(
    "of a group without a known cost, one request is in flight; its cost is the price of the others"
  )
  func groups() throws {
    try teach("a", cost: 10, left: 1_000)
    let first = try #require(ask("b 10", points: 10, group: "b", at: 0))
    #expect(ask("b 20", points: 20, group: "b", at: 0) == nil)
    #expect(ask("c 10", points: 10, group: "c", at: 0) != nil)
    end(first, requested: 50, actual: 50, left: 950, at: 0)
    // Five points each, with a margin of a quarter.
    #expect(ask("b 20", points: 20, group: "b", at: 0)?.cost == 125)
    // Known exactly.
    #expect(ask("b 10", points: 10, group: "b", at: 0)?.cost == 50)
  }

  @Test("a server that reports no costs is not asked for them again")
  func withoutCosts() throws {
    end(try #require(ask("b", points: 10, group: "b", at: 0)), left: 90, at: 0)
    #expect(ask("b 2", points: 2, group: "b", at: 0)?.cost == 2.5)
    #expect(ask("b 3", points: 2, group: "b", at: 0) != nil)
  }

  @Test("a request that costs more than the full limit is known before it is sent")
  func excessive() throws {
    try teach("a", cost: 10, left: 1_000)
    func isExcessive(_ points: Double) -> Bool {
      budget.isExcessive(
        "b", estimate: RequestBudget.Estimate(group: "b", points: points), reserve: .share(0.1))
    }
    #expect(!isExcessive(899))
    #expect(isExcessive(901))
  }

  @Test("a limit with a reset is used to its last point, also if requests cost less than expected")
  func lastPoints() throws {
    end(try #require(ask("a", points: 30, group: "a", at: 0)), left: 100, at: 0)
    let tickets = try (0..<2).map { _ in try #require(ask("a", points: 30, group: "a", at: 0)) }
    #expect(ask("a", points: 30, group: "a", at: 0) == nil)
    // Each cost 1.
    for (index, ticket) in tickets.enumerated() { end(ticket, left: 99 - index, at: 0) }
    #expect(ask("a", points: 30, group: "a", at: 0) != nil)
  }
}
