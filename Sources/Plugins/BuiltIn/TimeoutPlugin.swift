public import Pipeline

/// Bounds the time of an operation, retries and body included.
public struct TimeoutPlugin: Plugin {
  public static let description = PluginDescription(
    name: "timeout",
    summary: "Bounds the time of an operation in all, with its retries and the last byte of its body",
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

  /// When the operation must have ended, on the services' clock. A retry carries it along.
  private enum Deadline: RequestContextKey {
    typealias Value = Duration
  }

  func intercept(
    _ request: GraphQLRequest, context: ChainContext, next: NextGraphQL
  ) async throws -> ResponseStream {
    var request = request
    let total = request.timeout ?? total
    let clock = context.services.clock
    let deadline = request.context[Deadline.self] ?? clock.now() + total
    request.context[Deadline.self] = deadline
    let (sent, label, entryID) = (request, request.label, context.entryID)
    let bounded: @Sendable (@escaping @Sendable () async throws -> ResponseStreamStep) async throws
      -> ResponseStreamStep = { work in
        try await withThrowingTaskGroup(of: ResponseStreamStep?.self) { group in
          group.addTask { try await work() }
          group.addTask {
            try await clock.sleep(for: max(deadline - clock.now(), .zero))
            return nil
          }
          defer { group.cancelAll() }
          if let first = try await group.next(), let step = first { return step }
          throw ChainError(
            .transport, .timedOut,
            "\(label) took longer than \(total.optionText) in all; raise the option total of timeout, "
              + "or ask for less at a time", place: entryID, delivery: .unknown)
        }
      }
    guard case .stream(let stream) = try await bounded({ .stream(await next(sent)) }) else {
      return ResponseStream()
    }
    return ResponseStream(pull: {
      guard case .response(let response) = try await bounded({ .response(try await stream.next()) })
      else { return nil }
      return response
    })
  }
}

private enum ResponseStreamStep: Sendable {
  case stream(ResponseStream)
  case response(GraphQLResponse?)
}
