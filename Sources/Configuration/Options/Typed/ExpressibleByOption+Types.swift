public import GQLRunJSON
public import HTTPTypes

extension Bool: ExpressibleByOption {
  /// `true` or `false`.
  public static func optionType(in range: ClosedRange<Never>?) -> OptionType { .bool }
  /// `false`.
  public static var unsetOption: Bool { false }
  /// `true` or `false`.
  public var optionDefaultText: String? { "\(self)" }

  /// Creates the value from an option.
  ///
  /// - Throws: ``OptionError`` if the option is not a Boolean.
  public init(option: OptionValue) throws(OptionError) {
    guard case .bool(let value) = option.content else { throw .mismatch(Self.self) }
    self = value
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
  public var optionDefaultText: String? { "\(self)" }

  /// Creates the value from an option.
  ///
  /// - Throws: ``OptionError`` if the option is not an integer.
  public init(option: OptionValue) throws(OptionError) {
    guard case .int(let value) = option.content else { throw .mismatch(Self.self) }
    self = value
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
  public var optionDefaultText: String? { decimalText }

  /// Creates the value from an option.
  ///
  /// - Throws: ``OptionError`` if the option is not a number.
  public init(option: OptionValue) throws(OptionError) {
    guard case .double(let value) = option.content else { throw .mismatch(Self.self) }
    self = value
  }

  /// The number as text: `2` for 2.0.
  fileprivate var decimalText: String {
    Int(exactly: self).map(String.init) ?? String(self)
  }
}

extension String: ExpressibleByOption {
  /// Any text.
  public static func optionType(in range: ClosedRange<Never>?) -> OptionType { .string }
  /// Empty text.
  public static var unsetOption: String { "" }
  /// The text itself.
  public var optionDefaultText: String? { self }

  /// Creates the value from an option.
  ///
  /// - Throws: ``OptionError`` if the option is not text.
  public init(option: OptionValue) throws(OptionError) {
    guard case .string(let value) = option.content else { throw .mismatch(Self.self) }
    self = value
  }
}

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
  public var optionDefaultText: String? { optionText }

  /// Creates the value from an option.
  ///
  /// - Throws: ``OptionError`` if the option is not a duration.
  public init(option: OptionValue) throws(OptionError) {
    guard case .duration(let value) = option.content else { throw .mismatch(Self.self) }
    self = value
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
  public var optionDefaultText: String? { description }

  /// Creates the value from an option.
  ///
  /// - Throws: ``OptionError`` if the option is not a size.
  public init(option: OptionValue) throws(OptionError) {
    guard case .size(let value) = option.content else { throw .mismatch(Self.self) }
    self = value
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
  public var optionDefaultText: String? { ((fraction * 1e8).rounded() / 1e6).decimalText + "%" }

  /// Creates the value from an option.
  ///
  /// - Throws: ``OptionError`` if the option is not a percentage.
  public init(option: OptionValue) throws(OptionError) {
    guard case .percentage(let value) = option.content else { throw .mismatch(Self.self) }
    self.init(fraction: value)
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
  public var optionDefaultText: String? { nil }

  /// Creates the value from an option.
  ///
  /// - Throws: ``OptionError`` if the option is not text.
  public init(option: OptionValue) throws(OptionError) {
    self.init(try String(option: option))
  }
}

extension Template: ExpressibleByOption {
  /// Text with placeholders for context values.
  public static func optionType(in range: ClosedRange<Never>?) -> OptionType { .template }
  /// An empty template.
  public static var unsetOption: Template { Template("") }
  /// The text; `nil` for a template with placeholders.
  public var optionDefaultText: String? { isConstant ? try? text { _ in nil } : nil }

  /// Creates the value from an option.
  ///
  /// - Throws: ``OptionError`` if the option is not a template.
  public init(option: OptionValue) throws(OptionError) {
    guard case .template(let value) = option.content else { throw .mismatch(Self.self) }
    self = value
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
  public var optionDefaultText: String? { path }

  /// Creates the value from an option.
  ///
  /// - Throws: ``OptionError`` if the option is not text.
  public init(option: OptionValue) throws(OptionError) {
    self.init(try String(option: option))
  }
}

extension JSONValue: ExpressibleByOption {
  /// Any JSON value.
  public static func optionType(in range: ClosedRange<Never>?) -> OptionType { .json }
  /// `null`.
  public static var unsetOption: JSONValue { .null }
  /// The JSON text.
  public var optionDefaultText: String? { jsonText() }

  /// Creates the value from an option.
  ///
  /// - Throws: ``OptionError`` if the option is not a JSON value.
  public init(option: OptionValue) throws(OptionError) {
    guard case .json(let value) = option.content else { throw .mismatch(Self.self) }
    self = value
  }
}

extension HTTPField.Name: ExpressibleByOption {
  /// Text.
  public static func optionType(in range: ClosedRange<Never>?) -> OptionType { .string }
  /// The field `User-Agent`.
  public static var unsetOption: HTTPField.Name { .userAgent }
  /// The name itself.
  public var optionDefaultText: String? { rawName }

  /// Creates the value from an option.
  ///
  /// - Throws: ``OptionError`` if the text is not the name of an HTTP field.
  public init(option: OptionValue) throws(OptionError) {
    try self.init(option: String(option: option))
  }

  /// Creates a name from text.
  ///
  /// - Throws: ``OptionError`` for text that HTTP does not allow as the name of a field.
  package init(option text: String) throws(OptionError) {
    guard let name = HTTPField.Name(text) else {
      throw OptionError(
        "`\(text)` is not the name of an HTTP field", remedy: "use letters, digits and hyphens")
    }
    self = name
  }
}
