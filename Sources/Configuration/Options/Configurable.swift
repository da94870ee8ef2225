public import GQLRunJSON

/// A structure whose properties are options that a file sets: a plugin, or an ``OptionSection``.
///
/// ```swift
/// struct RetryDelay: OptionSection {
///   @Option(.zero ... .seconds(3_600), "Delay before the first retry")
///   var base = Duration.milliseconds(300)
///   @Option(1...10, "Factor by which each delay exceeds the one before") var factor = 2.0
/// }
/// ```
/// The compiler generates the conformance to `Codable`, by which gqlrun reads and sets the options.
/// Every stored property must be an `@Option`.
public protocol Configurable: Codable, Sendable {
  /// Creates a value whose options have their defaults.
  init()

  /// Checks whether options, each within its bounds, are valid together.
  ///
  /// - Throws: ``OptionError``; `throw $high.error("`high` is below `low`", remedy: "swap them")`.
  func validate() throws(OptionError)
}

extension Configurable {
  /// Declares an option; see ``OptionProperty``.
  public typealias Option<Value: ExpressibleByOption> = OptionProperty<Value>

  /// Accepts all options.
  public func validate() throws(OptionError) {}
}

/// A group of options below one name: `backoff: { base: 1s, factor: 3 }`.
///
/// The defaults are those of the structure's declaration. If the file does not set the group,
/// `@Option("…") var backoff = RetryDelay()` has the defaults, and `@Option("…") var backoff:
/// RetryDelay?` is `nil`.
public protocol OptionSection: Configurable, ExpressibleByOption where OptionBound == Never {}

extension OptionSection {
  /// A mapping with the declared options.
  public static func optionType(in range: ClosedRange<Never>?) -> OptionType {
    .object(OptionTable(optionDescriptions))
  }
  /// The options with their defaults.
  public static var unsetOption: Self { Self() }
  /// An empty mapping: each option has its own default.
  public var optionDefault: JSONValue? { [:] }
  /// Checks the group itself, and those in it.
  public func validateGroups() throws(OptionError) { try validateAll() }

  /// Creates the group from a mapping.
  ///
  /// - Throws: ``OptionError`` with the errors of all options that are not valid.
  public init(option: GivenOption) throws(OptionError) { self = try option.group(Self.self) }
}

extension Configurable {
  /// The table of the options, in the order of their declarations.
  public static var optionDescriptions: [OptionDescription] { Self().descriptions }

  /// The names of the options in a file, in the order of their declarations.
  package static var optionNames: [String] {
    Self().properties.filter { $0.property != nil }.map(\.name.snakeCase)
  }

  /// The names of the options that a file must set.
  package static var requiredNames: [String] {
    Self().properties.filter { $0.property?.isRequired == true }.map(\.name.snakeCase)
  }

  /// Whether every option without a default has a valid value.
  package var isComplete: Bool {
    properties.allSatisfy { $0.property.map { $0.isUsable || !$0.isRequired } ?? true }
  }

  /// The stored properties that are not options, which a file cannot set.
  package static var foreignProperties: [String] {
    Self().properties.filter { $0.property == nil }.map(\.name)
  }

  /// Whether a file sets at least one of the options.
  package var hasGivenOptions: Bool { properties.contains { $0.property?.isGiven == true } }

  /// Checks the groups of the options, then the options together.
  package func validateAll() throws(OptionError) {
    for (name, property) in properties { try property?.validate(named: name.snakeCase) }
    try validate()
  }

  /// The table of the options, with their values as defaults.
  package var descriptions: [OptionDescription] {
    properties.compactMap { $0.property?.description(named: $0.name.snakeCase) }
  }

  private var properties: [OptionCollector.Property] { OptionCollector.properties(of: self) }
}

extension String {
  /// The text in snake case: `maxRetries` → `max_retries`, `tokenURL` → `token_url`.
  package var snakeCase: String { separated(by: "_") }

