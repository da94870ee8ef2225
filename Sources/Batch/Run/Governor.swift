import Foundation
import HTTPTypes
import JSONStream
import Pipeline

/// Decides when the next request may be sent: how many at a time, how many per second, and not while the
/// server asks to be left alone.
///
/// Concurrency follows what the server bears: halved when it refuses (429, 503), one more for each full
/// round of answers, up to what the manifest allows. All tasks of a run share one governor, so one
/// credential has one budget.
actor Governor {
  /// What an attempt says about the server.
  enum Signal: Sendable {
    case answered
    /// Refused for now; the server may say for how long.
    case refused(after: Duration?)
    /// Nobody there.
    case unreachable
  }

  /// Why there is no use in going on.
  enum Verdict: Sendable, Equatable {
    case refused
    case unreachable
  }

  private let clock: ServiceClock
  private let maximum: Int
  private let patience: Duration
  private let rate: RateSettings?
  private var limit: Double
  private var running = 0
  private var waiting: [CheckedContinuation<Void, Never>] = []
  private var pausedUntil = Duration.zero
  private var lastDecrease = Duration.zero
  private var tokens: Double
  private var refilled: Duration
  /// Since when nothing but refusals came.
  private var troubleSince: Duration?
  private var hasSucceeded = false
  private var isStopped = false
  private var pause = Duration.milliseconds(250)
  /// The most that a server's wish is waited for at a time.
  private static let longestPause = Duration.seconds(3_600)

  init(_ settings: RunSettings, rate: RateSettings?, clock: ServiceClock) {
    self.clock = clock
    self.rate = rate
    maximum = settings.concurrency
    patience = settings.patience
    limit = Double(settings.concurrency)
    tokens = Double(rate?.burst ?? 1)
    refilled = clock.now()
  }

  var currentLimit: Int { max(1, Int(limit)) }
  var inFlight: Int { running }

  /// Waits until a request may be sent.
  func enter() async throws {
    while running >= currentLimit, !isStopped {
      await withCheckedContinuation { waiting.append($0) }
      try Task.checkCancellation()
    }
    running += 1
    do {
      // In short waits, so that a run that is stopped does not wait for the server's.
      while !isStopped, let delay = delay() {
        try await clock.sleep(for: min(delay, .seconds(1)))
      }
    } catch {
      leave()
      throw error
    }
  }

  /// How long to wait still; `nil` takes a token.
  private func delay() -> Duration? {
    let now = clock.now()
    if pausedUntil > now { return pausedUntil - now }
    guard let perSecond = rate?.perSecond else { return nil }
    tokens = min(Double(rate?.burst ?? 1), tokens + (now - refilled).seconds * perSecond)
    refilled = now
    // A hair of rounding must not make a waiter sleep again for nothing.
    guard tokens < 0.999_999 else {
      tokens -= 1
      return nil
    }
    return .seconds((1 - tokens) / perSecond)
  }

  /// The request has ended. Says when there is no use in going on.
  func leave(_ signal: Signal? = nil) -> Verdict? {
    running -= 1
    defer { wake() }
    let now = clock.now()
    switch signal {
    case nil: return nil
    case .answered:
      troubleSince = nil
      hasSucceeded = true
      pause = .milliseconds(250)
      if limit < Double(maximum) { limit = min(Double(maximum), limit + 1 / limit) }
      return nil
    case .refused(let wish):
      slowDown(now)
      let wanted = min(wish ?? pause, Self.longestPause)
      if wish == nil { pause = min(pause * 2, .seconds(20)) }
      pausedUntil = max(pausedUntil, now + wanted)
      return verdict(.refused, now, including: wanted)
    case .unreachable:
      slowDown(now)
      pausedUntil = max(pausedUntil, now + pause)
      pause = min(pause * 2, .seconds(10))
      return verdict(.unreachable, now, including: .zero)
    }
  }

  private func leave() {
    running -= 1
    wake()
  }

  /// Answers that came only after retries say that the server is at its limit.
  func noteRetried() { slowDown(clock.now()) }

  /// What is left of a budget that the server told; pauses when it is used up.
  func note(_ response: GraphQLResponse) {
    guard let rate, let adapter = rate.adapter else { return }
    let now = clock.now()
    switch adapter {
    case .github:
      guard let fields = response.http?.headerFields,
        let left = Self.number(fields, "x-ratelimit-remaining"),
        let all = Self.number(fields, "x-ratelimit-limit"),
        let reset = Self.number(fields, "x-ratelimit-reset"), left <= all * rate.reserve
      else { return }
      let wait = reset - Date().timeIntervalSince1970
      if wait > 0 { pausedUntil = max(pausedUntil, now + .seconds(min(wait, 3_600))) }
    case .shopify:
      guard let status = response.extensions?["cost"]?["throttleStatus"],
        let left = status["currentlyAvailable"]?.doubleValue,
        let all = status["maximumAvailable"]?.doubleValue,
        let perSecond = status["restoreRate"]?.doubleValue, perSecond > 0
      else { return }
      let cost = response.extensions?["cost"]?["requestedQueryCost"]?.doubleValue ?? 0
      let missing = all * rate.reserve + cost * Double(running + 1) - left
      if missing > 0 { pausedUntil = max(pausedUntil, now + .seconds(missing / perSecond)) }
    }
  }

  private static func number(_ fields: HTTPFields, _ name: String) -> Double? {
    HTTPField.Name(name).flatMap { fields[$0] }.flatMap { Double($0) }
  }

  private func slowDown(_ now: Duration) {
    // One decrease per half second: the answers of one round are one sign.
    guard limit > 1, lastDecrease == .zero || now - lastDecrease > .milliseconds(500) else {
      return
    }
    lastDecrease = now
    limit = max(1, limit / 2)
  }

  private func verdict(_ verdict: Verdict, _ now: Duration, including wait: Duration) -> Verdict? {
    let since = troubleSince ?? now
    troubleSince = since
    // A server that never answered is most likely not there at all.
    let allowed = hasSucceeded || verdict == .refused ? patience : min(patience, .seconds(5))
    return now - since + wait > allowed ? verdict : nil
  }

  /// Lets everybody go on, to find out that the run has ended.
  func wakeAll() {
    isStopped = true
    let all = waiting
    waiting = []
    for continuation in all { continuation.resume() }
  }

  private func wake() {
    var free = currentLimit - running
    while free > 0, !waiting.isEmpty {
      waiting.removeFirst().resume()
      free -= 1
    }
  }
}

extension Duration {
  var seconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
  var milliseconds: Double { seconds * 1000 }
}
