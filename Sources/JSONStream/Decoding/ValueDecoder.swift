import Foundation

/// What the containers of one decoding share.
final class DecodingSession: Sendable {
  let text: IndexedText
  let options: JSONTextDecoder

  init(_ text: IndexedText, _ options: JSONTextDecoder) {
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
  /// The value; `nil` for an absent member, which is decoded as `null`.
  let value: IndexedText.Value?
  private let parent: DecodingPath?
  private let key: (any CodingKey)?
  /// Whether the value is a dictionary, whose keys stay unchanged.
  private(set) var keepsKeys = false

  init(_ session: DecodingSession) {
    self.session = session
    value = session.text.root
    parent = nil
    key = nil
  }

  init(
    _ session: DecodingSession, _ value: IndexedText.Value?, in parent: DecodingPath?,
    key: any CodingKey
  ) {
    self.session = session
    self.value = value
    self.parent = parent
    self.key = key
  }

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
    return switch session.text.byte(of: value) {
    case UInt8(ascii: "{"): .object
    case UInt8(ascii: "["): .array
    case UInt8(ascii: "\""): .string
    case UInt8(ascii: "n"): .null
    case UInt8(ascii: "t"), UInt8(ascii: "f"): .boolean
    default: .number
    }
  }

  /// The value, if it is of the expected kind.
  ///
  /// - Parameter type: The type that is decoded from it, for the error.
  func value(_ expected: Kind, for type: Any.Type) throws -> IndexedText.Value {
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

  /// The text of a number.
  func number(for type: Any.Type) throws -> ArraySlice<UInt8> {
    session.text.text(of: try value(.number, for: type))
  }

  func string(for type: Any.Type) throws -> String {
    let offset = try value(.string, for: type).offset
    let (end, isEscaped) = session.text.string(at: offset)
    return session.text.string(in: offset + 1..<end - 1, isEscaped: isEscaped)
  }
}
