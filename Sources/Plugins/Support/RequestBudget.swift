import Foundation
package import GQLRunJSON
package import GQLRunPipeline
package import HTTPTypes

/// What may still be sent to one server with one credential, by a fixed rate and by what the server
/// says.
///
/// Sendable: `state` is reached with `lock` held only.
package final class RequestBudget: @unchecked Sendable {
  /// Whose way of counting is understood.
  package enum Kind: String, Sendable, CaseIterable {
    case headers, github, shopify
  }

  /// A fixed rate: one request every `interval`, after a pause `burst` at once.
  package struct Rate: Sendable, Hashable {
    package var interval: Duration
    package var burst: Int

    package init(interval: Duration, burst: Int) {
      self.interval = interval
      self.burst = burst
    }
  }

  /// How much of the server's account is left to others: a number, or a share of all there is.
  package enum Reserve: Sendable, Hashable {
    case count(Int)
    case share(Double)

    /// - Parameter all: How much there is when the account is full; `nil` when the server does not say.
    fileprivate func amount(of all: Double?) -> Double {
      switch self {
      case .count(let count): Double(count)
      case .share(let share): share * (all ?? 0)
      }
    }
  }

  package enum Admission: Sendable, Equatable {
    /// The request is counted, and is sent after the delay.
    case granted(after: Duration, cost: Double)
    /// Look again after the delay.
    case later(Duration)
    /// The delay, and why.
    case tooLong(Duration, String)
  }

  fileprivate struct State {
    /// Nothing is sent before.
    var closedUntil: Duration?
    /// When the next request of a rate is due, if requests come evenly.
    var due: [Rate: Duration] = [:]
    /// What is left until the account is filled up again.
    var window: (left: Double, reset: Duration, all: Double?)?
    /// What is left of an account that fills up steadily.
    var bucket: (left: Double, since: Duration, perSecond: Double, most: Double)?
    /// What operations cost the last time.
    var costs: [String: Double] = [:]
    /// What the requests under way are expected to cost.
    var underway = 0.0
  }

  private let lock = NSLock()
  private var state = State()

  /// The budget of a server and a credential: one for all requests and pipelines of `services`, whoever
  /// holds them back.
  ///
  /// - Parameter origin: Scheme and authority: `https://example.com`.
  package static func shared(
    in services: Services, origin: String, credential: String
  ) -> RequestBudget {
    services.shared.value(RequestBudget.self, named: "\(origin) \(credential)") { RequestBudget() }
  }

  /// - Parameters:
  ///   - reserve: How much of the server's account is not used.
  ///   - until: Until when somebody waits.
  package func admit(
    _ label: String, _ rate: Rate?, reserve: Reserve, now: Duration, until: Duration
  ) -> Admission {
    lock.withLock { state.admit(label, rate, reserve, now, until) }
  }

  /// What the server says is left, and how much there is when its account is full; `nil` when it has not
  /// said so.
  package func left(now: Duration) -> (left: Double, all: Double?)? {
    lock.withLock {
      if let window = state.window, window.reset > now { return (max(window.left, 0), window.all) }
      return state.bucket.map {
        (min($0.left + (now - $0.since).inSeconds * $0.perSecond, $0.most), $0.most)
      }
    }
  }

  /// A request has been answered, or has failed.
  package func noteEnd(cost: Double) {
    lock.withLock { state.underway = max(state.underway - cost, 0) }
  }

  /// Heeds the fields of a response: `Retry-After` of a refusal, and what is left.
  ///
  /// - Parameter time: In seconds since 1970, for dates when the server does not say its own.
  package func note(_ head: HTTPResponse, now: Duration, time: Double) {
    let account = RateFields(head, time: time)
    lock.withLock {
      if let pause = account.pause {
        state.closedUntil = max(state.closedUntil ?? .zero, now + pause)
      }
      if let left = account.left, let reset = account.reset {
        // The request answered just now is still among those under way.
        state.window = (left, now + reset, account.all)
      }
    }
  }

  /// Heeds what a response says about costs.
  package func note(
    _ response: JSONValue, _ kind: Kind, label: String, now: Duration, time: Double
  ) {
    switch kind {
    case .headers: break
    case .github:
      guard let limit = response["data"]?["rateLimit"], limit.objectValue != nil else { return }
      lock.withLock {
        if let cost = limit["cost"]?.doubleValue { state.costs[label] = cost }
        if let left = limit["remaining"]?.doubleValue,
          let date = limit["resetAt"]?.stringValue.flatMap({
            try? Date.ISO8601FormatStyle().parse($0)
          })
        {
          let delay = min(max(date.timeIntervalSince1970 - time, 0), 86_400)
          state.window = (
            left - state.underway, now + .seconds(delay), limit["limit"]?.doubleValue
          )
        }
      }
    case .shopify:
      guard let cost = response["extensions"]?["cost"] else { return }
      lock.withLock {
        if let value = (cost["requestedQueryCost"] ?? cost["actualQueryCost"])?.doubleValue {
          state.costs[label] = value
        }
        let status = cost["throttleStatus"]
        if let left = status?["currentlyAvailable"]?.doubleValue,
          let rate = status?["restoreRate"]?.doubleValue, rate > 0,
          let most = status?["maximumAvailable"]?.doubleValue
        {
          state.bucket = (left - state.underway, now, rate, most)
        }
      }
    }
  }
}

