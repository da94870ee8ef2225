import GQLRunJSON
import GQLRunPipeline
import GQLRunPlugins
import GQLRunSupport
import HTTPTypes

/// Decides when the next request may be sent: limits concurrency and rate, and honors delays that
/// the server asked for.
///
/// The concurrency limit adapts to the server: halved on each refusal (429, 503), raised by one
/// after each full round of responses, up to the manifest's limit. The rate follows the budget that
/// the plugin `rate-limit` also uses: one per server and credential, for all callers.
///
/// Behind a lock rather than an actor, because every request enters twice and rarely waits.
final class Governor: Sendable {
  /// What an attempt reveals about the state of the server.
  enum Signal: Sendable {
    case answered
    /// A refusal, with the delay that the server asked for.
    case refused(after: Duration?)
    /// The server cannot be reached.
    case unreachable
  }

  /// The budget taken for a request, to be settled with its response.
  struct Pass: Sendable {
    fileprivate var ticket: RequestBudget.Ticket?
    /// Whether points of the queue were reserved.
    fileprivate var hasPoints = false
  }

  private let services: Services
  private var clock: ServiceClock { services.clock }
  private let limits: RateSettings?
  /// The format in which the server reports its costs; `nil` while it is not known.
  private let adapter: Locked<RequestBudget.Kind?>
  private let learnsAdapter: Bool
  private let rate: RequestBudget.Rate?
  /// The request budget; `nil` without limits.
  private let budget: RequestBudget?
  private let state: Monitor<State>
  /// The longest delay of a server that is honored.
  private static let longestPause = Duration.seconds(3_600)

  /// What other workers of a queue share; `nil` without one.
  private let shared: QueueLimits?
  /// The points that they share; `nil` if the server reports none.
  private let points: QueuePoints?

  /// The governor of a run of a manifest.
  ///
  /// - Parameter shared: What the workers of a queue share.
  init(_ manifest: Manifest, services: Services, shared: QueueLimits? = nil) {
    self.services = services
    self.shared = shared
    points = shared?.points
    let learns = manifest.learnsLimits
    learnsAdapter = learns
    let limits = manifest.rate ?? (learns ? RateSettings() : nil)
    self.limits = limits
    adapter = Locked(limits?.adapter ?? (learns ? manifest.limitFormat : nil))
    let most = Double(manifest.settings.concurrency)
    state = Monitor(
      State(most: most, patience: manifest.settings.patience, limit: most), isInOrder: true)
    // The queue has the rate of all workers.
    let perSecond = shared == nil ? limits?.perSecond : nil
    rate = perSecond.map {
      RequestBudget.Rate(interval: .seconds(1 / $0), burst: limits?.burst ?? 1)
    }
    budget = limits.map { _ in Self.budget(manifest.pipeline.endpoint, services) }
  }

  /// The budget of a pipeline, whose requests all have the same credential.
  static func budget(_ endpoint: Endpoint?, _ services: Services) -> RequestBudget {
    RequestBudget.shared(in: services, origin: endpoint?.origin ?? "", credential: "")
  }

  /// Whether the server reports the costs of requests, so that estimates of them are of use.
  var countsCosts: Bool { adapter.withLock { $0 == .github || $0 == .shopify } }
  var currentLimit: Int { state.withLock { $0.currentLimit } }
  var inFlight: Int { state.withLock { $0.running } }
  /// The current series of failures; `nil` if the server responds.
  var outage: Outage? {
    let now = clock.now()
    return state.withLock { $0.outage(now) }
  }
  /// The server's remaining and total budget; `nil` if unknown.
  var budgetLeft: (left: Double, all: Double?)? { budget?.left(now: clock.now()) }

  /// Whether a request is expected to cost more than the server ever allows.
  func isExcessive(_ expected: ExpectedCost) -> Bool {
    guard let estimate = estimate(expected) else { return false }
    return budget?.isExcessive(expected.label, estimate: estimate, reserve: reserve) ?? false
  }

  private func estimate(_ expected: ExpectedCost?) -> RequestBudget.Estimate? {
    adapter.withLock { $0 }.flatMap { expected?.estimate(for: $0) }
  }

  private var reserve: RequestBudget.Reserve { .share(limits?.reserve.fraction ?? 0) }

