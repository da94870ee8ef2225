public import GQLRunJSON
import GQLRunSupport
public import HTTPTypes

// The types of options whose values are scalars in a file. Each parses its text here.

/// The reason why a text is not the value of an option.
public struct OptionTextError: Error, Sendable, Hashable, CustomStringConvertible {
  /// What to write instead. May contain the text, so it is only shown if the text is in the file.
  public var hint: String
  /// Whether the text has the right form, but a value that is not accepted.
  var isOutOfRange = false

  /// The hint.
  public var description: String { hint }
}

extension Bool: ExpressibleByOption {
  /// `true` or `false`.
  public static func optionType(in range: ClosedRange<Never>?) -> OptionType { .bool }
  /// `false`.
  public static var unsetOption: Bool { false }
  /// `true` or `false`.
  public var optionDefault: JSONValue? { .boolean(self) }

  /// Creates the value from `true` or `false`.
  ///
  /// - Throws: ``OptionError`` for another value.
  public init(option: GivenOption) throws(OptionError) {
    guard case .bool = option.type else { throw .mismatch(Self.self) }
    self = try option.scalar(Self.parse)
  }

  private static func parse(_ text: String) throws(OptionTextError) -> Bool {
    switch text {
    case "true": return true
    case "false": return false
    default:
      switch text.lowercased() {
      case "yes", "on", "y", "1", "true": throw OptionTextError(hint: "write `true`")
      case "no", "off", "n", "0", "false": throw OptionTextError(hint: "write `false`")
      default: throw OptionTextError(hint: "write `true` or `false`")
      }
    }
  }
}

extension Int: ExpressibleByOption {
  /// Bounds are integers.
  public typealias OptionBound = Int

  /// An integer within `range`.
  public static func optionType(in range: ClosedRange<Int>?) -> OptionType { .int(in: range) }
  /// 0.
  public static var unsetOption: Int { 0 }
  /// The decimal number.
  public var optionDefault: JSONValue? { .number(JSONNumber(self)) }

  /// Creates the value from a decimal number.
  ///
  /// - Throws: ``OptionError`` for another value, or one out of bounds.
  public init(option: GivenOption) throws(OptionError) {
    guard case .int(let range) = option.type else { throw .mismatch(Self.self) }
    self = try option.scalar(in: range, text: { "\($0)" }, parse: Self.parse)
  }

  private static func parse(_ text: String) throws(OptionTextError) -> Int {
    let digits = text.hasPrefix("-") ? text.dropFirst() : text[...]
    guard !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
      let plain = text.filter { $0 != "_" && $0 != "," && $0 != "+" }
      throw OptionTextError(hint: Int(plain).map { "write `\($0)`" } ?? "write digits only")
    }
    guard let value = Int(text) else {
      throw OptionTextError(hint: "too large", isOutOfRange: true)
    }
    guard digits.count == 1 || digits.first != "0" else {
      throw OptionTextError(hint: "write `\(value)`, without leading zeros")
    }
    return value
  }
}

extension Double: ExpressibleByOption {
  /// Bounds are numbers.
  public typealias OptionBound = Double

  /// A number within `range`.
  public static func optionType(in range: ClosedRange<Double>?) -> OptionType { .double(in: range) }
  /// 0.
  public static var unsetOption: Double { 0 }
  /// The decimal number.
  public var optionDefault: JSONValue? { JSONNumber(self).map(JSONValue.number) }

  /// Creates the value from a decimal number.
  ///
  /// - Throws: ``OptionError`` for another value, or one out of bounds.
  public init(option: GivenOption) throws(OptionError) {
    guard case .double(let range) = option.type else { throw .mismatch(Self.self) }
    self = try option.scalar(in: range, text: { "\($0)" }, parse: Self.parse)
  }

  private static func parse(_ text: String) throws(OptionTextError) -> Double {
    let isDecimal = text.utf8.allSatisfy { (0x30...0x39).contains($0) || "+-.eE".utf8.contains($0) }
    guard isDecimal, let first = text.utf8.first(where: { $0 != 0x2D }),
      (0x30...0x39).contains(first), let value = Double(text), value.isFinite
    else { throw OptionTextError(hint: "write a decimal number such as `1.5`") }
    return value
  }
}

