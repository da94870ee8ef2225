public import GQLRunJSON

// The types of options whose values contain other values, or are any JSON or YAML.

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
  /// The default of the wrapped value.
  public var optionDefault: JSONValue? { self?.optionDefault }
  /// Checks those of the wrapped value.
  public func validateGroups() throws(OptionError) { try self?.validateGroups() }

  /// Creates the value from an option.
  ///
  /// - Throws: ``OptionError`` if the wrapped value cannot be created.
  public init(option: GivenOption) throws(OptionError) {
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
  /// The elements; `nil` for an empty list, which is the same as none.
  public var optionDefault: JSONValue? {
    isEmpty ? nil : .array(compactMap(\.optionDefault))
  }
  /// Checks those of the elements.
  public func validateGroups() throws(OptionError) {
    try OptionMap(enumerated().map { (name: "\($0.offset)", value: $0.element) }).validateGroups()
  }

  /// Creates the value from a list.
  ///
  /// - Throws: ``OptionError`` for another value, or if an element cannot be created.
  public init(option: GivenOption) throws(OptionError) {
    self = try option.elements(of: Element.self)
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
  /// The entries; `nil` for an empty map, which is the same as none.
  public var optionDefault: JSONValue? {
    guard !entries.isEmpty else { return nil }
    return .object(entries.reduce(into: JSONObject()) { $0[$1.name] = $1.value.optionDefault })
  }
  /// Checks those of the values.
  public func validateGroups() throws(OptionError) {
    for entry in entries {
      do throws(OptionError) { try entry.value.validateGroups() } catch {
        throw error.within(entry.name)
      }
    }
  }

  /// Creates the value from a mapping.
  ///
  /// - Throws: ``OptionError`` for another value, or if a value in it cannot be created.
  public init(option: GivenOption) throws(OptionError) {
    entries = try option.entries()
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
  /// The entries, sorted by name.
  public var optionDefault: JSONValue? { sorted.optionDefault }
  /// Checks those of the values, sorted by name.
  public func validateGroups() throws(OptionError) { try sorted.validateGroups() }

  private var sorted: OptionMap<Value> {
    OptionMap(map { ($0.key, $0.value) }.sorted { $0.0 < $1.0 })
  }

  /// Creates the value from a mapping.
  ///
  /// - Throws: ``OptionError`` for another value, or if a value in it cannot be created.
  public init(option: GivenOption) throws(OptionError) {
    self = try OptionMap(option: option).dictionary
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
  public init(_ value: Value, at location: FileLocation = FileLocation(file: "")) {
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
  /// That of the value.
  public var optionDefault: JSONValue? { value.optionDefault }
  /// Checks those of the value.
  public func validateGroups() throws(OptionError) { try value.validateGroups() }

  /// Reads the value, and its location.
  public init(option: GivenOption) throws(OptionError) {
    self.init(try Value(option: option), at: option.location)
  }
}

extension JSONValue: ExpressibleByOption {
  /// Any JSON value.
  public static func optionType(in range: ClosedRange<Never>?) -> OptionType { .json }
  /// `null`.
  public static var unsetOption: JSONValue { .null }
  /// The value itself.
  public var optionDefault: JSONValue? { self }

  /// Creates the value from any YAML, of which nothing is expanded.
  public init(option: GivenOption) { self = option.node.json }
}

/// Any YAML, with the source location of each part. Nothing in it is expanded.
package struct OptionNode: ExpressibleByOption {
  /// The node of the file.
  package var node: YAMLNode

  package static func optionType(in range: ClosedRange<Never>?) -> OptionType { .json }
  package static var unsetOption: OptionNode {
    OptionNode(node: YAMLNode(emptyAt: FileLocation(file: "")))
  }
  /// `nil`: only a file has nodes.
  package var optionDefault: JSONValue? { nil }

  package init(node: YAMLNode) {
    self.node = node
  }

  package init(option: GivenOption) { node = option.node }
}
