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

/// Marks optional types: a property of one may be unset, others without a default are required.
protocol OptionalOption {}

extension Optional: OptionalOption {}

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

/// A value that may contain groups of options: a list, a map, or a value with its location.
protocol OptionGroups {
  /// The groups with their paths in the value.
  var groups: [(path: String, group: any Configurable)] { get }
}

/// The groups of options in a value: the value itself, or those it contains, with their paths in it.
func optionGroups(in value: Any) -> [(path: String, group: any Configurable)] {
  if let group = value as? any Configurable { return [("", group)] }
  return (value as? any OptionGroups)?.groups ?? []
}

extension Array: OptionGroups {
  var groups: [(path: String, group: any Configurable)] {
    guard Element.self is any Configurable.Type || Element.self is any OptionGroups.Type else {
      return []
    }
    return enumerated().flatMap { index, element in
      optionGroups(in: element).map {
        ($0.path.isEmpty ? "\(index)" : "\(index).\($0.path)", $0.group)
      }
    }
  }
}

extension OptionMap: OptionGroups {
  var groups: [(path: String, group: any Configurable)] {
    entries.flatMap { entry in
      optionGroups(in: entry.value).map {
        ($0.path.isEmpty ? entry.name : "\(entry.name).\($0.path)", $0.group)
      }
    }
  }
}

extension Located: OptionGroups {
  var groups: [(path: String, group: any Configurable)] { optionGroups(in: value) }
}

/// Values with names that the user chooses, in the order of the file.
public struct OptionMap<Value: ExpressibleByOption>: ExpressibleByOption {
  /// The bounds of the values.
  public typealias OptionBound = Value.OptionBound

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

  /// A mapping of names to values; `range` applies to each value.
  public static func optionType(in range: ClosedRange<OptionBound>?) -> OptionType {
    .map(Value.optionType(in: range))
  }
  /// An empty map.
  public static var unsetOption: Self { Self() }
  /// That of the values.
  public static var optionSecrecy: OptionSecrecy { Value.optionSecrecy }
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
  /// The entries, sorted by name.
  public var optionDefaultText: String? {
    OptionMap(map { ($0.key, $0.value) }.sorted { $0.0 < $1.0 }).optionDefaultText
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
