import Foundation

/// Parses the field `Retry-After`: seconds, or a date.
///
/// https://www.rfc-editor.org/rfc/rfc9110#field.retry-after
package enum RetryAfter {
  /// The delay from `now` (seconds since 1970); `nil` for an invalid value.
  package static func delay(_ value: String, now: Double) -> Duration? {
    let value = value.trimmingCharacters(in: .whitespaces)
    if !value.isEmpty, value.utf8.allSatisfy({ (48...57).contains($0) }) {
      // More digits than an Int has are a very long time, not an error.
      return .seconds(min(Int(value) ?? .max, 1 << 40))
    }
    guard let date = date(value) else { return nil }
    return .seconds(max(date.timeIntervalSince1970 - now, 0))
  }

  /// Parses the three forms of HTTP dates: https://www.rfc-editor.org/rfc/rfc9110#section-5.6.7
  static func date(_ value: String) -> Date? {
    for format in [
      "EEE, dd MMM yyyy HH:mm:ss zzz", "EEEE, dd-MMM-yy HH:mm:ss zzz", "EEE MMM d HH:mm:ss yyyy",
    ] {
      let formatter = DateFormatter()
      formatter.locale = Locale(identifier: "en_US_POSIX")
      formatter.timeZone = TimeZone(secondsFromGMT: 0)
      formatter.dateFormat = format
      if let date = formatter.date(from: value) { return date }
    }
    return nil
  }
}
