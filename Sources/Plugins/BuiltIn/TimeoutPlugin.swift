import GQLRunLanguage
public import GQLRunPipeline
import GQLRunSupport

/// Bounds the time of an operation, retries and body included.
public struct TimeoutPlugin: Plugin {
  public static let description = PluginDescription(
    name: "timeout",
    summary:
      "Bounds the time of an operation in all, with its retries and the last byte of its body",
    kind: .wrap, stages: [.graphQL],
    options: [
      OptionDescription(
        "total", .duration(in: .milliseconds(1)...(.seconds(86_400))), default: "5m",
        "The longest time from the first attempt until the last result")
    ],
    examples: ["timeout: { total: 30s }"])

  public static func make(
    options: PluginOptions, environment: PluginEnvironment
  ) throws(PluginOptionError) -> PluginInstance {
    .graphQL(TimeoutInterceptor(total: options.duration("total")))
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
    let deadline = OperationTime.of(&request, clock).bound(total)
    let sent = request
    let bound = TimeBound(
      deadline: deadline, clock: clock,
      watch: context.services.shared.value(Watch.self, named: "timeout") { Watch(clock) },
      error: ChainError(
        .transport, .timedOut,
        "\(sent.label) took longer than \(total.optionText) in all; raise the option total of "
          + "timeout, or ask for less at a time", place: context.entryID, delivery: .unknown))
    let stream = try await bound.run { await next(sent) }
    // The first result came with the stream. After one of the server there is only the end, as a rule.
    let mayWait = Locked(false)
    return ResponseStream(pull: {
      guard mayWait.withLock({ $0 }) else {
        let response = try await stream.next()
        mayWait.withLock {
          $0 = response?.source == .cache || sent.operationType == .subscription
        }
        return response
      }
      return try await bound.run { try await stream.next() }
    })
  }
}
