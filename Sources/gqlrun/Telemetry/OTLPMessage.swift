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
  func traces(_ spans: [FinishedSpan]) -> [UInt8] {
    body("resourceSpans", scope: "scopeSpans", list: "spans") { writer in
      for span in spans { Self.write(span, to: &writer) }
    }
  }

  /// The body of a request to `v1/metrics`. Sums and histograms count from the start of the program.
  ///
  /// - Parameters:
  ///   - start: The start of the program, in nanoseconds since 1970.
  ///   - time: The time of the values, in nanoseconds since 1970.
  func metrics(_ metrics: [MetricsRegistry.Snapshot], start: UInt64, time: UInt64) -> [UInt8] {
    body("resourceMetrics", scope: "scopeMetrics", list: "metrics") { writer in
      for metric in metrics {
        let definition = metric.definition
        writer.beginObject()
        writer.write("name", definition.name)
        writer.write("description", definition.help)
        writer.write("unit", definition.unit)
        writer.object(Self.member(of: definition.kind)) { writer in
          writer.array("dataPoints") { writer in
            for (attributes, values) in metric.series {
              writer.beginObject()
              writer.attributes { writer in
                for (name, value) in attributes { writer.attribute(name, text: value) }
              }
              if definition.kind != .gauge { writer.write("startTimeUnixNano", String(start)) }
              writer.write("timeUnixNano", String(time))
              Self.write(values, of: definition, to: &writer)
              writer.endObject()
            }
          }
          guard definition.kind != .gauge else { return }
          writer.write("aggregationTemporality", number: Self.cumulative)
          if definition.kind == .counter {
            writer.key("isMonotonic")
            writer.writeBool(true)
          }
        }
        writer.endObject()
      }
    }
  }

  /// `AGGREGATION_TEMPORALITY_CUMULATIVE`.
  private static let cumulative = 2

  private static func member(of kind: MetricsRegistry.Definition.Kind) -> String {
    switch kind {
    case .counter: "sum"
    case .gauge: "gauge"
    case .histogram: "histogram"
    }
  }

  private static func write(
    _ values: MetricSeries.Values, of definition: MetricsRegistry.Definition,
    to writer: inout JSONWriter
  ) {
    guard definition.kind == .histogram else {
      if let integer = Int64(exactly: values.sum) {
        writer.write("asInt", String(integer))
      } else {
        writer.write(double: "asDouble", values.sum)
      }
      return
    }
    writer.write("count", String(values.count))
    writer.write(double: "sum", values.sum)
    writer.array("bucketCounts") { writer in
      for count in values.counts { writer.writeString(String(count)) }
    }
    writer.array("explicitBounds") { writer in
      for bound in definition.bounds { writer.writeRaw("\(bound)") }
    }
  }

  private static func write(_ span: FinishedSpan, to writer: inout JSONWriter) {
    writer.beginObject()
    writer.write("traceId", span.trace.traceID.hex)
    writer.write("spanId", span.trace.spanID.hex)
    if let state = span.trace.traceState { writer.write("traceState", state) }
    if let parent = span.parent { writer.write("parentSpanId", parent.hex) }
    writer.write("flags", number: 1)
    writer.write("name", span.name)
    writer.write("kind", number: number(of: span.kind))
    writer.write("startTimeUnixNano", String(span.start))
    writer.write("endTimeUnixNano", String(span.end))
    writer.attributes { writer in
      var attributes: [(name: String, value: SpanAttribute)] = []
      // They are no sequence.
      func add(_ name: String, _ value: SpanAttribute) { attributes.append((name, value)) }
      span.attributes.forEach(add)
      for (name, value) in attributes.sorted(by: { $0.name < $1.name }) {
        writer.attribute(name, value)
      }
    }
    writer.object("status") { writer in
      if span.isError { writer.write("code", number: 2) }
    }
    writer.endObject()
  }

  private static func number(of kind: SpanKind) -> Int {
    switch kind {
    case .internal: 1
    case .server: 2
    case .client: 3
    case .producer: 4
    case .consumer: 5
    }
  }

  private func body(
    _ resources: String, scope: String, list: String, _ write: (inout JSONWriter) -> Void
  ) -> [UInt8] {
    var writer = JSONWriter()
    writer.beginObject()
    writer.array(resources) { writer in
      writer.beginObject()
      writer.object("resource") { writer in
        writer.attributes { writer in
          for (name, value) in resource { writer.attribute(name, .string(value)) }
        }
      }
      writer.array(scope) { writer in
        writer.beginObject()
        writer.object("scope") { writer in
          writer.write("name", "gqlrun")
          writer.write("version", version)
        }
        writer.array(list, write)
        writer.endObject()
      }
      writer.endObject()
    }
    writer.endObject()
    return writer.takeBytes()
  }
}

extension JSONWriter {
  fileprivate mutating func write(_ name: String, _ text: String) {
    key(name)
    writeString(text)
  }

  fileprivate mutating func write(_ name: String, number: Int) {
    key(name)
    writeNumber(number)
  }

  /// Numbers that JSON does not have are strings.
  ///
  /// https://protobuf.dev/programming-guides/json/
  fileprivate mutating func write(double name: String, _ value: Double) {
    key(name)
    if value.isFinite {
      writeRaw("\(value)")
    } else {
      writeString(value.isNaN ? "NaN" : value < 0 ? "-Infinity" : "Infinity")
    }
  }

  fileprivate mutating func object(_ name: String, _ body: (inout JSONWriter) -> Void) {
    key(name)
    beginObject()
    body(&self)
    endObject()
  }

  fileprivate mutating func array(_ name: String, _ body: (inout JSONWriter) -> Void) {
    key(name)
    beginArray()
    body(&self)
    endArray()
  }

  fileprivate mutating func attributes(_ body: (inout JSONWriter) -> Void) {
    array("attributes", body)
  }

  /// An attribute of a metric; those that the conventions define as integers are integers.
  fileprivate mutating func attribute(_ name: String, text: String) {
    let integers = ["server.port", "http.response.status_code"]
    if integers.contains(name), let number = Int64(text) {
      attribute(name, .int64(number))
    } else {
      attribute(name, .string(text))
    }
  }

  /// An attribute; those of other types than the program uses are text.
  fileprivate mutating func attribute(_ name: String, _ value: SpanAttribute) {
    beginObject()
    write("key", name)
    object("value") { writer in
      switch value {
      case .int32(let number): writer.write("intValue", String(number))
      case .int64(let number): writer.write("intValue", String(number))
      case .double(let number): writer.write(double: "doubleValue", number)
      case .bool(let flag):
        writer.key("boolValue")
        writer.writeBool(flag)
      case .string(let text): writer.write("stringValue", text)
      default: writer.write("stringValue", "\(value)")
      }
    }
    endObject()
  }
}
