import GQLRunLanguage
public import GQLRunPipeline
import HTTPTypes

/// Sends operations that occur at the same time in one HTTP request.
public struct HTTPBatchPlugin: Plugin {
  /// What `http-batch` does, in one sentence.
  public static let summary = "Sends operations that occur at the same time in one HTTP request"
  /// When to use `http-batch`, where it belongs in a chain, and examples.
  public static let documentation = PluginDocumentation(
    use:
      "Use it for servers that accept arrays of operations and are far away or count requests. It "
      + "delays each operation by `window`, and the slowest operation of a request delays the "
      + "others; with HTTP/2, single requests are often as fast. `gqlrun doctor` shows whether an "
      + "endpoint accepts arrays.",
    position:
      "It belongs directly above `fetch`: plugins between them see one request for several "
      + "operations. Only operations with equal URL and header fields share a request.",
    example: "http-batch: { window: 20ms, max: 5 }",
    narration:
      "Seven queries of the same 20 milliseconds are sent in two requests, one with five and one "
      + "with two. Each gets its own result, is written to the cache by itself, and fails and is "
      + "retried by itself. If the server does not accept arrays, each is sent by itself, and so "
      + "are all later ones. Mutations are sent by themselves. With `mutations: true` they share requests, too, "
      + "but never with queries: before the first ones, two queries of `{ __typename }` find out whether the server "
      + "accepts arrays. Mutations that were sent in an array are not sent again: if the server does not answer with "
      + "one result for each, their outcome is unknown, and they fail.",
    subscriptions: "Passes subscriptions unchanged, each in a request of its own.",
    uploads:
      "Passes requests with files unchanged, each in a request of its own.",
    moreExamples: ["http-batch", "http-batch: { mutations: true }"])

  @Option(.zero ... .seconds(10), "How long the first operation of a request waits for others")
  var window = Duration.milliseconds(10)
  @Option(2...1_000, "Maximum number of operations in one request; servers often accept 10")
  var max = 10
  @Option("Whether mutations share requests, too") var mutations = false

  /// Creates the plugin with the defaults of its options.
  public init() {}

  /// Passes subscriptions and requests with files unchanged.
  public var traits: PluginTraits { [.passesSubscriptions, .passesUploads] }

  /// Surrounds the sending of HTTP requests.
  public var placement: Placement {
    .wrap(
      .http,
      rules: [
        .above(.fetches, code: .stageOrder, reason: "where each request has been sent already")
      ])
  }

  /// Creates the interceptor, with the operations that wait for others.
  public func parts(_ environment: PluginEnvironment) -> [ChainPart] {
    [
      .http(
        HTTPBatchInterceptor(
          queue: HTTPBatchQueue(window: window, most: max), includesMutations: mutations))
    ]
  }
}

private struct HTTPBatchInterceptor: HTTPInterceptor {
  let queue: HTTPBatchQueue
  let includesMutations: Bool

  func intercept(
    _ request: HTTPRequestMessage, context: ChainContext, next: NextHTTP
  ) async throws -> HTTPResponseMessage {
    let support = EndpointSupport.of("arrays of operations", context)
    guard mayShare(request, context), support.isSupported != false else {
      return try await next(request)
    }
    let member = BatchMember(
      request, isMutation: context.operationType == .mutation,
      anonymousHead: anonymousHead(of: request, context))
    await queue.add(member, support: support, services: context.services, next: next)
    switch try await member.answer() {
    case .response(let response): return response
    case .alone: return try await next(request)
    case .failure(let error): throw error
    }
  }

  private func mayShare(_ request: HTTPRequestMessage, _ context: ChainContext) -> Bool {
    guard request.head.method == .post, request.body != nil, request.multipart == nil else {
      return false
    }
    // The response to `@defer` and `@stream` is a stream of its own.
    guard request.head.headerFields[.accept]?.contains("multipart/") != true else { return false }
    return switch context.operationType {
    case .query: true
    case .mutation: includesMutations
    case .subscription: false
    }
  }

  /// The head without the request's own identifiers.
  private func anonymousHead(of request: HTTPRequestMessage, _ context: ChainContext) -> HTTPRequest
  {
    var head = request.head
    for name in context.values[CorrelationID.FieldNames.self] ?? [] {
      head.headerFields[name] = nil
    }
    return head
  }
}
