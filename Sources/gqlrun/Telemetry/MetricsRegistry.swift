import CoreMetrics
import GQLRunReport
import GQLRunSupport

/// The metrics of the program: for OTLP and for Prometheus.
///
/// A metric has at most ``maxSeries`` sets of attributes. Further ones are one series with the attribute
/// `otel.metric.overflow`, as the specification demands:
/// https://opentelemetry.io/docs/specs/otel/metrics/sdk/#cardinality-limits
final class MetricsRegistry: MetricsFactory {
  /// The most sets of attributes of a metric, with that of the overflow.
  static let maxSeries = 2000

  /// What a metric is.
  struct Definition: Sendable {
    /// With the names of OTLP.
    enum Kind: String, Sendable {
      case counter = "sum"
      case gauge, histogram
    }

    var name: String
    var kind: Kind
    /// The unit by UCUM: `s`, `By`, `{task}`.
    var unit: String
    var help: String

    /// The upper bounds of the buckets of a histogram: those of the conventions for seconds, powers of four for bytes.
    ///
    /// https://opentelemetry.io/docs/specs/semconv/http/http-metrics/#metric-httpclientrequestduration
    var bounds: [Double] {
      guard kind == .histogram else { return [] }
      return unit == "s"
        ? [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]
        : (5...15).map { Double(1 << (2 * $0)) }
    }

    /// The name in Prometheus.
    ///
    /// https://opentelemetry.io/docs/specs/otel/compatibility/prometheus_and_openmetrics/#metric-metadata-1
    var prometheusName: String {
      let units = ["s": "_seconds", "By": "_bytes"]
      return name.replacing(".", with: "_") + (units[unit] ?? "")
        + (kind == .counter ? "_total" : "")
    }
  }

  /// The values of a metric at one moment.
  struct Snapshot: Sendable {
    var definition: Definition
    var series: [(attributes: [(String, String)], values: MetricSeries.Values)]
  }

  private struct Metric: Sendable {
    var definition: Definition
    var series: [[String]: MetricSeries] = [:]
    /// In the order in which they were created.
    var all: [MetricSeries] = []
  }

  private struct State: Sendable {
    var metrics: [String: Metric] = [:]
    var names: [String] = []
    var collect: (@Sendable (MetricsRegistry) async -> Void)?
  }

  private let state = Locked(State())

  /// Sets what is called before each snapshot, for values that are read and not counted.
  func onCollect(_ collect: @escaping @Sendable (MetricsRegistry) async -> Void) {
    state.withLock { $0.collect = collect }
  }

  /// The current values of all metrics.
  func snapshot() async -> [Snapshot] {
    await state.withLock { $0.collect }?(self)
    return state.withLock { state in
      state.names.compactMap { name in
        state.metrics[name].map { metric in
          Snapshot(
            definition: metric.definition,
            series: metric.all.map { ($0.attributes, $0.values) })
        }
      }
    }
  }

  /// The current values in the text format of Prometheus.
  func prometheusText() async -> String {
    var text = PrometheusText()
    for metric in await snapshot() {
      let definition = metric.definition
      let (name, help) = (definition.prometheusName, definition.help)
      for (labels, values) in metric.series {
        switch definition.kind {
        case .counter, .gauge:
          text.add(
            name, help: help, type: definition.kind == .counter ? .counter : .gauge,
            labels: labels, value: values.sum)
        case .histogram:
          text.add(
            name, help: help, labels: labels, bounds: definition.bounds, counts: values.counts,
            sum: values.sum)
        }
      }
    }
    return text.text
  }

  /// Sets a value that is read and not counted.
  func set(_ name: String, _ value: Int, attributes: [(String, String)] = []) {
    series(name, kind: .gauge, attributes: attributes).set(Double(value))
  }

  private func series(
    _ name: String, kind: Definition.Kind, attributes: [(String, String)]
  ) -> MetricSeries {
    state.withLock { state in
      if state.metrics[name] == nil {
        state.names.append(name)
        state.metrics[name] = Metric(definition: Definition.of(name, kind: kind))
      }
      let key = attributes.flatMap { [$0.0, $0.1] }
      if let known = state.metrics[name]?.series[key] { return known }
      let overflow = ["otel.metric.overflow", "true"]
      let isFull = (state.metrics[name]?.all.count ?? 0) >= Self.maxSeries - 1
      if isFull, let known = state.metrics[name]?.series[overflow] { return known }
      let series = MetricSeries(
        isFull ? [(overflow[0], overflow[1])] : attributes,
        bounds: state.metrics[name]?.definition.bounds ?? [])
      state.metrics[name]?.series[isFull ? overflow : key] = series
      state.metrics[name]?.all.append(series)
      return series
    }
  }

