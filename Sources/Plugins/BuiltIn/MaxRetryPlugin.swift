public import GQLRunPipeline
import HTTPTypes
import Logging

/// Retries what may succeed the next time, and bounds the retries that other plugins ask for.
public struct MaxRetryPlugin: Plugin {
  public static let description = PluginDescription(
    name: "max-retry",
    summary: "Retries failures that may pass, and bounds every retry of the chain",
    kind: .wrap, stages: [.graphQL], roles: [.boundsRestarts],
    options: [
      OptionDescription(
        "max_retries", .int(in: 0...24), default: "3", "How many attempts may follow the first"),
      OptionDescription(
        "on", .list(.choice(["network", "429", "502", "503", "504"])),
        default: "[network, 429, 502, 503, 504]", "What is retried without being asked"),
      OptionDescription(
        "backoff",
        .object([
          OptionDescription(
            "base", .duration(in: .zero...(.seconds(3_600))), default: "300ms",
            "The delay before the first retry"),
          OptionDescription(
            "factor", .double(in: 1...10), default: "2", "What each delay grows by"),
          OptionDescription(
            "max", .duration(in: .zero...(.seconds(3_600))), default: "20s", "The longest delay"),
          OptionDescription(
            "jitter", .choice(["none", "full", "equal"]), default: "equal",
            "How much of a delay is left to chance: nothing, all, or half of it"),
        ]), default: "{}", "How long to wait before a retry"),
      OptionDescription(
        "respect_retry_after", .bool, default: "true",
        "Whether the server's Retry-After is waited for when it is longer"),
      OptionDescription(
        "retry_after_max", .duration(in: .zero...(.seconds(86_400))), default: "60s",
        "The longest Retry-After that is waited for; a longer one ends the retries"),
      OptionDescription(
        "budget", .percentage, default: "10%",
        "The share of operations that may be retried when many are run; the first ten retries are "
          + "free"),
      OptionDescription(
        "mutations", .choice(["unsent", "always"]), default: "unsent",
        "Whether mutations are retried only when they surely were not sent, or always"),
    ],
    examples: [
      "max-retry: { max_retries: 5, backoff: { base: 1s, max: 1m } }",
      "max-retry: { on: [network], respect_retry_after: false }",
    ])

  public static func make(
    options: PluginOptions, environment: PluginEnvironment
  ) throws(PluginOptionError) -> PluginInstance {
    let backoff = options.object("backoff")
    return .graphQL(
      MaxRetryInterceptor(
        maxRetries: options.int("max_retries"),
        triggers: Set(options.strings("on")),
        backoff: Backoff(
          base: backoff.duration("base"), factor: backoff.double("factor"),
          max: backoff.duration("max"),
          jitter: Backoff.Jitter(rawValue: backoff.string("jitter")) ?? .equal),
        respectsRetryAfter: options.bool("respect_retry_after"),
        retryAfterMax: options.duration("retry_after_max"),
        budget: RetryBudget(share: options.percentage("budget")),
        retriesMutations: options.string("mutations") == "always"))
  }
}

/// How long to wait before a retry: `min(base * factor^n, max)` before retry `n`, counted from 0, with jitter.
struct Backoff: Sendable {
  enum Jitter: String, Sendable {
    case none, full, equal
  }

  var base: Duration
  var factor: Double
  var max: Duration
  var jitter: Jitter

  /// - Parameter random: From 0 up to, but not including, 1.
  func delay(beforeRetry number: Int, random: Double) -> Duration {
    var delay = base
    for _ in 0..<number where delay < max { delay = delay * factor }
    delay = min(delay, max)
    switch jitter {
    case .none: return delay
    case .full: return delay * random
    case .equal: return delay * (0.5 + random / 2)
    }
  }
}

private struct MaxRetryInterceptor: GraphQLInterceptor {
  let maxRetries: Int
  let triggers: Set<String>
  let backoff: Backoff
  let respectsRetryAfter: Bool
  let retryAfterMax: Duration
  /// Shared by all operations of the pipeline.
  let budget: RetryBudget
  let retriesMutations: Bool

  func intercept(
    _ request: GraphQLRequest, context: ChainContext, next: NextGraphQL
  ) async throws -> ResponseStream {
    // What plugins with a budget of their own asked for does not count.
    let attempt = request.countedAttempt
    guard attempt <= maxRetries + 1 else {
      throw ChainError(
        .chain, .tooManyAttempts,
        "\(request.label) failed after \(maxRetries) \(maxRetries == 1 ? "retry" : "retries"), the "
          + "most that max-retry allows", place: context.entryID, cause: context.retryCause)
    }
    if context.attempt == 1 { budget.noteOperation() }
    var request = request
    let clock = context.services.clock
    let time = OperationTime.of(&request, clock)
    let sent = request
    return await next(sent).mapErrors { error in
      guard attempt <= maxRetries, var failure = error as? ChainError,
        isTriggered(by: failure), maySendAgain(sent, failure)
      else { throw error }
      let delay = delay(before: attempt - 1, failure, context)
      if let asked = delay.tooLong {
        failure.message +=
          "; the server wants to be left alone for \(asked.optionText), longer than the option "
          + "retry_after_max of max-retry"
        throw failure
      }
      if let deadline = time.deadline, clock.now() + delay.wait >= deadline { throw error }
      guard budget.takeRetry() else {
        failure.message += "; not tried again, as retries have used up the budget of max-retry"
        throw failure
      }
      context.services.logger.info(
        "↻ \(sent.label): retry \(attempt) of \(maxRetries) in \(delay.wait.milliseconds)",
        metadata: ["cause": "\(failure.code.rawValue)"])
      try await clock.sleep(for: delay.wait)
      throw ChainRetry(sent, cause: error)
    }
  }

  private func isTriggered(by error: ChainError) -> Bool {
    guard error.isTransient else { return false }
    return triggers.contains(error.http.map { String($0.status) } ?? "network")
  }

  /// A mutation goes out again only when it was never sent, is marked as idempotent, or the file says so.
  private func maySendAgain(_ request: GraphQLRequest, _ error: ChainError) -> Bool {
    request.isIdempotent || retriesMutations || error.delivery == .notSent
  }

  /// The time to wait, and the one that the server asks for when that is too long.
  private func delay(
    before number: Int, _ error: ChainError, _ context: ChainContext
  ) -> (wait: Duration, tooLong: Duration?) {
    let own = backoff.delay(beforeRetry: number, random: context.services.random())
    guard respectsRetryAfter, let field = error.http?.headers[.retryAfter],
      let asked = RetryAfter.delay(field, now: context.services.secondsSince1970())
    else { return (own, nil) }
    return asked > retryAfterMax ? (own, asked) : (max(own, asked), nil)
  }
}