  /// The text in kebab case: `MaxRetry` → `max-retry`, `CorrelationID` → `correlation-id`.
  package var kebabCase: String { separated(by: "-") }

  private func separated(by separator: String) -> String {
    let letters = Array(self)
    var result = ""
    for (index, letter) in letters.enumerated() {
      let startsWord =
        letter.isUppercase && index > 0
        && (!letters[index - 1].isUppercase
          || index + 1 < letters.count && letters[index + 1].isLowercase)
      result += (startsWord ? separator : "") + letter.lowercased()
    }
    return result
  }
}

// MARK: The decoder

/// Passes the values that a file gives to the initializer that the compiler generates for a section.
final class OptionSectionReader: Decoder {
  /// The declarations by the names of the properties, and the names in a file.
  private let properties: [String: (name: String, property: (any AnyOptionProperty)?)]
  private let names: [String]
  private let owner: OptionDecoder.Owner
  /// The location of the section, for options that the file does not set.
  let location: FileLocation
  let decoder: OptionDecoder
  private var members: [YAMLNode.Member] = []
  /// Whether the mapping has the options of other sections, too.
  private var isShared = false
  /// The errors of values that have the right form, in the order of the declarations.
  private var errors: [OptionError] = []
  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  init<Section: Configurable>(
    of type: Section.Type, owner: OptionDecoder.Owner, location: FileLocation,
    decoder: OptionDecoder
  ) {
    let declared = OptionCollector.properties(of: Section())
    let options = declared.map { (name: $0.name.snakeCase, property: $0.property) }
    properties = Dictionary(zip(declared.map(\.name), options)) { $1 }
    names = options.filter { $0.property != nil }.map(\.name)
    self.owner = owner
    self.location = location
    self.decoder = decoder
  }

  /// Takes the values of a mapping. Returns `false`, and reports it, if the node is not a mapping.
  func takeMembers(of node: YAMLNode) -> Bool {
    guard let members = decoder.members(of: node, names: names, owner: owner) else { return false }
    self.members = members
    return true
  }

  /// Takes the values that belong to the section; the rest belongs to sections that share its mapping.
  func takeMembers(from rest: inout [YAMLNode.Member]) {
    members = rest.filter { names.contains($0.key) }
    rest.removeAll { names.contains($0.key) }
    isShared = true
  }

  /// The section with the values that were taken, and the errors of those that are not valid.
  ///
  /// An option that the file does not set, or whose value is invalid, has its default.
  func section<Section: Configurable>(_ type: Section.Type) -> (Section, [OptionError]) {
    do {
      return (try Section(from: self), errors)
    } catch {
      return (
        Section(), errors + [OptionError("\(Section.self) has properties that are not options")]
      )
    }
  }

  func member(_ name: String) -> YAMLNode.Member? { members.first { $0.key == name } }

  /// What the file gives for an option.
  func option(
    _ node: YAMLNode, named name: String, type: OptionType, secrecy: OptionSecrecy
  ) -> GivenOption {
    GivenOption(
      node: node, type: type, label: owner.label(name), name: name, secrecy: secrecy,
      noun: owner.noun, decoder: decoder)
  }

  func append(_ error: OptionError) { errors += error.all }

  func reportMissing(_ name: String, _ type: OptionType) {
    guard !isShared else { return }
    decoder.findings.refuse(
      "\(owner.subject) requires the \(owner.noun) `\(name)`", at: location,
      hint: "add `\(name)`: \(type.expectation)")
  }

  fileprivate func value<Value>(of type: Value.Type, for key: String) throws -> Value {
    guard let (name, property) = properties[key], let property,
      let value = property.read(from: self, named: name) as? Value
    else { throw unsupported() }
    return value
  }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
    KeyedDecodingContainer(OptionContainer<Key>(reader: self))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer { throw unsupported() }
  func singleValueContainer() throws -> any SingleValueDecodingContainer { throw unsupported() }

