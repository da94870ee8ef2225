/// Text as other languages write it.
package enum QuotedText {
  /// One word of a POSIX shell, whatever the text contains.
  ///
  /// https://pubs.opengroup.org/onlinepubs/9799919799/utilities/V3_chap02.html#tag_19_02
  package static func shellWord(_ text: String) -> String {
    "'" + text.replacing("'", with: #"'\''"#) + "'"
  }

  /// An SQL identifier. https://sqlite.org/lang_keywords.html
  package static func sqlIdentifier(_ name: String) -> String {
    "\"" + name.replacing("\"", with: "\"\"") + "\""
  }

  /// An SQL string literal.
  package static func sqlLiteral(_ text: String) -> String {
    "'" + text.replacing("'", with: "''") + "'"
  }

  /// Bytes as lower-case hexadecimal digits.
  package static func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
    let digits = Array("0123456789abcdef".utf8)
    return String(
      decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }

  /// Text of an HTML or XML document, between tags or in an attribute in quotes.
  ///
  /// Characters that XML 1.0 does not have become U+FFFD.
  ///
  /// - Parameter keepsLineBreaks: Whether line feeds and tabs stay as they are; in an attribute of XML they would
  ///   be read as spaces.
  package static func markup(_ text: String, keepsLineBreaks: Bool = true) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      case "\"": result += "&quot;"
      case "'": result += "&#39;"
      case "\n" where !keepsLineBreaks: result += "&#10;"
      case "\t" where !keepsLineBreaks: result += "&#9;"
      case "\n", "\t": result.unicodeScalars.append(scalar)
      case let scalar where scalar.value < 0x20 || scalar.value == 0xFFFE || scalar.value == 0xFFFF:
        result += "\u{FFFD}"
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }
}
