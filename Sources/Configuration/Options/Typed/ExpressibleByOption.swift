public import GQLRunJSON
public import HTTPTypes

/// A type that an `@Option` property can have.
///
/// `Bool`, `Int`, `Double`, `String`, `Duration`, ``ByteSize``, ``Percentage``, ``SecretString``,
/// ``Template``, ``OptionPath``, `JSONValue` and `HTTPField.Name` conform, and so do optional
/// values, arrays, dictionaries and ``OptionMap``s of such types. An enumeration with `String` raw
/// values and `CaseIterable` conforms without further code; its raw values are the words a file may
/// use. A nested structure of options conforms to ``OptionSection``.
///
/// A conforming type declares how a file writes it (``optionType(in:)``), decodes and checks
/// values, and writes its default:
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

  /// The groups of options that the value is or contains; none for other values.
  var optionGroups: [NestedOptions] { get }

  /// Creates the value from the decoded option of a file.
  ///
  /// - Throws: ``OptionError`` for a value that has the right form, but is not valid.
  init(option: OptionValue) throws(OptionError)

  /// The value as a file writes it; `nil` for a value that a file cannot express, such as `nil`.
  var optionDefaultText: String? { get }
}

extension ExpressibleByOption {
  /// Values are not secret.
  public static var optionSecrecy: OptionSecrecy { .open }
  /// `false`.
  public static var isOptionalOption: Bool { false }
  /// None.
  public var optionGroups: [NestedOptions] { [] }
}

/// A group of options in a value, to validate it.
public struct NestedOptions: Sendable {
  /// The position of the group in the value, such as `0` or `name.0`; empty for the value itself.
  let path: String
  let group: any Configurable

  /// The same group in the element `name` of a list or map.
  func within(_ name: String) -> NestedOptions {
    NestedOptions(path: path.isEmpty ? name : "\(name).\(path)", group: group)
  }
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
  private(set) var others: [OptionError] = []

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

  /// All errors as one; `nil` if there are none.
  init?(_ errors: [OptionError]) {
    guard var first = errors.first else { return nil }
    first.others += errors.dropFirst().flatMap(\.all)
    self = first
  }

  /// The error and ``others``, each by itself.
  var all: [OptionError] {
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

// MARK: Choices

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
  public var optionDefaultText: String? { rawValue }

  /// Creates the value from an option.
  ///
  /// - Throws: ``OptionError`` if the text is not a raw value.
  public init(option: OptionValue) throws(OptionError) {
    guard let value = Self(rawValue: try String(option: option)) else {
      throw .mismatch(Self.self)
    }
    self = value
  }
}

// MARK: Containers

extension Optional: ExpressibleByOption where Wrapped: ExpressibleByOption {
  /// The bounds of the wrapped type.
  public typealias OptionBound = Wrapped.OptionBound

  /// The type of the wrapped value.
  public static func optionType(in range: ClosedRange<OptionBound>?) -> OptionType {
    Wrapped.optionType(in: range)
  }
  /// `nil`.
  public static var unsetOption: Self { nil }
  /// That of the wrapped type.
  public static var optionSecrecy: OptionSecrecy { Wrapped.optionSecrecy }
  /// `true`.
  public static var isOptionalOption: Bool { true }
  /// Those of the wrapped value.
  public var optionGroups: [NestedOptions] { self?.optionGroups ?? [] }
  /// The default of the wrapped value.
  public var optionDefaultText: String? { self?.optionDefaultText }

  /// Creates the value from an option.
  ///
  /// - Throws: ``OptionError`` if the wrapped value cannot be created.
  public init(option: OptionValue) throws(OptionError) {
    self = try Wrapped(option: option)
  }
}

extension Array: ExpressibleByOption where Element: ExpressibleByOption {
  /// The bounds of the elements.
  public typealias OptionBound = Element.OptionBound

  /// A list of elements; `range` applies to each.
  public static func optionType(in range: ClosedRange<OptionBound>?) -> OptionType {
    .list(Element.optionType(in: range))
  }
  /// An empty list.
  public static var unsetOption: Self { [] }
  /// That of the elements.
  public static var optionSecrecy: OptionSecrecy { Element.optionSecrecy }
  /// Those of the elements.
  public var optionGroups: [NestedOptions] {
    enumerated().flatMap { index, element in element.optionGroups.map { $0.within("\(index)") } }
  }
  /// The elements; `nil` for an empty list, which is the same as none.
  public var optionDefaultText: String? {
    isEmpty
      ? nil : "[\(compactMap { $0.optionDefaultText?.quotedForYAML }.joined(separator: ", "))]"
  }

  /// Creates the value from an option.
  ///
  /// - Throws: ``OptionError`` if the option is not a list, or an element cannot be created.
  public init(option: OptionValue) throws(OptionError) {
    guard case .list(let elements) = option.content else { throw .mismatch(Self.self) }
    self = []
    var errors: [OptionError] = []
    for (index, element) in elements.enumerated() where !element.isUnknown {
      do throws(OptionError) {
        append(try Element(option: element))
      } catch {
        errors.append(error.within("\(index)"))
      }
    }
    if let error = OptionError(errors) { throw error }
  }
}

/// Values with names that the user chooses, in the order of the file.
public struct OptionMap<Value: Sendable>: Sendable {
  /// A name with its value.
  public struct Entry: Sendable {
    /// The name.
    public var name: String
    /// The value.
    public var value: Value
    /// The source location of the name; `nil` for an entry that was not read from a file.
    public var nameLocation: FileLocation?
  }

  /// The names and values, in the order of the file.
  public var entries: [Entry]

  /// Creates a map from its entries, whose names are unique.
  public init(_ entries: [(name: String, value: Value)] = []) {
    self.entries = entries.map { Entry(name: $0.name, value: $0.value) }
  }

