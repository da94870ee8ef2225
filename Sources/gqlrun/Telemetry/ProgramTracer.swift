import GQLRunSupport
import Tracing

/// Starts spans, and queues those that ended for their export.
struct ProgramTracer: Tracer {
  let sampler: TraceSampler
  let queue: SpanQueue

  /// Starts the span of the whole process.
  ///
  /// - Parameters:
  ///   - name: The name of the command.
  ///   - parent: The parent in another program.
  ///   - isRun: Whether its children are the tasks of a batch.
  func startRoot(_ name: String, parent: TraceContext?, isRun: Bool) -> ProgramSpan {
    let traceID = parent?.traceID ?? .random()
    let trace = TraceContext(
      traceID: traceID, spanID: .random(in: 1 ... .max),
      isSampled: sampler.samples(traceID, parent: parent, isRun: isRun),
      traceState: parent?.traceState)
    var context = InstrumentationContext.topLevel
    context[CurrentSpan.self] = CurrentSpan(trace: trace, isRun: isRun)
    let span = RecordedSpan(
      trace: trace, parent: parent?.spanID, name: name, kind: .internal,
      start: DefaultTracerClock.now.nanosecondsSinceEpoch)
    return ProgramSpan(span, context: context, queue: queue)
  }

  func startSpan<Instant: TracerInstant>(
    _ operationName: String, context: @autoclosure () -> InstrumentationContext,
    ofKind kind: SpanKind, at instant: @autoclosure () -> Instant, function: String,
    file fileID: String, line: UInt
  ) -> ProgramSpan {
    var context = context()
    let parent = context[CurrentSpan.self]
    let traceID = parent?.trace.traceID ?? .random()
    let spanID = UInt64.random(in: 1 ... .max)
    let isSampled =
      if let parent {
        parent.trace.isSampled && (!parent.isRun || sampler.selects(spanID))
      } else {
        sampler.samples(traceID, parent: nil, isRun: false)
      }
    let trace = TraceContext(
      traceID: traceID, spanID: spanID, isSampled: isSampled,
      traceState: parent?.trace.traceState)
    context[CurrentSpan.self] = CurrentSpan(trace: trace)
    let span = RecordedSpan(
      trace: trace, parent: parent?.trace.spanID, name: operationName, kind: kind,
      start: instant().nanosecondsSinceEpoch)
    return ProgramSpan(span, context: context, queue: queue)
  }

  /// Does nothing: the export has its own time.
  func forceFlush() {}

  func inject<Carrier, Inject>(
    _ context: InstrumentationContext, into carrier: inout Carrier, using injector: Inject
  ) where Inject: Injector, Inject.Carrier == Carrier {
    guard let trace = context[CurrentSpan.self]?.trace else { return }
    injector.inject(trace.traceParent, forKey: "traceparent", into: &carrier)
    if let state = trace.traceState {
      injector.inject(state, forKey: "tracestate", into: &carrier)
    }
  }

  /// Does nothing: this program receives no requests that continue a trace.
  func extract<Carrier, Extract>(
    _ carrier: Carrier, into context: inout InstrumentationContext, using extractor: Extract
  ) where Extract: Extractor, Extract.Carrier == Carrier {}
}

/// The span that spans of a context belong to.
private struct CurrentSpan: InstrumentationContextKey {
  typealias Value = CurrentSpan

  var trace: TraceContext
  /// Whether its children are the tasks of a batch, which the sampler selects one by one.
  var isRun = false
}

/// A span until its end.
///
/// Events and links are not kept: what the program reports are attributes and the status, without the messages of errors,
/// which may contain text of the server.
final class ProgramSpan: Span {
  let context: InstrumentationContext
  let isRecording: Bool
  private let queue: SpanQueue
  private let span: Locked<RecordedSpan>

  fileprivate init(_ span: RecordedSpan, context: InstrumentationContext, queue: SpanQueue) {
    self.context = context
    isRecording = span.trace.isSampled
    self.queue = queue
    self.span = Locked(span)
  }

  var operationName: String {
    get { span.withLock { $0.name } }
    set { span.withLock { $0.name = newValue } }
  }

  var attributes: SpanAttributes {
    get { span.withLock { $0.attributes } }
    set { if isRecording { span.withLock { $0.attributes = newValue } } }
  }

  func setStatus(_ status: SpanStatus) {
    let isError = status.code == .error
    span.withLock { $0.isError = isError }
  }

  func addEvent(_ event: SpanEvent) {}

  func recordError<Instant: TracerInstant>(
    _ error: any Error, attributes: SpanAttributes, at instant: @autoclosure () -> Instant
  ) {}

  func addLink(_ link: SpanLink) {}

  func end<Instant: TracerInstant>(at instant: @autoclosure () -> Instant) {
    guard isRecording else { return }
    let end = instant().nanosecondsSinceEpoch
    let ended = span.withLock { span -> RecordedSpan? in
      guard span.end == 0 else { return nil }
      // The time of day may have been set back.
      span.end = max(span.start, end)
      return span
    }
    if let ended { queue.add(ended) }
  }
}

/// What is exported of a span.
struct RecordedSpan: Sendable {
  var trace: TraceContext
  /// The identifier of its parent; `nil` without one.
  var parent: UInt64?
  var name: String
  var kind: SpanKind
  /// Nanoseconds since 1970.
  var start: UInt64
  /// 0 until the span ends.
  var end: UInt64 = 0
  var attributes: SpanAttributes = [:]
  var isError = false
}

/// Spans that wait for their export: a bounded number.
final class SpanQueue: Sendable {
  private struct State: Sendable {
    var spans: [RecordedSpan] = []
    var dropped = 0
  }

  private let state = Locked(State())
  private let maxSpans: Int
  private let batch: Int
  private let onBatch: @Sendable () -> Void

  /// - Parameters:
  ///   - maxSpans: The most spans that wait.
  ///   - batch: The number of spans of which there is one call of `onBatch`.
  init(maxSpans: Int, batch: Int, onBatch: @escaping @Sendable () -> Void = {}) {
    self.maxSpans = maxSpans
    self.batch = batch
    self.onBatch = onBatch
  }

  /// The number of spans that found no room, and of those that ``drop(_:)`` counted.
  var dropped: Int { state.withLock { $0.dropped } }

  /// The number of spans that wait.
  var count: Int { state.withLock { $0.spans.count } }

  /// Adds a span, or drops it if too many wait.
  func add(_ span: RecordedSpan) {
    let isBatch = state.withLock { state in
      guard state.spans.count < maxSpans else {
        state.dropped += 1
        return false
      }
      state.spans.append(span)
      return state.spans.count.isMultiple(of: batch)
    }
    if isBatch { onBatch() }
  }

  /// Removes the spans of the next request; empty if there are none.
  func take() -> [RecordedSpan] {
    state.withLock { state in
      defer { state.spans.removeFirst(min(batch, state.spans.count)) }
      return Array(state.spans.prefix(batch))
    }
  }

  /// Puts spans back that a collector did not accept now, as many as there is room for.
  func restore(_ spans: [RecordedSpan]) {
    state.withLock { state in
      let kept = spans.prefix(maxSpans - state.spans.count)
      state.spans.insert(contentsOf: kept, at: 0)
      state.dropped += spans.count - kept.count
    }
  }

  /// Counts spans that were not exported.
  func drop(_ count: Int) { state.withLock { $0.dropped += count } }
}
