import CoreMetrics
import GQLRunCache
import GQLRunPipeline
import GQLRunSupport
import Tracing

/// Reports the operations of a client as metrics and spans.
///
/// Names follow OpenTelemetry's conventions where these define one:
/// https://opentelemetry.io/docs/specs/semconv/graphql/graphql-spans/ and
/// https://opentelemetry.io/docs/specs/semconv/http/http-metrics/. The contents of documents,
/// variables, header fields, bodies and query strings are never reported, except type and name of
/// the operation.
///
/// | metric | unit | attributes |
/// |---|---|---|
/// | `graphql.client.operations` | operations | type, name, `error.type` |
/// | `graphql.client.operation.duration` | time | type, name, `error.type` |
/// | `graphql.client.attempts` | attempts | type, name |
/// | `graphql.client.cache.answers` | answers | type, name, `graphql.cache.answer`: `hit`, `stale`, `miss` |
/// | `graphql.client.cache.records` | records | type, name, `graphql.cache.change`: `new`, `changed`, `unchanged` |
/// | `graphql.client.response.size` | bytes after decompression | type, name |
/// | `graphql.client.subscription.events` | events of subscriptions | type, name |
/// | `graphql.client.subscription.gaps` | gaps in the events | type, name |
/// | `http.client.request.duration` | time | method, server, status, `error.type` |
/// | `http.client.request.body.size` | bytes | method, server, status, `error.type` |
struct Telemetry: Sendable {
  private let metrics: any MetricsFactory
  let tracer: any Tracer
  let clock: ServiceClock
  let secrets: KnownSecrets
  let reportsDocuments: Bool

  /// - Returns: `nil` if neither metrics nor spans are collected.
  init?(_ configuration: PipelineClient.Configuration, _ services: Services) {
    metrics = configuration.metrics
    tracer = configuration.tracer
    if metrics is NOOPMetricsHandler, tracer is NoOpTracer { return nil }
    clock = services.clock
    secrets = services.secrets
    reportsDocuments = configuration.reportsDocuments
  }

  typealias Attributes = [(String, String)]

  func count(_ label: String, amount: Int = 1, attributes: Attributes) {
    guard amount > 0 else { return }
    Counter(label: label, dimensions: attributes, factory: metrics).increment(by: amount)
  }

  func record(_ label: String, value: Int, attributes: Attributes) {
    Recorder(label: label, dimensions: attributes, factory: metrics).record(value)
  }

  func time(_ label: String, duration: Duration, attributes: Attributes) {
    let (seconds, attoseconds) = duration.components
    Timer(label: label, dimensions: attributes, factory: metrics)
      .recordNanoseconds(seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
  }

  /// The value of `error.type`: a code, never a message, which may contain text of the server.
  static func type(of error: any Error) -> String {
    switch error {
    case let error as ChainError: error.code.rawValue
    case let error as CacheError: error.code.rawValue
    case is CancellationError: "cancelled"
    default: String(reflecting: Swift.type(of: error))
    }
  }
}

extension Telemetry: ChainObservation {
  func observing(_ operation: ObservedOperation) -> ResponseStream {
    let stream = operation.results
    let observation = OperationObservation(operation, telemetry: self)
    return ResponseStream(pull: {
      let context = observation.begin()
      do {
        let response = try await OperationObservation.$current.withValue(observation) {
          try await InstrumentationContext.withValue(context) { try await stream.next() }
        }
        if let response { observation.note(response) } else { observation.end() }
        return response
      } catch {
        observation.end(error)
        throw error
      }
    })
  }
}

/// The span and the metrics of one operation.
final class OperationObservation: Sendable {
  private struct State {
    var span: (any Span)?
    var start = Duration.zero
    var errorType: String?
    var hasResult = false
    var hasEnded = false
    /// The number of requests per URL.
    var requests: [String: Int] = [:]
  }

  /// The operation that the current task belongs to.
  @TaskLocal static var current: OperationObservation?

  private let operation: ObservedOperation
  private let telemetry: Telemetry
  private let state = Locked(State())

  init(_ operation: ObservedOperation, telemetry: Telemetry) {
    self.operation = operation
    self.telemetry = telemetry
  }

  /// The results were not read to their end.
  deinit { end() }

  private var attributes: Telemetry.Attributes {
    [("graphql.operation.type", operation.request.operationType.rawValue)]
      + (operation.request.operationName.map { [("graphql.operation.name", $0)] } ?? [])
  }

  /// Starts the span on the first call. Its name has few values, as the conventions demand; the operation's name is an
  /// attribute.
  func begin() -> InstrumentationContext {
    if let span = state.withLock({ $0.span }) { return span.context }
    let attributes = attributes
    let request = operation.request
    let span = telemetry.tracer.startSpan(request.operationType.rawValue, ofKind: .internal)
    for (name, value) in attributes { span.attributes[name] = value }
    if telemetry.reportsDocuments, let document = request.operation?.document {
      span.attributes["graphql.document"] = telemetry.secrets.hide(in: document)
    }
    state.withLock {
      $0.span = span
      $0.start = telemetry.clock.now()
    }
    return span.context
  }

  func note(_ response: GraphQLResponse) {
    if operation.request.operationType == .subscription {
      telemetry.count(
        "graphql.client.subscription.\(response.gap == nil ? "events" : "gaps")",
        attributes: attributes)
      if response.gap != nil { return }
    }
    let isFirst = state.withLock { state in
      defer { state.hasResult = true }
      // A later result replaces the error type of an earlier one.
      state.errorType = response.errors.isEmpty ? nil : "graphql_error"
      return !state.hasResult
    }
    if response.source == .cache {
      count(answer: response.staleness == nil ? "hit" : "stale")
    } else {
      if isFirst && operation.readsCacheFirst { count(answer: "miss") }
      telemetry.record(
        "graphql.client.response.size", value: response.timing.receivedBytes, attributes: attributes
      )
    }
    guard let summary = response.writeSummary else { return }
    for (change, records) in [
      ("new", summary.newRecords), ("changed", summary.changedRecords),
      ("unchanged", summary.unchangedRecords),
    ] {
      telemetry.count(
        "graphql.client.cache.records", amount: records,
        attributes: attributes + [("graphql.cache.change", change)])
    }
  }

  private func count(answer: String) {
    telemetry.count(
      "graphql.client.cache.answers", attributes: attributes + [("graphql.cache.answer", answer)])
  }

  /// The number of earlier requests to `url` in this operation.
  func resendCount(of url: String) -> Int {
    state.withLock { state in
      defer { state.requests[url, default: 0] += 1 }
      return state.requests[url, default: 0]
    }
  }

  func end(_ error: (any Error)? = nil) {
    let ended = state.withLock { state -> State? in
      guard state.span != nil, !state.hasEnded else { return nil }
      state.hasEnded = true
      if let error { state.errorType = Telemetry.type(of: error) }
      return state
    }
    guard let ended, let span = ended.span else { return }
    // Neither a result nor a hit: the cache read was a miss.
    if error != nil, !ended.hasResult, operation.readsCacheFirst { count(answer: "miss") }
    var attributes = attributes
    telemetry.count("graphql.client.attempts", amount: operation.attempts(), attributes: attributes)
    if let type = ended.errorType {
      attributes.append(("error.type", type))
      span.attributes["error.type"] = type
      span.setStatus(SpanStatus(code: .error))
    }
    telemetry.count("graphql.client.operations", attributes: attributes)
    telemetry.time(
      "graphql.client.operation.duration", duration: telemetry.clock.now() - ended.start,
      attributes: attributes)
    span.end()
  }
}
