/// A date of a header field, in any of the forms that servers use; as the standard says for cookies.
///
/// https://httpwg.org/http-extensions/draft-ietf-httpbis-rfc6265bis.html#section-5.1.1
enum HTTPDate {
  private static let months = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
  ]

  /// The date in seconds since 1970; `nil` for other text.
  static func seconds(_ text: String) -> Double? {
    var time: [Int]?
    var (day, month, year): (Int?, Int?, Int?) = (nil, nil, nil)
    let tokens = text.split { !($0.isASCII && ($0.isLetter || $0.isNumber || $0 == ":")) }
    for token in tokens {
      let word = token.lowercased()
      if time == nil, let found = clock(word) {
        time = found
      } else if day == nil, let number = number(word, digits: 1...2) {
        day = number
      } else if month == nil, let index = months.firstIndex(where: { word.hasPrefix($0) }) {
        month = index + 1
      } else if year == nil, let number = number(word, digits: 2...4) {
        year = number < 70 ? number + 2000 : number < 100 ? number + 1900 : number
      }
    }
    guard let time, let day, let month, let year, (1...31).contains(day), year >= 1601,
      time[0] < 24, time[1] < 60, time[2] < 60
    else { return nil }
    let days = Double(Self.days(year, month: month, day: day))
    return days * 86_400 + Double(time[0] * 3600 + time[1] * 60 + time[2])
  }

  /// Days since 1970 in the Gregorian calendar, counted in years that begin in March.
  private static func days(_ year: Int, month: Int, day: Int) -> Int {
    let years = month > 2 ? year : year - 1
    let monthsSinceMarch = (month + 9) % 12
    let dayOfYear = (153 * monthsSinceMarch + 2) / 5 + day - 1
    return years * 365 + years / 4 - years / 100 + years / 400 + dayOfYear - 719_468
  }

  private static func clock(_ word: String) -> [Int]? {
    let parts = word.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 3 else { return nil }
    let numbers = parts.compactMap { number(String($0), digits: 1...2) }
    return numbers.count == 3 ? numbers : nil
  }

  /// A number at the beginning of a word, of so many digits.
  private static func number(_ word: String, digits: ClosedRange<Int>) -> Int? {
    let found = word.prefix { $0.isASCII && $0.isNumber }
    return digits.contains(found.count) ? Int(found) : nil
  }
}
