import GQLRunPipeline
import Synchronization
import Tracing

/// The steps of a chain as spans: one for each call of an interceptor, within that of the interceptor above it.
extension Telemetry: StepObserver {
  func observing(_ pipeline: Pipeline) -> Pipeline {
    tracer is NoOpTracer ? pipeline : pipeline.observed(by: self)
  }

  func begin(_ step: ObservedStep, in context: ChainContext) -> (any StepObservation)? {
    let name: String
    switch step.kind {
    // The requests that it sends are the spans of ``ObservedTransport``.
    case .fetch: return nil
    // The events of a subscription have no end that a trace could wait for.
    case .parse where context.operationType == .subscription: return nil
    case .graphQL, .http: name = "plugin \(step.plugin)"
    case .cacheRead: name = "cache read"
    case .cacheWrite: name = "cache write"
    case .commit: name = "commit"
    case .parse: name = "parse"
    }
    let span = StepSpan(self, name)
    span.set("gqlrun.plugin.name", step.plugin)
    if step.id != step.plugin { span.set("gqlrun.plugin.id", step.id) }
    return span
  }

  func observing(taskOf operation: String, _ body: () async throws -> Void) async throws {
    let span = StepSpan(self, "task")
    span.set("gqlrun.batch.operation", operation)
    try await span.part(body)
    span.note(.ended)
  }
}

/// A span that ends once, at the latest when nothing refers to it.
private final class StepSpan: StepObservation {
  private let span: any Span
  private let hasEnded = Atomic(false)

  init(_ telemetry: Telemetry, _ name: String) {
    span = telemetry.tracer.startSpan(name, ofKind: .internal)
  }

  deinit { end() }

  func set(_ name: String, _ value: String) { span.attributes[name] = value }

  /// Runs `body` with the span as the parent of its spans.
  func run<Result: Sendable>(_ body: () async throws -> Result) async throws -> Result {
    try await InstrumentationContext.withValue(span.context) { try await body() }
  }

  func note(_ event: StepEvent) {
    switch event {
    case .read(.hit(let response)):
      set("graphql.cache.answer", response.staleness == nil ? "hit" : "stale")
    case .read(.miss): set("graphql.cache.answer", "miss")
    case .failed(is ChainRetry): end { $0.attributes["gqlrun.retry"] = "true" }
    case .failed(let error):
      end { span in
        span.attributes["error.type"] = Telemetry.type(of: error)
        span.setStatus(SpanStatus(code: .error))
      }
    case .ended: end()
    case .passed, .response, .result: break
    }
  }

  private func end(_ complete: (any Span) -> Void = { _ in }) {
    guard !hasEnded.exchange(true, ordering: .relaxed) else { return }
    complete(span)
    span.end()
  }
}