extension String: ExpressibleByOption {
  /// Any text.
  public static func optionType(in range: ClosedRange<Never>?) -> OptionType { .string }
  /// Empty text.
  public static var unsetOption: String { "" }
  /// The text itself.
  public var optionDefault: JSONValue? { .string(self) }

  /// Creates the value from any text, a path or a word of a fixed set.
  ///
  /// - Throws: ``OptionError`` for a value that is not text, or a word that is not in the set.
  public init(option: GivenOption) throws(OptionError) {
    switch option.type {
    case .string: self = try option.scalar { $0 }
    case .path: self = try option.path()
    case .choice(let words):
      self = try option.scalar { text throws(OptionTextError) in
        guard !words.contains(text) else { return text }
        throw OptionTextError(
          hint: suggestion(for: text, in: words).map { "did you mean `\($0)`?" }
            ?? "not one of these")
      }
    default: throw .mismatch(Self.self)
    }
  }
}

/// The path of a file or folder. A relative path in a file is resolved against the file's folder.
public struct OptionPath: Sendable, Hashable, ExpressibleByOption {
  /// The path, absolute or relative to the working directory.
  public var path: String

  /// Creates a path.
  public init(_ path: String) {
    self.path = path
  }

  /// The path of a file or folder.
  public static func optionType(in range: ClosedRange<Never>?) -> OptionType { .path }
  /// An empty path.
  public static var unsetOption: OptionPath { OptionPath("") }
  /// The path itself.
  public var optionDefault: JSONValue? { .string(path) }

  /// Creates the value from a path.
  ///
  /// - Throws: ``OptionError`` for a value that is not text.
  public init(option: GivenOption) throws(OptionError) {
    self.init(try String(option: option))
  }
}

/// The path of a file that is written, like ``OptionPath``.
///
/// `gqlrun` only writes outside of the file's repository if the user trusts the file; see docs/decisions/0026-trust.md.
package struct WrittenPath: Sendable, Hashable, ExpressibleByOption {
  /// The path, absolute or relative to the working directory.
  package var path: String

  /// Creates a path.
  package init(_ path: String) { self.path = path }

  /// The path of a file.
  package static func optionType(in range: ClosedRange<Never>?) -> OptionType { .path }
  /// An empty path.
  package static var unsetOption: WrittenPath { WrittenPath("") }
  /// The path itself.
  package var optionDefault: JSONValue? { .string(path) }

  /// Creates the value from a path.
  ///
  /// - Throws: ``OptionError`` for a value that is not text.
  package init(option: GivenOption) throws(OptionError) {
    guard case .path = option.type else { throw .mismatch(Self.self) }
    self.init(try option.path(isWritten: true))
  }
}

extension SecretString: ExpressibleByOption {
  /// Any text.
  public static func optionType(in range: ClosedRange<Never>?) -> OptionType { .string }
  /// Empty text.
  public static var unsetOption: SecretString { SecretString("") }
  /// Values are secret.
  public static var optionSecrecy: OptionSecrecy { .secret }
  /// `nil`: secrets are never written.
  public var optionDefault: JSONValue? { nil }

  /// Creates the value from any text.
  ///
  /// - Throws: ``OptionError`` for a value that is not text.
  public init(option: GivenOption) throws(OptionError) {
    self.init(try String(option: option))
  }
}

extension Template: ExpressibleByOption {
  /// Text with placeholders for context values.
  public static func optionType(in range: ClosedRange<Never>?) -> OptionType { .template }
  /// An empty template.
  public static var unsetOption: Template { Template("") }
  /// The text; `nil` for a template with placeholders.
  public var optionDefault: JSONValue? {
    isConstant ? (try? text { _ in nil }).map(JSONValue.string) : nil
  }

  /// Creates the value from any text.
  ///
  /// - Throws: ``OptionError`` for a value that is not text.
  public init(option: GivenOption) throws(OptionError) {
    switch option.type {
    case .template, .jsonTemplate: self = try option.template()
    default: throw .mismatch(Self.self)
    }
  }
}

