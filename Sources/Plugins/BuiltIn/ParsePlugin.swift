import Cache
import HTTPTypes
import JSONStream
import Logging
public import Pipeline

/// Reads responses as they arrive: into records and into the result.
public struct ParsePlugin: Plugin {
  public static let description = PluginDescription(
    name: "parse",
    summary: "Reads JSON responses as they arrive, into records and into the result, in one pass",
    kind: .step, stages: [.parsing], roles: [.parse],
    options: [
      OptionDescription(
        "max_depth", .int(in: 1...2_000), default: "512", "How deep objects and lists may nest"),
      OptionDescription(
        "max_string", .size(in: ByteSize(bytes: 1)...ByteSize(bytes: 1 << 30)), default: "16MiB",
        "The longest string, and the largest custom scalar"),
    ],
    examples: ["parse", "parse: { max_string: 64MiB }"])

  public static func make(
    options: PluginOptions, environment: PluginEnvironment
  ) throws(PluginOptionError) -> PluginInstance {
    let bytes = options.size("max_string").bytes
    return .parsing(
      ParseInterceptor(
        limits: ResponseLimits(
          json: JSONLimits(maxDepth: Int32(options.int("max_depth")), maxStringBytes: bytes),
          maxOpaqueBytes: bytes)))
  }
}

private struct ParseInterceptor: ResponseParsingInterceptor {
  let limits: ResponseLimits

  func parse(
    _ response: HTTPResponseMessage, for request: GraphQLRequest,
    target: (any CacheWriteTarget)?, context: ChainContext
  ) async throws -> ResponseStream {
    try await ResponseCheck.requireJSON(response, place: context.entryID)
    let target = target as? RecordTarget
    var options = ResponseNormalizer.Options()
    options.limits = limits
    if let target {
      options.errorPolicy = target.errorPolicy
      options.writesRoots = target.writesRoots
    }
    let operation = try request.preparedOperation(context)
    let parsed = try await read(
      response, operation, store: target?.store, options: options, place: context.entryID)
    for diagnostic in parsed.diagnostics {
      context.services.logger.debug("\(diagnostic)")
    }
    var result = GraphQLResponse(
      source: .server,
      body: ResponseBody(
        data: parsed.data,
        errors: parsed.errors.isEmpty ? [] : JSONValue.array(parsed.errors).jsonBytes(),
        extensions: parsed.extensions.map { JSONValue.object($0).jsonBytes() } ?? []),
      errors: parsed.errors.map(GraphQLError.init),
      extensions: parsed.extensions?.texts ?? [:], http: response.head)
    result.timing.receivedBytes = parsed.statistics.bytes
    result.pendingWrite = parsed.write.map(PendingRecords.init)
    return ResponseStream(result)
  }

  private func read(
    _ response: HTTPResponseMessage, _ operation: PreparedOperation, store: (any RecordStore)?,
    options: ResponseNormalizer.Options, place: String
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
      throw failure(error, response, place)
    }
  }

  private func failure(
    _ error: CacheError, _ response: HTTPResponseMessage, _ place: String
  ) -> ChainError {
    let http = ChainError.HTTPFailure(
      status: response.head.status.code, headers: response.head.headerFields)
    switch error.code {
    case .truncatedResponse:
      return ChainError(
        .transport, .truncatedResponse, error.message, place: place, delivery: .answered)
    case .invalidJSON, .malformedResponse:
      return ChainError(
        .transport, .malformedResponse, error.message, place: place, http: http,
        delivery: .answered)
    default:
      return ChainError(.cache, .cacheWriteFailed, error.message, place: place, cause: error)
    }
  }
}

/// The records of a response as the chain commits them.
private struct PendingRecords: PendingCacheWrite {
  let write: PendingWrite

  init(_ write: PendingWrite) { self.write = write }

  func commit() async throws { _ = try await write.commit() }
  func rollback() async { await write.rollback() }
}

extension JSONObject {
  fileprivate var texts: [String: JSONText] {
    Dictionary(
      members.map { ($0.key, JSONText(trusted: $0.value.jsonText())) },
      uniquingKeysWith: { first, _ in first })
  }
}

extension GraphQLError {
  /// An element of a response's `errors`, as far as it keeps to the specification.
  init(_ value: JSONValue) {
    let extensions = value["extensions"]?.objectValue
    self.init(
      message: value["message"]?.stringValue ?? "(no message)",
      path: value["path"]?.arrayValue?.compactMap { step in
        step.stringValue.map { .key($0) } ?? step.intValue.map { .index($0) }
      },
      locations: (value["locations"]?.arrayValue ?? []).compactMap { location in
        guard let line = location["line"]?.intValue, let column = location["column"]?.intValue
        else { return nil }
        return Location(line: line, column: column)
      },
      extensions: extensions.map { JSONText(trusted: JSONValue.object($0).jsonText()) },
      code: extensions?["code"]?.stringValue)
  }
}
