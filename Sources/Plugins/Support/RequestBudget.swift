import Foundation
package import GQLRunJSON
package import GQLRunPipeline
import GQLRunSupport
package import HTTPTypes

/// The requests that may still be sent to one server with one credential, by a fixed rate and by
/// the server's rate limit.
package final class RequestBudget: Sendable {
  /// The format in which a server reports its rate limit.
  package enum Kind: String, CaseIterable, ExpressibleByOption {
    case headers, github, shopify
  }

  /// A fixed rate: one request every `interval`, and `burst` at once after a pause.
  package struct Rate: Sendable, Hashable {
    package var interval: Duration
    package var burst: Int

    package init(interval: Duration, burst: Int) {
      self.interval = interval
      self.burst = burst
    }
  }

  /// The part of the server's rate limit that is left to other clients: a number, or a share.
  package enum Reserve: Sendable, Hashable {
    case count(Int)
    case share(Double)

    /// - Parameter all: The full rate limit; `nil` if the server does not report it.
    fileprivate func amount(of all: Double?) -> Double {
      switch self {
      case .count(let count): Double(count)
      case .share(let share): share * (all ?? 0)
      }
    }
  }

  /// What a document lets expect about the cost of a request that no response has shown yet.
  package struct Estimate: Sendable {
    /// Requests with the same group have costs in proportion to their points.
    package var group: String
    package var points: Double

    package init(group: String, points: Double) {
      self.group = group
      self.points = points
    }
  }

  /// A request that was admitted, until it ends.
  package struct Ticket: Sendable {
    package let label: String
    fileprivate var estimate: Estimate?
    /// The cost with which the request was admitted.
    package fileprivate(set) var cost = 0.0
    /// The cost of the requests in flight when it was admitted.
    fileprivate var before = 0.0
    /// The cost of all requests until then, it included.
    fileprivate var total = 0.0
    /// The time at which it may be sent by a fixed rate; `nil` without one.
    fileprivate var turn: (rate: Rate, start: Duration)?

    package init(label: String, estimate: Estimate? = nil) {
      self.label = label
      self.estimate = estimate
    }
  }

  package enum Admission: Sendable {
    /// The request is counted, and may be sent after the delay.
    case granted(after: Duration, Ticket)
    /// The caller asks again after the delay.
    case later(Duration)
    /// The delay is too long; with the reason.
    case tooLong(Duration, String)
  }

  /// What the server reported about its rate limit: a remainder that is reset at one time, or refilled continuously.
  package struct Report: Sendable {
    package var left: Double
    /// The full rate limit; `nil` if the server does not report it.
    package var all: Double?
    /// How fast it is refilled; `nil` for one that is reset.
    package var perSecond: Double?
    /// The time of the reset.
    package var reset: Duration
    /// The time at which the response was evaluated.
    package var time: Duration
  }

  fileprivate struct State {
    /// The last report that ``takeReport()`` has not returned.
    var report: Report?
    /// The time before which nothing is sent.
    var closedUntil: Duration?
    /// The time at which the next request of a rate is due, if requests come evenly, and the end of the last idle period.
    var due: [Rate: (time: Duration, since: Duration)] = [:]
    /// The times before then at which a request may start, because the one of that turn was not sent.
    var freeTurns: [Rate: [Duration]] = [:]
    /// The remainder of a rate limit that is reset at one time, and the lowest one that the server reported.
    var window: (left: Double, lowest: Double, reset: Duration, all: Double?)?
    /// The remainder of a rate limit that is refilled continuously.
    var bucket: (left: Double, since: Duration, perSecond: Double, most: Double)?
    /// The last known cost of each operation.
    var costs: [String: Double] = [:]
    /// The last known cost of a point of an estimate, by its group.
    var prices: [String: Double] = [:]
    /// The groups of which nothing is known yet, and one request is in flight.
    var probes: Set<String> = []
    /// The expected cost of the requests in flight.
    var underway = 0.0
    /// The expected cost of all requests so far.
    var total = 0.0
  }

  /// The codes and types of GraphQL errors of a rate limit.
  private static let errorCodes = ["THROTTLED", "RATE_LIMITED", "RATE_LIMIT"]

  private let state = Locked(State())

  /// The budget of a server and a credential, shared by all requests and pipelines of `services`.
  ///
  /// - Parameter origin: Scheme and authority: `https://example.com`.
  package static func shared(
    in services: Services, origin: String, credential: String
  ) -> RequestBudget {
    services.shared.value(RequestBudget.self, named: "\(origin) \(credential)") { RequestBudget() }
  }

  /// Decides whether a request may be sent.
  ///
  /// - Parameters:
  ///   - estimate: What is known about the cost, if no response to the label has shown it. Of a group of which nothing
  ///     is known, one request is admitted at a time.
  ///   - reserve: The part of the server's rate limit that is not used.
  ///   - until: The latest time that the caller waits until.
  package func admit(
    _ label: String, _ rate: Rate?, estimate: Estimate? = nil, reserve: Reserve, now: Duration,
    until: Duration
  ) -> Admission {
    state.withLock {
      $0.admit(label, rate: rate, estimate: estimate, reserve: reserve, now: now, until: until)
    }
  }

  /// Whether a request is expected to cost more than the server's rate limit ever allows, so that it would wait without
  /// end, or be rejected.
  package func isExcessive(_ label: String, estimate: Estimate?, reserve: Reserve) -> Bool {
    state.withLock { state in
      guard let most = state.bucket?.most ?? state.window?.all else { return false }
      let cost = state.expectedCost(label, estimate, isCautious: false)
      return cost > most - reserve.amount(of: most)
    }
  }

  /// The remainder and the size of the server's rate limit; `nil` if the server has not reported
  /// them.
  package func left(now: Duration) -> (left: Double, all: Double?)? {
    state.withLock { state in
      if let window = state.window, window.reset > now { return (max(window.left, 0), window.all) }
      return state.bucket.map { (State.left($0, now: now), $0.most) }
    }
  }

  /// The last report of the server; `nil` if there was none since the last call.
  package func takeReport() -> Report? {
    state.withLock { state in
      defer { state.report = nil }
      return state.report
    }
  }

  /// Records that a request was answered or has failed, after what its response reported.
  ///
  /// - Parameter isAnswered: Whether its response would have reported its cost.
  package func noteEnd(_ ticket: Ticket, isAnswered: Bool = false) {
    state.withLock { $0.noteEnd(ticket, isAnswered: isAnswered) }
  }

  /// Records that an admitted request was not sent, and leaves its points and its turn of the rate to others.
  package func noteUnsent(_ ticket: Ticket) {
    state.withLock { state in
      if let turn = ticket.turn { state.freeTurns[turn.rate, default: []].append(turn.start) }
      state.bucket?.left += ticket.cost
      state.window?.left += ticket.cost
      state.noteEnd(ticket, isAnswered: false)
    }
  }

  /// Evaluates the header fields of a response: `Retry-After` of a rejection, and the remainder.
  ///
  /// - Parameters:
  ///   - ticket: The request, which has not ended yet.
  ///   - time: The time of day in seconds since 1970, for servers that do not send `Date`.
  package func note(_ head: HTTPResponse, of ticket: Ticket, now: Duration, time: Double) {
    let account = RateFields(head, time: time)
    state.withLock { state in
      if let pause = account.retryAfter {
        state.closedUntil = max(state.closedUntil ?? .zero, now + pause)
      }
      if let left = account.left, let reset = account.reset {
        state.noteWindow(
          Report(left: left, all: account.all, reset: now + reset, time: now), of: ticket)
      }
    }
  }

  /// Evaluates the costs in a response.
  ///
  /// - Parameter ticket: The request, which has not ended yet.
  package func note(
    _ response: JSONValue, _ kind: Kind, of ticket: Ticket, now: Duration, time: Double
  ) {
    switch kind {
    case .headers: break
    case .github:
      guard let limit = response["data"]?["rateLimit"], limit.objectValue != nil else { return }
      state.withLock { state in
        if let cost = Self.number(limit["cost"]) {
          state.learn(cost, of: ticket)
          state.window?.left += ticket.cost - cost
        }
        if let left = Self.number(limit["remaining"]),
          let date = limit["resetAt"]?.stringValue.flatMap({
            try? Date.ISO8601FormatStyle().parse($0)
          })
        {
          let delay = min(max(date.timeIntervalSince1970 - time, 0), 86_400)
          state.noteWindow(
            Report(
              left: left, all: Self.number(limit["limit"]), reset: now + .seconds(delay), time: now),
            of: ticket)
        }
      }
    case .shopify:
      guard let cost = response["extensions"]?["cost"] else { return }
      state.withLock { state in
        let actual = Self.number(cost["actualQueryCost"])
        if let requested = Self.number(cost["requestedQueryCost"]) ?? actual {
          state.learn(requested, of: ticket)
          // The bucket must have what is requested, and gets back what was not used: all of it after a refusal.
          state.bucket?.left += ticket.cost - (actual ?? 0)
        }
        let status = cost["throttleStatus"]
        if let left = Self.number(status?["currentlyAvailable"]),
          let rate = Self.number(status?["restoreRate"]), rate > 0,
          let most = Self.number(status?["maximumAvailable"])
        {
          state.noteBucket(
            Report(left: left, all: most, perSecond: rate, reset: now, time: now), most: most,
            of: ticket)
        }
      }
    }
  }

  /// The first error of a rate limit. GitHub and Shopify answer with status 200 when a budget is exhausted.
  ///
  /// https://docs.github.com/en/graphql/overview/rate-limits-and-query-limits-for-the-graphql-api
  /// https://shopify.dev/docs/api/usage/limits
  package static func refusal(in errors: [GraphQLError]) -> GraphQLError? {
    errors.first { error in
      [error.code, error.type].contains { errorCodes.contains($0 ?? "") }
    }
  }

  /// A number of points in a response; sums of them must stay finite.
  private static func number(_ value: JSONValue?) -> Double? {
    value?.doubleValue.map { min(max($0, -1e12), 1e12) }
  }
}