extension HTTPField.Name: ExpressibleByOption {
  /// Text.
  public static func optionType(in range: ClosedRange<Never>?) -> OptionType { .string }
  /// The field `User-Agent`.
  public static var unsetOption: HTTPField.Name { .userAgent }
  /// The name itself.
  public var optionDefault: JSONValue? { .string(rawName) }

  /// Whether the field follows from the body that is sent, so that it cannot be set.
  package var isOfBody: Bool { self == .contentLength || self == .transferEncoding }

  /// Creates the value from the name of an HTTP field.
  ///
  /// - Throws: ``OptionError`` for another text.
  public init(option: GivenOption) throws(OptionError) {
    try self.init(option: String(option: option))
  }

  /// Creates a name from text.
  ///
  /// - Parameter option: The option that has the name, or the path to it.
  /// - Throws: ``OptionError`` for text that HTTP does not allow as the name of a field, and for fields of the body.
  package init(option text: String, named option: String = "") throws(OptionError) {
    guard let name = HTTPField.Name(text) else {
      throw OptionError(
        option: option, "`\(text)` is not the name of an HTTP field",
        remedy: "use letters, digits and hyphens")
    }
    guard !name.isOfBody else {
      throw OptionError(
        option: option, "`\(text)` follows from the body that is sent", remedy: "leave it out")
    }
    self = name
  }
}

extension HTTPFields {
  /// The most fields that a program or a file may give. The library stops the program at 65,535.
  package static let maxCount = 1_000
}

extension ExpressibleByOption where Self: CaseIterable & RawRepresentable, RawValue == String {
  /// The raw values.
  public static func optionType(in range: ClosedRange<Never>?) -> OptionType {
    .choice(allCases.map(\.rawValue))
  }

  /// The first case.
  public static var unsetOption: Self {
    guard let first = allCases.first else { preconditionFailure("`\(Self.self)` has no cases") }
    return first
  }

  /// The raw value.
  public var optionDefault: JSONValue? { .string(rawValue) }

  /// Creates the value from its raw value.
  ///
  /// - Throws: ``OptionError`` for another word.
  public init(option: GivenOption) throws(OptionError) {
    guard let value = Self(rawValue: try String(option: option)) else {
      throw .mismatch(Self.self)
    }
    self = value
  }
}

// MARK: Numbers with a unit

extension Duration: ExpressibleByOption {
  /// Bounds are durations.
  public typealias OptionBound = Duration

  /// A duration within `range`: a number with a unit.
  public static func optionType(in range: ClosedRange<Duration>?) -> OptionType {
    .duration(in: range)
  }
  /// Zero.
  public static var unsetOption: Duration { .zero }
  /// The number with the largest exact unit: `300ms`.
  public var optionDefault: JSONValue? { .string(optionText) }

  /// Creates the value from a number with a unit.
  ///
  /// - Throws: ``OptionError`` for another value, or one out of bounds.
  public init(option: GivenOption) throws(OptionError) {
    guard case .duration(let range, let wholeSeconds) = option.type else {
      throw .mismatch(Self.self)
    }
    self = try option.scalar(in: range, text: \.optionText) { text throws(OptionTextError) in
      try Duration(optionText: text, wholeSeconds: wholeSeconds)
    }
  }

  /// Parses a duration as pipeline files write it: `300ms`, `1.5s`, `2m`, `1h`.
  ///
  /// - Parameter wholeSeconds: Whether a fraction of a second is an error.
  public init(optionText text: String, wholeSeconds: Bool = false) throws(OptionTextError) {
    let units = Duration.optionUnits
    let quantity = try NumberWithUnit(option: text, example: "30s", zero: "0s") {
      "write `\(text)s` or `\(text)ms`"
    }
    guard let unit = units.first(where: { $0.name == quantity.unit }) else {
      throw OptionTextError(
        hint: "`\(quantity.unit)` is not a unit of time: \(units.map(\.name).listed())")
    }
    guard let nanoseconds = quantity.scaled(by: Int(unit.factor)) else {
      throw OptionTextError(hint: "too large, or finer than a nanosecond", isOutOfRange: true)
    }
    self = .nanoseconds(nanoseconds)
    let (seconds, rest) = components
    guard !wholeSeconds || rest == 0 else {
      let larger = "`\(Duration.seconds(seconds + 1).optionText)`"
      throw OptionTextError(
        hint: "this is counted in whole seconds: write "
          + (seconds > 0 ? "`\(Duration.seconds(seconds).optionText)` or \(larger)" : larger),
        isOutOfRange: true)
    }
  }
}