extension RequestBudget.State {
  /// The last entries are forgotten when there are more operations than this.
  private static let maximumCosts = 10_000

  fileprivate mutating func admit(
    _ label: String, _ rate: RequestBudget.Rate?, _ reserve: RequestBudget.Reserve,
    _ now: Duration, _ until: Duration
  ) -> RequestBudget.Admission {
    if costs.count > Self.maximumCosts { costs = [:] }
    let cost = costs[label] ?? 1
    if let closed = closedUntil {
      guard closed <= now else {
        return wait(closed - now, now, until, "asked to be left alone")
      }
      closedUntil = nil
    }
    if let open = window {
      if open.reset <= now {
        window = nil
      } else if open.left - reserve.amount(of: open.all) < cost {
        return wait(open.reset - now, now, until, "has no requests left for now")
      }
    }
    if let full = bucket {
      let left = min(full.left + (now - full.since).inSeconds * full.perSecond, full.most)
      // What costs more than there ever is, is for the server to refuse.
      let needed = min(cost + reserve.amount(of: full.most), full.most)
      guard left >= needed else {
        return wait(
          .seconds((needed - left) / full.perSecond) + .milliseconds(1), now, until,
          "has too little of its cost budget left")
      }
      bucket?.left = left - cost
      bucket?.since = now
    }
    var start = now
    if let rate {
      let due = max(self.due[rate] ?? now, now)
      start = max(due - rate.interval * (rate.burst - 1), now)
      guard start <= until else {
        return .tooLong(start - now, "is sent as much as the rate allows")
      }
      self.due[rate] = due + rate.interval
    }
    window?.left -= cost
    underway += cost
    return .granted(after: start - now, cost: cost)
  }

  private func wait(
    _ delay: Duration, _ now: Duration, _ until: Duration, _ reason: String
  ) -> RequestBudget.Admission {
    now + delay > until ? .tooLong(delay, reason) : .later(delay)
  }
}

extension Duration {
  var inSeconds: Double {
    Double(components.seconds) + Double(components.attoseconds) / 1e18
  }
}

/// What the fields of a response say about rates.
private struct RateFields {
  /// How long the server wants to be left alone.
  var pause: Duration?
  /// How much is left, and until when.
  var left: Double?
  var reset: Duration?
  /// How much there is when it is filled up.
  var all: Double?

  /// The longest time that is believed; a field is text from outside.
  private static let longest = 86_400.0

  init(_ head: HTTPResponse, time: Double) {
    let fields = head.headerFields
    // By the server's own clock, as far as it tells.
    let now =
      fields[.date].flatMap { RetryAfter.date($0)?.timeIntervalSince1970 } ?? time
    if [403, 429, 503].contains(head.status.code), let value = fields[.retryAfter] {
      pause = RetryAfter.delay(value, now: now).map { min($0, .seconds(Self.longest)) }
    }
    func number(_ name: String) -> Double? {
      HTTPField.Name(name).flatMap { fields[$0] }.flatMap { Double($0.trimmed) }
        .flatMap { $0.isFinite && $0 >= 0 ? $0 : nil }
    }
    if let left = number("X-RateLimit-Remaining"), let reset = number("X-RateLimit-Reset") {
      self.left = left
      all = number("X-RateLimit-Limit")
      // A moment, or how long from now: no server counts years ahead.
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
