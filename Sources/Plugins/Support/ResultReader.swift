import GQLRunCache
import GQLRunJSON
import GQLRunLanguage
import GQLRunLive
import GQLRunPipeline
import GQLRunSupport
import HTTPTypes
import Logging

/// Reads the results of one response: into records and into the caller's data, in one pass.
struct ResultReader: Sendable {
  let operation: PreparedOperation
  let request: GraphQLRequest
  let head: HTTPResponse
  /// The secrets in the request, which the response may repeat.
  let secrets: [SecretString]
  let store: CacheStore?
  let options: ResponseNormalizer.Options
  let context: ChainContext

  /// Reads a body with one result.
  ///
  /// Not inlined, because every subscription would have its frame (`docs/decisions/0051-the-path-of-an-event.md`).
  @inline(never)
  func read(_ body: HTTPBody) async throws -> GraphQLResponse {
    var normalizer: ResponseNormalizer?
    do {
      let reading = try self.normalizer()
      normalizer = reading
      for try await chunk in body {
        try chunk.withUnsafeBytes { try reading.feed($0) }
        if reading.needsFlush { try await reading.flush() }
      }
      return result(try await reading.finish())
    } catch {
      await normalizer?.abandon()
      throw describe(error)
    }
  }

  /// Creates the normalizer of one result.
  func normalizer() throws(CacheError) -> ResponseNormalizer {
    var options = options
    if request.operationType == .subscription {
      options.received = Int(context.services.secondsSince1970())
    }
    return try ResponseNormalizer(operation, store: store, options: options)
  }

  /// The result of a completely read response or event.
  func result(_ parsed: NormalizedResponse) -> GraphQLResponse {
    log(parsed.storeFailure, diagnostics: parsed.diagnostics, warnings: parsed.warnings)
    return hidingSecrets(
      GraphQLResponse(
        source: .server, data: parsed.data, errors: located(parsed.errors),
        extensions: parsed.extensions, http: head,
        timing: ResponseTiming(receivedBytes: parsed.statistics.bytes), pendingWrite: parsed.write))
  }

  /// The reader of a response that arrives in parts.
  func incrementalResponse() -> IncrementalResponse {
    IncrementalResponse(
      operation, store: store, mergesData: request.mergesParts, options: options)
  }

  /// The result of one part of a response.
  ///
  /// - Parameters:
  ///   - index: The number of the part, from 0.
  ///   - bytes: The size of all parts so far.
  func result(_ part: IncrementalResult, index: Int, bytes: Int) -> GraphQLResponse {
    log(part.storeFailure, diagnostics: part.diagnostics, warnings: part.warnings)
    var response = GraphQLResponse(
      source: .server, data: part.data, errors: located(part.errors), extensions: part.extensions,
      http: head, timing: ResponseTiming(receivedBytes: bytes), pendingWrite: part.write)
    response.part = ResponsePart(
      index: index, delivered: part.delivered, announced: part.announced, hasNext: part.hasNext)
    return hidingSecrets(response)
  }

  private func log(
    _ failure: CacheError?, diagnostics: [CacheDiagnostic], warnings: [String]
  ) {
    if let failure {
      context.services.logger.log(
        level: failure.code == .readOnly ? .debug : .warning,
        "the result was not stored: \(failure)", metadata: ["operation": "\(request.label)"])
    }
    for diagnostic in diagnostics { context.services.logger.debug("\(diagnostic)") }
    for warning in warnings { context.services.logger.warning("\(warning)") }
  }

  private func located(_ errors: [JSONValue]) -> [GraphQLError] {
    errors.map { GraphQLError($0).located(in: operation, sentBy: request) }
  }

  /// A result of errors alone, as their JSON text.
  func result(ofErrors text: [UInt8]) throws -> GraphQLResponse {
    guard let errors = (try? JSONValue(parsing: text))?.arrayValue, !errors.isEmpty else {
      throw StreamError(
        .malformed, "the `errors` of a subscription without a payload are not a list of errors")
    }
    return hidingSecrets(
      GraphQLResponse(
        source: .server,
        errors: located(errors), http: head,
        timing: ResponseTiming(receivedBytes: text.count)))
  }

