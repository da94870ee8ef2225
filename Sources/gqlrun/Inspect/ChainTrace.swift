import GQLRunCache
import GQLRunPipeline
import GQLRunSupport
import HTTPTypes

/// What each entry of a chain did with one request, and when.
///
/// Interceptors find it in the context of the request; see ``Pipeline/traced(refusingWrites:)``.
final class ChainTrace: Sendable {
  enum Key: RequestContextKey {
    typealias Value = ChainTrace
  }

  /// One call of an interceptor. Times are in milliseconds since the request began.
  struct Span: Sendable {
    var entry: String
    var attempt: Int
    var start: Double
    /// When it passed the request on; `nil` if it did not.
    var passed: Double?
    /// When it returned its last result or error.
    var end: Double
    var notes: [String] = []
  }

  private static let maxSpans = 1_000
  private static let maxNotes = 5

  private let content = Locked<[Span]>([])
  private let start = ContinuousClock.now

  var spans: [Span] { content.withLock { $0 } }

  /// Milliseconds since the request began.
  var now: Double { (ContinuousClock.now - start) / .milliseconds(1) }

  /// - Returns: The index of the span, for the other functions; beyond the limit, one without effect.
  fileprivate func begin(_ context: ChainContext) -> Int {
    let now = now
    return content.withLock { spans in
      guard spans.count < Self.maxSpans else { return spans.count }
      spans.append(
        Span(entry: context.entryID, attempt: context.attempt, start: now, end: now))
      return spans.count - 1
    }
  }

  fileprivate func passed(_ span: Int) {
    let now = now
    content.withLock { if span < $0.count { $0[span].passed = $0[span].passed ?? now } }
  }

  fileprivate func end(_ span: Int, _ note: String? = nil) {
    let now = now
    content.withLock { spans in
      guard span < spans.count else { return }
      spans[span].end = now
      if let note, spans[span].notes.count < Self.maxNotes { spans[span].notes.append(note) }
    }
  }

  /// Runs the body of a span, and notes its error.
  fileprivate func during<Result>(
    _ span: Int, _ body: () async throws -> Result
  ) async throws -> Result {
    do {
      let result = try await body()
      end(span)
      return result
    } catch {
      end(span, Self.note(on: error))
      throw error
    }
  }

  /// The same stream, whose results and errors end the span.
  fileprivate func following(_ stream: ResponseStream, _ span: Int) -> ResponseStream {
    ResponseStream(pull: { [self] in
      do {
        let response = try await stream.next()
        if let response {
          end(
            span,
            response.errors.isEmpty
              ? nil : Quantity.count(response.errors.count, "GraphQL error"))
        }
        return response
      } catch {
        end(span, Self.note(on: error))
        throw error
      }
    })
  }

  private static func note(on error: any Error) -> String {
    if let retry = error as? ChainRetry {
      return "restarts the chain" + (retry.cause.map { ": \(describe($0))" } ?? "")
    }
    return describe(error)
  }

  private static func describe(_ error: any Error) -> String { Failure(describing: error).message }
}

extension Pipeline {
  /// The pipeline with interceptors that note what they do in the ``ChainTrace`` of a request, if it has one.
  ///
  /// - Parameter refusingWrites: Whether results are not stored.
  func traced(refusingWrites: Bool) -> Pipeline {
    var pipeline = self
    for index in entries.indices {
      pipeline.entries[index].parts = entries[index].parts.map { part in
        switch part {
        case .graphQL(let interceptor): .graphQL(TracedInterceptor(base: interceptor))
        case .cacheRead(let interceptor):
          .cacheRead(TracedCache(base: interceptor, refusesWrites: refusingWrites))
        case .cacheWrite(let interceptor):
          .cacheWrite(TracedCache(base: interceptor, refusesWrites: refusingWrites))
        case .http(let interceptor): .http(TracedHTTP(base: interceptor))
        case .fetch(let interceptor): .fetch(TracedHTTP(base: interceptor))
        case .parsing(let interceptor): .parsing(TracedParser(base: interceptor))
        case .errorTap: part
        }
      }
    }
    return pipeline
  }
}