/// What responses show.
extension RequestBudget.State {
  /// The difference of two times of a reset that are the same one, rounded by the server.
  private static let sameReset = Duration.seconds(5)

  fileprivate mutating func learn(_ cost: Double, of ticket: RequestBudget.Ticket) {
    costs[ticket.label] = cost
    if let estimate = ticket.estimate, estimate.points > 0 {
      prices[estimate.group] = cost / estimate.points
    }
  }

  /// What is left, by the own account and a report of the server.
  ///
  /// The report counts some of the requests that were in flight at the same time, the account all of them. So the
  /// account is right if it is between the report without all of their costs and the report. Otherwise there are other
  /// clients, or the expected costs are wrong.
  private func left(
    _ account: Double?, report: Double, of ticket: RequestBudget.Ticket
  ) -> Double {
    let others = ticket.before + max(total - ticket.total, 0)
    return min(max(account ?? -.infinity, report - others), report)
  }

  fileprivate mutating func noteWindow(
    _ report: RequestBudget.Report, of ticket: RequestBudget.Ticket
  ) {
    let known = window.flatMap { window in
      let difference = max(window.reset, report.reset) - min(window.reset, report.reset)
      return difference < Self.sameReset && window.reset > report.time ? window : nil
    }
    window = (
      left(known?.left, report: report.left, of: ticket),
      min(known?.lowest ?? .infinity, report.left), report.reset, report.all
    )
    self.report = report
  }

