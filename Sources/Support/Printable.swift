/// Makes untrusted text safe for a terminal.
package enum Printable {
  /// `text` on one line, with each unprintable scalar replaced by U+FFFD and tabs by a space.
  package static func line(_ text: String) -> String {
    guard text.unicodeScalars.contains(where: { isUnsafe($0.value) }) else { return text }
    var result = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      result.append(scalar == "\t" ? " " : isUnsafe(scalar.value) ? "\u{FFFD}" : scalar)
    }
    return String(result)
  }

  /// `text` with its lines and tabs; other unprintable scalars are escaped as in Swift, `\u{1b}`.
  package static func lines(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      if isUnsafe(scalar.value), scalar != "\n", scalar != "\t" {
        result += "\\u{\(String(scalar.value, radix: 16))}"
      } else {
        result.unicodeScalars.append(scalar)
      }
    }
    return result
  }

  /// Whether a scalar controls a terminal, changes the direction of text, or separates lines.
  package static func isUnsafe(_ scalar: UInt32) -> Bool {
    switch scalar {
    case 0..<0x20, 0x7F..<0xA0: true
    case 0x200E, 0x200F, 0x2028, 0x2029, 0x202A...0x202E, 0x2066...0x2069, 0xFEFF: true
    default: false
    }
  }
}
