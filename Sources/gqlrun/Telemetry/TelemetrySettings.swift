import Foundation
import GQLRunPipeline
import HTTPTypes

/// What the program exports and where, by the variables of OpenTelemetry.
///
/// https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/ and
/// https://opentelemetry.io/docs/specs/otel/protocol/exporter/
struct TelemetrySettings: Sendable {
  /// Where one signal is exported.
  struct Target: Sendable {
    /// The URL, with `v1/traces` or `v1/metrics`, and the fields of each request, which are secret.
    var url: Endpoint
    /// Time limit of a request.
    var timeout: Duration
  }

  /// The address of the metrics for Prometheus.
  struct Address: Sendable, Equatable {
    var host: String
    var port: Int
  }

  /// Where traces are exported; `nil` exports none.
  var traces: Target?
  /// Where metrics are exported; `nil` exports none.
  var metrics: Target?
  /// Where `OTEL_METRICS_EXPORTER=prometheus` serves metrics; `nil` for other exporters.
  var prometheus: Address?
  var sampler = TraceSampler()
  /// The attributes of the program, without `service.name`.
  var resource: [(name: String, value: String)] = []
  var serviceName = "gqlrun"
  /// The time between two exports of metrics.
  var metricInterval = Duration.seconds(60)
  /// The time between two exports of spans, unless a batch is complete before.
  var spanDelay = Duration.seconds(5)
  /// The time that the last export may take.
  var maxFlush = Duration.seconds(2)
  /// The most spans that wait for their export; further ones are dropped.
  var maxQueuedSpans = 2048
  /// The most spans of one request.
  var maxBatch = 512
  /// The parent of the first span, of `TRACEPARENT`.
  var parent: TraceContext?
  /// Whether spans of operations have their documents.
  var reportsDocuments = false
  /// What of the variables is not used, and what is used instead.
  var warnings: [String] = []

  var isEnabled: Bool { traces != nil || metrics != nil || prometheus != nil }

  /// Reads the variables.
  ///
  /// - Parameter variable: Returns the value of a variable; `nil` if it is not set.
  init(_ variable: (String) -> String?) {
    // An empty value is the same as none.
    func value(_ name: String) -> String? { variable(name).flatMap { $0.isEmpty ? nil : $0 } }
    guard value("OTEL_SDK_DISABLED")?.lowercased() != "true" else { return }
    let tracesBy = exporters("TRACES", of: value, known: ["otlp", "none"])
    let metricsBy = exporters("METRICS", of: value, known: ["otlp", "prometheus", "none"])
    if tracesBy.contains("otlp") { traces = target("TRACES", of: value) }
    if metricsBy.contains("otlp") { metrics = target("METRICS", of: value) }
    if metricsBy.contains("prometheus") {
      let port = integer("OTEL_EXPORTER_PROMETHEUS_PORT", of: value, in: 0...65_535) ?? 9464
      prometheus = Address(
        host: value("OTEL_EXPORTER_PROMETHEUS_HOST") ?? "127.0.0.1", port: port)
    }
    // Without an exporter, the other variables are those of other programs.
    guard isEnabled else { return }
    readProgram(value)
    if traces != nil { readTraces(value) }
    if let time = milliseconds("OTEL_METRIC_EXPORT_INTERVAL", of: value) { metricInterval = time }
  }

  private typealias Variables = (String) -> String?

  /// The exporters of a signal. Without a variable: OTLP if it has an endpoint.
  private mutating func exporters(
    _ signal: String, of value: Variables, known: Set<String>
  ) -> Set<String> {
    let name = "OTEL_\(signal)_EXPORTER"
    guard let text = value(name) else {
      let isGiven =
        value("OTEL_EXPORTER_OTLP_ENDPOINT") ?? value("OTEL_EXPORTER_OTLP_\(signal)_ENDPOINT")
      return isGiven == nil ? [] : ["otlp"]
    }
    let names = Set(text.split(separator: ",").map { $0.trimmed.lowercased() })
    for other in names.subtracting(known).sorted() {
      warn(
        "\(name)=\(other) is not supported and exports nothing; use "
          + known.sorted().joined(separator: ", "))
    }
    return names.contains("none") ? [] : names.intersection(known)
  }