  private func hidingSecrets(_ result: GraphQLResponse) -> GraphQLResponse {
    guard !result.errors.isEmpty || result.extensions != nil else { return result }
    return context.services.secrets.hiding(with: secrets).response(result)
  }

  /// The error of the chain for an error of the cache or of the stream.
  func describe(_ error: any Error) -> any Error {
    if let error = error as? StreamError { return failure(error) }
    guard let error = error as? CacheError else { return error }
    if error.code == .cancelled { return CancellationError() }
    switch error.code {
    case .truncatedResponse:
      return transport(.truncatedResponse, error.message)
    case .invalidJSON, .malformedResponse, .unexpectedShape:
      // A result of a shared connection has no status of its own.
      let answered =
        ResponseCheck.mediaType(head) == HTTPResponseMessage.sequenceType
        ? "" : "; the server answered \(head.status.shown)"
      return transport(.malformedResponse, error.message + Self.remedy(error.message) + answered)
    default:
      return ChainError(
        .cache, code: .cacheWriteFailed, message: "the records of the response could not be stored",
        entry: context.entryID, cause: error)
    }
  }

  /// The option that raises the limit of which an error is; empty for another error.
  private static func remedy(_ message: String) -> String {
    let limits = [
      ("nested deeper than the limit", "max_depth"),
      ("a string is longer than the limit", "max_string"),
      ("a string or a run of white space is longer", "max_string"),
      ("the limit for custom scalars", "max_string"),
    ]
    return limits.first { message.contains($0.0) }
      .map { "; raise `\($0.1)` of the plugin `parse`" } ?? ""
  }

  private func failure(_ error: StreamError) -> ChainError {
    switch error.code {
    case .truncated: transport(.truncatedResponse, error.message)
    case .malformed: transport(.malformedResponse, error.message)
    case .tooLarge: transport(.limitExceeded, error.message)
    }
  }

  private func transport(_ code: ChainError.Code, _ message: String) -> ChainError {
    ChainError(
      .transport, code: code, message: message, entry: context.entryID,
      http: code == .truncatedResponse
        ? nil : .init(status: head.status.code, headers: head.headerFields), delivery: .answered)
  }
}

extension GraphQLRequest {
  /// The prepared operation of this request; prepared from its document if the caller has not done
  /// so.
  ///
  /// - Parameter delivery: How far the request has got at the time of the call.
  func preparedOperation(
    _ context: ChainContext, delivery: ChainError.Delivery
  ) throws -> PreparedOperation {
    if let operation { return operation }
    do {
      return try PreparedOperation(
        document: Document(parsing: document), operationName: operationName, variables: variables,
        keys: context.keys)
    } catch {
      throw ChainError(
        .request, code: .invalidRequest, message: "\(label) cannot be prepared: \(error)",
        entry: context.entryID, cause: error, delivery: delivery)
    }
  }
}

/// The time limit of an operation over all its attempts.
///
/// The first plugin that needs it adds it to the request, and retries keep it. The plugin that sets
/// the limit may be below the one that delays retries, so the value is shared.
final class OperationTime: Sendable {
  private enum Key: RequestContextKey {
    typealias Value = OperationTime
  }

  private let start: Duration
  private let end = Locked<Duration?>(nil)

  /// The deadline of the operation, on the services' clock; `nil` without one.
  var deadline: Duration? { end.withLock { $0 } }

  private init(start: Duration) { self.start = start }

  /// Limits the operation, counted from its start. The earliest deadline applies.
  func bound(_ total: Duration) -> Duration {
    end.withLock { deadline in
      let end = min(deadline ?? start + total, start + total)
      deadline = end
      return end
    }
  }

  /// Ends the limit, because it only concerns what has happened by now.
  func meet() { end.withLock { $0 = nil } }

  /// The time limit of a request's operation; the operation starts now if it has none yet, or if the
  /// connection of a subscription was lost since then.
  static func of(_ request: inout GraphQLRequest, _ clock: ServiceClock) -> OperationTime {
    if let time = request.context[Key.self],
      request.context[LostConnection.self].map({ $0 <= time.start }) ?? true
    {
      return time
    }
    let time = OperationTime(start: clock.now())
    request.context[Key.self] = time
    return time
  }
}
