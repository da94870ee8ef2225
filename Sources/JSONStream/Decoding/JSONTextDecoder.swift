public import Foundation

/// Decodes `Decodable` types directly from JSON text: no tree, no copy of the text, exact numbers.
///
/// ```swift
/// struct Country: Decodable { let name: String; let area: Decimal }
/// let country = try JSONTextDecoder().decode(Country.self, from: text)
/// ```
///
/// The text is checked once, and the positions of its values are recorded. A container finds its
/// members in the text when it is opened; strings are unescaped and numbers are converted when they are
/// decoded. Decoding takes linear time, and values that the type does not use are skipped.
///
/// It decodes what Foundation's `JSONDecoder` decodes, with these differences: integers have no detour
/// through `Double`, so `9007199254740993.0` is exact; a number too small for `Double` is 0; a ``JSONValue`` inside another type keeps the text
/// of its numbers and the order of its members; keys are compared as UTF-8 bytes; if an object has several
/// members of one key, the first is decoded.
public struct JSONTextDecoder: Sendable {
  /// How `Date` is decoded. By default as `Date` decodes itself: a number of seconds since the start
  /// of 2001.
  public var dateDecodingStrategy = JSONDecoder.DateDecodingStrategy.deferredToDate
  /// How `Data` is decoded. By default from a string in Base64.
  public var dataDecodingStrategy = JSONDecoder.DataDecodingStrategy.base64
  /// Which strings are decoded as infinities and NaN. None by default.
  public var nonConformingFloatDecodingStrategy =
    JSONDecoder.NonConformingFloatDecodingStrategy.throw
  /// How the keys of objects become coding keys. Unchanged by default; the keys of a `Dictionary` always
  /// are.
  public var keyDecodingStrategy = JSONDecoder.KeyDecodingStrategy.useDefaultKeys
  /// Values for the `init(from:)` of the decoded types. Empty by default.
  public var userInfo: [CodingUserInfoKey: any Sendable] = [:]
  /// Limits of nesting depth and of strings, keys and numbers.
  public var limits = JSONLimits()

  /// Creates a decoder with the default strategies.
  public init() {}

  /// Decodes a value from a JSON text.
  ///
  /// - Parameters:
  ///   - type: The type of the value.
  ///   - text: The bytes of the text, in UTF-8; at most 4 GiB.
  /// - Throws: `DecodingError` with the path of the value and what the text has there; `dataCorrupted` with
  ///   a ``JSONError`` as its underlying error if the text is not JSON or exceeds a limit; errors of the
  ///   type's `init(from:)`.
  public func decode<Value: Decodable>(
    _ type: Value.Type = Value.self, from text: [UInt8]
  ) throws -> Value {
    let indexed: JSONIndex
    do {
      indexed = try JSONIndex(checking: text, limits: limits)
    } catch {
      throw DecodingError.dataCorrupted(
        .init(codingPath: [], debugDescription: "\(error)", underlyingError: error))
    }
    return try ValueDecoder(session: DecodingSession(indexed, self), value: 0).decode(type)
  }
}

extension JSONDecoder.KeyDecodingStrategy {
  /// Whether keys are compared as they are.
  var isDefault: Bool {
    if case .useDefaultKeys = self { true } else { false }
  }

  /// The coding key for the key of a member.
  ///
  /// - Parameter path: The path of the object.
  func converted(_ key: String, at path: () -> [any CodingKey]) -> String {
    switch self {
    case .convertFromSnakeCase: key.convertedFromSnakeCase
    case .custom(let convert): convert(path() + [PathKey(stringValue: key)]).stringValue
    default: key
    }
  }
}

extension String {
  /// `one_two_three` as `oneTwoThree`; underscores at the start and the end stay.
  fileprivate var convertedFromSnakeCase: String {
    let inner = drop { $0 == "_" }
    guard let last = inner.lastIndex(where: { $0 != "_" }) else { return self }
    let words = inner[...last].split(separator: "_")
    guard let first = words.first, words.count > 1 else { return self }
    return prefix(upTo: inner.startIndex) + first.lowercased()
      + words.dropFirst().map(\.capitalized).joined() + suffix(from: index(after: last))
  }
}

/// A type that is decoded from the text of one value.
protocol DecodableFromText: Decodable {
  init(decoding decoder: ValueDecoder) throws
}

extension Bool: DecodableFromText {
  init(decoding decoder: ValueDecoder) throws {
    let value = try decoder.value(.boolean, for: Self.self)
    self = decoder.session.text.first(value) == UInt8(ascii: "t")
  }
}

extension String: DecodableFromText {
  init(decoding decoder: ValueDecoder) throws { self = try decoder.string(for: Self.self) }
}

// MARK: - Numbers

extension FixedWidthInteger where Self: DecodableFromText {
  /// Decodes a whole number in any notation.
  init(decoding decoder: ValueDecoder) throws {
    let number = try decoder.value(.number, for: Self.self)
    guard let value = Self(wholeNumberAt: number, in: decoder.session.text) else {
      throw decoder.corrupted("the number \(decoder.shownNumber) is not an \(Self.self)")
    }
    self = value
  }

  private init?(wholeNumberAt number: Int, in text: JSONIndex) {
    if let short = text.shortInteger(number) {
      self.init(exactly: short)
    } else {
      // Many digits, a fraction or an exponent.
      guard let value: Self = text.number(number).whole() else { return nil }
      self = value
    }
  }
}

