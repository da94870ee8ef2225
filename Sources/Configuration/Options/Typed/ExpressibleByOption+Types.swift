public import GQLRunJSON
public import HTTPTypes

extension Bool: ExpressibleByOption {
  public static func optionType(in range: ClosedRange<Never>?) -> OptionType { .bool }
  public static var unsetOption: Bool { false }
  public var optionDefaultText: String? { "\(self)" }

  public init(option: OptionValue) throws(OptionError) {
    guard case .bool(let value) = option.content else { throw .mismatch(Self.self) }
    self = value
  }
}

extension Int: ExpressibleByOption {
  public typealias OptionBound = Int

  public static func optionType(in range: ClosedRange<Int>?) -> OptionType { .int(in: range) }
  public static var unsetOption: Int { 0 }
  public var optionDefaultText: String? { "\(self)" }

  public init(option: OptionValue) throws(OptionError) {
    guard case .int(let value) = option.content else { throw .mismatch(Self.self) }
    self = value
  }
}

extension Double: ExpressibleByOption {
  public typealias OptionBound = Double

  public static func optionType(in range: ClosedRange<Double>?) -> OptionType { .double(in: range) }
  public static var unsetOption: Double { 0 }
  public var optionDefaultText: String? { decimalText }

  public init(option: OptionValue) throws(OptionError) {
    guard case .double(let value) = option.content else { throw .mismatch(Self.self) }
    self = value
  }

  /// `2` for 2.0.
  fileprivate var decimalText: String {
    Int(exactly: self).map(String.init) ?? String(self)
  }
}

extension String: ExpressibleByOption {
  public static func optionType(in range: ClosedRange<Never>?) -> OptionType { .string }
  public static var unsetOption: String { "" }
  public var optionDefaultText: String? { self }

  public init(option: OptionValue) throws(OptionError) {
    guard case .string(let value) = option.content else { throw .mismatch(Self.self) }
    self = value
  }
}

extension Duration: ExpressibleByOption {
  public typealias OptionBound = Duration

  public static func optionType(in range: ClosedRange<Duration>?) -> OptionType {
    .duration(in: range)
  }
  public static var unsetOption: Duration { .zero }
  public var optionDefaultText: String? { optionText }

  public init(option: OptionValue) throws(OptionError) {
    guard case .duration(let value) = option.content else { throw .mismatch(Self.self) }
    self = value
  }
}

extension ByteSize: ExpressibleByOption {
  public typealias OptionBound = ByteSize

  public static func optionType(in range: ClosedRange<ByteSize>?) -> OptionType { .size(in: range) }
  public static var unsetOption: ByteSize { ByteSize(bytes: 0) }
  public var optionDefaultText: String? { description }

  public init(option: OptionValue) throws(OptionError) {
    guard case .size(let value) = option.content else { throw .mismatch(Self.self) }
    self = value
  }
}

/// A share of a whole, written `10%`.
public struct Percentage: Sendable, Hashable, ExpressibleByOption {
  /// From 0 to 1.
  public var fraction: Double

  /// A share from 0 to 1.
  public init(fraction: Double) {
    self.fraction = fraction
  }

  public static func optionType(in range: ClosedRange<Never>?) -> OptionType { .percentage }
  public static var unsetOption: Percentage { Percentage(fraction: 0) }
  public var optionDefaultText: String? { ((fraction * 1e8).rounded() / 1e6).decimalText + "%" }

  public init(option: OptionValue) throws(OptionError) {
    guard case .percentage(let value) = option.content else { throw .mismatch(Self.self) }
    self.init(fraction: value)
  }
}

extension SecretString: ExpressibleByOption {
  public static func optionType(in range: ClosedRange<Never>?) -> OptionType { .string }
  public static var unsetOption: SecretString { SecretString("") }
  public static var optionSecrecy: OptionSecrecy { .secret }
  /// `nil`: a secret is not written.
  public var optionDefaultText: String? { nil }

  public init(option: OptionValue) throws(OptionError) {
    self.init(try String(option: option))
  }
}

extension Template: ExpressibleByOption {
  public static func optionType(in range: ClosedRange<Never>?) -> OptionType { .template }
  public static var unsetOption: Template { Template("") }
  /// `nil` for a template with parts that are filled in.
  public var optionDefaultText: String? { isConstant ? try? text { _ in nil } : nil }

  public init(option: OptionValue) throws(OptionError) {
    guard case .template(let value) = option.content else { throw .mismatch(Self.self) }
    self = value
  }
}

/// The path of a file or folder. A relative path in a file is resolved against the file's folder.
public struct OptionPath: Sendable, Hashable, ExpressibleByOption {
  /// The path, absolute or relative to the working directory.
  public var path: String

  public init(_ path: String) {
    self.path = path
  }

  public static func optionType(in range: ClosedRange<Never>?) -> OptionType { .path }
  public static var unsetOption: OptionPath { OptionPath("") }
  public var optionDefaultText: String? { path }

  public init(option: OptionValue) throws(OptionError) {
    self.init(try String(option: option))
  }
}

extension JSONValue: ExpressibleByOption {
  public static func optionType(in range: ClosedRange<Never>?) -> OptionType { .json }
  public static var unsetOption: JSONValue { .null }
  public var optionDefaultText: String? { jsonText() }