private struct TracedInterceptor: GraphQLInterceptor {
  let base: any GraphQLInterceptor

  func intercept(
    _ request: GraphQLRequest, context: ChainContext, next: NextGraphQL
  ) async throws -> ResponseStream {
    guard let trace = context.values[ChainTrace.Key.self] else {
      return try await base.intercept(request, context: context, next: next)
    }
    let span = trace.begin(context)
    let stream = try await trace.during(span) {
      try await base.intercept(
        request, context: context,
        next: NextGraphQL { request in
          trace.passed(span)
          return await next(request)
        })
    }
    return trace.following(stream, span)
  }
}

private struct TracedHTTP: HTTPInterceptor {
  let base: any HTTPInterceptor

  func intercept(
    _ request: HTTPRequestMessage, context: ChainContext, next: NextHTTP
  ) async throws -> HTTPResponseMessage {
    guard let trace = context.values[ChainTrace.Key.self] else {
      return try await base.intercept(request, context: context, next: next)
    }
    let span = trace.begin(context)
    return try await trace.during(span) {
      let response = try await base.intercept(
        request, context: context,
        next: NextHTTP { request in
          trace.passed(span)
          return try await next(request)
        })
      trace.end(span, "HTTP \(response.head.status.code)")
      return response
    }
  }
}

private struct TracedParser: ResponseParsingInterceptor {
  let base: any ResponseParsingInterceptor

  func parse(
    _ response: HTTPResponseMessage, for request: GraphQLRequest, target: CacheWriteTarget?,
    context: ChainContext
  ) async throws -> ResponseStream {
    guard let trace = context.values[ChainTrace.Key.self] else {
      return try await base.parse(response, for: request, target: target, context: context)
    }
    let span = trace.begin(context)
    let stream = try await trace.during(span) {
      try await base.parse(response, for: request, target: target, context: context)
    }
    return trace.following(stream, span)
  }
}

private struct TracedCache: CacheInterceptor {
  let base: any CacheInterceptor
  let refusesWrites: Bool

  var defaultPolicy: CachePolicy? { base.defaultPolicy }
  var maxAge: Duration? { base.maxAge }
  var maxStale: Duration? { base.maxStale }
  var errors: ErrorReadPolicy { base.errors }

  func read(_ request: GraphQLRequest, context: ChainContext) async throws -> CacheReadOutcome {
    guard let trace = context.values[ChainTrace.Key.self] else {
      return try await base.read(request, context: context)
    }
    let span = trace.begin(context)
    return try await trace.during(span) {
      let outcome = try await base.read(request, context: context)
      switch outcome {
      case .hit(let response):
        trace.end(span, "cache hit" + (response.staleness.map { ", stale: \($0)" } ?? ""))
      case .miss(let missing, let staleness):
        trace.passed(span)
        trace.end(
          span,
          "cache miss" + (missing.map { ": \($0)" } ?? "")
            + (staleness.map { " is stale: \($0)" } ?? ""))
      }
      return outcome
    }
  }

  func prepareWrite(
    for request: GraphQLRequest, context: ChainContext
  ) async throws -> CacheWriteTarget? {
    guard refusesWrites else {
      return try await base.prepareWrite(for: request, context: context)
    }
    if let trace = context.values[ChainTrace.Key.self] {
      trace.end(trace.begin(context), "not stored: inspect was started without --allow-write")
    }
    return nil
  }

  func write(
    _ response: GraphQLResponse, for request: GraphQLRequest, context: ChainContext
  ) async throws {
    guard let trace = context.values[ChainTrace.Key.self] else {
      return try await base.write(response, for: request, context: context)
    }
    let span = trace.begin(context)
    try await trace.during(span) {
      try await base.write(response, for: request, context: context)
    }
  }
}
