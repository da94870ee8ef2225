/// The members of an object.
struct KeyedContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
  private let decoder: ValueDecoder
  private let path: DecodingPath?
  private let members: ObjectMembers

  init(_ decoder: ValueDecoder) throws {
    let object = try decoder.value(.object, for: [String: Any].self)
    self.decoder = decoder
    path = decoder.path
    members = ObjectMembers(of: object, decoder)
  }

  var codingPath: [any CodingKey] { decoder.codingPath }
  var allKeys: [Key] { members.names.compactMap { Key(stringValue: $0) } }

  func contains(_ key: Key) -> Bool { members[key.stringValue] != nil }
  func decodeNil(forKey key: Key) throws -> Bool { try member(key).decodeNil() }

  func decode<Value: DecodableFromText>(_ type: Value.Type, forKey key: Key) throws -> Value {
    try Value(decoding: member(key))
  }

  func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
    try member(key).decode(type)
  }

  func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<Nested> {
    try member(key).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    try member(key).unkeyedContainer()
  }

  func superDecoder() throws -> any Decoder { memberOrNull(PathKey(stringValue: "super")) }
  func superDecoder(forKey key: Key) throws -> any Decoder { memberOrNull(key) }

  private func memberOrNull(_ key: some CodingKey) -> ValueDecoder {
    ValueDecoder(decoder.session, members[key.stringValue], in: path, key: key)
  }

  private func member(_ key: Key) throws -> ValueDecoder {
    guard let value = members[key.stringValue] else {
      throw DecodingError.keyNotFound(
        key,
        .init(
          codingPath: codingPath,
          debugDescription: "the object has no member \"\(key.stringValue)\""))
    }
    return ValueDecoder(decoder.session, value, in: path, key: key)
  }
}

/// Finds the members of one object by their keys.
private final class ObjectMembers {
  private struct Member {
    /// The bytes of the key, without its quotes.
    let key: Range<Int>
    /// The key, if it is not those bytes: unescaped or converted.
    let name: String?
    let value: IndexedText.Value
  }

  /// Objects with more members have an index.
  private static let scanned = 12

  private let text: IndexedText
  private var members: [Member] = []
  private var index: [UTF8Text: Int]?

  init(of object: IndexedText.Value, _ decoder: ValueDecoder) {
    text = decoder.session.text
    let strategy = decoder.session.options.keyDecodingStrategy
    let converts = !strategy.isDefault && !decoder.keepsKeys
    let count = text.count(of: object)
    members.reserveCapacity(count)
    var next = text.first(in: object)
    for _ in 0..<count {
      let (end, isEscaped) = text.string(at: next.offset)
      let key = next.offset + 1..<end - 1
      var name = isEscaped || converts ? text.string(in: key, isEscaped: isEscaped) : nil
      if converts { name = name.map { strategy.converted($0) { decoder.codingPath } } }
      let value = text.value(afterKeyEndingAt: end, container: next.container)
      members.append(Member(key: key, name: name, value: value))
      next = text.next(after: text.end(of: value))
    }
  }

  var names: [String] { members.map(name) }

  /// The value of the first member with a key.
  subscript(key: String) -> IndexedText.Value? {
    if members.count > Self.scanned { return indexed()[UTF8Text(key)].map { members[$0].value } }
    var key = key
    return key.withUTF8 { wanted in
      members.first { member in
        if let name = member.name { return name.utf8.elementsEqual(wanted) }
        return member.key.count == wanted.count && text.bytes[member.key].elementsEqual(wanted)
      }?.value
    }
  }

  private func name(_ member: Member) -> String {
    member.name ?? text.string(in: member.key, isEscaped: false)
  }

  private func indexed() -> [UTF8Text: Int] {
    if let index { return index }
    let index = Dictionary(
      members.enumerated().map { (UTF8Text(name($0.element)), $0.offset) },
      uniquingKeysWith: { first, _ in first })
    self.index = index
    return index
  }
}

/// The elements of an array.
struct UnkeyedContainer: UnkeyedDecodingContainer {
  private let decoder: ValueDecoder
  private let path: DecodingPath?
  private let length: Int
  private var next: IndexedText.Value
  private(set) var currentIndex = 0

  init(_ decoder: ValueDecoder) throws {
    let array = try decoder.value(.array, for: [Any].self)
    self.decoder = decoder
    path = decoder.path
    length = decoder.session.text.count(of: array)
    next = decoder.session.text.first(in: array)
  }

  var codingPath: [any CodingKey] { decoder.codingPath }
  var count: Int? { length }
  var isAtEnd: Bool { currentIndex == length }

  mutating func decodeNil() throws -> Bool {
    guard try element(Any?.self).decodeNil() else { return false }
    advance()
    return true
  }

  mutating func decode<Value: DecodableFromText>(_ type: Value.Type) throws -> Value {
    try taking(type) { try Value(decoding: $0) }
  }

  mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    try taking(type) { try $0.decode(type) }
  }

  mutating func nestedContainer<Nested: CodingKey>(
    keyedBy type: Nested.Type
  ) throws -> KeyedDecodingContainer<Nested> {
    try taking(KeyedDecodingContainer<Nested>.self) { try $0.container(keyedBy: type) }
  }

  mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
    try taking((any UnkeyedDecodingContainer).self) { try $0.unkeyedContainer() }
  }

  mutating func superDecoder() throws -> any Decoder {
    try taking((any Decoder).self) { $0 }
  }

  /// Decodes the next element; a failure leaves it to be decoded again.
  private mutating func taking<Result>(
    _ type: Any.Type, _ decode: (ValueDecoder) throws -> Result
  ) throws -> Result {
    let result = try decode(element(type))
    advance()
    return result
  }

  private func element(_ type: Any.Type) throws -> ValueDecoder {
    let key = PathKey(index: currentIndex)
    guard !isAtEnd else {
      throw DecodingError.valueNotFound(
        type,
        .init(
          codingPath: codingPath + [key], debugDescription: "the array has only \(length) elements")
      )
    }
    return ValueDecoder(decoder.session, next, in: path, key: key)
  }

  private mutating func advance() {
    let text = decoder.session.text
    next = text.next(after: text.end(of: next))
    currentIndex += 1
  }
}