  /// Suspends until a request may be sent.
  ///
  /// - Parameters:
  ///   - label: The operation, whose cost is learned from responses.
  ///   - expected: What is known about the cost before.
  func enter(_ label: String, expecting expected: ExpectedCost? = nil) async throws -> Pass {
    if !state.withLock({ $0.takePosition() }) { try await state.wait { $0.takePosition() } }
    var pass = Pass()
    do {
      while let end = state.withLock({ $0.isStopped ? nil : $0.pausedUntil }), end > .zero,
        end > clock.now()
      {
        try await sleep(until: end)
      }
      if let shared, !isStopped { try await sleep(until: shared.slot()) }
      while let budget, !isStopped {
        let now = clock.now()
        switch budget.admit(
          expected?.label ?? label, rate, estimate: estimate(expected), reserve: reserve, now: now,
          until: .seconds(.max / 2))
        {
        case .granted(let delay, let ticket):
          pass.ticket = ticket
          while let points, !isStopped {
            guard let delay = try await points.take(ticket.cost) else {
              pass.hasPoints = true
              break
            }
            try await sleep(until: clock.now() + delay)
          }
          try await sleep(until: now + delay)
          return pass
        case .later(let delay), .tooLong(let delay, _): try await sleep(until: now + delay)
        }
      }
    } catch {
      _ = leave(pass, signal: nil)
      throw error
    }
    return pass
  }

  private var isStopped: Bool { state.withLock { $0.isStopped } }

  /// Sleeps in short steps, so that a stopped run does not wait out the server's delay.
  private func sleep(until end: Duration) async throws {
    while !isStopped {
      let left = end - clock.now()
      guard left > .zero else { return }
      try await clock.sleep(for: min(left, .seconds(1)))
    }
  }

  /// Ends a request. Returns the outage if the run should stop because of it.
  ///
  /// - Parameters:
  ///   - head: The head of the response, which may report the remaining budget.
  ///   - response: The result, which may report it as well.
  func leave(
    _ pass: Pass, signal: Signal?, head: HTTPResponse? = nil, response: GraphQLResponse? = nil
  ) -> Outage? {
    if let ticket = pass.ticket {
      note(head ?? response?.http, response: response, of: ticket)
      let isAnswered = if case .answered = signal { response != nil } else { false }
      budget?.noteEnd(ticket, isAnswered: isAnswered)
      // After the report, which counts this request.
      if pass.hasPoints { points?.end(ticket.cost) }
    }
    let now = clock.now()
    let outage = state.update { state in
      state.running -= 1
      return state.judge(signal, now, attempt: response?.attempt ?? 1)
    }
    if let shared, case .refused(let wish?) = signal {
      // The response must not wait for the queue.
      Task { try? await shared.pause(for: min(wish, Self.longestPause)) }
    }
    return outage
  }

  /// Sends nothing for a duration, because another worker was asked for a delay.
  func pause(for duration: Duration) {
    let end = clock.now() + duration
    state.withLock { $0.pausedUntil = max($0.pausedUntil, end) }
  }

  private func note(
    _ head: HTTPResponse?, response: GraphQLResponse?, of ticket: RequestBudget.Ticket
  ) {
    guard let budget else { return }
    let (now, time) = (clock.now(), services.secondsSince1970())
    if let head { budget.note(head, of: ticket, now: now, time: time) }
    guard let response, let adapter = adapter(head, response) else { return }
    var report = JSONObject()
    if let extensions = response.extensions { report["extensions"] = .object(extensions) }
    if adapter == .github, let path = ResultPath("rateLimit") {
      _ = try? response.data?.forEachValue(at: path) { bytes in
        report["data"] = .object(["rateLimit": try JSONValue(parsing: bytes)])
      }
    }
    budget.note(.object(report), adapter, of: ticket, now: now, time: time)
  }

  /// The format in which the server reports its costs; without a setting, that of the first response with a report.
  private func adapter(
    _ head: HTTPResponse?, _ response: GraphQLResponse
  ) -> RequestBudget.Kind? {
    adapter.withLock { adapter in
      guard learnsAdapter, adapter == nil else { return adapter }
      if response.extensions?["cost"]?["throttleStatus"] != nil {
        adapter = .shopify
      } else if let name = HTTPField.Name("X-RateLimit-Resource"),
        head?.headerFields[name] == "graphql"
      {
        adapter = .github
      }
      return adapter
    }
  }

  /// Resumes all waiting callers, which then find that the run has stopped.
  func wakeAll() { state.update { $0.isStopped = true } }
}

extension Governor {
  /// The adaptive concurrency limit.
  private struct State: Sendable {
    /// The limit of the manifest, and its patience.
    let most: Double
    let patience: Duration
    var limit: Double
    var running = 0
    var pausedUntil = Duration.zero
    var lastDecrease = Duration.zero
    /// The current series of failures: its kind, and when it began; `nil` if there is none.
    var trouble: (kind: Outage.Kind, since: Duration)?
    var hasSucceeded = false
    var isStopped = false
    var pause = Duration.milliseconds(250)

