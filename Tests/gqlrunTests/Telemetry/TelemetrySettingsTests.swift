import GQLRunPipeline
import HTTPTypes
import Testing
import Tracing

@testable import gqlrun

@Suite("Telemetry: the variables of OpenTelemetry")
struct TelemetrySettingsTests {
  private func settings(_ variables: [String: String]) -> TelemetrySettings {
    TelemetrySettings { variables[$0] }
  }

  private static let endpoint = ["OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318"]

  @Test(
    "nothing is exported unless it is asked for",
    arguments: [
      [:], ["OTEL_SERVICE_NAME": "a", "TRACEPARENT": "no"],
      ["OTEL_EXPORTER_OTLP_ENDPOINT": ""],
      ["OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:1", "OTEL_SDK_DISABLED": "true"],
      [
        "OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:1", "OTEL_TRACES_EXPORTER": "none",
        "OTEL_METRICS_EXPORTER": "none",
      ],
    ])
  func nothing(variables: [String: String]) {
    let settings = settings(variables)
    #expect(!settings.isEnabled && settings.warnings == [])
  }

  @Test(
    "the URLs of traces and metrics",
    arguments: [
      (
        ["OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318"], "http://c:4318/v1/traces",
        "http://c:4318/v1/metrics"
      ),
      (
        ["OTEL_EXPORTER_OTLP_ENDPOINT": "https://c/otlp/"], "https://c/otlp/v1/traces",
        "https://c/otlp/v1/metrics"
      ),
      (["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c:1/own"], "http://c:1/own", nil),
      (["OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://c:1"], nil, "http://c:1/"),
      (["OTEL_TRACES_EXPORTER": "otlp"], "http://localhost:4318/v1/traces", nil),
      (
        [
          "OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:1", "OTEL_TRACES_EXPORTER": "none",
        ], nil, "http://c:1/v1/metrics"
      ),
    ] as [([String: String], String?, String?)])
  func targets(variables: [String: String], traces: String?, metrics: String?) {
    let settings = settings(variables)
    #expect(settings.traces?.url.shownURL == traces)
    #expect(settings.metrics?.url.shownURL == metrics)
    #expect(settings.warnings == [])
  }

  @Test(
    "what cannot be used is a warning without secrets",
    arguments: [
      ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc", "grpc is not supported; http/json is used"),
      ("OTEL_TRACES_EXPORTER", "zipkin", "zipkin is not supported and exports nothing"),
      ("OTEL_TRACES_SAMPLER", "xray", "xray is not supported; parentbased_always_on is used"),
      ("OTEL_BSP_MAX_QUEUE_SIZE", "99999999999999999999", "the default is used"),
      ("OTEL_METRIC_EXPORT_INTERVAL", "-1", "the default is used"),
      ("OTEL_EXPORTER_OTLP_TIMEOUT", "soon", "the default is used"),
      ("OTEL_EXPORTER_OTLP_HEADERS", "s3cret", "member 1 of OTEL_EXPORTER_OTLP_HEADERS"),
      ("OTEL_EXPORTER_OTLP_HEADERS", "s3cret key=a", "a member of OTEL_EXPORTER_OTLP_HEADERS"),
      ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "wss://c", "use http or https"),
      ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://u:s3cret@c", "it contains credentials"),
      ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "s3cret", "traces are not exported"),
      ("TRACEPARENT", "00-0-0-0", "a new trace begins"),
    ])
  func warnings(name: String, value: String, text: String) throws {
    var variables = Self.endpoint
    variables[name] = value
    let warnings = settings(variables).warnings
    #expect(warnings.contains { $0.contains(text) }, "\(warnings)")
    #expect(!warnings.contains { $0.contains("s3cret") }, "\(warnings)")
  }

  @Test("http/json is the protocol that needs no warning, and two signals have one warning")
  func protocols() {
    var variables = Self.endpoint
    variables["OTEL_EXPORTER_OTLP_PROTOCOL"] = "http/json"
    #expect(settings(variables).warnings == [])
    variables["OTEL_EXPORTER_OTLP_PROTOCOL"] = "http/protobuf"
    #expect(settings(variables).warnings.count == 1)
  }

  @Test(
    "header fields and attributes are percent-decoded; those of a signal replace the common ones")
  func pairs() throws {
    var variables = Self.endpoint
    variables["OTEL_EXPORTER_OTLP_HEADERS"] = "api-key=a%3Db, x = y%20z"
    variables["OTEL_EXPORTER_OTLP_METRICS_HEADERS"] = "api-key=m"
    variables["OTEL_RESOURCE_ATTRIBUTES"] = "service.name=a,team=caf%C3%A9,empty="
    var settings = settings(variables)
    #expect(settings.traces?.url.headers.map(\.name.rawName) == ["api-key", "x"])
    #expect(settings.traces?.url.headers.map(\.value) == ["a=b", "y z"])
    #expect(settings.metrics?.url.headers.map(\.value) == ["m"])
    #expect(settings.serviceName == "a")
    #expect(settings.resource.map(\.name) == ["team", "empty"])
    #expect(settings.resource.map(\.value) == ["café", ""])
    variables["OTEL_SERVICE_NAME"] = "b"
    settings = self.settings(variables)
    #expect(settings.serviceName == "b")
  }

  @Test("times, sizes and the Prometheus exporter")
  func numbers() throws {
    var variables = Self.endpoint
    variables["OTEL_EXPORTER_OTLP_TIMEOUT"] = "3000"
    variables["OTEL_EXPORTER_OTLP_METRICS_TIMEOUT"] = "4000"
    variables["OTEL_BSP_EXPORT_TIMEOUT"] = "2500"
    variables["OTEL_BSP_SCHEDULE_DELAY"] = "100"
    variables["OTEL_BSP_MAX_QUEUE_SIZE"] = "10"
    variables["OTEL_METRIC_EXPORT_INTERVAL"] = "500"
    variables["OTEL_METRICS_EXPORTER"] = "otlp, prometheus"
    variables["OTEL_EXPORTER_PROMETHEUS_PORT"] = "9999"
    let settings = settings(variables)
    #expect(settings.traces?.timeout == .milliseconds(2500))
    #expect(settings.maxFlush == .milliseconds(2500))
    #expect(settings.metrics?.timeout == .seconds(4))
    #expect(settings.spanDelay == .milliseconds(100))
    #expect(settings.maxQueuedSpans == 10 && settings.maxBatch == 10)
    #expect(settings.metricInterval == .milliseconds(500))
    #expect(settings.prometheus == .init(host: "127.0.0.1", port: 9999))
    #expect(settings.warnings == [])
  }
}