  func unsupported() -> DecodingError {
    .dataCorrupted(
      .init(
        codingPath: [],
        debugDescription: "every stored property must be an @Option"))
  }
}

private struct OptionContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let reader: OptionSectionReader
  var codingPath: [any CodingKey] { [] }
  var allKeys: [Key] { [] }

  func contains(_ key: Key) -> Bool { true }
  func decodeNil(forKey key: Key) -> Bool { false }

  func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
    try reader.value(of: type, for: key.stringValue)
  }

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<Nested> { throw reader.unsupported() }
  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    throw reader.unsupported()
  }
  func superDecoder() throws -> any Decoder { throw reader.unsupported() }
  func superDecoder(forKey key: Key) throws -> any Decoder { throw reader.unsupported() }
}

/// The version of a file format; only 1 exists.
package struct FormatVersion: ExpressibleByOption {
  package static func optionType(in range: ClosedRange<Never>?) -> OptionType { .int() }
  package static var unsetOption: FormatVersion { FormatVersion() }
  package var optionDefault: JSONValue? { 1 }

  private init() {}

  package init(option: GivenOption) throws(OptionError) {
    let version = try Int(option: option)
    guard version == 1 else {
      throw OptionError(
        "this gqlrun reads version 1",
        remedy: version > 1 ? "a newer gqlrun may read it" : "write `version: 1`")
    }
  }
}

/// Lists the stored properties of a ``Configurable``, as the `encode(to:)` that the compiler
/// generates names them.
///
/// Unlike a `Mirror`, it requires no cast to a protocol, for each of which the Swift runtime scans
/// all conformances of the program.
///
/// It is also the container of a property that is not an option, whose parts it ignores.
final class OptionCollector: Encoder, UnkeyedEncodingContainer, SingleValueEncodingContainer {
  /// A stored property; without a value if it is not an `@Option`.
  typealias Property = (name: String, property: (any AnyOptionProperty)?)

  private var properties: [Property] = []
  private var option: (any AnyOptionProperty)?
  private var isInProperty = false
  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  /// The stored properties of a value, in the order of their declarations.
  static func properties(of value: some Configurable) -> [Property] {
    let collector = OptionCollector()
    // An error comes from a property that is not an option, which is in the list.
    try? value.encode(to: collector)
    return collector.properties
  }

  /// Takes the option that is encoded.
  func collect(_ option: any AnyOptionProperty) { self.option = option }

  fileprivate func append(_ value: some Encodable, named name: String) {
    guard !isInProperty else { return }
    isInProperty = true
    option = nil
    try? value.encode(to: self)
    isInProperty = false
    properties.append((name, option))
  }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
    KeyedEncodingContainer(PropertyContainer<Key>(collector: self))
  }
  func unkeyedContainer() -> any UnkeyedEncodingContainer { self }
  func singleValueContainer() -> any SingleValueEncodingContainer { self }

  var count: Int { 0 }
  func encodeNil() {}
  func encode<Value: Encodable>(_ value: Value) {}
  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type
  ) -> KeyedEncodingContainer<Nested> { container(keyedBy: type) }
  func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { self }
  func superEncoder() -> any Encoder { self }
}

private struct PropertyContainer<Key: CodingKey>: KeyedEncodingContainerProtocol {
  let collector: OptionCollector
  var codingPath: [any CodingKey] { [] }

  func encodeNil(forKey key: Key) { collector.append(String?.none, named: key.stringValue) }
  func encode<Value: Encodable>(_ value: Value, forKey key: Key) {
    collector.append(value, named: key.stringValue)
  }
  func encodeIfPresent<Value: Encodable>(_ value: Value?, forKey key: Key) {
    collector.append(value, named: key.stringValue)
  }
  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) -> KeyedEncodingContainer<Nested> { collector.container(keyedBy: type) }
  func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
    collector.unkeyedContainer()
  }
  func superEncoder() -> any Encoder { collector }
  func superEncoder(forKey key: Key) -> any Encoder { collector }
}
