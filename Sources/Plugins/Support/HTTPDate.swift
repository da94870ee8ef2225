/// A date of a header field, in any of the forms that servers use; as the standard says for cookies.
///
/// https://httpwg.org/http-extensions/draft-ietf-httpbis-rfc6265bis.html#section-5.1.1
enum HTTPDate {
  private static let months = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
  ]

  private static let days = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

  /// The date in seconds since 1970; `nil` for other text, and for a day that its month does not have.
  static func seconds(_ text: String) -> Double? {
    var time: [Int]?
    var (day, month, year): (Int?, Int?, Int?) = (nil, nil, nil)
    for token in text.utf8.split(whereSeparator: isDelimiter) {
      if time == nil, let found = clock(token) {
        time = found
      } else if day == nil, let number = number(token, digits: 1...2) {
        day = number
      } else if month == nil, let index = index(ofMonth: token) {
        month = index + 1
      } else if year == nil, let number = number(token, digits: 2...4) {
        year = number < 70 ? number + 2000 : number < 100 ? number + 1900 : number
      }
    }
    guard let time, let day, let month, let year, year >= 1601, time[0] < 24, time[1] < 60,
      time[2] < 60, day > 0, day <= days[month - 1] + (month == 2 && isLeap(year) ? 1 : 0)
    else { return nil }
    let days = Double(Self.days(year, month: month, day: day))
    return days * 86_400 + Double(time[0] * 3600 + time[1] * 60 + time[2])
  }

  private static func isLeap(_ year: Int) -> Bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
  }

  /// Days since 1970 in the Gregorian calendar, counted in years that begin in March.
  private static func days(_ year: Int, month: Int, day: Int) -> Int {
    let years = month > 2 ? year : year - 1
    let monthsSinceMarch = (month + 9) % 12
    let dayOfYear = (153 * monthsSinceMarch + 2) / 5 + day - 1
    return years * 365 + years / 4 - years / 100 + years / 400 + dayOfYear - 719_468
  }

  /// Whether a byte is between tokens. Other bytes, those of letters outside of ASCII among them, belong to tokens.
  private static func isDelimiter(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x09, 0x20...0x2F, 0x3B...0x40, 0x5B...0x60, 0x7B...0x7E: true
    default: false
    }
  }

  private static func index(ofMonth token: Substring.UTF8View) -> Int? {
    let name = token.prefix(3).map { (65...90).contains($0) ? $0 + 32 : $0 }
    return months.firstIndex { $0.utf8.elementsEqual(name) }
  }

  /// Hours, minutes and seconds at the beginning of a token.
  private static func clock(_ token: Substring.UTF8View) -> [Int]? {
    let parts = token.split(separator: 58, maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count == 3, let last = number(parts[2], digits: 1...2) else { return nil }
    let numbers = parts.prefix(2).compactMap { part in
      part.count <= 2 && part.allSatisfy(isDigit) ? number(part, digits: 1...2) : nil
    }
    return numbers.count == 2 ? numbers + [last] : nil
  }

  /// A number at the beginning of a token, of so many digits.
  private static func number(_ token: Substring.UTF8View, digits: ClosedRange<Int>) -> Int? {
    let found = token.prefix(while: isDigit)
    guard digits.contains(found.count) else { return nil }
    return found.reduce(0) { $0 * 10 + Int($1) - 48 }
  }

  private static func isDigit(_ byte: UInt8) -> Bool { (48...57).contains(byte) }
}
