public import Foundation
public import GQLRunJSON

extension Date: GraphQLScalar {
  /// Reads a date and time as in RFC 3339, with or without a fraction of the second: `2026-01-31T12:00:00.5Z`.
  ///
  /// - Throws: ``ScalarError`` if the JSON is another string or no string.
  public init(json: JSONValue) throws {
    guard let text = json.stringValue else { throw ScalarError("not a date and time in a string") }
    if let date = Date(utc: text) {
      self = date
      return
    }
    let style = Date.ISO8601FormatStyle(includingFractionalSeconds: text.contains("."))
    // A time before the year 0 has no text that can be read.
    guard Self.isDateAndTime(text), let date = try? style.parse(text),
      date.timeIntervalSince1970 >= -62_167_392_000
    else { throw ScalarError("not a date and time such as 2026-01-31T12:00:00Z") }
    self = date
  }

  /// Whether the text has the form of RFC 3339, where numbers may have fewer digits, years after 9999 more, and offsets no
  /// colon or no minutes: Foundation's parser also takes other offsets, and ignores what follows.
  private static func isDateAndTime(_ text: String) -> Bool {
    var rest = Substring(text).utf8
    func take(_ character: Unicode.Scalar) -> Bool {
      guard rest.first == UInt8(ascii: character) else { return false }
      rest.removeFirst()
      return true
    }
    func takeDigits(_ count: ClosedRange<Int>) -> Bool {
      let digits = rest.prefix(count.upperBound).prefix {
        UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0
      }
      rest = rest.dropFirst(digits.count)
      return digits.count >= count.lowerBound
    }
    guard takeDigits(4...9), take("-"), takeDigits(1...2), take("-"), takeDigits(1...2), take("T"),
      takeDigits(1...2), take(":"), takeDigits(1...2), take(":"), takeDigits(1...2),
      !take(".") || takeDigits(1...max(1, rest.count))
    else { return false }
    if take("Z") { return rest.isEmpty }
    guard take("+") || take("-"), takeDigits(2...2) else { return false }
    return rest.isEmpty || (take(":") || true) && takeDigits(2...2) && rest.isEmpty
  }

  /// Reads a time in UTC with all digits, also with up to nine of a fraction: Foundation's parser takes more than twenty times
  /// as long. `nil` for other texts, and before the first whole year of the Gregorian calendar.
  ///
  /// The date has the same bits as Foundation's, which adds the time of day to the start of the day.
  private init?(utc text: String) {
    let date = text.utf8.withContiguousStorageIfAvailable { text -> Date? in
      let digits = text.count - 21
      guard digits == -1 || 1...9 ~= digits, text.last == UInt8(ascii: "Z"),
        zip(Self.separators, [4, 7, 10, 13, 16, 19]).allSatisfy({
          text[$1] == $0 || $1 == text.count - 1
        }),
        let year = text.number(0..<4), let month = text.number(5..<7),
        let day = text.number(8..<10), let hour = text.number(11..<13),
        let minute = text.number(14..<16), let second = text.number(17..<19),
        let fraction = text.number(20..<max(20, text.count - 1)),
        year > 1582, 1...12 ~= month, 1...31 ~= day, hour < 24, minute < 60, second < 60
      else { return nil }
      // The year of the formula starts in March (https://howardhinnant.github.io/date_algorithms.html#days_from_civil).
      let years = month < 3 ? year - 1 : year
      let months = (month + 9) % 12
      let days = years * 365 + years / 4 - years / 100 + years / 400 + (153 * months + 2) / 5 + day
      let start = (days - 719_469) * 86400 - Int(Date.timeIntervalBetween1970AndReferenceDate)
      let nanoseconds = (max(0, digits)..<9).reduce(fraction) { value, _ in value * 10 }
      let time = Double((hour * 60 + minute) * 60 + second) + Double(nanoseconds) / 1e9
      return Date(timeIntervalSinceReferenceDate: Double(start) + time)
    }
    guard let date, let date else { return nil }
    self = date
  }

  private static let separators = Array("--T::.".utf8)

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

extension UnsafeBufferPointer<UInt8> {
  /// The number in a range of the text; `nil` if there is another character than a digit.
  fileprivate func number(_ range: Range<Int>) -> Int? {
    var number = 0
    for byte in self[range] {
      let digit = byte &- UInt8(ascii: "0")
      guard digit < 10 else { return nil }
      number = number &* 10 &+ Int(digit)
    }
    return number
  }
}