  private mutating func target(_ signal: String, of value: Variables) -> Target? {
    let own = "OTEL_EXPORTER_OTLP_\(signal)_"
    let common = "OTEL_EXPORTER_OTLP_"
    func either(_ name: String) -> (name: String, text: String)? {
      value(own + name).map { (own + name, $0) } ?? value(common + name).map { (common + name, $0) }
    }
    if let (name, text) = either("PROTOCOL"), text != "http/json" {
      warn("\(name)=\(text) is not supported; http/json is used")
    }
    let (name, given) = either("ENDPOINT") ?? (common + "ENDPOINT", "http://localhost:4318")
    var url = given
    if !name.hasPrefix(own) {
      if !url.hasSuffix("/") { url += "/" }
      url += "v1/\(signal.lowercased())"
    }
    var parsed: Endpoint?
    var reason = "use http or https"
    do throws(Endpoint.InvalidURL) { parsed = try Endpoint(url: url) } catch {
      reason = error.reason
    }
    guard var endpoint = parsed, !endpoint.isWebSocket else {
      warn("\(signal.lowercased()) are not exported: \(name) is no URL of a collector: \(reason)")
      return nil
    }
    if let (name, text) = either("HEADERS") {
      for (field, text) in pairs(text, of: name) {
        if let field = HTTPField.Name(field) {
          endpoint.headers[field] = text
        } else {
          warn("a member of \(name) is not used, because its name is none of a field")
        }
      }
    }
    let timeout = either("TIMEOUT").flatMap { milliseconds($0.name, of: value) }
    return Target(url: endpoint, timeout: timeout ?? .seconds(10))
  }

  private mutating func readProgram(_ value: Variables) {
    if let text = value("OTEL_RESOURCE_ATTRIBUTES") {
      for (name, text) in pairs(text, of: "OTEL_RESOURCE_ATTRIBUTES") {
        if name == "service.name" { serviceName = text } else { resource.append((name, text)) }
      }
    }
    if let name = value("OTEL_SERVICE_NAME") { serviceName = name }
  }

  private mutating func readTraces(_ value: Variables) {
    let argument = value("OTEL_TRACES_SAMPLER_ARG")
    if let name = value("OTEL_TRACES_SAMPLER") {
      if let known = TraceSampler(name) {
        sampler = known
      } else {
        warn(
          "OTEL_TRACES_SAMPLER=\(name) is not supported; parentbased_always_on is used")
      }
      if sampler.ratio != nil, let argument {
        if let ratio = Double(argument), (0...1).contains(ratio) {
          sampler.ratio = ratio
        } else {
          warn("OTEL_TRACES_SAMPLER_ARG=\(argument) is no ratio of 0 to 1; 1 is used")
        }
      }
    }
    if let time = milliseconds("OTEL_BSP_SCHEDULE_DELAY", of: value) { spanDelay = time }
    let sizes = 1...1_000_000
    if let size = integer("OTEL_BSP_MAX_QUEUE_SIZE", of: value, in: sizes) { maxQueuedSpans = size }
    if let size = integer("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", of: value, in: sizes) {
      maxBatch = size
    }
    maxBatch = min(maxBatch, maxQueuedSpans)
    if let time = milliseconds("OTEL_BSP_EXPORT_TIMEOUT", of: value), let traces {
      self.traces?.timeout = min(traces.timeout, time)
      maxFlush = time
    }
    if let text = value("TRACEPARENT") {
      parent = TraceContext(traceParent: text, traceState: value("TRACESTATE"))
      if parent == nil {
        warn("TRACEPARENT is no trace context of W3C; a new trace begins")
      }
    }
    reportsDocuments = value("GQLRUN_OTEL_DOCUMENT") == "1"
  }

  /// A list `name=value,name=value`, percent-encoded. A member without a name is not used; the warning does not repeat
  /// it, because it may be secret.
  ///
  /// https://opentelemetry.io/docs/specs/otel/protocol/exporter/#specifying-headers-via-environment-variables
  private mutating func pairs(_ text: String, of name: String) -> [(name: String, value: String)] {
    var pairs: [(name: String, value: String)] = []
    for (index, member) in text.split(separator: ",").enumerated() where !member.trimmed.isEmpty {
      let parts = member.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2, !parts[0].trimmed.isEmpty,
        let value = parts[1].trimmed.removingPercentEncoding
      else {
        warn("member \(index + 1) of \(name) is not used; write name=value")
        continue
      }
      pairs.append((parts[0].trimmed, value))
    }
    return pairs
  }

  /// Adds a warning once: traces and metrics have variables in common.
  private mutating func warn(_ text: String) {
    if !warnings.contains(text) { warnings.append(text) }
  }

  private mutating func integer(
    _ name: String, of value: Variables, in range: ClosedRange<Int>
  ) -> Int? {
    guard let text = value(name) else { return nil }
    if let number = Int(text), range.contains(number) { return number }
    warn(
      "\(name)=\(text) is no number of \(range.lowerBound) to \(range.upperBound); the default is used"
    )
    return nil
  }

  private mutating func milliseconds(_ name: String, of value: Variables) -> Duration? {
    integer(name, of: value, in: 1...86_400_000).map { .milliseconds($0) }
  }
}

extension StringProtocol {
  fileprivate var trimmed: String { trimmingCharacters(in: .whitespaces) }
}