  func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
    series(label, kind: .counter, attributes: dimensions)
  }

  func makeFloatingPointCounter(
    label: String, dimensions: [(String, String)]
  ) -> any FloatingPointCounterHandler {
    series(label, kind: .counter, attributes: dimensions)
  }

  func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
    series(label, kind: .gauge, attributes: dimensions)
  }

  func makeRecorder(
    label: String, dimensions: [(String, String)], aggregate: Bool
  ) -> any RecorderHandler {
    series(label, kind: .histogram, attributes: dimensions)
  }

  func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
    series(label, kind: .histogram, attributes: dimensions)
  }

  // Series live as long as the program: a counter that a reader has seen does not begin again.
  func destroyCounter(_ handler: any CounterHandler) {}
  func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) {}
  func destroyMeter(_ handler: any MeterHandler) {}
  func destroyRecorder(_ handler: any RecorderHandler) {}
  func destroyTimer(_ handler: any TimerHandler) {}
}

/// The values of one set of attributes.
final class MetricSeries: CounterHandler, FloatingPointCounterHandler, MeterHandler,
  RecorderHandler, TimerHandler
{
  struct Values: Sendable, Equatable {
    /// The sum of a counter and of a histogram; the value of a gauge.
    var sum = 0.0
    /// The number of values in each bucket of a histogram, and in that above the last bound.
    var counts: [UInt64] = []
    var count: UInt64 = 0
  }

  let attributes: [(String, String)]
  private let bounds: [Double]
  private let state: Locked<Values>

  fileprivate init(_ attributes: [(String, String)], bounds: [Double]) {
    self.attributes = attributes
    self.bounds = bounds
    var values = Values()
    if !bounds.isEmpty { values.counts = Array(repeating: 0, count: bounds.count + 1) }
    state = Locked(values)
  }

  var values: Values { state.withLock { $0 } }

  func increment(by amount: Int64) { increment(by: Double(amount)) }

  func increment(by amount: Double) { state.withLock { $0.sum += amount } }

  func decrement(by amount: Double) { increment(by: -amount) }

  /// Does nothing: a counter that a reader has seen does not begin again.
  func reset() {}

  func set(_ value: Int64) { set(Double(value)) }

  func set(_ value: Double) { state.withLock { $0.sum = value } }

  func record(_ value: Int64) { record(Double(value)) }

  func record(_ value: Double) {
    let bucket = bounds.firstIndex { value <= $0 } ?? bounds.count
    state.withLock { state in
      state.sum += value
      state.count += 1
      if bucket < state.counts.count { state.counts[bucket] += 1 }
    }
  }

  func recordNanoseconds(_ duration: Int64) { record(Double(duration) / 1e9) }
}

extension MetricsRegistry.Definition {
  /// All metrics of the program; docs/guide-telemetry.md has them with their attributes.
  static let all: [MetricsRegistry.Definition] = [
    .init(
      name: "graphql.client.operations", kind: .counter, unit: "{operation}",
      help: "GraphQL operations that ended."),
    .init(
      name: "graphql.client.operation.duration", kind: .histogram, unit: "s",
      help: "Duration of GraphQL operations, with their retries."),
    .init(
      name: "graphql.client.attempts", kind: .counter, unit: "{attempt}",
      help: "Attempts of GraphQL operations."),
    .init(
      name: "graphql.client.cache.answers", kind: .counter, unit: "{answer}",
      help: "Reads of the cache, by their answer."),
    .init(
      name: "graphql.client.cache.records", kind: .counter, unit: "{record}",
      help: "Records written to the cache, by what changed."),
    .init(
      name: "graphql.client.response.size", kind: .histogram, unit: "By",
      help: "Size of GraphQL responses after decompression."),
    .init(
      name: "graphql.client.subscription.events", kind: .counter, unit: "{event}",
      help: "Events of subscriptions."),
    .init(
      name: "graphql.client.subscription.gaps", kind: .counter, unit: "{gap}",
      help: "Gaps in the events of subscriptions."),
    .init(
      name: "http.client.request.duration", kind: .histogram, unit: "s",
      help: "Duration of HTTP requests, to the end of the response."),
    .init(
      name: "http.client.request.body.size", kind: .histogram, unit: "By",
      help: "Size of HTTP request bodies."),
    .init(
      name: "gqlrun.batch.tasks", kind: .gauge, unit: "{task}",
      help: "Tasks of the run, by their state."),
    .init(
      name: "gqlrun.batch.requests.active", kind: .gauge, unit: "{request}",
      help: "Requests of the run in flight."),
    .init(
      name: "gqlrun.batch.requests.limit", kind: .gauge, unit: "{request}",
      help: "Requests of the run that may be in flight."),
    .init(
      name: "gqlrun.serve.requests", kind: .counter, unit: "{request}",
      help: "Requests that the demo server received."),
    .init(
      name: "gqlrun.serve.response.size", kind: .counter, unit: "By",
      help: "Bytes of bodies that the demo server sent."),
  ]

  private static let byName = Dictionary(
    all.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })

  /// The definition of a metric.
  ///
  /// - Parameter kind: The kind of a metric that is not in ``all``.
  static func of(_ name: String, kind: Kind) -> Self {
    byName[name] ?? Self(name: name, kind: kind, unit: "", help: name)
  }
}