    var currentLimit: Int { max(1, Int(limit)) }

    mutating func takePosition() -> Bool {
      guard running < currentLimit || isStopped else { return false }
      running += 1
      return true
    }

    /// Adapts the limit to the outcome of a request.
    mutating func judge(_ signal: Signal?, _ now: Duration, attempt: Int) -> Outage? {
      switch signal {
      case nil: return nil
      case .answered:
        trouble = nil
        hasSucceeded = true
        pause = .milliseconds(250)
        if attempt > 1 {
          // Responses that needed retries show that the server is at its limit.
          slowDown(now)
        } else if limit < most {
          limit = min(most, limit + 1 / limit)
        }
        return nil
      case .refused(let wish):
        slowDown(now)
        let wanted = min(wish ?? pause, Governor.longestPause)
        if wish == nil { pause = min(pause * 2, .seconds(20)) }
        pausedUntil = max(pausedUntil, now + wanted)
        return trouble(.refusing, now: now, including: wanted)
      case .unreachable:
        slowDown(now)
        pausedUntil = max(pausedUntil, now + pause)
        pause = min(pause * 2, .seconds(10))
        return trouble(.unreachable, now: now)
      }
    }

    private mutating func slowDown(_ now: Duration) {
      // One decrease per half second: the failures of one round are one signal.
      guard limit > 1, lastDecrease == .zero || now - lastDecrease > .milliseconds(500) else {
        return
      }
      lastDecrease = now
      limit = max(1, limit / 2)
    }

    /// Records a failure. Returns the outage if the run should not wait any longer.
    ///
    /// - Parameter wait: The delay that the server asked for.
    private mutating func trouble(
      _ kind: Outage.Kind, now: Duration, including wait: Duration = .zero
    ) -> Outage? {
      trouble = (kind, trouble?.since ?? now)
      return outage(now).flatMap { $0.duration + wait > allowed(kind) ? $0 : nil }
    }

    func outage(_ now: Duration) -> Outage? {
      trouble.map { trouble in
        let duration = now - trouble.since
        return Outage(
          trouble.kind, duration: duration,
          remaining: max(allowed(trouble.kind) - duration, .zero))
      }
    }

    /// A server that has never responded is most likely a wrong URL, or down.
    private func allowed(_ kind: Outage.Kind) -> Duration {
      hasSucceeded || kind == .refusing ? patience : min(patience, .seconds(5))
    }
  }
}

extension Manifest {
  /// Whether a run follows what responses report about the server's limits: its operations with tables send many
  /// requests of different costs, and neither the manifest nor the pipeline limits them.
  var learnsLimits: Bool {
    rate == nil && operations.contains { $0.tables != nil }
      && !pipeline.entries.contains { $0.traits.contains(.limitsRate) }
  }

  /// The format of these reports, if a document tells it by selecting `rateLimit`.
  var limitFormat: RequestBudget.Kind? {
    operations.contains { $0.tables?.plan.rateLimit.isEmpty == false } ? .github : nil
  }
}

extension Duration {
  var milliseconds: Double { seconds * 1000 }
}

extension Endpoint {
  /// The server of the endpoint, without its path.
  var origin: String { "\(scheme)://\(authority)" }
}

/// A server that does not accept requests, while the run waits for it.
public struct Outage: Sendable, Equatable, CustomStringConvertible {
  /// The kinds of outages.
  public enum Kind: Sendable {
    /// The server cannot be reached.
    case unreachable
    /// The server refuses all requests (429, 503).
    case refusing
  }

  /// What the requests fail with.
  public var kind: Kind
  /// The time since the first failed request.
  public var duration: Duration
  /// The time until the run stops, if no request succeeds.
  public var remaining: Duration

  /// Creates an outage.
  ///
  /// - Parameters:
  ///   - kind: What the requests fail with.
  ///   - duration: The time since the first failed request.
  ///   - remaining: The time until the run stops, if no request succeeds.
  public init(_ kind: Kind, duration: Duration, remaining: Duration) {
    self.kind = kind
    self.duration = duration
    self.remaining = remaining
  }

  /// The outage with the remaining time, such as `server unreachable, retrying for 4m32s`. Without
  /// any left, the run ends with the requests in flight.
  public var description: String {
    let problem =
      switch kind {
      case .unreachable: "server unreachable"
      case .refusing: "server refuses requests"
      }
    return remaining > .zero
      ? "\(problem), retrying for \(Quantity.clockTime(remaining.seconds))"
      : "\(problem), last attempts"
  }
}
