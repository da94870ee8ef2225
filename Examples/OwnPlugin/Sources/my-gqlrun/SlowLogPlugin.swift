import GQLRun

/// Logs operations that take longer than a threshold.
struct SlowLogPlugin: Plugin {
  static let summary = "Logs operations that take longer than a threshold"
  static let documentation = PluginDocumentation(
    use: "Use it to find the operations that users wait for.",
    position: "Put it above `max-retry`: the time then includes retries and their delays.",
    example: "slow-log: { threshold: 500ms }",
    narration:
      "An operation whose result arrives after 600 ms logs a warning with its name and the time. One "
      + "that takes 20 ms logs nothing.",
    subscriptions: "The time of each event is that since the beginning of the subscription.")

  @Option(.zero ... .seconds(3_600), "Longest time that is not logged")
  var threshold = Duration.seconds(1)

  var placement: Placement {
    .wrap(
      .graphQL,
      rules: [.above(.boundsRestarts, code: "SLOW1", reason: "too late to measure retries")])
  }

  func parts(_ environment: PluginEnvironment) -> [ChainPart] {
    [.graphQL(SlowLogInterceptor(threshold: threshold))]
  }
}

private struct SlowLogInterceptor: GraphQLInterceptor {
  /// When the operation began. It is in the context of the request, because a retry calls all
  /// interceptors again.
  private enum StartKey: RequestContextKey {
    typealias Value = Duration
  }

  let threshold: Duration

  func intercept(
    _ request: GraphQLRequest, context: ChainContext, next: NextGraphQL
  ) async throws -> ResponseStream {
    let (clock, logger, label) = (context.services.clock, context.services.logger, request.label)
    let start = request.context[StartKey.self] ?? clock.now()
    var request = request
    request.context[StartKey.self] = start
    return await next(request)
      .map { response in
        let time = clock.now() - start
        if time > threshold { logger.warning("\(label) took \(time)") }
        return response
      }
      .mapErrors { error in
        let time = clock.now() - start
        if time > threshold { logger.warning("\(label) failed after \(time)") }
        throw error
      }
  }
}
