/// A type that an `@Option` property can have.
///
/// `Bool`, `Int`, `Double`, `String`, `Duration`, ``ByteSize``, ``Percentage``, ``SecretString``,
/// ``Template``, ``OptionPath``, `JSONValue` and `HTTPField.Name` conform, and so do optional values,
/// arrays, dictionaries and ``OptionMap``s of such types. An enumeration with `String` raw values and
/// `CaseIterable` conforms without further code; its raw values are the words a file may use. A nested
/// structure of options conforms to ``OptionSection``.
///
/// A type of your own says how it is written (``optionType(in:)``), reads a value and refuses those
/// that do not fit, and writes its default:
/// ```swift
/// extension Port: ExpressibleByOption {
///   static func optionType(in range: ClosedRange<Never>?) -> OptionType { .int(in: 1...65_535) }
///   static var unsetOption: Port { Port(80) }
///   init(option: OptionValue) throws(OptionError) { self = Port(try Int(option: option)) }
///   var optionDefaultText: String? { "\(number)" }
/// }
/// ```
public protocol ExpressibleByOption: Sendable {
  /// The type of the bounds in `@Option(1...10, "…")`; `Never` for a type without order.
  associatedtype OptionBound: Comparable & Sendable = Never

  /// How the value is written in a file, within the given bounds.
  static func optionType(in range: ClosedRange<OptionBound>?) -> OptionType

  /// The value of a property without a default while its file gives none.
  ///
  /// For an optional property this is `nil`. A required option has the value only during checks: no
  /// plugin that lacks a required option becomes part of a pipeline.
  static var unsetOption: Self { get }

  /// Whether every value of the type is a secret.
  static var optionSecrecy: OptionSecrecy { get }

  /// Creates the value from what a file contains.
  ///
  /// - Throws: ``OptionError`` for a value that has the right form and does not fit.
  init(option: OptionValue) throws(OptionError)

  /// The value as a file writes it, or `nil` for a value that a file cannot write, such as `nil`.
  var optionDefaultText: String? { get }
}

extension ExpressibleByOption {
  public static var optionSecrecy: OptionSecrecy { .open }
}

/// Options that are each valid and do not go together, or a value that does not fit.
public struct OptionError: Error, Sendable, Hashable {
  /// The option to point at; a dotted name reaches into groups. Empty for the entry as a whole.
  public var option: String
  /// What is wrong. Does not repeat values, which may be secret.
  public var message: String
  /// What would work.
  public var remedy: String?

  public init(option: String = "", _ message: String, remedy: String? = nil) {
    self.option = option
    self.message = message
    self.remedy = remedy
  }

  /// The same error about an option of the group `name`.
  func within(_ name: String) -> OptionError {
    OptionError(option: option.isEmpty ? name : "\(name).\(option)", message, remedy: remedy)
  }

  /// A conformance to ``ExpressibleByOption`` whose type and initializer do not agree.
  static func mismatch<Value>(_ type: Value.Type) -> OptionError {
    OptionError("this is not read as \(type): its `optionType` and its initializer differ")
  }
}
