import GQLRunJSON

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
