import GQLRunPipeline
import GQLRunSupport
import HTTPTypes

/// What each entry of a chain did with one request, and when.
///
/// It is in the context of the request, where ``Observer`` finds it.
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

  /// Adds a span of the entry that is called; beyond the limit, none.
  ///
  /// - Returns: The index of the span.
  fileprivate func begin(_ context: ChainContext) -> Int? {
    let now = now
    return content.withLock { spans in
      guard spans.count < Self.maxSpans else { return nil }
      spans.append(
        Span(entry: context.entryID, attempt: context.attempt, start: now, end: now))
      return spans.count - 1
    }
  }

  /// Changes a span, which lasts at least until now.
  fileprivate func update(_ span: Int, _ change: (inout Span, Double) -> Void = { _, _ in }) {
    let now = now
    content.withLock { spans in
      spans[span].end = now
      change(&spans[span], now)
    }
  }

  fileprivate func add(_ note: String, to span: Int) {
    update(span) { span, _ in
      if span.notes.count < Self.maxNotes { span.notes.append(note) }
    }
  }

  /// Notes what the interceptors of requests do that have a trace.
  struct Observer: StepObserver {
    func begin(_ step: ObservedStep, in context: ChainContext) -> (any StepObservation)? {
      guard step.kind != .commit, let trace = context.values[Key.self],
        let span = trace.begin(context)
      else { return nil }
      return TracedCall(trace: trace, span: span)
    }
  }
}

private struct TracedCall: StepObservation {
  let trace: ChainTrace
  let span: Int

  func note(_ event: StepEvent) {
    switch event {
    case .passed: passed()
    case .read(.hit(let response)):
      trace.add(
        "cache hit" + (response.staleness.map { ", stale: \($0)" } ?? ""), to: span)
    case .read(.miss(let missing, let staleness)):
      passed()
      trace.add(
        "cache miss" + (missing.map { ": \($0)" } ?? "")
          + (staleness.map { " is stale: \($0)" } ?? ""), to: span)
    case .response(let response): trace.add("HTTP \(response.head.status.code)", to: span)
    case .result(let response):
      guard !response.errors.isEmpty else { return }
      trace.add(Quantity.count(response.errors.count, "GraphQL error"), to: span)
    case .failed(let retry as ChainRetry):
      let cause = retry.cause.map { ": \(Failure(describing: $0).message)" } ?? ""
      trace.add("restarts the chain" + cause, to: span)
    case .failed(let error): trace.add(Failure(describing: error).message, to: span)
    case .ended: trace.update(span)
    }
  }

  private func passed() { trace.update(span) { $0.passed = $0.passed ?? $1 } }
}

extension Pipeline {
  /// The same pipeline, which stores no results.
  var withoutWrites: Pipeline {
    var pipeline = self
    for index in entries.indices {
      pipeline.entries[index].parts = entries[index].parts.map { part in
        if case .cacheWrite = part { .cacheWrite(RefusedWrite()) } else { part }
      }
    }
    return pipeline
  }
}

/// A cache write that stores nothing, and notes it.
private struct RefusedWrite: CacheInterceptor {
  func prepareWrite(
    for request: GraphQLRequest, context: ChainContext
  ) async throws -> CacheWriteTarget? {
    if let trace = context.values[ChainTrace.Key.self], let span = trace.begin(context) {
      trace.add("not stored: inspect was started without --allow-write", to: span)
    }
    return nil
  }
}