extension Int: DecodableFromText {}
extension Int8: DecodableFromText {}
extension Int16: DecodableFromText {}
extension Int32: DecodableFromText {}
extension Int64: DecodableFromText {}
extension Int128: DecodableFromText {}
extension UInt: DecodableFromText {}
extension UInt8: DecodableFromText {}
extension UInt16: DecodableFromText {}
extension UInt32: DecodableFromText {}
extension UInt64: DecodableFromText {}
extension UInt128: DecodableFromText {}

extension BinaryFloatingPoint where Self: DecodableFromText & LosslessStringConvertible {
  /// Decodes the nearest number, or a string that the decoder's strategy names.
  init(decoding decoder: ValueDecoder) throws {
    if decoder.kind == .string,
      case .convertFromString(let positive, let negative, let nan) = decoder.session.options
        .nonConformingFloatDecodingStrategy
    {
      switch try decoder.string(for: Self.self) {
      case positive: self = .infinity
      case negative: self = -.infinity
      case nan: self = .nan
      default: throw decoder.corrupted("the string is neither a number, an infinity nor NaN")
      }
      return
    }
    let number = decoder.session.text.number(try decoder.value(.number, for: Self.self))
    guard let value = Self(number.text), value.isFinite else {
      throw decoder.corrupted("the number \(decoder.shownNumber) is too large for \(Self.self)")
    }
    self = value
  }
}

extension Double: DecodableFromText {}
extension Float: DecodableFromText {}

extension Decimal: DecodableFromText {
  init(decoding decoder: ValueDecoder) throws {
    let number = decoder.session.text.number(try decoder.value(.number, for: Self.self))
    guard let value = Decimal(string: number.text), value.isFinite else {
      throw decoder.corrupted("the number \(decoder.shownNumber) is not a Decimal")
    }
    self = value
  }
}

extension ValueDecoder {
  /// The first bytes of the number, for a message.
  fileprivate var shownNumber: String {
    let text = value.map { session.text.text($0) } ?? []
    return String(decoding: text.prefix(40), as: UTF8.self) + (text.count > 40 ? "…" : "")
  }
}

// MARK: - Foundation's types, and JSON values

extension Date: DecodableFromText {
  init(decoding decoder: ValueDecoder) throws {
    switch decoder.session.options.dateDecodingStrategy {
    case .deferredToDate: self = try Date(from: decoder)
    case .secondsSince1970: self = Date(timeIntervalSince1970: try Double(decoding: decoder))
    case .millisecondsSince1970:
      self = Date(timeIntervalSince1970: try Double(decoding: decoder) / 1000)
    case .iso8601:
      let text = try decoder.string(for: Self.self)
      guard let date = try? Date(text, strategy: .iso8601) else {
        throw decoder.corrupted("the string is not a date in the format of ISO 8601")
      }
      self = date
    case .custom(let decode): self = try decode(decoder)
    @unknown default: throw decoder.corrupted("the date strategy is unknown")
    }
  }
}

extension Data: DecodableFromText {
  init(decoding decoder: ValueDecoder) throws {
    switch decoder.session.options.dataDecodingStrategy {
    case .deferredToData: self = try Data(from: decoder)
    case .base64:
      guard let data = Data(base64Encoded: try decoder.string(for: Self.self)) else {
        throw decoder.corrupted("the string is not Base64")
      }
      self = data
    case .custom(let decode): self = try decode(decoder)
    @unknown default: throw decoder.corrupted("the data strategy is unknown")
    }
  }
}

extension URL: DecodableFromText {
  init(decoding decoder: ValueDecoder) throws {
    guard let url = URL(string: try decoder.string(for: Self.self)) else {
      throw decoder.corrupted("the string is not a URL")
    }
    self = url
  }
}

extension JSONValue: DecodableFromText {
  init(decoding decoder: ValueDecoder) throws {
    guard let value = decoder.value else {
      self = .null
      return
    }
    do {
      self = try JSONValue(decoder.session.text, at: value)
    } catch {
      throw decoder.corrupted(error.message)
    }
  }

  /// Decodes any JSON value.
  ///
  /// A ``JSONTextDecoder`` keeps the text of numbers and the order of members. With another decoder, a
  /// number is a 64-bit integer or a `Decimal` of 38 digits, and members are ordered by their keys.
  public init(from decoder: any Decoder) throws {
    if let decoder = decoder as? ValueDecoder {
      try self.init(decoding: decoder)
      return
    }
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      self = .null
    } else if let flag = try? container.decode(Bool.self) {
      self = .boolean(flag)
    } else if let text = try? container.decode(String.self) {
      self = .string(text)
    } else if let elements = try? container.decode([JSONValue].self) {
      self = .array(elements)
    } else if let members = try? container.decode([String: JSONValue].self) {
      var object = JSONObject()
      for (key, value) in members.sorted(by: { $0.key < $1.key }) { object[key] = value }
      self = .object(object)
    } else if let number = try? container.decode(Int64.self) {
      self = .number(JSONNumber(number))
    } else if let number = JSONNumber(text: "\(try container.decode(Decimal.self))") {
      self = .number(number)
    } else {
      throw DecodingError.dataCorruptedError(
        in: container, debugDescription: "The number is not finite.")
    }
  }
}
