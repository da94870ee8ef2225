public import Foundation
public import GQLRunJSON

extension Date: GraphQLScalar {
  /// Reads a date and time as in RFC 3339, with or without a fraction of the second: `2026-01-31T12:00:00.5Z`.
  ///
  /// - Throws: ``ScalarError`` if the JSON is another string or no string.
  public init(json: JSONValue) throws {
    guard let text = json.stringValue else { throw ScalarError("not a date and time in a string") }
    let style = Date.ISO8601FormatStyle(includingFractionalSeconds: text.contains("."))
    guard let date = try? style.parse(text) else {
      throw ScalarError("not a date and time such as 2026-01-31T12:00:00Z")
    }
    self = date
  }

  /// The date and time in UTC, with milliseconds if there is a fraction of the second.
  public var json: JSONValue {
    let isWhole = timeIntervalSince1970 == timeIntervalSince1970.rounded()
    return .string(
      Date.ISO8601FormatStyle(includingFractionalSeconds: !isWhole).format(self))
  }
}

extension URL: GraphQLScalar {
  /// Reads a URL.
  ///
  /// - Throws: ``ScalarError`` if the JSON is not a URL in a string.
  public init(json: JSONValue) throws {
    guard let text = json.stringValue, let url = URL(string: text) else {
      throw ScalarError("not a URL")
    }
    self = url
  }

  /// The URL as a string.
  public var json: JSONValue { .string(absoluteString) }
}

extension UUID: GraphQLScalar {
  /// Reads a UUID.
  ///
  /// - Throws: ``ScalarError`` if the JSON is not a UUID in a string.
  public init(json: JSONValue) throws {
    guard let uuid = json.stringValue.flatMap(UUID.init(uuidString:)) else {
      throw ScalarError("not a UUID")
    }
    self = uuid
  }

  /// The UUID in lower case.
  public var json: JSONValue { .string(uuidString.lowercased()) }
}

extension Decimal: GraphQLScalar {
  /// Reads a decimal number from a number or a string.
  ///
  /// - Throws: ``ScalarError`` if the JSON is neither.
  public init(json: JSONValue) throws {
    guard let text = json.numberValue?.text ?? json.stringValue, JSONNumber(text: text) != nil,
      let decimal = Decimal(string: text, locale: nil)
    else { throw ScalarError("not a decimal number") }
    self = decimal
  }

  /// The number as JSON; null if it is not a number.
  public var json: JSONValue { JSONNumber(text: "\(self)").map { .number($0) } ?? .null }
}
