/// A structure whose properties are options that a file sets: a plugin, or an ``OptionSection``.
///
/// ```swift
/// struct Backoff: OptionSection {
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
/// `@Option("…") var backoff = Backoff()` has the defaults, and `@Option("…") var backoff:
/// Backoff?` is `nil`.
public protocol OptionSection: Configurable, ExpressibleByOption where OptionBound == Never {}

extension OptionSection {
  /// A mapping with the declared options.
  public static func optionType(in range: ClosedRange<Never>?) -> OptionType {
    .object(OptionTable(optionDescriptions))
  }
  /// The options with their defaults.
  public static var unsetOption: Self { Self() }
  /// The group itself.
  public var optionGroups: [NestedOptions] { [NestedOptions(path: "", group: self)] }
  /// An empty mapping: each option has its own default.
  public var optionDefaultText: String? { "{}" }

  /// Creates the group from a mapping.
  ///
  /// - Throws: ``OptionError`` for the first option that is not valid.
  public init(option: OptionValue) throws(OptionError) {
    guard case .object(let options) = option.content else { throw .mismatch(Self.self) }
    try self.init(options: options)
  }

  /// Reads the options of a section.
  package init(options: PluginOptions) throws(OptionError) {
    let (value, errors) = Self.read(from: options)
    if let error = OptionError(errors) { throw error }
    self = value
  }
}

extension Configurable {
  /// The table of the options, in the order of their declarations.
  public static var optionDescriptions: [OptionDescription] {
    Self().properties.compactMap { $0.property?.description(named: $0.name.snakeCase) }
  }

  /// The values of the options as a file writes them, in the order of their declarations.
  package var optionTexts: [String?] {
    properties.compactMap { $0.property.map { $0.description(named: "").defaultText } }
  }

  /// The stored properties that are not options, which a file cannot set.
  package static var foreignProperties: [String] {
    Self().properties.filter { $0.property == nil }.map(\.name)
  }

  /// Creates a value from the options of a file, and returns the errors of their values.
  ///
  /// An option that the file does not set, or whose value is invalid, has its default.
  package static func read(from options: PluginOptions) -> (Self, [OptionError]) {
    let errors = OptionErrors()
    let decoder = OptionSectionDecoder(
      properties: Dictionary(Self().properties.map { ($0.name, $0.property) }) { $1 },
      options: options, errors: errors)
    do {
      return (try Self(from: decoder), errors.all)
    } catch {
      return (
        Self(), errors.all + [OptionError("\(Self.self) has properties that are not options")]
      )
    }
  }

  /// Checks the groups of the options, then the options together.
  package func validateAll() throws(OptionError) {
    for (name, property) in properties { try property?.validate(named: name.snakeCase) }
    try validate()
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

/// The errors of the values of a file, in the order of the declarations.
final class OptionErrors {
  private(set) var all: [OptionError] = []

  func append(_ error: OptionError) { all += error.all }
}

/// Passes the decoded values of a file to the initializer that the compiler generates.
private struct OptionSectionDecoder: Decoder {
  let properties: [String: (any AnyOptionProperty)?]
  let options: PluginOptions
  let errors: OptionErrors
  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
    KeyedDecodingContainer(OptionContainer<Key>(decoder: self))
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
  let decoder: OptionSectionDecoder
  var codingPath: [any CodingKey] { [] }
  var allKeys: [Key] { decoder.properties.keys.compactMap(Key.init(stringValue:)) }

  func contains(_ key: Key) -> Bool { decoder.properties[key.stringValue] != nil }
  func decodeNil(forKey key: Key) -> Bool { false }

  func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
    guard let property = decoder.properties[key.stringValue] ?? nil else {
      throw decoder.unsupported()
    }
    let name = key.stringValue.snakeCase
    guard let value = property.read(from: decoder.options, named: name, decoder.errors) as? Value
    else { throw decoder.unsupported() }
    return value
  }

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<Nested> { throw decoder.unsupported() }
  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    throw decoder.unsupported()
  }
  func superDecoder() throws -> any Decoder { throw decoder.unsupported() }
  func superDecoder(forKey key: Key) throws -> any Decoder { throw decoder.unsupported() }
}

/// The version of a file format; only 1 exists.
package struct FormatVersion: ExpressibleByOption {
  package static func optionType(in range: ClosedRange<Never>?) -> OptionType { .int() }
  package static var unsetOption: FormatVersion { FormatVersion() }
  package var optionDefaultText: String? { "1" }

  private init() {}

  package init(option: OptionValue) throws(OptionError) {
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
final class OptionCollector: Encoder {
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
  func unkeyedContainer() -> any UnkeyedEncodingContainer { ForeignContainer(collector: self) }
  func singleValueContainer() -> any SingleValueEncodingContainer {
    ForeignContainer(collector: self)
  }
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

/// Ignores the parts of a property that is not an option.
private struct ForeignContainer: UnkeyedEncodingContainer, SingleValueEncodingContainer {
  let collector: OptionCollector
  var codingPath: [any CodingKey] { [] }
  var count: Int { 0 }

  func encodeNil() {}
  func encode<Value: Encodable>(_ value: Value) {}
  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type
  ) -> KeyedEncodingContainer<Nested> { collector.container(keyedBy: type) }
  func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { self }
  func superEncoder() -> any Encoder { collector }
}
