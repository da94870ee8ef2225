import Foundation

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
    ValueDecoder(
      session: decoder.session, value: members[key.stringValue], parent: path, key: key)
  }

  private func member(_ key: Key) throws -> ValueDecoder {
    guard let value = members[key.stringValue] else {
      throw DecodingError.keyNotFound(
        key,
        .init(
          codingPath: codingPath,
          debugDescription: "the object has no member \"\(key.stringValue)\""))
    }
    return ValueDecoder(session: decoder.session, value: value, parent: path, key: key)
  }
}

/// Finds the members of one object by their keys.
private final class ObjectMembers {
  private struct Member {
    /// The position of the key in the index.
    let key: Int
    /// The key, if it is not the bytes of the text: unescaped or converted.
    let name: String?
  }

  /// Objects with more members have an index.
  private static let scanned = 12

  private let text: JSONIndex
  private var members: [Member] = []
  private var index: [UTF8Text: Int]?

  init(of object: Int, _ decoder: ValueDecoder) {
    text = decoder.session.text
    let strategy = decoder.session.options.keyDecodingStrategy
    let converts = !strategy.isDefault && !decoder.keepsKeys
    let end = text.position(after: object)
    var key = object + 1
    while key < end {
      var name = converts || text.isEscaped(key) ? text.string(key) : nil
      if converts { name = name.map { strategy.converted($0) { decoder.codingPath } } }
      members.append(Member(key: key, name: name))
      key = text.position(after: key + 1)
    }
  }

  var names: [String] { members.map(name) }

  /// The position of the value of the first member with a key.
  subscript(key: String) -> Int? {
    if members.count > Self.scanned {
      return indexed()[UTF8Text(key)].map { members[$0].key + 1 }
    }
    var key = key
    return key.withUTF8 { wanted in
      members.first { member in
        if let name = member.name { return name.utf8.elementsEqual(wanted) }
        return text.isString(member.key, wanted)
      }.map { $0.key + 1 }
    }
  }

  private func name(_ member: Member) -> String { member.name ?? text.string(member.key) ?? "" }

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
  /// The position of the next element in the index.
  private var next: Int
  private(set) var currentIndex = 0

  init(_ decoder: ValueDecoder) throws {
    let array = try decoder.value(.array, for: [Any].self)
    self.decoder = decoder
    path = decoder.path
    length = decoder.session.text.elementCount(array)
    next = array + 1
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
    return ValueDecoder(session: decoder.session, value: next, parent: path, key: key)
  }

  private mutating func advance() {
    next = decoder.session.text.position(after: next)
    currentIndex += 1
  }
}

/// What the containers of one decoding share.
final class DecodingSession: Sendable {
  let text: JSONIndex
  let options: JSONTextDecoder

  init(_ text: JSONIndex, _ options: JSONTextDecoder) {
    self.text = text
    self.options = options
  }
}

/// The path of an object or array, linked to that of its parent.
final class DecodingPath: Sendable {
  let parent: DecodingPath?
  let key: any CodingKey

  init(_ parent: DecodingPath?, _ key: any CodingKey) {
    self.parent = parent
    self.key = key
  }

  static func keys(_ path: DecodingPath?, _ last: (any CodingKey)?) -> [any CodingKey] {
    var keys: [any CodingKey] = last.map { [$0] } ?? []
    var next = path
    while let path = next {
      keys.append(path.key)
      next = path.parent
    }
    return keys.reversed()
  }
}

/// A coding key of a path: the index of an element, or a key that no type declares.
struct PathKey: CodingKey {
  var stringValue: String
  var intValue: Int?

  init(index: Int) {
    stringValue = "Index \(index)"
    intValue = index
  }

  init(intValue: Int) {
    stringValue = String(intValue)
    self.intValue = intValue
  }

  init(stringValue: String) { self.stringValue = stringValue }
}

/// Decodes one value of a text.
struct ValueDecoder: Decoder {
  let session: DecodingSession
  /// The position of the value in the index; `nil` for an absent member, which is decoded as `null`.
  let value: Int?
  private(set) var parent: DecodingPath?
  private(set) var key: (any CodingKey)?
  /// Whether the value is a dictionary, whose keys stay unchanged.
  private(set) var keepsKeys = false

  var codingPath: [any CodingKey] { DecodingPath.keys(parent, key) }
  var userInfo: [CodingUserInfoKey: Any] { session.options.userInfo }

  /// The path of the value's members or elements.
  var path: DecodingPath? { key.map { DecodingPath(parent, $0) } }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    KeyedDecodingContainer(try KeyedContainer<Key>(self))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer { try UnkeyedContainer(self) }

  func singleValueContainer() throws -> any SingleValueDecodingContainer { self }
}

extension ValueDecoder: SingleValueDecodingContainer {
  func decodeNil() -> Bool { kind == .null }

  func decode<Value: DecodableFromText>(_ type: Value.Type) throws -> Value {
    try Value(decoding: self)
  }

  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    if let direct = type as? any DecodableFromText.Type,
      let value = try direct.init(decoding: self) as? Value
    {
      return value
    }
    guard !session.options.keyDecodingStrategy.isDefault, type is any StringKeyed.Type else {
      return try Value(from: self)
    }
    var decoder = self
    decoder.keepsKeys = true
    return try Value(from: decoder)
  }
}

/// A dictionary whose keys are those of the text.
private protocol StringKeyed {}
extension Dictionary: StringKeyed where Key == String, Value: Decodable {}

// MARK: - Kinds and errors

extension ValueDecoder {
  enum Kind: String {
    case null, string, number, array, object
    case boolean = "Boolean"

    /// The kind with its article, for messages.
    var name: String {
      switch self {
      case .null: "null"
      case .array, .object: "an \(rawValue)"
      default: "a \(rawValue)"
      }
    }
  }

  var kind: Kind {
    guard let value else { return .null }
    return switch session.text.first(value) {
    case UInt8(ascii: "{"): .object
    case UInt8(ascii: "["): .array
    case UInt8(ascii: "\""): .string
    case UInt8(ascii: "n"): .null
    case UInt8(ascii: "t"), UInt8(ascii: "f"): .boolean
    default: .number
    }
  }

  /// The position of the value in the index, if it is of the expected kind.
  ///
  /// - Parameter type: The type that is decoded from it, for the error.
  func value(_ expected: Kind, for type: Any.Type) throws -> Int {
    let kind = kind
    guard kind == expected, let value else {
      let message = "expected \(expected.name), found \(kind.name)"
      throw kind == .null
        ? DecodingError.valueNotFound(type, context(message))
        : DecodingError.typeMismatch(type, context(message))
    }
    return value
  }

  func corrupted(_ message: String) -> DecodingError { .dataCorrupted(context(message)) }

  private func context(_ message: String) -> DecodingError.Context {
    .init(codingPath: codingPath, debugDescription: message)
  }

  func string(for type: Any.Type) throws -> String {
    session.text.string(try value(.string, for: type)) ?? ""
  }
}
