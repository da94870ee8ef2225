import Foundation
import GQLRunSupport

/// Formats numbers for people.
enum Format {
  /// `999 bytes`, `1.5 kB`, `12.3 MB`.
  static func size(_ bytes: Int) -> String { Quantity.size(bytes) }

  static func rate(bytes: Int, seconds: Double) -> String {
    String(format: "%.1f MB/s", Double(bytes) / 1e6 / max(seconds, 1e-9))
  }

  /// `1 error`, `2 errors`.
  static func count(_ number: Int, _ noun: String) -> String { Quantity.count(number, noun) }

  static func padded(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(width - Self.width(text), 0))
  }

  static func leading(_ text: String, _ width: Int) -> String {
    String(repeating: " ", count: max(width - Self.width(text), 0)) + text
  }

  /// The width of a text on a terminal, in columns. A grapheme cluster, such as a flag, counts
  /// once.
  static func width(_ text: String) -> Int {
    text.reduce(0) { sum, character in
      let isEmoji = character.unicodeScalars.contains { $0.value == 0xfe0f }
      return sum + (isEmoji ? 2 : character.unicodeScalars.map(\.width).max() ?? 0)
    }
  }
}

extension Duration {
  var seconds: Double {
    Double(components.seconds) + Double(components.attoseconds) / 1e18
  }
}
