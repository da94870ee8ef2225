import GQLRunCache
import GQLRunPipeline
import GQLRunSupport
import Tracing

/// The steps of a chain as spans: one for each call of an interceptor, within that of the interceptor above it.
///
/// The fetch has none: the requests that it sends are the spans of ``ObservedTransport``.
extension Telemetry {
  func observing(_ pipeline: Pipeline) -> Pipeline {
    guard !(tracer is NoOpTracer) else { return pipeline }
    var pipeline = pipeline
    for index in pipeline.entries.indices {
      let entry = pipeline.entries[index]
      let step = ObservedStep(
        name: entry.plugin.map { Swift.type(of: $0).name } ?? entry.id, id: entry.id,
        telemetry: self)
      pipeline.entries[index].parts = entry.parts.map { part in
        switch part {
        case .graphQL(let base): .graphQL(ObservedGraphQL(base: base, step: step))
        case .cacheRead(let base): .cacheRead(ObservedCache(base: base, step: step))
        case .cacheWrite(let base): .cacheWrite(ObservedCache(base: base, step: step))
        case .http(let base): .http(ObservedHTTP(base: base, step: step))
        case .parsing(let base): .parsing(ObservedParsing(base: base, step: step))
        case .fetch, .errorTap: part
        }
      }
    }
    return pipeline
  }

  func observing(taskOf operation: String, _ body: () async throws -> Void) async throws {
    let span = StepSpan(self, "task")
    span.set("gqlrun.batch.operation", operation)
    try await span.run(body)
    span.end()
  }
}

/// An entry of a chain, in the names of spans.
private struct ObservedStep {
  var name: String
  var id: String
  var telemetry: Telemetry

  /// - Parameter name: The name of the span; that of the plugin by default.
  func span(_ name: String? = nil) -> StepSpan {
    let span = StepSpan(telemetry, name ?? "plugin \(self.name)")
    span.set("gqlrun.plugin.name", self.name)
    if id != self.name { span.set("gqlrun.plugin.id", id) }
    return span
  }
}

/// A span that ends once, at the latest when nothing refers to it.
private final class StepSpan: Sendable {
  private let span: any Span
  private let hasEnded = Locked(false)

  init(_ telemetry: Telemetry, _ name: String) {
    span = telemetry.tracer.startSpan(name, ofKind: .internal)
  }

  deinit { end() }

  func set(_ name: String, _ value: String) { span.attributes[name] = value }

  /// Runs `body` with the span as the parent of its spans. An error ends the span.
  func run<Result>(_ body: () async throws -> Result) async throws -> Result {
    do {
      return try await InstrumentationContext.withValue(span.context) { try await body() }
    } catch let retry as ChainRetry {
      set("gqlrun.retry", "true")
      end()
      throw retry
    } catch {
      span.attributes["error.type"] = Telemetry.type(of: error)
      span.setStatus(SpanStatus(code: .error))
      end()
      throw error
    }
  }

  func end() {
    let isFirst = hasEnded.withLock { hasEnded in
      defer { hasEnded = true }
      return !hasEnded
    }
    if isFirst { span.end() }
  }
}

private struct ObservedGraphQL: GraphQLInterceptor {
  let base: any GraphQLInterceptor
  let step: ObservedStep

  func intercept(
    _ request: GraphQLRequest, context: ChainContext, next: NextGraphQL
  ) async throws -> ResponseStream {
    let span = step.span()
    defer { span.end() }
    return try await span.run {
      try await base.intercept(request, context: context, next: next)
    }
  }
}

private struct ObservedHTTP: HTTPInterceptor {
  let base: any HTTPInterceptor
  let step: ObservedStep

  func intercept(
    _ request: HTTPRequestMessage, context: ChainContext, next: NextHTTP
  ) async throws -> HTTPResponseMessage {
    let span = step.span()
    defer { span.end() }
    return try await span.run {
      try await base.intercept(request, context: context, next: next)
    }
  }
}

private struct ObservedCache: CacheInterceptor {
  let base: any CacheInterceptor
  let step: ObservedStep

  var defaultPolicy: CachePolicy? { base.defaultPolicy }
  var maxAge: Duration? { base.maxAge }
  var maxStale: Duration? { base.maxStale }
  var errors: ErrorReadPolicy { base.errors }

  func read(
    _ request: GraphQLRequest, context: ChainContext
  ) async throws -> CacheReadOutcome {
    let span = step.span("cache read")
    defer { span.end() }
    return try await span.run {
      let outcome = try await base.read(request, context: context)
      let answer =
        switch outcome {
        case .hit(let response): response.staleness == nil ? "hit" : "stale"
        case .miss: "miss"
        }
      span.set("graphql.cache.answer", answer)
      return outcome
    }
  }

  func prepareWrite(
    for request: GraphQLRequest, context: ChainContext
  ) async throws -> CacheWriteTarget? {
    try await base.prepareWrite(for: request, context: context)
  }

  func write(
    _ response: GraphQLResponse, for request: GraphQLRequest, context: ChainContext
  ) async throws {
    let span = step.span("cache write")
    defer { span.end() }
    var response = response
    response.pendingWrite = response.pendingWrite.map { ObservedWrite(base: $0, step: step) }
    try await span.run { [response] in
      try await base.write(response, for: request, context: context)
    }
  }
}

/// The commit of a result, within the span of the cache write.
private struct ObservedWrite: PendingCacheWrite {
  let base: any PendingCacheWrite
  let step: ObservedStep

  func commit() async throws -> WriteSummary {
    let span = step.span("commit")
    defer { span.end() }
    return try await span.run { try await base.commit() }
  }

  func rollback() async { await base.rollback() }
}

private struct ObservedParsing: ResponseParsingInterceptor {
  let base: any ResponseParsingInterceptor
  let step: ObservedStep

  func parse(
    _ response: HTTPResponseMessage, for request: GraphQLRequest,
    target: CacheWriteTarget?, context: ChainContext
  ) async throws -> ResponseStream {
    // The events of a subscription have no end that a trace could wait for.
    guard request.operationType != .subscription else {
      return try await base.parse(response, for: request, target: target, context: context)
    }
    let span = step.span("parse")
    let results = try await span.run {
      try await base.parse(response, for: request, target: target, context: context)
    }
    return ResponseStream(pull: {
      let result = try await span.run { try await results.next() }
      if result?.isComplete ?? true { span.end() }
      return result
    })
  }
}
