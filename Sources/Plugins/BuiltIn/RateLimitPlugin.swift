import GQLRunJSON
import GQLRunLanguage
public import GQLRunPipeline
import GQLRunSupport
import HTTPTypes
import Logging

/// Delays requests to keep a fixed rate, and to stay within the rate limit that the server reports.
public struct RateLimitPlugin: Plugin {
  /// What `rate-limit` does, in one sentence.
  public static let summary =
    "Delays requests to keep a fixed rate, and to stay within the server's rate limit"
  /// When to use `rate-limit`, where it belongs in a chain, and examples.
  public static let documentation = PluginDocumentation(
    use: "Use it for servers that limit how many requests a client may send.",
    position:
      "It belongs between the cache read and the fetch, so that answers from the cache cost "
      + "nothing and every attempt counts.",
    example: "rate-limit: { requests: 10, per: 1s, burst: 5 }",
    narration:
      "After a pause, five requests start at once; then one every 100 ms. A response that says "
      + "that the limit is exhausted delays the following requests until the server accepts "
      + "them again.",
    subscriptions:
      "Counts each connection as one request. Events cost nothing, and costs in them are "
      + "not read.",
    moreExamples: ["rate-limit: { budget: shopify }"])

  @Option(
    1...1_000_000,
    "Maximum number of requests that start in the time `per`") var requests: Int?
  @Option(.milliseconds(1) ... .seconds(86_400), "Period of `requests`")
  var per = Duration.seconds(1)
  @Option(
    1...1_000_000,
    "Number of requests that may start at once after an idle period") var burst = 1
  @Option(
    "Where the server reports its remaining budget: in header fields only, or also in GitHub's "
      + "`rateLimit` or Shopify's `cost`")
  var budget = RequestBudget.Kind.headers
  @Option(
    0...1_000_000,
    "Part of the server's budget that is reserved for other clients") var reserve =
    0
  @Option(
    .zero ... .seconds(86_400), "Longest delay of a request; a longer one fails the operation")
  var maxWait = Duration.seconds(300)
  @Option(
    "Name of the budget; entries with equal names share the budget of a server") var credential = ""

  /// Creates the plugin with the defaults of its options.
  public init() {}

  /// Limits the rate of requests.
  public var traits: PluginTraits { .limitsRate }

  /// Checks that `per` and `burst` belong to a number of requests.
  ///
  /// - Throws: `OptionError` for one of them without `requests`.
  public func validate() throws(OptionError) {
    guard requests == nil, per != .seconds(1) || burst != 1 else { return }
    throw $requests.error(
      "`per` and `burst` have no effect without `requests`",
      remedy: "add how many requests may start in the time `per`: `requests: 10`")
  }

  /// Surrounds HTTP exchanges, anywhere in the HTTP stage.
  public var placement: Placement { .wrap(.http) }

  /// Creates the interceptor that delays requests.
  public func parts(_ environment: PluginEnvironment) -> [ChainPart] {
    [.http(RateLimitInterceptor(options: self))]
  }
}

private struct RateLimitInterceptor: HTTPInterceptor {
  let options: RateLimitPlugin

  /// The number of bytes of a body that are searched for costs.
  private static let keptBody = 1 << 20

  func intercept(
    _ request: HTTPRequestMessage, context: ChainContext, next: NextHTTP
  ) async throws -> HTTPResponseMessage {
    let services = context.services
    let origin = "\(request.head.scheme ?? "")://\(request.head.authority ?? "")"
    let budget = RequestBudget.shared(
      in: services, origin: origin, credential: options.credential)
    let ticket = try await admission(budget, origin: origin, context: context)
    let response: HTTPResponseMessage
    do {
      response = try await next(request)
    } catch let error as ChainError where error.delivery == .notSent && !error.isNetworkFailure {
      budget.noteUnsent(ticket)
      throw error
    } catch {
      budget.noteEnd(ticket)
      throw error
    }
    let clock = services.clock
    budget.note(
      response.head, of: ticket, now: clock.now(), time: services.secondsSince1970())
    // The body of a subscription has no end for its cost to be read at.
    let (kind, time) = (options.budget, services.secondsSince1970)
    guard kind != .headers, context.operationType != .subscription else {
      budget.noteEnd(ticket)
      return response
    }
    return response.observed(keeping: Self.keptBody) { seen in
      if seen.isComplete, let value = try? JSONValue(parsing: seen.bytes) {
        budget.note(value, kind, of: ticket, now: clock.now(), time: time())
      }
      budget.noteEnd(ticket)
    }
  }

  /// Waits until the request may be sent.
  private func admission(
    _ budget: RequestBudget, origin: String, context: ChainContext
  ) async throws -> RequestBudget.Ticket {
    let clock = context.services.clock
    let end = clock.now() + options.maxWait
    let label = context.operationLabel
    let rate = options.requests.map {
      RequestBudget.Rate(interval: options.per / $0, burst: options.burst)
    }
    while true {
      switch budget.admit(
        label, rate, reserve: .count(options.reserve), now: clock.now(), until: end)
      {
      case .granted(let delay, let ticket):
        guard delay > .zero else { return ticket }
        do {
          try await clock.sleep(for: delay)
        } catch {
          budget.noteUnsent(ticket)
          throw error
        }
        return ticket
      case .later(let delay):
        context.services.logger.debug("\(label): delayed by \(delay.shown) (rate-limit)")
        try await clock.sleep(for: delay)
      case .tooLong(let delay, let reason):
        throw ChainError(
          .transport, code: .rateLimited,
          message: "\(label) was not sent: \(origin) \(reason), and accepts requests again in "
            + "\(delay.wholeSeconds.optionText), later than the option max_wait of rate-limit "
            + "allows",
          entry: context.entryID, delivery: .notSent)
      }
    }
  }
}

extension ChainError.Code {
  /// The rate limit would delay the request for longer than `max_wait` allows.
  public static let rateLimited = Self(rawValue: "rate_limited")
}
