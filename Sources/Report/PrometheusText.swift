import GQLRunSupport

/// Metrics in the text format of Prometheus, version 0.0.4: each metric once, in the order of their first samples.
///
/// https://prometheus.io/docs/instrumenting/exposition_formats/
package struct PrometheusText {
  /// The type of a metric.
  package enum Kind: String, Sendable {
    case counter, gauge, histogram, summary
  }

  private let prefix: String
  /// The samples by the names of their metrics; help and type of a metric are those of its first one.
  private var metrics = OrderedGroups<String, (help: String, type: Kind, line: String)>()

  /// Creates a text without metrics.
  ///
  /// - Parameter prefix: The beginning of all names.
  package init(prefix: String = "") { self.prefix = prefix }

  /// Adds a sample.
  ///
  /// - Parameters:
  ///   - name: The name of the metric, without the prefix. Characters that a name cannot have become `_`.
  ///   - help: What it is, in one line.
  ///   - type: Its type.
  ///   - suffix: What the sample's name has after that of the metric, such as `_sum`.
  ///   - labels: The labels of the sample.
  ///   - value: The value.
  package mutating func add(
    _ name: String, help: String, type: Kind = .gauge, suffix: String = "",
    labels: [(String, String)] = [], value: Double
  ) {
    add(
      name, help: help, type: type, suffix: suffix, labels: labels, text: Self.text(of: value))
  }

  /// Adds a sample that counts something.
  package mutating func add(
    _ name: String, help: String, type: Kind, suffix: String = "",
    labels: [(String, String)] = [], count: UInt64
  ) {
    add(name, help: help, type: type, suffix: suffix, labels: labels, text: String(count))
  }

  /// Adds a histogram.
  ///
  /// - Parameters:
  ///   - bounds: The upper bounds of the buckets, in ascending order.
  ///   - counts: The number of values in each bucket, and in that above the last bound.
  ///   - sum: The sum of all values.
  package mutating func add(
    _ name: String, help: String, labels: [(String, String)], bounds: [Double], counts: [UInt64],
    sum: Double
  ) {
    var total: UInt64 = 0
    for (index, count) in counts.enumerated() {
      total += count
      let bound = index < bounds.count ? bounds[index] : .infinity
      add(
        name, help: help, type: .histogram, suffix: "_bucket",
        labels: labels + [("le", Self.text(of: bound))], count: total)
    }
    add(name, help: help, type: .histogram, suffix: "_sum", labels: labels, value: sum)
    add(name, help: help, type: .histogram, suffix: "_count", labels: labels, count: total)
  }

  private mutating func add(
    _ name: String, help: String, type: Kind, suffix: String, labels: [(String, String)],
    text value: String
  ) {
    let full = Self.name(prefix + name)
    let list = labels.map { "\(Self.name($0.0))=\"\(Self.escaped($0.1, quoted: true))\"" }.joined(
      separator: ",")
    let line = "\(full)\(suffix)\(list.isEmpty ? "" : "{\(list)}") \(value)"
    metrics.append((help: help, type: type, line: line), to: full)
  }

  /// The text, with a line for the help and one for the type of each metric.
  package var text: String {
    metrics.all.map { name, samples -> String in
      let first = samples[0]
      return "# HELP \(name) \(Self.escaped(first.help))\n# TYPE \(name) \(first.type.rawValue)\n"
        + samples.map { $0.line + "\n" }.joined()
    }.joined()
  }

  private static func name(_ text: String) -> String {
    String(text.map { $0.isASCII && ($0.isLetter || $0.isNumber) || $0 == "_" ? $0 : "_" })
  }

  private static func text(of value: Double) -> String {
    if value.isNaN { return "NaN" }
    return value.isInfinite ? value < 0 ? "-Inf" : "+Inf" : "\(value)"
  }

  /// The text in one line. By Unicode scalars, because a line break may be part of a larger character.
  private static func escaped(_ text: String, quoted: Bool = false) -> String {
    QuotedText.replacing(text) { scalar in
      switch scalar {
      case "\\": "\\\\"
      case "\n": "\\n"
      case "\"" where quoted: "\\\""
      default: nil
      }
    }
  }
}
