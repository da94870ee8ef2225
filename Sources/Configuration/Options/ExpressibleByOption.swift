public import GQLRunJSON

/// A type that an `@Option` property can have.
///
/// `Bool`, `Int`, `Double`, `String`, `Duration`, ``ByteSize``, ``Percentage``, ``SecretString``,
/// ``Template``, ``OptionPath``, `JSONValue` and `HTTPField.Name` conform, and so do optional
/// values, arrays, dictionaries and ``OptionMap``s of such types. An enumeration with `String` raw
/// values and `CaseIterable` conforms without further code; its raw values are the words a file may
/// use. A nested structure of options conforms to ``OptionSection``.
///
/// A conforming type declares how a file writes it (``optionType(in:)``), decodes and checks
/// values, and describes its default:
/// ```swift
/// extension Port: ExpressibleByOption {
///   static func optionType(in range: ClosedRange<Never>?) -> OptionType { .int(in: 1...65_535) }
///   static var unsetOption: Port { Port(80) }
///   init(option: GivenOption) throws(OptionError) { self = Port(try Int(option: option)) }
///   var optionDefault: JSONValue? { number.optionDefault }
/// }
/// ```
public protocol ExpressibleByOption: Sendable {
  /// The type of the bounds in `@Option(1...10, "…")`; `Never` for a type without order.
  associatedtype OptionBound: Comparable & Sendable = Never

  /// The type of the option in a file, with the given bounds.
  static func optionType(in range: ClosedRange<OptionBound>?) -> OptionType

  /// The value of a property without a default that the file does not set.
  ///
  /// `nil` for an optional property. A required option only has this value during checks, because a
  /// file without it is an error.
  static var unsetOption: Self { get }

  /// Whether every value of the type is a secret.
  static var optionSecrecy: OptionSecrecy { get }

  /// Whether a file may omit a property of the type that has no default.
  static var isOptionalOption: Bool { get }

  /// Creates the value from what a file gives.
  ///
  /// - Throws: ``OptionError`` for a value that has the right form, but is not valid.
  init(option: GivenOption) throws(OptionError)

  /// The value as a file would write it; `nil` for one that a file cannot express, such as `nil`.
  ///
  /// For help, documentation and the JSON Schema, which show it as the default of an option. A value with a unit is text.
  var optionDefault: JSONValue? { get }

  /// Checks the groups of options that the value is or contains.
  ///
  /// - Throws: ``OptionError`` of the first group whose options are not valid together.
  func validateGroups() throws(OptionError)
}

extension ExpressibleByOption {
  /// Values are not secret.
  public static var optionSecrecy: OptionSecrecy { .open }
  /// `false`.
  public static var isOptionalOption: Bool { false }
  /// Does nothing: the value has no groups.
  public func validateGroups() throws(OptionError) {}
}

/// The error of an option value, or of options that are not valid together.
public struct OptionError: Error, Sendable, Hashable {
  /// The name of the option, dotted for an option of a group; empty for the entry as a whole.
  public var option: String
  /// What is wrong. Must not contain values, which may be secret.
  public var message: String
  /// What would work.
  public var remedy: String?
  /// The code of the diagnostic.
  public var code: PipelineDiagnostic.Code
  /// Errors of other elements of the same list, map or group.
  private var others: [OptionError] = []
  /// Why there is no value.
  private(set) var cause = Cause.invalid

  /// Why an option has no value.
  enum Cause {
    /// The value is not valid, which the error describes.
    case invalid
    /// The value has another form, which is already reported.
    case reported
    /// The value depends on a command that was not run.
    case unknown
  }

  /// Creates an error.
  ///
  /// - Parameters:
  ///   - option: The name of the option, dotted for an option of a group; empty, the default, for
  ///     the entry as a whole.
  ///   - message: What is wrong, without values.
  ///   - remedy: What would work.
  ///   - code: The code of the diagnostic.
  public init(
    option: String = "", _ message: String, remedy: String? = nil,
    code: PipelineDiagnostic.Code = .wrongValue
  ) {
    self.option = option
    self.message = message
    self.remedy = remedy
    self.code = code
  }

  private init(_ cause: Cause) {
    self.init("")
    self.cause = cause
  }

  /// The error of a value whose diagnostic is already reported.
  static let reported = OptionError(.reported)
  /// The error of a value that depends on a command that was not run.
  static let unknown = OptionError(.unknown)

  /// All errors as one; `nil` if there are none to report.
  package init?(_ errors: [OptionError]) {
    let all = errors.flatMap(\.all)
    guard let first = all.first else { return nil }
    self = first
    others = Array(all.dropFirst())
  }

  /// The errors to report: this one and those of other elements.
  var all: [OptionError] {
    guard cause == .invalid else { return [] }
    var first = self
    first.others = []
    return [first] + others
  }

  /// The same error about an option of the group `name`.
  func within(_ name: String) -> OptionError {
    var error = self
    error.option = option.isEmpty ? name : "\(name).\(option)"
    error.others = others.map { $0.within(name) }
    return error
  }

  /// The error of an ``ExpressibleByOption`` conformance whose type and initializer differ.
  static func mismatch<Value>(_ type: Value.Type) -> OptionError {
    OptionError("this is not decoded as \(type): its `optionType` and its initializer differ")
  }
}
