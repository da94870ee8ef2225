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

  package enum Admission: Sendable, Equatable {
    /// The request is counted, and may be sent after the delay.
    case granted(after: Duration, cost: Double)
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
    /// The time at which the next request of a rate is due, if requests come evenly.
    var due: [Rate: Duration] = [:]
    /// The remainder of a rate limit that is reset at one time.
    var window: (left: Double, reset: Duration, all: Double?)?
    /// The remainder of a rate limit that is refilled continuously.
    var bucket: (left: Double, since: Duration, perSecond: Double, most: Double)?
    /// The last known cost of each operation.
    var costs: [String: Double] = [:]
    /// The expected cost of the requests in flight.
    var underway = 0.0
  }

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
  ///   - reserve: The part of the server's rate limit that is not used.
  ///   - until: The latest time that the caller waits until.
  package func admit(
    _ label: String, _ rate: Rate?, reserve: Reserve, now: Duration, until: Duration
  ) -> Admission {
    state.withLock { $0.admit(label, rate: rate, reserve: reserve, now: now, until: until) }
  }

  /// The remainder and the size of the server's rate limit; `nil` if the server has not reported
  /// them.
  package func left(now: Duration) -> (left: Double, all: Double?)? {
    state.withLock { state in
      if let window = state.window, window.reset > now { return (max(window.left, 0), window.all) }
      return state.bucket.map {
        (min($0.left + (now - $0.since).seconds * $0.perSecond, $0.most), $0.most)
      }
    }
  }

  /// The last report of the server; `nil` if there was none since the last call.
  package func takeReport() -> Report? {
    state.withLock { state in
      defer { state.report = nil }
      return state.report
    }
  }

  /// Records that a request was answered or has failed.
  package func noteEnd(cost: Double) {
    state.withLock { $0.underway = max($0.underway - cost, 0) }
  }

  /// Evaluates the header fields of a response: `Retry-After` of a rejection, and the remainder.
  ///
  /// - Parameter time: The time of day in seconds since 1970, for servers that do not send `Date`.
  package func note(_ head: HTTPResponse, now: Duration, time: Double) {
    let account = RateFields(head, time: time)
    state.withLock { state in
      if let pause = account.retryAfter {
        state.closedUntil = max(state.closedUntil ?? .zero, now + pause)
      }
      if let left = account.left, let reset = account.reset {
        // The request that was just answered still counts as in flight.
        state.window = (left, now + reset, account.all)
        state.report = Report(left: left, all: account.all, reset: now + reset, time: now)
      }
    }
  }

  /// Evaluates the costs in a response.
  package func note(
    _ response: JSONValue, _ kind: Kind, label: String, now: Duration, time: Double
  ) {
    switch kind {
    case .headers: break
    case .github:
      guard let limit = response["data"]?["rateLimit"], limit.objectValue != nil else { return }
      state.withLock { state in
        if let cost = limit["cost"]?.doubleValue { state.costs[label] = cost }
        if let left = limit["remaining"]?.doubleValue,
          let date = limit["resetAt"]?.stringValue.flatMap({
            try? Date.ISO8601FormatStyle().parse($0)
          })
        {
          let delay = min(max(date.timeIntervalSince1970 - time, 0), 86_400)
          let (all, reset) = (limit["limit"]?.doubleValue, now + .seconds(delay))
          state.window = (left - state.underway, reset, all)
          state.report = Report(left: left, all: all, reset: reset, time: now)
        }
      }
    case .shopify:
      guard let cost = response["extensions"]?["cost"] else { return }
      state.withLock { state in
        if let value = (cost["requestedQueryCost"] ?? cost["actualQueryCost"])?.doubleValue {
          state.costs[label] = value
        }
        let status = cost["throttleStatus"]
        if let left = status?["currentlyAvailable"]?.doubleValue,
          let rate = status?["restoreRate"]?.doubleValue, rate > 0,
          let most = status?["maximumAvailable"]?.doubleValue
        {
          state.bucket = (left - state.underway, now, rate, most)
          state.report = Report(left: left, all: most, perSecond: rate, reset: now, time: now)
        }
      }
    }
  }
}

extension RequestBudget.State {
  /// Above this number of operations, all known costs are discarded.
  private static let maxCosts = 10_000

  fileprivate mutating func admit(
    _ label: String, rate: RequestBudget.Rate?, reserve: RequestBudget.Reserve,
    now: Duration, until: Duration
  ) -> RequestBudget.Admission {
    if costs.count > Self.maxCosts { costs = [:] }
    let cost = costs[label] ?? 1
    if let closed = closedUntil {
      guard closed <= now else {
        return wait(closed - now, now: now, until: until, reason: "asked for a delay (Retry-After)")
      }
      closedUntil = nil
    }
    if let open = window {
      if open.reset <= now {
        window = nil
      } else if open.left - reserve.amount(of: open.all) < cost {
        return wait(
          open.reset - now, now: now, until: until, reason: "has no requests left in this period")
      }
    }
    if let full = bucket {
      let left = min(full.left + (now - full.since).seconds * full.perSecond, full.most)
      // A request that costs more than the full limit is left to the server to reject.
      let needed = min(cost + reserve.amount(of: full.most), full.most)
      guard left >= needed else {
        return wait(
          .seconds((needed - left) / full.perSecond) + .milliseconds(1), now: now, until: until,
          reason: "has too little of its cost budget left")
      }
      bucket?.left = left - cost
      bucket?.since = now
    }
    var start = now
    if let rate {
      let due = max(self.due[rate] ?? now, now)
      start = max(due - rate.interval * (rate.burst - 1), now)
      guard start <= until else {
        return .tooLong(start - now, "has reached the rate of the option requests")
      }
      self.due[rate] = due + rate.interval
    }
    window?.left -= cost
    underway += cost
    return .granted(after: start - now, cost: cost)
  }

  private func wait(
    _ delay: Duration, now: Duration, until: Duration, reason: String
  ) -> RequestBudget.Admission {
    now + delay > until ? .tooLong(delay, reason) : .later(delay)
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
    if [403, 429, 503].contains(head.status.code), let value = fields[.retryAfter] {
      retryAfter = RetryAfter.delay(value, now: now).map { min($0, .seconds(Self.longest)) }
    }
    func number(_ name: String) -> Double? {
      HTTPField.Name(name).flatMap { fields[$0] }.flatMap { Double($0.trimmed) }
        .flatMap { $0.isFinite && $0 >= 0 ? $0 : nil }
    }
    if let left = number("X-RateLimit-Remaining"), let reset = number("X-RateLimit-Reset") {
      self.left = left
      all = number("X-RateLimit-Limit")
      // A point in time, or a duration from now: no server reports years ahead.
      self.reset = Self.delay(reset > 1e8 ? reset - now : reset)
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
  /// The delay from `now` (seconds since 1970); `nil` for an invalid value.
  package static func delay(_ value: String, now: Double) -> Duration? {
    let value = value.trimmed
    if !value.isEmpty, value.utf8.allSatisfy({ (48...57).contains($0) }) {
      // More digits than an Int has are a very long time, not an error.
      return .seconds(min(Int(value) ?? .max, 1 << 40))
    }
    return HTTPDate.seconds(value).map { .seconds(max($0 - now, 0)) }
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
