import GQLRunJSON
import Tracing

/// Requests to a collector: OTLP in the JSON encoding of Protocol Buffers, with hexadecimal identifiers, 64-bit integers
/// as strings, and enumerations as numbers.
///
/// https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding
struct OTLPMessage: Sendable {
  /// The attributes of the program.
  var resource: [(name: String, value: String)]
  /// The version of the program.
  var version: String

  /// The body of a request to `v1/traces`.
  func traces(_ spans: [RecordedSpan]) -> [UInt8] {
    body("resourceSpans", scope: "scopeSpans", list: "spans", spans.map(Self.span))
  }

  /// The body of a request to `v1/metrics`. Sums and histograms count from the start of the program.
  ///
  /// - Parameters:
  ///   - start: The start of the program, in nanoseconds since 1970.
  ///   - time: The time of the values, in nanoseconds since 1970.
  func metrics(_ metrics: [MetricsRegistry.Snapshot], start: UInt64, time: UInt64) -> [UInt8] {
    let list = metrics.map { metric -> JSONValue in
      let definition = metric.definition
      let points = metric.series.map { attributes, values in
        var point: JSONObject = [
          "attributes": .array(attributes.map { Self.attribute($0, Self.value(of: $0, $1)) })
        ]
        if definition.kind != .gauge { point["startTimeUnixNano"] = Self.text(start) }
        point["timeUnixNano"] = Self.text(time)
        Self.add(values, of: definition, to: &point)
        return JSONValue.object(point)
      }
      var data: JSONObject = ["dataPoints": .array(points)]
      // `AGGREGATION_TEMPORALITY_CUMULATIVE`.
      if definition.kind != .gauge { data["aggregationTemporality"] = 2 }
      if definition.kind == .counter { data["isMonotonic"] = true }
      return [
        "name": .string(definition.name), "description": .string(definition.help),
        "unit": .string(definition.unit), definition.kind.rawValue: .object(data),
      ]
    }
    return body("resourceMetrics", scope: "scopeMetrics", list: "metrics", list)
  }

  private func body(
    _ resources: String, scope: String, list: String, _ elements: [JSONValue]
  ) -> [UInt8] {
    let resource = resource.map { Self.attribute($0.name, ["stringValue": .string($0.value)]) }
    let message: JSONValue = [
      resources: [
        [
          "resource": ["attributes": .array(resource)],
          scope: [
            [
              "scope": ["name": "gqlrun", "version": .string(version)], list: .array(elements),
            ]
          ],
        ]
      ]
    ]
    return message.jsonBytes()
  }

  private static func add(
    _ values: MetricSeries.Values, of definition: MetricsRegistry.Definition,
    to point: inout JSONObject
  ) {
    if definition.kind == .histogram {
      point["count"] = text(values.count)
      point["sum"] = number(values.sum)
      point["bucketCounts"] = .array(values.counts.map { text($0) })
      point["explicitBounds"] = .array(definition.bounds.map { number($0) })
    } else if let integer = Int64(exactly: values.sum) {
      point["asInt"] = text(integer)
    } else {
      point["asDouble"] = number(values.sum)
    }
  }

  private static func span(_ span: RecordedSpan) -> JSONValue {
    var attributes: [(name: String, value: SpanAttribute)] = []
    // They are no sequence.
    func add(_ name: String, _ value: SpanAttribute) { attributes.append((name, value)) }
    span.attributes.forEach(add)
    let kind: JSONValue =
      switch span.kind {
      case .internal: 1
      case .server: 2
      case .client: 3
      case .producer: 4
      case .consumer: 5
      }
    var object: JSONObject = [
      "traceId": .string(span.trace.traceID.hex), "spanId": .string(span.trace.spanID.hex),
    ]
    object["traceState"] = span.trace.traceState.map { .string($0) }
    object["parentSpanId"] = span.parent.map { .string($0.hex) }
    object["flags"] = 1
    object["name"] = .string(span.name)
    object["kind"] = kind
    object["startTimeUnixNano"] = text(span.start)
    object["endTimeUnixNano"] = text(span.end)
    object["attributes"] = .array(
      attributes.sorted { $0.name < $1.name }.map { attribute($0.name, value(of: $0.value)) })
    object["status"] = span.isError ? ["code": 2] : [:]
    return .object(object)
  }

  private static func attribute(_ name: String, _ value: JSONValue) -> JSONValue {
    ["key": .string(name), "value": value]
  }

  /// The value of a metric's attribute; those that the conventions define as integers are integers.
  private static func value(of name: String, _ value: String) -> JSONValue {
    let integers = ["server.port", "http.response.status_code"]
    guard integers.contains(name), let number = Int64(value) else {
      return ["stringValue": .string(value)]
    }
    return ["intValue": text(number)]
  }

  /// The value of a span's attribute; those of other types than the program uses are text.
  private static func value(of attribute: SpanAttribute) -> JSONValue {
    switch attribute {
    case .int32(let number): ["intValue": text(number)]
    case .int64(let number): ["intValue": text(number)]
    case .double(let number): ["doubleValue": Self.number(number)]
    case .bool(let flag): ["boolValue": .boolean(flag)]
    case .string(let text): ["stringValue": .string(text)]
    default: ["stringValue": .string("\(attribute)")]
    }
  }

  /// A 64-bit integer.
  private static func text(_ number: some BinaryInteger) -> JSONValue { .string(String(number)) }

  /// Numbers that JSON does not have are strings.
  ///
  /// https://protobuf.dev/programming-guides/json/
  private static func number(_ value: Double) -> JSONValue {
    JSONNumber(value).map { .number($0) }
      ?? .string(value.isNaN ? "NaN" : value < 0 ? "-Infinity" : "Infinity")
  }
}
