import GQLRunCache
import GQLRunJSON
public import GQLRunPipeline
import HTTPTypes

/// Parses responses as they arrive, into records and into the result.
public struct ParsePlugin: Plugin {
  /// What `parse` does, in one sentence.
  public static let summary =
    "Parses JSON responses as they arrive, into records and into the result, in one pass"
  /// When to use `parse`, where it belongs in a chain, and examples.
  public static let documentation = PluginDocumentation(
    use: "Every chain that receives responses has one.",
    position:
      "It belongs below `fetch` and `response-code`, and above `cache-write`, which receives its "
      + "records.",
    example: "parse: { max_string: 64MiB }",
    narration:
      "The response is normalized while it arrives, so that a body of any size needs little "
      + "memory. A string longer than 64 MiB ends the operation with an error, and nothing is "
      + "written.",
    subscriptions:
      "Parses each event into records and a result of its own, while it arrives. "
      + "`max_event` limits its size.",
    moreExamples: ["parse", "parse: { check_shape: true }"])

  @Option(1...2_000, "How deep objects and lists may nest") var maxDepth = 512
  @Option(
    ByteSize(bytes: 1)...ByteSize(bytes: 1 << 30), "Longest string, and largest custom scalar")
  var maxString = ByteSize.mebibytes(16)
  @Option(
    "Whether responses are checked against the pipeline's schema: a null or a value that it "
      + "forbids is an error")
  var checkShape = false

  @Option(
    ByteSize(bytes: 1 << 10)...ByteSize(bytes: 1 << 40),
    "Size limit of one event of a subscription, and of each later part of a response with @defer or "
      + "@stream")
  var maxEvent = ByteSize.mebibytes(64)

  /// Creates the plugin with the defaults of its options.
  public init() {}

  /// Parses responses.
  public var traits: PluginTraits { .parses }

  /// One per chain, in the parsing stage below the fetch.
  public var placement: Placement {
    .step(
      .parsing,
      rules: [
        .once(.parses, code: .parse, verb: "parses"),
        .below(.fetches, code: .parse, reason: "which receives what it parses"),
      ])
  }

  /// Creates the interceptor that normalizes responses as they arrive.
  public func parts(_ environment: PluginEnvironment) -> [ChainPart] {
    [.parsing(ParseInterceptor(plugin: self))]
  }
}

private struct ParseInterceptor: ResponseParsingInterceptor {
  let plugin: ParsePlugin

  func parse(
    _ response: HTTPResponseMessage, for request: GraphQLRequest,
    target: CacheWriteTarget?, context: ChainContext
  ) async throws -> ResponseStream {
    let framing = try EventFraming(of: response, for: request, location: context.entryID)
    if framing == nil {
      try await ResponseCheck.requireJSON(response, location: context.entryID)
    }
    var options = ResponseNormalizer.Options()
    let (depth, string, event) = (plugin.maxDepth, plugin.maxString.bytes, plugin.maxEvent.bytes)
    options.limits = ResponseLimits(
      json: JSONLimits(maxDepth: Int32(depth), maxStringBytes: string), maxOpaqueBytes: string)
    options.checksShape = plugin.checkShape
    // The time of the head: the data is at least that old.
    options.received = Int(context.services.secondsSince1970())
    if let target {
      options.errorPolicy = target.errorPolicy
      options.writesRoots = target.writesRoots
      options.continuesWithoutStore = !target.isRequired
      let (known, own) = (context.services.secrets, response.secrets)
      options.hidesSecrets = { known.hiding(with: own).json($0) }
    }
    let results = ResultReader(
      operation: try request.preparedOperation(context, delivery: .answered), request: request,
      head: response.head, secrets: response.secrets, store: target?.store, options: options,
      context: context)
    guard let framing else { return ResponseStream(try await results.read(response.body)) }
    if case .parts(let boundary) = framing {
      let parts = PartReader(
        response.body, boundary: boundary, results: results, maxPartBytes: event)
      return ResponseStream(pull: { try await parts.next() })
    }
    let events = EventReader(
      response.body, framing: framing, results: results, maxEventBytes: event)
    return ResponseStream(pull: { try await events.next() })
  }
}
