import GQLRunLanguage
public import GQLRunPipeline
import GQLRunSupport
import HTTPTypes
import Logging

/// Retries transient failures, and bounds the retries that other plugins request.
public struct MaxRetryPlugin: Plugin {
  /// What `max-retry` does, in one sentence.
  public static let summary = "Retries transient failures, and bounds every retry of the chain"
  /// When to use `max-retry`, where it belongs in a chain, and examples.
  public static let documentation = PluginDocumentation(
    use:
      "Use it for servers that are overloaded or unreachable for a moment, and with every plugin "
      + "that starts the chain again, such as `apq` and `token-refresh`.",
    position:
      "It belongs above all plugins that start the chain again, whose retries it bounds, and "
      + "above the cache read.",
    example: "max-retry: { max_retries: 5, backoff: { base: 1s, max: 1m } }",
    narration:
      "A query that the server refuses with 503 is sent again after about 1, 2, 4, 8 and 16 "
      + "seconds; the caller receives the sixth failure, or the result, if its body is a GraphQL response. A longer "
      + "Retry-After of the server is respected. A mutation is retried only if it certainly was not sent before.",
    subscriptions:
      "Opens a lost connection again, and announces a gap before further events. `max_retries` limits "
      + "the retries before the first connection; after it, the time without an event is limited "
      + "(`patience` of `subscriptions`, 5 minutes by default), and the delays are at least a second after "
      + "`max_retries` retries. A connection of 30 seconds resets the delay. With `max_retries: 0`, a lost "
      + "connection is an error. `budget` does not limit subscriptions.",
    uploads:
      "Each attempt reads the files again. A file that has changed in between is an error.",
    moreExamples: ["max-retry: { on: [network], respect_retry_after: false }"])

  @Option(0...24, "Maximum number of retries of one operation") package var maxRetries = 3
  @Option("Failures that are retried even if no plugin requests it") var on = Trigger.allCases
  @Option("Delays between attempts") var backoff = Backoff()
  @Option("Whether a longer Retry-After of the server is respected") var respectRetryAfter = true
  @Option(
    .zero ... .seconds(86_400),
    "Longest Retry-After that is respected; a longer one ends the retries")
  var retryAfterMax = Duration.seconds(60)
  @Option(
    "Maximum share of queries and mutations that are retried; the first ten retries are free")
  var budget = Percentage(fraction: 0.1)
  @Option("Whether mutations are retried only if they certainly were not sent, or always")
  var mutations = Mutations.unsent

  enum Trigger: String, CaseIterable, ExpressibleByOption {
    case network
    case tooManyRequests = "429"
    case badGateway = "502"
    case unavailable = "503"
    case gatewayTimeout = "504"
  }

  enum Mutations: String, CaseIterable, ExpressibleByOption { case unsent, always }

  /// Creates the plugin with the defaults of its options.
  public init() {}

  /// Bounds restarts of the chain; with `mutations: always`, may send mutations twice.
  public var traits: PluginTraits {
    mutations == .always ? [.boundsRestarts, .repeatsMutations] : .boundsRestarts
  }

  /// Surrounds operations; with `mutations: always`, requires a plugin that sends idempotency keys.
  public var placement: Placement {
    .wrap(
      .graphQL,
      rules: mutations == .always
        ? [
          .requires(
            .sendsIdempotencyKeys, code: .retriedMutations,
            message: "{self} retries mutations, and the server cannot recognize a repeated one",
            remedy:
              "add `- \(CorrelationIDPlugin.entryWithKeys)` above it, or leave out `mutations`")
        ] : [])
  }

  /// Creates the interceptor that retries, with the retry budget that operations of this entry
  /// share.
  public func parts(_ environment: PluginEnvironment) -> [ChainPart] {
    [.graphQL(MaxRetryInterceptor(self))]
  }
}

