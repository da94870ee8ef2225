/// The type of an option, with bounds.
///
/// Only the option's type decides how its text is parsed, so the implicit types of YAML 1.1 for
/// `on`, `0123` or `1:30` have no effect.
public indirect enum OptionType: Sendable, Hashable {
  /// `true` or `false`.
  case bool
  /// A decimal integer, without leading zeros or separators.
  case int(in: ClosedRange<Int>? = nil)
  /// A decimal number.
  case double(in: ClosedRange<Double>? = nil)
  /// Any text.
  case string
  /// The path of a file or folder, relative to the folder of the pipeline file.
  case path
  /// Text that is expanded for every request; see ``Template``.
  case template
  /// A number with a unit: `ms`, `s`, `m` or `h`. With `wholeSeconds`, a fraction of a second is an
  /// error instead of being rounded.
  case duration(in: ClosedRange<Duration>? = nil, wholeSeconds: Bool = false)
  /// A whole number with a unit: `B`, `KB`, `MB`, `GB`, `KiB`, `MiB` or `GiB`.
  case size(in: ClosedRange<ByteSize>? = nil)
  /// A number from 0 to 100 followed by `%`.
  case percentage
  /// One word of a fixed set.
  case choice([String])
  /// Any number of values of one type.
  case list(OptionType)
  /// Values of one type, with names that the user chooses.
  case map(OptionType)
  /// A fixed set of named options.
  case object(OptionTable)
  /// A fixed set of named options, or one word instead of them.
  case objectOrWord(OptionTable, word: String)
  /// One of several kinds, each with options of its own: `csv: { path: out.csv }`, or the name alone.
  /// `noun` is the term for the kinds, such as "sink".
  case variant(noun: String, [OptionVariant])
  /// Any JSON value: unquoted `true`, `null` and numbers have their JSON types. Not expanded.
  case json
  /// Any JSON value whose texts are expanded for every request; see ``Template``. Mappings are maps, and unquoted
  /// `true`, `null` and numbers have their JSON types.
  case jsonTemplate
}

/// One kind of an option of type ``OptionType/variant(noun:_:)``.
public struct OptionVariant: Sendable, Hashable {
  /// The name of the kind.
  public var name: String
  /// What the kind is, in one sentence without a full stop.
  public var summary: String
  private let table: OptionTable
  /// An example of the kind in a file, in YAML.
  public var example: String

  /// The options of the kind.
  public var options: [OptionDescription] { table.options }

  /// Creates the description of a kind.
  ///
  /// - Parameters:
  ///   - name: The name of the kind.
  ///   - summary: What the kind is, in one sentence without a full stop.
  ///   - options: The options of the kind; evaluated when they are needed.
  ///   - example: An example of the kind in a file, in YAML.
  public init(
    name: String, summary: String,
    options: @autoclosure @escaping @Sendable () -> [OptionDescription], example: String
  ) {
    self.name = name
    self.summary = summary
    self.example = example
    table = OptionTable(options())
  }
}

extension OptionType {
  /// The named options of a mapping; `nil` for other types.
  package var table: OptionTable? {
    switch self {
    case .object(let table), .objectOrWord(let table, _): table
    default: nil
    }
  }

  /// Whether every text is a value of the type.
  var isText: Bool {
    switch self {
    case .string, .path, .template, .jsonTemplate: true
    default: false
    }
  }

  /// The expected value with its article, for messages: "a duration such as 300ms, 1.5s, 2m or 1h".
  public var expectation: String {
    switch self {
    case .bool: "true or false"
    case .int(let range):
      range.map {
        "an integer \(Self.bounds($0.lowerBound, high: $0.upperBound, min: Int.min, max: Int.max))"
      }
        ?? "an integer"
    case .double(let range):
      range.map {
        "a number \(Self.bounds($0.lowerBound, high: $0.upperBound, min: -.infinity, max: .infinity))"
      }
        ?? "a number"
    case .string, .template: "text"
    case .path: "a path"
    case .duration(_, wholeSeconds: true): "a duration in whole seconds, such as 30s, 5m or 1h"
    case .duration(let range, _):
      range.map { "a duration from \($0.lowerBound.optionText) to \($0.upperBound.optionText)" }
        ?? "a duration such as 300ms, 1.5s, 2m or 1h"
    case .size(let range):
      range.map { "a size from \($0.lowerBound) to \($0.upperBound)" }
        ?? "a size such as 512KiB, 64MiB or 10MB"
    case .percentage: "a percentage such as 5%"
    case .choice(let words): Self.alternatives(words)
    case .list(let element): "a list of \(element.plural)"
    case .map(let value): "a mapping of names to \(value.plural)"
    case .object: "a mapping"
    case .objectOrWord(_, let word): "a mapping or `\(word)`"
    case .variant(let noun, let kinds): "a \(noun): \(Self.alternatives(kinds.map(\.name)))"
    case .json, .jsonTemplate: "any value"
    }
  }

  /// A short name for tables: "duration", "list of integers".
  public var name: String {
    switch self {
    case .bool: "bool"
    case .int: "integer"
    case .double: "number"
    case .string: "text"
    case .template: "text, expanded per request"
    case .path: "path"
    case .duration: "duration"
    case .size: "size"
    case .percentage: "percentage"
    case .choice(let words):
      // A word such as `|` is quoted, so that it is not read as a separator.
      words.map {
        $0.contains { !$0.isLetter && !$0.isNumber && !"-_.".contains($0) } ? "\"\($0)\"" : $0
      }
      .joined(separator: "|")
    case .list(let element): "list of \(element.plural)"
    case .map(let value): "map of \(value.plural)"
    case .object: "mapping"
    case .objectOrWord(_, let word): "mapping|\(word)"
    case .variant(let noun, _): noun
    case .json: "any value"
    case .jsonTemplate: "any value, its texts expanded per request"
    }
  }

  private var plural: String {
    switch self {
    case .bool: "true or false"
    case .string, .template: "text"
    case .choice(let words): Self.alternatives(words)
    case .list(let element): "lists of \(element.plural)"
    case .map, .object, .objectOrWord: "mappings"
    case .json, .jsonTemplate: "values"
    case .int, .double, .path, .duration, .size, .percentage, .variant: "\(name)s"
    }
  }

  private static func bounds<T: Comparable>(_ low: T, high: T, min: T, max: T) -> String {
    if low == min { return "of at most \(high)" }
    if high == max { return "of at least \(low)" }
    return "from \(low) to \(high)"
  }

  private static func alternatives(_ words: [String]) -> String {
    words.isEmpty ? "nothing" : words.listed(with: "or")
  }
}

extension [String] {
  /// The elements as text: `a, b and c`.
  package func listed(with word: String = "and") -> String {
    guard let last, count > 1 else { return first ?? "" }
    return "\(dropLast().joined(separator: ", ")) \(word) \(last)"
  }
}
