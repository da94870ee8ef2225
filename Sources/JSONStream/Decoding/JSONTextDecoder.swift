public import Foundation

/// Decodes `Decodable` types directly from JSON text: no tree, no copy of the text, exact numbers.
///
/// ```swift
/// struct Country: Decodable { let name: String; let area: Decimal }
/// let country = try JSONTextDecoder().decode(Country.self, from: text)
/// ```
///
/// The text is checked once, and the ends of its objects and arrays are recorded. A container finds its
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
  ///   - text: The bytes of the text, in UTF-8.
  /// - Throws: `DecodingError` with the path of the value and what the text has there; `dataCorrupted` with
  ///   a ``JSONError`` as its underlying error if the text is not JSON or exceeds a limit; errors of the
  ///   type's `init(from:)`.
  public func decode<Value: Decodable>(
    _ type: Value.Type = Value.self, from text: [UInt8]
  ) throws -> Value {
    let indexed: IndexedText
    do {
      indexed = try IndexedText(text, limits: limits)
    } catch {
      throw DecodingError.dataCorrupted(
        .init(codingPath: [], debugDescription: "\(error)", underlyingError: error))
    }
    return try ValueDecoder(DecodingSession(indexed, self)).decode(type)
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
