import CoreMetrics
import GQLRunJSON
import Testing
import Tracing

@testable import gqlrun

@Suite("Telemetry: requests in the JSON encoding of OTLP")
struct OTLPMessageTests {
  private let message = OTLPMessage(resource: [("service.name", "my.service")], version: "1.0.0")

  /// As https://github.com/open-telemetry/opentelemetry-proto/blob/main/examples/trace.json has a span.
  @Test("a span, as the examples of the specification have it")
  func span() throws {
    let parent = try #require(
      TraceContext(traceParent: "00-5b8efff798038103d269b633813fc60c-eee19b7ec3c1b174-01"))
    let span = RecordedSpan(
      trace: parent, parent: 0xEEE1_9B7E_C3C1_B173, name: "I'm a \"server\" span", kind: .server,
      start: 1_544_712_660_000_000_000, end: 1_544_712_661_000_000_000,
      attributes: ["my.span.attr": "some value"])
    let expected = #"""
      {"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"my.service"}}]},\#
      "scopeSpans":[{"scope":{"name":"gqlrun","version":"1.0.0"},"spans":[{\#
      "traceId":"5b8efff798038103d269b633813fc60c","spanId":"eee19b7ec3c1b174",\#
      "parentSpanId":"eee19b7ec3c1b173","flags":1,"name":"I'm a \"server\" span","kind":2,\#
      "startTimeUnixNano":"1544712660000000000","endTimeUnixNano":"1544712661000000000",\#
      "attributes":[{"key":"my.span.attr","value":{"stringValue":"some value"}}],"status":{}}]}]}]}
      """#
    #expect(String(decoding: message.traces([span]), as: UTF8.self) == expected)
  }

  @Test("values of each type, kinds and a failure")
  func values() throws {
    let trace = TraceContext(
      traceID: TraceID(high: 0, low: 1), spanID: 2, isSampled: true, traceState: "a=1")
    var span = RecordedSpan(trace: trace, name: "POST", kind: .client, start: 1, end: 2)
    span.isError = true
    span.attributes["integer"] = Int64.min
    span.attributes["double"] = 0.5
    span.attributes["flag"] = true
    let json = try JSONValue(parsing: message.traces([span]))
    let found = try #require(
      json["resourceSpans"]?[0]?["scopeSpans"]?[0]?["spans"]?[0])
    #expect(found["traceId"]?.stringValue == "00000000000000000000000000000001")
    #expect(found["spanId"]?.stringValue == "0000000000000002")
    #expect(found["parentSpanId"] == nil)
    #expect(found["traceState"]?.stringValue == "a=1")
    #expect(found["kind"]?.intValue == 3 && found["status"]?["code"]?.intValue == 2)
    let attributes = try #require(found["attributes"]?.arrayValue)
    // In the order of their names.
    #expect(
      attributes.map { $0.jsonText() } == [
        #"{"key":"double","value":{"doubleValue":0.5}}"#,
        #"{"key":"flag","value":{"boolValue":true}}"#,
        #"{"key":"integer","value":{"intValue":"-9223372036854775808"}}"#,
      ])
  }

  /// As https://github.com/open-telemetry/opentelemetry-proto/blob/main/examples/metrics.json has metrics.
  @Test("a sum, a gauge and a histogram, as the examples of the specification have them")
  func metrics() async throws {
    let registry = MetricsRegistry()
    registry.makeCounter(
      label: "graphql.client.operations", dimensions: [("graphql.operation.type", "query")]
    ).increment(by: 5)
    registry.set("gqlrun.batch.requests.active", 10)
    let timer = registry.makeTimer(
      label: "http.client.request.duration",
      dimensions: [("server.address", "a"), ("server.port", "443")])
    timer.recordNanoseconds(2_000_000)
    timer.recordNanoseconds(20_000_000_000)
    let bytes = message.metrics(await registry.snapshot(), start: 3, time: 4)
    let json = try JSONValue(parsing: bytes)
    let metrics = try #require(
      json["resourceMetrics"]?[0]?["scopeMetrics"]?[0]?["metrics"]?.arrayValue)
    let type = #"{"key":"graphql.operation.type","value":{"stringValue":"query"}}"#
    #expect(
      metrics[0]["sum"]?.jsonText()
        == #"{"dataPoints":[{"attributes":[\#(type)],"startTimeUnixNano":"3","timeUnixNano":"4","asInt":"5"}],"#
        + #""aggregationTemporality":2,"isMonotonic":true}"#)
    #expect(metrics[0]["unit"]?.stringValue == "{operation}")
    #expect(
      metrics[1]["gauge"]?.jsonText()
        == #"{"dataPoints":[{"attributes":[],"timeUnixNano":"4","asInt":"10"}]}"#)
    let histogram = try #require(metrics[2]["histogram"])
    let point = try #require(histogram["dataPoints"]?[0])
    #expect(histogram["aggregationTemporality"]?.intValue == 2)
    #expect(metrics[2]["unit"]?.stringValue == "s")
    #expect(point["count"]?.stringValue == "2" && point["sum"]?.doubleValue == 20.002)
    #expect(
      point["attributes"]?[1]?.jsonText() == #"{"key":"server.port","value":{"intValue":"443"}}"#)
    let counts = try #require(point["bucketCounts"]?.arrayValue).map(\.stringValue)
    let bounds = try #require(point["explicitBounds"]?.arrayValue).map(\.doubleValue)
    #expect(counts.count == 15 && bounds.count == 14)
    #expect(counts.first == "1" && counts.last == "1" && bounds.first == 0.005)
  }

  @Test("the text of Prometheus has units in its names, and buckets that count all below")
  func prometheus() async throws {
    let registry = MetricsRegistry()
    registry.makeCounter(
      label: "graphql.client.operations", dimensions: [("graphql.operation.name", "A\"\n")]
    ).increment(by: 2)
    let timer = registry.makeTimer(label: "graphql.client.operation.duration", dimensions: [])
    for nanoseconds: Int64 in [1_000_000, 5_000_000, 80_000_000, 11_000_000_000] {
      timer.recordNanoseconds(nanoseconds)
    }
    registry.makeRecorder(
      label: "http.client.request.body.size", dimensions: [], aggregate: true
    ).record(Int64(2000))
    registry.set("gqlrun.batch.tasks", 3, attributes: [("gqlrun.batch.task.state", "done")])
    let lines = await registry.prometheusText().split(separator: "\n").map { String($0) }
    for line in [
      "# TYPE graphql_client_operations_total counter",
      #"graphql_client_operations_total{graphql_operation_name="A\"\n"} 2.0"#,
      "# HELP graphql_client_operation_duration_seconds Duration of GraphQL operations, with their retries.",
      "# TYPE graphql_client_operation_duration_seconds histogram",
      #"graphql_client_operation_duration_seconds_bucket{le="0.005"} 2"#,
      #"graphql_client_operation_duration_seconds_bucket{le="0.1"} 3"#,
      #"graphql_client_operation_duration_seconds_bucket{le="10.0"} 3"#,
      #"graphql_client_operation_duration_seconds_bucket{le="+Inf"} 4"#,
      "graphql_client_operation_duration_seconds_sum 11.086",
      "graphql_client_operation_duration_seconds_count 4",
      #"http_client_request_body_size_bytes_bucket{le="4096.0"} 1"#,
      "# TYPE gqlrun_batch_tasks gauge",
      #"gqlrun_batch_tasks{gqlrun_batch_task_state="done"} 3.0"#,
    ] { #expect(lines.contains(line), "\(line)") }
    #expect(lines.count { $0.hasPrefix("# TYPE") } == 4)
  }

  @Test("a metric has a bounded number of attribute sets; further ones are one series")
  func cardinality() async throws {
    let registry = MetricsRegistry()
    for number in 0..<MetricsRegistry.maxSeries + 500 {
      registry.makeCounter(
        label: "graphql.client.operations", dimensions: [("graphql.operation.name", "Q\(number)")]
      ).increment(by: 1)
    }
    // A known set still counts by itself.
    registry.makeCounter(
      label: "graphql.client.operations", dimensions: [("graphql.operation.name", "Q0")]
    ).increment(by: 1)
    let series = try #require(await registry.snapshot().first).series
    #expect(series.count == MetricsRegistry.maxSeries)
    #expect(series.first?.values.sum == 2)
    let last = try #require(series.last)
    #expect(last.attributes.map(\.0) == ["otel.metric.overflow"] && last.values.sum == 501)
  }
}