  fileprivate mutating func noteBucket(
    _ report: RequestBudget.Report, most: Double, of ticket: RequestBudget.Ticket
  ) {
    let now = report.time
    let account = bucket.map { Self.left($0, now: now) }
    bucket = (
      left(account, report: report.left, of: ticket), now, report.perSecond ?? 0, most
    )
    self.report = report
  }

  fileprivate static func left(
    _ bucket: (left: Double, since: Duration, perSecond: Double, most: Double), now: Duration
  ) -> Double {
    min(bucket.left + (now - bucket.since).seconds * bucket.perSecond, bucket.most)
  }

  fileprivate mutating func noteEnd(_ ticket: RequestBudget.Ticket, isAnswered: Bool) {
    underway = max(underway - ticket.cost, 0)
    // The lowest report counts all requests then.
    if underway < 0.001, let lowest = window?.lowest { window?.left = lowest }
    guard let estimate = ticket.estimate else { return }
    probes.remove(estimate.group)
    // A server that reports no costs has none to wait for.
    if isAnswered, prices[estimate.group] == nil { prices[estimate.group] = 1 }
  }
}

extension RequestBudget.State {
  /// Above this number of operations, all known costs are discarded.
  private static let maxCosts = 10_000
  /// What an estimate is multiplied with, because costs are not quite in proportion to it.
  private static let margin = 1.25
  /// The same for a group of which no cost is known.
  private static let firstMargin = 2.0
  /// The time after which a caller asks again, if a request in flight may change the answer.
  private static let pause = Duration.milliseconds(100)
  /// The longest time until the budget has enough points, in seconds.
  private static let longestDelay = 86_400.0