@Suite("Telemetry: trace contexts and samplers")
struct TraceContextTests {
  /// The example of https://www.w3.org/TR/trace-context/#examples-of-http-traceparent-headers.
  private static let example = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

  @Test("a trace context is read and written as W3C has it")
  func example() throws {
    let trace = try #require(TraceContext(traceParent: Self.example, traceState: "a=1"))
    #expect(trace.traceID.hex == "4bf92f3577b34da6a3ce929d0e0e4736")
    #expect(trace.spanID.hex == "00f067aa0ba902b7")
    #expect(trace.isSampled && trace.traceState == "a=1")
    #expect(trace.traceParent == Self.example)
  }

  @Test(
    "flags and later versions",
    arguments: [
      ("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00", false),
      ("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-03", true),
      ("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more", true),
    ])
  func flags(text: String, isSampled: Bool) {
    #expect(TraceContext(traceParent: text)?.isSampled == isSampled)
  }

  @Test(
    "invalid contexts are refused",
    arguments: [
      "", "00", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
      "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
      "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
      "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
      "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
      "00-4bf92f3577b34da6a3ce929d0e0e473-00f067aa0ba902b7-01",
      "00-4bf92f3577b34da6a3ce929d0e0e4736-+0f067aa0ba902b7-01",
      "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
    ])
  func invalid(text: String) { #expect(TraceContext(traceParent: text) == nil) }

  @Test("a state that no field can have is not passed on")
  func state() throws {
    for state in ["a=1\r\nX: y", "a=é", String(repeating: "a", count: 513)] {
      let trace = try #require(TraceContext(traceParent: Self.example, traceState: state))
      #expect(trace.traceState == nil)
    }
  }

  @Test(
    "samplers decide by their parent, the trace and the ratio",
    arguments: [
      ("always_on", false, true), ("always_off", true, false),
      ("parentbased_always_on", true, true), ("parentbased_always_on", false, false),
      ("parentbased_always_off", true, true), ("parentbased_always_off", nil, false),
      ("parentbased_always_on", nil, true), ("traceidratio", false, true),
      ("parentbased_traceidratio", false, false),
    ] as [(String, Bool?, Bool)])
  func samplers(name: String, parent isSampled: Bool?, expected: Bool) throws {
    let sampler = try #require(TraceSampler(name))
    var parent = TraceContext(traceParent: Self.example)
    if let isSampled { parent?.isSampled = isSampled } else { parent = nil }
    #expect(sampler.samples(.random(), parent: parent, isRun: false) == expected)
  }

  @Test("a ratio selects by the low bits, always the same")
  func ratio() throws {
    var sampler = try #require(TraceSampler("parentbased_traceidratio"))
    sampler.ratio = 0.25
    let random: [UInt64] = [0, 1 << 61, 1 << 62 - 1, 1 << 62, 1 << 63, .max]
    #expect(random.map { sampler.selects($0) } == [true, true, true, false, false, false])
    sampler.ratio = 0
    #expect(!random.contains { sampler.selects($0) })
    sampler.ratio = 1
    #expect(random.allSatisfy { sampler.selects($0) })
  }

  @Test("a run is sampled whatever the ratio is, and so are some of its tasks with all they do")
  func tasks() throws {
    var sampler = TraceSampler()
    sampler.ratio = 0.5
    let queue = SpanQueue(maxSpans: 10_000, batch: 10_000)
    let tracer = ProgramTracer(sampler: sampler, queue: queue)
    let root = tracer.startRoot("run", parent: nil, isRun: true)
    for _ in 0..<200 {
      let task = tracer.startSpan("task", context: root.context)
      let query = tracer.startSpan("query", context: task.context)
      #expect(query.isRecording == task.isRecording)
      query.end()
      task.end()
    }
    root.end()
    let spans = queue.take()
    let tasks = spans.filter { $0.name == "task" }
    // The probability of another number is 1e-20.
    #expect((30...170).contains(tasks.count))
    #expect(spans.filter { $0.name == "query" }.map(\.parent) == tasks.map(\.trace.spanID))
    #expect(tasks.allSatisfy { $0.parent == spans.last?.trace.spanID })
  }
}
