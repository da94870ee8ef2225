import GQLRunJSON
public import GQLRunPipeline
import HTTPTypes
import Logging

/// Sends no more than a server takes: at a fixed rate, and as the server's own accounts say.
public struct RateLimitPlugin: Plugin {
  public static let description = PluginDescription(
    name: "rate-limit",
    summary: "Holds requests back to a fixed rate, and to what the server says is left",
    kind: .wrap, stages: [.http],
    options: [
      OptionDescription(
        "requests", .int(in: 1...1_000_000), "How many requests may begin in the time `per`"),
      OptionDescription(
        "per", .duration(in: .milliseconds(1)...(.seconds(86_400))), default: "1s",
        "The time that `requests` is counted in"),
      OptionDescription(
        "burst", .int(in: 1...1_000_000), default: "1",
        "How many requests may begin at once after a pause"),
      OptionDescription(
        "budget", .choice(RequestBudget.Kind.allCases.map(\.rawValue)), default: "headers",
        "Whose account of what is left is heeded: header fields alone, or also GitHub's `rateLimit` "
          + "in the data or Shopify's `cost` in the extensions"),
      OptionDescription(
        "reserve", .int(in: 0...1_000_000), default: "0",
        "How much of the server's budget is left for others"),
      OptionDescription(
        "max_wait", .duration(in: .zero...(.seconds(86_400))), default: "5m",
        "The longest a request is held back; when it would be longer, the operation fails"),
      OptionDescription(
        "credential", .string, default: "",
        "Whose budget it is; entries with one name and one server share it"),
    ],
    examples: [
      "rate-limit: { requests: 10, per: 1s, burst: 5 }", "rate-limit: { budget: shopify }",
    ])

  public static func make(
    options: PluginOptions, environment: PluginEnvironment
  ) throws(PluginOptionError) -> PluginInstance {
    let rate = options.int(ifGiven: "requests").map {
      RequestBudget.Rate(
        interval: options.duration("per") / $0, burst: options.int("burst"))
    }
    return .http(
      RateLimitInterceptor(
        rate: rate, kind: options.choice("budget"), reserve: options.int("reserve"),
        maxWait: options.duration("max_wait"), credential: options.string("credential")))
  }
}

private struct RateLimitInterceptor: HTTPInterceptor {
  let rate: RequestBudget.Rate?
  let kind: RequestBudget.Kind
  let reserve: Int
  let maxWait: Duration
  let credential: String

  /// How much of a body is read for what it says about costs.
  private static let keptBody = 1 << 20

  func intercept(
    _ request: HTTPRequestMessage, context: ChainContext, next: NextHTTP
  ) async throws -> HTTPResponseMessage {
    let services = context.services
    let origin = "\(request.head.scheme ?? "")://\(request.head.authority ?? "")"
    let budget = RequestBudget.shared(in: services, origin: origin, credential: credential)
    let cost = try await admission(budget, origin, context)
    let response: HTTPResponseMessage
    do {
      response = try await next(request)
    } catch {
      budget.noteEnd(cost: cost)
      throw error
    }
    let clock = services.clock
    budget.note(response.head, now: clock.now(), time: services.secondsSince1970())
    guard kind != .headers else {
      budget.noteEnd(cost: cost)
      return response
    }
    let (kind, label, time) = (kind, context.operationLabel, services.secondsSince1970)
    return response.observed(keeping: Self.keptBody) { seen in
      budget.noteEnd(cost: cost)
      guard seen.isComplete, let value = try? JSONValue(parsing: seen.bytes) else { return }
      budget.note(value, kind, label: label, now: clock.now(), time: time())
    }
  }

  /// Waits until the request may be sent; returns what it is expected to cost.
  private func admission(
    _ budget: RequestBudget, _ origin: String, _ context: ChainContext
  ) async throws -> Double {
    let clock = context.services.clock
    let end = clock.now() + maxWait
    while true {
      let label = context.operationLabel
      switch budget.admit(label, rate, reserve: .count(reserve), now: clock.now(), until: end) {
      case .granted(let delay, let cost):
        guard delay > .zero else { return cost }
        do {
          try await clock.sleep(for: delay)
        } catch {
          budget.noteEnd(cost: cost)
          throw error
        }
        return cost
      case .later(let delay):
        context.services.logger.debug("\(label): held back for \(delay.milliseconds)")
        try await clock.sleep(for: delay)
      case .tooLong(let delay, let reason):
        throw ChainError(
          .transport, .rateLimited,
          "\(label) was not sent: \(origin) \(reason), and takes requests again in "
            + "\(delay.wholeSeconds.optionText), later than the option max_wait of rate-limit allows",
          place: context.entryID, delivery: .notSent)
      }
    }
  }
}

extension Duration {
  /// Rounded up.
  fileprivate var wholeSeconds: Duration {
    .seconds(components.seconds + (components.attoseconds > 0 ? 1 : 0))
  }
}

extension ChainError.Code {
  /// A request held back for longer than somebody wants to wait.
  public static let rateLimited = Self(rawValue: "rate_limited")
}
