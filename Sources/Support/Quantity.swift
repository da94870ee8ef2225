import Foundation

/// Numbers with their units, as messages show them.
package enum Quantity {
  /// `1 record`, `2 records`.
  ///
  /// - Parameter plural: The plural; `nil` for the noun with an `s`.
  package static func count(_ number: Int, _ noun: String, plural: String? = nil) -> String {
    number == 1 ? "1 \(noun)" : "\(number) \(plural ?? noun + "s")"
  }

  /// `45s`, `4m32s`, `2h5m`: a time that is left or has passed, in seconds.
  package static func clockTime(_ seconds: Double) -> String {
    let whole = Int(min(max(seconds, 0), 1e9).rounded(.up))
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
}