extension ByteSize: ExpressibleByOption {
  /// Bounds are sizes.
  public typealias OptionBound = ByteSize

  /// A size within `range`: a number with a unit.
  public static func optionType(in range: ClosedRange<ByteSize>?) -> OptionType { .size(in: range) }
  /// 0 bytes.
  public static var unsetOption: ByteSize { ByteSize(bytes: 0) }
  /// The number with the largest exact unit: `64MiB`.
  public var optionDefault: JSONValue? { .string(description) }

  /// Creates the value from a number with a unit.
  ///
  /// - Throws: ``OptionError`` for another value, or one out of bounds.
  public init(option: GivenOption) throws(OptionError) {
    guard case .size(let range) = option.type else { throw .mismatch(Self.self) }
    self = try option.scalar(in: range, text: \.description) { text throws(OptionTextError) in
      try ByteSize(optionText: text)
    }
  }

  /// Parses a size as pipeline files write it: `512KiB`, `64MiB`, `10MB`.
  public init(optionText text: String) throws(OptionTextError) {
    let quantity = try NumberWithUnit(option: text, example: "64MiB", zero: "0B") {
      "write `\(text)B`, `\(text)KiB` or `\(text)MiB`"
    }
    let names = ByteSize.units.map(\.name)
    guard let unit = ByteSize.units.first(where: { $0.name == quantity.unit }) else {
      let meant =
        names.first { $0.lowercased() == quantity.unit.lowercased() }
        ?? names.first { $0.lowercased() == quantity.unit.lowercased() + "b" }
      throw OptionTextError(
        hint: meant.map { "write `\(text.dropLast(quantity.unit.count))\($0)`" }
          ?? "`\(quantity.unit)` is not a unit of size: \(names.listed())")
    }
    guard let bytes = quantity.scaled(by: unit.factor) else {
      throw OptionTextError(hint: "too large, or not a whole number of bytes", isOutOfRange: true)
    }
    self.init(bytes: bytes)
  }
}

/// A share, written as a percentage: `10%`.
public struct Percentage: Sendable, Hashable, ExpressibleByOption {
  /// The share, from 0 to 1.
  public var fraction: Double

  /// Creates a share.
  ///
  /// - Parameter fraction: The share, from 0 to 1.
  public init(fraction: Double) {
    self.fraction = fraction
  }

  /// A number from 0 to 100 followed by `%`.
  public static func optionType(in range: ClosedRange<Never>?) -> OptionType { .percentage }
  /// 0 %.
  public static var unsetOption: Percentage { Percentage(fraction: 0) }
  /// The number followed by `%`.
  public var optionDefault: JSONValue? {
    JSONNumber((fraction * 1e8).rounded() / 1e6).map { .string("\($0)%") }
  }

  /// Creates the value from a number followed by `%`.
  ///
  /// - Throws: ``OptionError`` for another value, or one above 100 %.
  public init(option: GivenOption) throws(OptionError) {
    guard case .percentage = option.type else { throw .mismatch(Self.self) }
    self = try option.scalar { text throws(OptionTextError) in try Percentage(optionText: text) }
  }

  /// Parses a percentage as pipeline files write it: `5%`, `0.1%`.
  package init(optionText text: String) throws(OptionTextError) {
    let quantity = try NumberWithUnit(option: text, example: "5%", zero: "0%") {
      "write `\(text)%`"
    }
    guard quantity.unit == "%" else {
      throw OptionTextError(hint: "write a percentage such as `5%`")
    }
    var value = Double(quantity.digits)
    for _ in 0..<quantity.decimals { value /= 10 }
    guard value <= 100 else { throw OptionTextError(hint: "at most 100%", isOutOfRange: true) }
    self.init(fraction: value / 100)
  }
}
