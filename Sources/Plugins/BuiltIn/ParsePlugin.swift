import GQLRunCache
import GQLRunJSON
public import GQLRunPipeline
import HTTPTypes
import Logging

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
    moreExamples: ["parse", "parse: { check_shape: true }"])

  @Option(1...2_000, "How deep objects and lists may nest") var maxDepth = 512
  @Option(
    ByteSize(bytes: 1)...ByteSize(bytes: 1 << 30), "Longest string, and largest custom scalar")
  var maxString = ByteSize.mebibytes(16)
  @Option(
    "Whether responses are checked against the pipeline's schema: a null or a value that it "
      + "forbids is an error")
  var checkShape = false

  /// Creates the plugin with the defaults of its options.
  public init() {}

  /// Parses responses.
  public var traits: PluginTraits { .parses }

  /// One per chain, in the parsing stage below the fetch.
  public var placement: Placement {
    .step(
      .parsing,
      rules: [
        .once(.parses, .parse, "parses"), .below(.fetches, .parse, "which receives what it parses"),
      ])
  }

  /// Creates the interceptor that normalizes responses as they arrive.
  public func parts(_ environment: PluginEnvironment) -> [ChainPart] {
    [
      .parsing(
        ParseInterceptor(
          limits: ResponseLimits(
            json: JSONLimits(maxDepth: Int32(maxDepth), maxStringBytes: maxString.bytes),
            maxOpaqueBytes: maxString.bytes), checksShape: checkShape))
    ]
  }
}

private struct ParseInterceptor: ResponseParsingInterceptor {
  let limits: ResponseLimits
  let checksShape: Bool

  func parse(
    _ response: HTTPResponseMessage, for request: GraphQLRequest,
    target: CacheWriteTarget?, context: ChainContext
  ) async throws -> ResponseStream {
    try await ResponseCheck.requireJSON(response, location: context.entryID)
    var options = ResponseNormalizer.Options()
    options.limits = limits
    options.checksShape = checksShape
    // The time of the head: the data is at least that old.
    options.received = Int(context.services.secondsSince1970())
    if let target {
      options.errorPolicy = target.errorPolicy
      options.writesRoots = target.writesRoots
      options.goesOnWithoutStore = !target.isRequired
    }
    let operation = try request.preparedOperation(context)
    let parsed = try await read(
      response, operation, store: target?.store, options: options, location: context.entryID)
    if let failure = parsed.storeFailure {
      context.services.logger.log(
        level: failure.code == .readOnly ? .debug : .warning,
        "the result was not stored: \(failure)", metadata: ["operation": "\(request.label)"])
    }
    for diagnostic in parsed.diagnostics {
      context.services.logger.debug("\(diagnostic)")
    }
    for warning in parsed.warnings { context.services.logger.warning("\(warning)") }
    let result = GraphQLResponse(
      source: .server, data: parsed.data,
      errors: parsed.errors.map { GraphQLError($0).located(in: operation, sentBy: request) },
      extensions: parsed.extensions, http: response.head,
      timing: ResponseTiming(receivedBytes: parsed.statistics.bytes), pendingWrite: parsed.write)
    guard !result.errors.isEmpty || result.extensions != nil else { return ResponseStream(result) }
    return ResponseStream(
      context.services.secrets.hiding(with: response.secrets).response(result))
  }

  private func read(
    _ response: HTTPResponseMessage, _ operation: PreparedOperation, store: (any RecordStore)?,
    options: ResponseNormalizer.Options, location: String
  ) async throws -> NormalizedResponse {
    var normalizer: ResponseNormalizer?
    do {
      let reading = try ResponseNormalizer(operation, store: store, options: options)
      normalizer = reading
      for try await chunk in response.body {
        try chunk.withUnsafeBytes { try reading.feed($0) }
        if reading.needsFlush { try await reading.flush() }
      }
      return try await reading.finish()
    } catch {
      await normalizer?.abandon()
      guard let error = error as? CacheError else { throw error }
      if error.code == .cancelled { throw CancellationError() }
      throw failure(error, response, location)
    }
  }

  private func failure(
    _ error: CacheError, _ response: HTTPResponseMessage, _ location: String
  ) -> ChainError {
    let http = ChainError.HTTPFailure(
      status: response.head.status.code, headers: response.head.headerFields)
    switch error.code {
    case .truncatedResponse:
      return ChainError(
        .transport, .truncatedResponse, error.message, entry: location, delivery: .answered)
    case .invalidJSON, .malformedResponse, .unexpectedShape:
      return ChainError(
        .transport, .malformedResponse,
        "\(error.message); the server answered \(ResponseCheck.describe(response.head))",
        entry: location, http: http, delivery: .answered)
    default:
      return ChainError(
        .cache, .cacheWriteFailed,
        "the records of the response could not be stored", entry: location,
        cause: error)
    }
  }
}
