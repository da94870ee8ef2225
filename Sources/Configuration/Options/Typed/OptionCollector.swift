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