  fileprivate mutating func admit(
    _ label: String, rate: RequestBudget.Rate?, estimate: RequestBudget.Estimate?,
    reserve: RequestBudget.Reserve, now: Duration, until: Duration
  ) -> RequestBudget.Admission {
    if costs.count > Self.maxCosts { costs = [:] }
    if prices.count > Self.maxCosts { prices = [:] }
    if let closed = closedUntil {
      guard closed <= now else {
        return wait(closed - now, now: now, until: until, reason: "asked for a delay (Retry-After)")
      }
      closedUntil = nil
    }
    let isProbe = estimate.map { costs[label] == nil && prices[$0.group] == nil } ?? false
    if isProbe, let estimate, probes.contains(estimate.group) { return .later(Self.pause) }
    var ticket = RequestBudget.Ticket(label: label, estimate: estimate)
    let cost = expectedCost(label, estimate)
    if let open = window {
      if open.reset <= now {
        window = nil
      } else if open.left - reserve.amount(of: open.all) < cost {
        return waitForPoints(
          open.reset - now, now: now, until: until, reason: "has no requests left in this period")
      }
    }
    if let full = bucket {
      let left = Self.left(full, now: now)
      // A request that costs more than the full limit is left to the server to reject.
      let needed = min(cost + reserve.amount(of: full.most), full.most)
      guard left >= needed else {
        // A server may report any rate.
        let delay = min(max((needed - left) / full.perSecond, 0), Self.longestDelay)
        return waitForPoints(
          .seconds(delay) + .milliseconds(1), now: now, until: until,
          reason: "has too little of its cost budget left")
      }
      bucket?.left = left - cost
      bucket?.since = now
    }
    var start = now
    if let rate {
      giveBackTurns(of: rate, before: now)
      let last = self.due[rate].flatMap { $0.time > now ? $0 : nil } ?? (time: now, since: now)
      start = max(last.time - rate.interval * (rate.burst - 1), now)
      let turn = freeTurns[rate]?.min().flatMap { $0 < start ? $0 : nil }
      if let turn { start = turn }
      guard start <= until else {
        return .tooLong(start - now, "has reached the rate of the option requests")
      }
      if let turn, let index = freeTurns[rate]?.firstIndex(of: turn) {
        freeTurns[rate]?.remove(at: index)
      } else {
        self.due[rate] = (last.time + rate.interval, last.since)
      }
      ticket.turn = (rate, start)
    }
    ticket.cost = cost
    ticket.before = underway
    window?.left -= cost
    underway += cost
    total += cost
    ticket.total = total
    if isProbe, let estimate { probes.insert(estimate.group) }
    return .granted(after: start - now, ticket)
  }

  /// Removes the free turns that have passed. Later requests may start earlier in their place, unless an admitted request
  /// still waits for its turn, or the rate was idle after that turn.
  private mutating func giveBackTurns(of rate: RequestBudget.Rate, before now: Duration) {
    guard let turns = freeTurns[rate], let due = self.due[rate] else { return }
    let left = turns.filter { $0 >= now }
    freeTurns[rate] = left.isEmpty ? nil : left
    guard due.time - rate.interval * rate.burst <= now else { return }
    self.due[rate]?.time -= rate.interval * turns.count { $0 < now && $0 >= due.since }
  }

  /// The cost of the label as a response has shown it, or else by its estimate; 1 without one.
  ///
  /// - Parameter isCautious: Whether to add a margin to an estimate.
  fileprivate func expectedCost(
    _ label: String, _ estimate: RequestBudget.Estimate?, isCautious: Bool = true
  ) -> Double {
    if let cost = costs[label] { return cost }
    guard let estimate else { return 1 }
    let known = prices[estimate.group]
    let cost = estimate.points * (known ?? max(prices.values.max() ?? 1, 1))
    return isCautious ? cost * (known == nil ? Self.firstMargin : Self.margin) : cost
  }

  private func wait(
    _ delay: Duration, now: Duration, until: Duration, reason: String
  ) -> RequestBudget.Admission {
    now + delay > until ? .tooLong(delay, reason) : .later(delay)
  }

  /// As ``wait(_:now:until:reason:)``, but requests in flight may cost less than expected.
  private func waitForPoints(
    _ delay: Duration, now: Duration, until: Duration, reason: String
  ) -> RequestBudget.Admission {
    guard underway > 0, now + delay <= until else {
      return wait(delay, now: now, until: until, reason: reason)
    }
    return .later(min(delay, Self.pause))
  }
}

/// The header fields of a response about rate limits.
private struct RateFields {
  /// The delay that the server asks for.
  var retryAfter: Duration?
  /// The remainder, and the time until its reset.
  var left: Double?
  var reset: Duration?
  /// The full rate limit.
  var all: Double?

  /// The longest accepted time; a header field is untrusted text.
  private static let longest = 86_400.0