/// The backoff: `min(base * factor^n, max)` before retry `n`, counted from 0, with jitter.
package struct Backoff: OptionSection {
  /// How much of a delay is random: nothing, all, or half of it.
  package enum Jitter: String, CaseIterable, ExpressibleByOption {
    case none, full, equal
  }

  @Option(.zero ... .seconds(3_600), "Delay before the first retry")
  var base = Duration.milliseconds(300)
  @Option(1...10, "Factor by which each delay exceeds the one before") var factor = 2.0
  @Option(.zero ... .seconds(3_600), "Longest delay") var max = Duration.seconds(20)
  @Option("How much of a delay is random: nothing, all, or half of it")
  var jitter = Jitter.equal

  package init() {}

  /// The delays of a server that closes each connection soon.
  package static let ofShortConnections = {
    var backoff = Backoff()
    (backoff.base, backoff.max) = (.milliseconds(250), .seconds(30))
    return backoff
  }()

  /// The delay before a retry.
  ///
  /// - Parameters:
  ///   - number: The number of the retry, from 0.
  ///   - random: A random number in `0..<1`.
  package func delay(beforeRetry number: Int, random: Double) -> Duration {
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

/// A class, so that what an operation keeps of it is one reference.
private final class MaxRetryInterceptor: GraphQLInterceptor {
  private let options: MaxRetryPlugin
  /// Shared by all operations of the pipeline.
  private let budget: RetryBudget

  init(_ options: MaxRetryPlugin) {
    self.options = options
    budget = RetryBudget(share: options.budget.fraction)
  }

  func intercept(
    _ request: GraphQLRequest, context: ChainContext, next: NextGraphQL
  ) async throws -> ResponseStream {
    // Without the retries of plugins that have a limit of their own.
    let (attempt, maxRetries) = (request.countedAttempt, options.maxRetries)
    guard attempt <= maxRetries + 1 else {
      throw ChainError(
        .chain, code: .tooManyAttempts,
        message:
          "\(request.label) failed after \(Quantity.count(maxRetries, "retry", plural: "retries")), the "
          + "maximum of the option max_retries of max-retry", entry: context.entryID,
        cause: context.retryCause)
    }
    if request.operationType != .subscription, context.attempt == 1 { budget.noteOperation() }
    var request = request
    let time = OperationTime.of(&request, context.services.clock)
    let sent = SentRequest(request, context: context, time: time)
    let results = await next(request)
    return ResponseStream(pull: { try await self.next(results, sent) })
  }

  private func next(
    _ results: ResponseStream, _ sent: SentRequest
  ) async throws -> GraphQLResponse? {
    let response: GraphQLResponse?
    do {
      response = try await results.next()
    } catch {
      throw try await failure(after: error, sent)
    }
    guard let response else { return nil }
    return try await checked(response, sent)
  }

  /// A request that was sent. An object, so that a subscription that waits refers to it, instead of having all of it in its
  /// frame; for the same reason, the functions below are not inlined.
  private final class SentRequest: Sendable {
    let request: GraphQLRequest
    let context: ChainContext
    let time: OperationTime

    init(_ request: GraphQLRequest, context: ChainContext, time: OperationTime) {
      self.request = request
      self.context = context
      self.time = time
    }
  }

  /// Sends a request again if its response refuses it, and may be retried; otherwise returns the response.
  @inline(never)
  private func checked(
    _ response: GraphQLResponse, _ sent: SentRequest
  ) async throws -> GraphQLResponse {
    guard let refusal = response.refusal else { return response }
    let reason = try await unretried(refusal, sent).message
    if reason != refusal.message {
      sent.context.services.logger.warning("\(sent.request.label): \(reason)")
    }
    return response
  }

  @inline(never)
  private func failure(after error: any Error, _ sent: SentRequest) async throws -> any Error {
    guard let error = error as? ChainError else { return error }
    return try await unretried(error, sent)
  }

  /// Waits and sends a request again, or returns its failure, with the reason why it is not retried.
  ///
  /// - Throws: ``ChainRetry``, or `CancellationError`.
  private func unretried(_ error: ChainError, _ sent: SentRequest) async throws -> ChainError {
    let (request, context) = (sent.request, sent.context)
    guard isTriggered(by: error), maySendAgain(request, error) else { return error }
    var failure = error
    let (attempt, maxRetries) = (request.countedAttempt, options.maxRetries)
    let clock = context.services.clock
    let reconnection = request.context[Reconnection.self]
    let lost = reconnection?.next(at: clock.now())
    guard lost == nil ? attempt <= maxRetries : maxRetries > 0 else { return error }
    let retry = lost?.retry ?? attempt - 1
    let delay = delay(before: retry, error, context, rest: lost?.rest)
    if let asked = delay.tooLong {
      failure.message +=
        "; the server asked for a delay of \(asked.wholeSeconds.optionText) (Retry-After), longer than the "
        + "option retry_after_max of max-retry"
      return failure
    }
    if let lost {
      // A subscription that was connected has its own limit of time.
      guard lost.rest > .zero, delay.wait <= lost.rest else { return error }
    } else if let deadline = sent.time.deadline, clock.now() + delay.wait >= deadline {
      return error
    }
    // A subscription that connects again replaces its connection, and adds no load.
    guard request.operationType == .subscription || budget.takeRetry() else {
      failure.message += "; not retried, because the option budget of max-retry is used up"
      return failure
    }
    context.services.logger.info(
      "↻ \(request.label): retry \(retry + 1)\(lost == nil ? " of \(maxRetries)" : "") in \(delay.wait.shown)",
      metadata: Self.metadata(of: error))
    if let lost, retry == maxRetries {
      // From here on it may be silent for minutes.
      context.services.logger.warning(
        "\(request.label) has lost its connection, and tries to connect again for \(lost.rest.shown): \(error.message)"
      )
    }
    request.context[SubscriptionHandle.self]?
      .wait(until: context.services.secondsSince1970() + delay.wait / .seconds(1), after: error)
    try await clock.sleep(for: delay.wait)
    if lost != nil { reconnection?.permitRetry() }
    throw ChainRetry(request, cause: error)
  }

  private static func metadata(of failure: ChainError) -> Logger.Metadata {
    var metadata: Logger.Metadata = ["cause": "\(failure.code.rawValue)"]
    if let status = failure.http?.status { metadata["status"] = "\(status)" }
    return metadata
  }

  private func isTriggered(by error: ChainError) -> Bool {
    guard error.isTransient else { return false }
    let trigger = error.http.map { String($0.status) } ?? "network"
    return options.on.contains { $0.rawValue == trigger }
  }

  /// Whether a retry cannot execute the request twice, or the file or the request permits it.
  private func maySendAgain(_ request: GraphQLRequest, _ error: ChainError) -> Bool {
    request.isIdempotent || options.mutations == .always || error.delivery == .notSent
  }

  /// The delay before a retry, and the delay that the server asked for if it is too long.
  ///
  /// - Parameter rest: The rest of a subscription's patience, at whose end is a last attempt; `nil` if it was not
  ///   connected.
  private func delay(
    before number: Int, _ error: ChainError, _ context: ChainContext, rest: Duration?
  ) -> (wait: Duration, tooLong: Duration?) {
    var own = options.backoff.delay(beforeRetry: number, random: context.services.random())
    if let rest {
      if number >= options.maxRetries { own = max(own, Reconnection.leastDelay) }
      own = min(own, max(rest, .zero))
    }
    guard options.respectRetryAfter, let fields = error.http?.headers,
      let asked = RetryAfter.delay(in: fields, now: context.services.secondsSince1970())
    else { return (own, nil) }
    return asked > options.retryAfterMax ? (own, asked) : (max(own, asked), nil)
  }
}
