import GQLRunLanguage

extension Input {
  /// `file:line:column: message`, followed by the source line and a caret.
  static func located(
    _ message: String, at location: SourceLocation, in bytes: [UInt8], name: String
  ) -> String {
    let head = "\(name):\(location.line):\(location.column): \(message)"
    guard let line = line(location.line, of: bytes), line.count <= 400 else { return head }
    let text = String(decoding: line, as: UTF8.self).unicodeScalars
    // There is nothing to show on an empty line, such as the one after the last.
    guard text.contains(where: { !$0.properties.isWhitespace }) else { return head }
    let lead = text.prefix(max(location.column - 1, 0))
    return "\(head)\n  \(Terminal.safe(String(text)))\n  \(blank(lead))^"
  }

  /// The bytes of a line, from 1. CR, LF and CRLF each end a line.
  private static func line(_ number: Int, of bytes: [UInt8]) -> ArraySlice<UInt8>? {
    var start = 0
    var current = 1
    var index = 0
    while index < bytes.count {
      let byte = bytes[index]
      if byte == UInt8(ascii: "\r") || byte == UInt8(ascii: "\n") {
        if current == number { return bytes[start..<index] }
        let isPair =
          byte == UInt8(ascii: "\r") && index + 1 < bytes.count
          && bytes[index + 1] == UInt8(ascii: "\n")
        if isPair { index += 1 }
        current += 1
        start = index + 1
      }
      index += 1
    }
    return current == number ? bytes[start...] : nil
  }

  /// White space of the same width as `text` on a terminal.
  private static func blank(_ text: Substring.UnicodeScalarView) -> String {
    text.map { scalar -> String in
      if scalar == "\t" { return "\t" }
      let shown = Terminal.safe(String(scalar))
      if shown.unicodeScalars.count > 1 { return String(repeating: " ", count: shown.count) }
      return String(repeating: " ", count: scalar.width)
    }.joined()
  }
}

extension Unicode.Scalar {
  /// The width of a scalar in columns: 0 for combining marks, 2 for East Asian wide characters and
  /// emoji.
  var width: Int {
    switch properties.generalCategory {
    case .nonspacingMark, .enclosingMark, .format: return 0
    default: break
    }
    let isWide =
      switch value {
      case 0x1100...0x115f, 0x2e80...0x303e, 0x3041...0xa4cf, 0xac00...0xd7a3, 0xf900...0xfaff,
        0xfe30...0xfe6f, 0xff00...0xff60, 0xffe0...0xffe6, 0x1f300...0x1f64f, 0x1f680...0x1f6ff,
        0x1f900...0x1f9ff, 0x20000...0x3fffd:
        true
      default: properties.isEmojiPresentation
      }
    return isWide ? 2 : 1
  }
}
