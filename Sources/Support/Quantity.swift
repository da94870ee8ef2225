import Foundation

/// Numbers with their units, as messages and reports show them.
package enum Quantity {
  /// `1 record`, `2 records`.
  ///
  /// - Parameter plural: The plural; `nil` for the noun with an `s`.
  package static func count(_ number: Int, _ noun: String, plural: String? = nil) -> String {
    number == 1 ? "1 \(noun)" : "\(number) \(plural ?? noun + "s")"
  }

  /// `1,234,567`: a number of a report.
  package static func count(_ number: Int) -> String {
    var digits = String(number)
    var groups: [String] = []
    while digits.count > 3 {
      groups.insert(String(digits.suffix(3)), at: 0)
      digits.removeLast(3)
    }
    return ([digits] + groups).joined(separator: ",")
  }

  /// `0.05`, `4.8`, `1,235`: a number of an axis, with at least three significant digits.
  package static func number(_ value: Double) -> String {
    value >= 999.5 && value < 1e15 ? count(Int(value.rounded())) : String(format: "%.3g", value)
  }

  /// `12.5 %`.
  package static func percent(_ share: Double) -> String {
    String(format: "%.1f %%", share * 100)
  }

  /// `310 µs`, `1.18 ms`, `24.2 ms`, `2.20 s`: a measured time.
  ///
  /// - Parameters:
  ///   - seconds: The time in seconds.
  ///   - decimals: The number of decimals of milliseconds below ten and of seconds; other milliseconds have one less.
  ///     Only times with two are shown in microseconds.
  package static func time(_ seconds: Double, decimals: Int = 2) -> String {
    func text(_ value: Double, _ decimals: Int) -> String {
      String(format: "%.\(decimals)f", value)
    }
    let milliseconds = seconds * 1e3
    if seconds < 1e-3, decimals > 1 { return text(seconds * 1e6, 0) + " µs" }
    if milliseconds < 10 { return text(milliseconds, decimals) + " ms" }
    // Rounded first: 999.7 ms is 1.0 s.
    let rounded = text(milliseconds, decimals - 1)
    return Double(rounded) ?? 0 < 1e3 ? rounded + " ms" : text(seconds, decimals) + " s"
  }

  /// `2026-01-31T12:00:00.000Z`
  package static func timestamp(_ secondsSince1970: Double) -> String {
    Date(timeIntervalSince1970: secondsSince1970).formatted(
      Date.ISO8601FormatStyle(includingFractionalSeconds: true))
  }

  /// `45s`, `4m32s`, `2h5m`: a time that is left or has passed, in seconds.
  package static func clockTime(_ seconds: Double) -> String {
    // In this order, what is not a number is 0.
    let whole = Int(min(max(0, seconds), 1e9).rounded(.up))
    return switch whole {
    case ..<60: "\(whole)s"
    case ..<3_600: "\(whole / 60)m\(whole % 60)s"
    default: "\(whole / 3_600)h\(whole / 60 % 60)m"
    }
  }

  /// `512 bytes`, `2.5 kB`, `1.3 MB`, with decimal units.
  package static func size(_ bytes: Int) -> String {
    switch bytes {
    case ..<1_000: count(bytes, "byte")
    case ..<1_000_000: String(format: "%.1f kB", Double(bytes) / 1e3)
    case ..<1_000_000_000: String(format: "%.1f MB", Double(bytes) / 1e6)
    default: String(format: "%.2f GB", Double(bytes) / 1e9)
    }
  }

  /// A size that was computed, or read from a file; it may have any value.
  package static func size(_ bytes: Double) -> String {
    size(Int(exactly: bytes.rounded()) ?? .max)
  }

  /// `1.5 MB/s`: a number of bytes in a time.
  package static func rate(bytes: Int, seconds: Double) -> String {
    rate(Double(bytes) / 1e6 / max(seconds, 1e-9))
  }

  /// `1.5 MB/s`.
  ///
  /// - Parameters:
  ///   - megabytesPerSecond: The rate, in millions of bytes per second.
  ///   - decimals: The number of decimals.
  package static func rate(_ megabytesPerSecond: Double, decimals: Int = 1) -> String {
    String(format: "%.\(decimals)f MB/s", megabytesPerSecond)
  }
}

extension Duration {
  /// The longest time that ``bounded(seconds:)`` returns, in seconds: about 30 years.
  private static let maxSeconds = 1e9

  /// The duration of a number of seconds that was computed, or read from a database; it may have any value.
  ///
  /// `Duration.seconds(_:)` traps with a number that is not finite or too large. What is not a number is zero.
  package static func bounded(seconds: Double) -> Duration {
    .seconds(seconds.isNaN ? 0 : min(max(seconds, -maxSeconds), maxSeconds))
  }

  /// The number of seconds.
  package var seconds: Double {
    Double(components.seconds) + Double(components.attoseconds) / 1e18
  }

  /// The duration in messages: `1.3 ms` below ten milliseconds, `12 ms` below a second, else `2.2 s`.
  package var shown: String { Quantity.time(seconds, decimals: 1) }
}