  /// The values by name.
  public var dictionary: [String: Value] {
    Dictionary(entries.map { ($0.name, $0.value) }) { $1 }
  }
}

extension OptionMap: ExpressibleByOption where Value: ExpressibleByOption {
  /// The bounds of the values.
  public typealias OptionBound = Value.OptionBound

  /// A mapping of names to values; `range` applies to each value.
  public static func optionType(in range: ClosedRange<OptionBound>?) -> OptionType {
    .map(Value.optionType(in: range))
  }
  /// An empty map.
  public static var unsetOption: Self { Self() }
  /// That of the values.
  public static var optionSecrecy: OptionSecrecy { Value.optionSecrecy }
  /// Those of the values.
  public var optionGroups: [NestedOptions] {
    entries.flatMap { entry in entry.value.optionGroups.map { $0.within(entry.name) } }
  }
  /// The entries; `nil` for an empty map, which is the same as none.
  public var optionDefaultText: String? {
    guard !entries.isEmpty else { return nil }
    let members = entries.compactMap { entry in
      entry.value.optionDefaultText.map { "\(entry.name.quotedForYAML): \($0.quotedForYAML)" }
    }
    return "{ \(members.joined(separator: ", ")) }"
  }

  /// Creates the value from an option.
  ///
  /// - Throws: ``OptionError`` if the option is not a mapping, or a value cannot be created.
  public init(option: OptionValue) throws(OptionError) {
    guard case .map(let members) = option.content else { throw .mismatch(Self.self) }
    entries = []
    var errors: [OptionError] = []
    for member in members where !member.value.isUnknown {
      do throws(OptionError) {
        let value = try Value(option: member.value)
        entries.append(Entry(name: member.name, value: value, nameLocation: member.nameLocation))
      } catch {
        errors.append(error.within(member.name))
      }
    }
    if let error = OptionError(errors) { throw error }
  }
}

extension Dictionary: ExpressibleByOption where Key == String, Value: ExpressibleByOption {
  /// The bounds of the values.
  public typealias OptionBound = Value.OptionBound

  /// A mapping of names to values; `range` applies to each value.
  public static func optionType(in range: ClosedRange<OptionBound>?) -> OptionType {
    .map(Value.optionType(in: range))
  }
  /// An empty dictionary.
  public static var unsetOption: Self { [:] }
  /// That of the values.
  public static var optionSecrecy: OptionSecrecy { Value.optionSecrecy }
  /// Those of the values.
  public var optionGroups: [NestedOptions] { sorted.optionGroups }
  /// The entries, sorted by name.
  public var optionDefaultText: String? { sorted.optionDefaultText }

  private var sorted: OptionMap<Value> {
    OptionMap(map { ($0.key, $0.value) }.sorted { $0.0 < $1.0 })
  }

  /// Creates the value from an option.
  ///
  /// - Throws: ``OptionError`` if the option is not a mapping, or a value cannot be created.
  public init(option: OptionValue) throws(OptionError) {
    self = try OptionMap(option: option).dictionary
  }
}

extension String {
  /// The text as an element of a YAML list: quoted unless it is a plain word.
  fileprivate var quotedForYAML: String {
    let isPlain = !isEmpty && allSatisfy { $0.isLetter || $0.isNumber || "-_./%".contains($0) }
    return isPlain || hasPrefix("[") ? self : JSONValue.string(self).jsonText()
  }
}

/// A value of an option with its source location: `@Option("…") var paths: [Located<String>] = []`.
///
/// For elements of lists and values of maps; the location of an option itself is
/// ``OptionProperty/location``.
@dynamicMemberLookup
public struct Located<Value: Sendable>: Sendable {
  /// The value.
  public var value: Value
  /// The source location of the value.
  public var location: FileLocation

  /// Creates a value with its source location; without one, a default.
  public init(
    _ value: Value, at location: FileLocation = FileLocation(file: "", line: 1, column: 1)
  ) {
    self.value = value
    self.location = location
  }

  /// A property of the value.
  public subscript<Member>(dynamicMember member: KeyPath<Value, Member>) -> Member {
    value[keyPath: member]
  }
}

extension Located: ExpressibleByOption where Value: ExpressibleByOption {
  /// The bounds of the value.
  public typealias OptionBound = Value.OptionBound

  /// That of the value.
  public static func optionType(in range: ClosedRange<OptionBound>?) -> OptionType {
    Value.optionType(in: range)
  }
  /// That of the value, without a location.
  public static var unsetOption: Self { Located(.unsetOption) }
  /// That of the value.
  public static var optionSecrecy: OptionSecrecy { Value.optionSecrecy }
  /// Those of the value.
  public var optionGroups: [NestedOptions] { value.optionGroups }
  /// That of the value.
  public var optionDefaultText: String? { value.optionDefaultText }

  /// Reads the value, and its location.
  public init(option: OptionValue) throws(OptionError) {
    self.init(try Value(option: option), at: option.location)
  }
}

/// Any YAML, with the source location of each part. Nothing in it is expanded.
package struct OptionNode: ExpressibleByOption {
  /// The node of the file.
  package var node: YAMLNode

  package static func optionType(in range: ClosedRange<Never>?) -> OptionType { .json }
  package static var unsetOption: OptionNode {
    let start = FileLocation(file: "", line: 1, column: 1)
    return OptionNode(node: YAMLNode(content: .scalar("", isPlain: true), location: start))
  }
  /// `nil`: only a file has nodes.
  package var optionDefaultText: String? { nil }

  package init(node: YAMLNode) {
    self.node = node
  }

  package init(option: OptionValue) throws(OptionError) {
    guard let node = option.node else { throw .mismatch(Self.self) }
    self.init(node: node)
  }
}
