import GQLRunLanguage
public import GQLRunPipeline
import GQLRunSupport

/// Limits the duration of an operation, including its retries and its body.
public struct TimeoutPlugin: Plugin {
  /// What `timeout` does, in one sentence.
  public static let summary =
    "Limits the duration of an operation, including its retries and the last byte of its body"
  /// When to use `timeout`, where it belongs in a chain, and examples.
  public static let documentation = PluginDocumentation(
    use: "Use it where a caller must have an answer, or an error, by a certain time.",
    position:
      "Put it above `max-retry`, so that it covers all attempts. The time limit of a single "
      + "exchange is an option of `fetch`.",
    example: "timeout: { total: 30s }",
    narration:
      "An operation that has not ended after 30 seconds, however many attempts it made, fails "
      + "with the code timed_out, and its request is cancelled.",
    subscriptions:
      "Limits the time until the connection is open. Each attempt to open a lost connection again "
      + "has the whole time.",
    uploads:
      "The limit includes the time for sending the files, in all attempts.")

  @Option(
    .milliseconds(1) ... .seconds(86_400),
    "Longest time from the start of the first attempt to the last result")
  package var total = Duration.seconds(300)

  /// Creates the plugin with the defaults of its options.
  public init() {}

  /// Surrounds operations, anywhere in the GraphQL stage.
  public var placement: Placement { .wrap(.graphQL) }

  /// Creates the interceptor that enforces the deadline.
  public func parts(_ environment: PluginEnvironment) -> [ChainPart] {
    [.graphQL(TimeoutInterceptor(total: total))]
  }
}

private struct TimeoutInterceptor: GraphQLInterceptor {
  let total: Duration

  func intercept(
    _ request: GraphQLRequest, context: ChainContext, next: NextGraphQL
  ) async throws -> ResponseStream {
    var request = request
    let total = request.timeout ?? total
    let clock = context.services.clock
    let time = OperationTime.of(&request, clock)
    let deadline = time.bound(total)
    let sent = request
    let bound = DeadlineScope(
      deadline: deadline, clock: clock,
      timer: context.services.shared.value(DeadlineTimer.self, named: "timeout") {
        DeadlineTimer(clock)
      },
      error: ChainError(
        .transport, code: .timedOut,
        message:
          "\(sent.label) took longer than \(total.optionText) in total; raise --timeout, or the "
          + "option total of timeout, or request less data at a time", entry: context.entryID,
        delivery: .unknown))
    let stream = try await bound.run { await next(sent) }
    // The connection is open, or its failure is the stream's first element.
    guard sent.operationType != .subscription else {
      time.meet()
      return stream
    }
    // The stream already contains the first result. After a complete result of the server, only the end
    // follows, which needs no time limit; nor does a part that has arrived.
    let mayWait = Locked(false)
    return ResponseStream(pull: {
      let response =
        mayWait.withLock { $0 }
        ? try await bound.run { try await stream.next() } : try await stream.next()
      if let response {
        let isNextThere = response.isComplete || response.part?.isFollowed == true
        mayWait.withLock { $0 = response.source == .cache || !isNextThere }
      }
      return response
    })
  }
}