  public init(option: OptionValue) throws(OptionError) {
    guard case .json(let value) = option.content else { throw .mismatch(Self.self) }
    self = value
  }
}

extension HTTPField.Name: ExpressibleByOption {
  public static func optionType(in range: ClosedRange<Never>?) -> OptionType { .string }
  public static var unsetOption: HTTPField.Name { .userAgent }
  public var optionDefaultText: String? { rawName }

  public init(option: OptionValue) throws(OptionError) {
    try self.init(option: String(option: option))
  }

  /// The name as an option gives it.
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
  /// The raw values, one of which a file writes.
  public static func optionType(in range: ClosedRange<Never>?) -> OptionType {
    .choice(allCases.map(\.rawValue))
  }

  public static var unsetOption: Self {
    guard let first = allCases.first else { preconditionFailure("`\(Self.self)` has no cases") }
    return first
  }

  public var optionDefaultText: String? { rawValue }

  public init(option: OptionValue) throws(OptionError) {
    guard let value = Self(rawValue: try String(option: option)) else {
      throw .mismatch(Self.self)
    }
    self = value
  }
}

// MARK: Containers

/// Tells a property of an optional type, which may stay unset, from a required one.
protocol OptionalOption {}

extension Optional: OptionalOption {}

extension Optional: ExpressibleByOption where Wrapped: ExpressibleByOption {
  public typealias OptionBound = Wrapped.OptionBound

  public static func optionType(in range: ClosedRange<OptionBound>?) -> OptionType {
    Wrapped.optionType(in: range)
  }
  public static var unsetOption: Self { nil }
  public static var optionSecrecy: OptionSecrecy { Wrapped.optionSecrecy }
  public var optionDefaultText: String? { self?.optionDefaultText }

  public init(option: OptionValue) throws(OptionError) {
    self = try Wrapped(option: option)
  }
}

extension Array: ExpressibleByOption where Element: ExpressibleByOption {
  public typealias OptionBound = Element.OptionBound

  public static func optionType(in range: ClosedRange<OptionBound>?) -> OptionType {
    .list(Element.optionType(in: range))
  }
  public static var unsetOption: Self { [] }
  public static var optionSecrecy: OptionSecrecy { Element.optionSecrecy }
  /// `nil` for an empty list, which is the same as none.
  public var optionDefaultText: String? {
    isEmpty
      ? nil : "[\(compactMap { $0.optionDefaultText?.quotedForYAML }.joined(separator: ", "))]"
  }

  public init(option: OptionValue) throws(OptionError) {
    guard case .list(let elements) = option.content else { throw .mismatch(Self.self) }
    self = []
    for (index, element) in elements.enumerated() where !element.isUnknown {
      do throws(OptionError) {
        append(try Element(option: element))
      } catch {
        throw error.within("\(index)")
      }
    }
  }
}

/// Values under names that the user chooses, in the order of the file.
public struct OptionMap<Value: ExpressibleByOption>: ExpressibleByOption {
  public typealias OptionBound = Value.OptionBound

  /// The names and values, in the order of the file.
  public var entries: [(name: String, value: Value)]

  public init(_ entries: [(name: String, value: Value)] = []) {
    self.entries = entries
  }

  public static func optionType(in range: ClosedRange<OptionBound>?) -> OptionType {
    .map(Value.optionType(in: range))
  }
  public static var unsetOption: Self { Self() }
  public static var optionSecrecy: OptionSecrecy { Value.optionSecrecy }
  /// `nil` for an empty map, which is the same as none.
  public var optionDefaultText: String? {
    guard !entries.isEmpty else { return nil }
    let members = entries.compactMap { entry in
      entry.value.optionDefaultText.map { "\(entry.name.quotedForYAML): \($0.quotedForYAML)" }
    }
    return "{ \(members.joined(separator: ", ")) }"
  }

  public init(option: OptionValue) throws(OptionError) {
    guard case .map(let members) = option.content else { throw .mismatch(Self.self) }
    entries = []
    for member in members where !member.value.isUnknown {
      do throws(OptionError) {
        entries.append((member.name, try Value(option: member.value)))
      } catch {
        throw error.within(member.name)
      }
    }
  }
}

extension Dictionary: ExpressibleByOption where Key == String, Value: ExpressibleByOption {
  public typealias OptionBound = Value.OptionBound

  public static func optionType(in range: ClosedRange<OptionBound>?) -> OptionType {
    .map(Value.optionType(in: range))
  }
  public static var unsetOption: Self { [:] }
  public static var optionSecrecy: OptionSecrecy { Value.optionSecrecy }
  public var optionDefaultText: String? {
    OptionMap(map { ($0.key, $0.value) }.sorted { $0.0 < $1.0 }).optionDefaultText
  }

  public init(option: OptionValue) throws(OptionError) {
    let entries = try OptionMap<Value>(option: option).entries
    self = Dictionary(entries.map { ($0.name, $0.value) }) { $1 }
  }
}

extension String {
  /// The text as an element of a YAML list: quoted unless it is a plain word.
  fileprivate var quotedForYAML: String {
    let isPlain = !isEmpty && allSatisfy { $0.isLetter || $0.isNumber || "-_./%".contains($0) }
    return isPlain || hasPrefix("[") ? self : JSONValue.string(self).jsonText()
  }
}