  init(_ head: HTTPResponse, time: Double) {
    let fields = head.headerFields
    // By the server's own clock, if it sends one.
    let now = fields[.date].flatMap { HTTPDate.seconds($0) } ?? time
    if [403, 429, 503].contains(head.status.code) {
      retryAfter = RetryAfter.delay(in: fields, now: time).map { min($0, .seconds(Self.longest)) }
    }
    func number(_ name: String) -> Double? {
      HTTPField.Name(name).flatMap { fields[$0] }.flatMap { Double($0.trimmingEnds()) }
        .flatMap { $0.isFinite && $0 >= 0 ? $0 : nil }
    }
    if let left = number("X-RateLimit-Remaining"), let reset = number("X-RateLimit-Reset") {
      self.left = left
      all = number("X-RateLimit-Limit")
      self.reset = Self.delay(RetryAfter.seconds(untilReset: reset, now: now))
    } else if let left = number("RateLimit-Remaining"), let reset = number("RateLimit-Reset") {
      self.left = left
      all = number("RateLimit-Limit")
      self.reset = Self.delay(reset)
    }
  }

  private static func delay(_ seconds: Double) -> Duration {
    .seconds(min(max(seconds, 0), longest))
  }
}

/// Limits retries to a small share of all requests, so that a failing server does not get more
/// load.
///
/// Every operation adds `share` of a retry; the first few retries are free, so that a single
/// operation can use them. If every request fails, the load stays below `1 + share` after
/// `freeRetries / share` operations.
final class RetryBudget: Sendable {
  static let freeRetries = 10
  /// Beyond this number of operations, the older half is no longer counted.
  private static let window = 1_000

  private let share: Double
  private let counts = Locked<(operations: Int, retries: Int)>((0, 0))

  /// - Parameter share: From 0 to 1.
  init(share: Double) { self.share = share }

  func noteOperation() {
    counts.withLock { counts in
      counts.operations += 1
      guard counts.operations >= Self.window else { return }
      counts.operations /= 2
      counts.retries /= 2
    }
  }

  /// Takes a retry from the budget; `false` if there is none.
  func takeRetry() -> Bool {
    counts.withLock { counts in
      let next = counts.retries + 1
      guard next <= Self.freeRetries || Double(next) < share * Double(counts.operations) else {
        return false
      }
      counts.retries = next
      return true
    }
  }
}

/// Parses the field `Retry-After`: seconds, or a date.
///
/// https://www.rfc-editor.org/rfc/rfc9110#field.retry-after
package enum RetryAfter {
  /// The delay that a response asks for, by the server's own clock if it sends the field `Date`; `nil` without a valid
  /// value.
  ///
  /// - Parameter now: The time of day in seconds since 1970, for servers that do not send `Date`.
  package static func delay(in fields: HTTPFields, now: Double) -> Duration? {
    let time = fields[.date].flatMap { HTTPDate.seconds($0) } ?? now
    return fields[.retryAfter].flatMap { delay($0, now: time) }
  }

  /// The delay from `now` (seconds since 1970); `nil` for an invalid value.
  package static func delay(_ value: String, now: Double) -> Duration? {
    let value = value.trimmingEnds()
    if !value.isEmpty, value.utf8.allSatisfy({ (48...57).contains($0) }) {
      // More digits than an Int has are a very long time, not an error.
      return .seconds(min(Int(value) ?? .max, 1 << 40))
    }
    return HTTPDate.seconds(value).map { .seconds(max($0 - now, 0)) }
  }

  /// The number of seconds until the reset of a rate limit in `X-RateLimit-Reset`: some servers report a duration,
  /// others a point in time, in seconds or milliseconds since 1970.
  ///
  /// - Parameters:
  ///   - reset: The number in the field.
  ///   - now: The time of day in seconds since 1970.
  package static func seconds(untilReset reset: Double, now: Double) -> Double {
    // No server reports years ahead.
    switch reset {
    case ...1e8: reset
    case ...1e11: reset - now
    default: reset / 1_000 - now
    }
  }
}

extension Duration {
  /// The duration in whole seconds, rounded up.
  var wholeSeconds: Duration {
    .seconds(components.seconds + (components.attoseconds > 0 ? 1 : 0))
  }
}

extension GraphQLRequest {
  private enum OwnRetries: RequestContextKey {
    typealias Value = Int
  }

  /// The number of retries by plugins with their own limit, such as persisted queries and tokens
  /// with one each.
  var ownRetries: Int {
    get { context[OwnRetries.self] ?? 0 }
    set { context[OwnRetries.self] = newValue }
  }

  /// The attempt, from 1, without the retries of plugins with their own limit.
  var countedAttempt: Int { max(attempt - ownRetries, 1) }

  /// The same request for an attempt that does not count for `max-retry`.
  func withOwnRetry() -> GraphQLRequest {
    var request = self
    request.ownRetries += 1
    return request
  }
}
