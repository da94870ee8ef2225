/// Quotes text for other languages.
///
/// Works on Unicode scalars, including those that combine with the next into one `Character`: other
/// languages do not combine them.
package enum QuotedText {
  /// One word of a POSIX shell, whatever the text contains.
  ///
  /// https://pubs.opengroup.org/onlinepubs/9799919799/utilities/V3_chap02.html#tag_19_02
  package static func shellWord(_ text: String) -> String {
    "'" + replacing(text) { $0 == "'" ? #"'\''"# : nil } + "'"
  }

  /// An SQL identifier. https://sqlite.org/lang_keywords.html
  package static func sqlIdentifier(_ name: String) -> String { doubled(name, "\"") }

  /// An SQL string literal.
  package static func sqlLiteral(_ text: String) -> String { doubled(text, "'") }

  /// The text between two `quote`s, with those in it doubled.
  package static func doubled(_ text: String, _ quote: Unicode.Scalar) -> String {
    "\(quote)" + replacing(text) { $0 == quote ? "\(quote)\(quote)" : nil } + "\(quote)"
  }

  /// Bytes as lower-case hexadecimal digits.
  package static func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
    let digits = Array("0123456789abcdef".utf8)
    return String(
      decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }

  /// Text of an HTML or XML document, between tags or in a quoted attribute.
  ///
  /// Characters that XML 1.0 does not allow become U+FFFD.
  ///
  /// - Parameter keepsLineBreaks: Whether line feeds and tabs are kept; in an XML attribute they
  ///   would be read as spaces.
  package static func markup(_ text: String, keepsLineBreaks: Bool = true) -> String {
    replacing(text) { scalar in
      switch scalar {
      case "&": "&amp;"
      case "<": "&lt;"
      case ">": "&gt;"
      case "\"": "&quot;"
      case "'": "&#39;"
      case "\n": keepsLineBreaks ? nil : "&#10;"
      case "\t": keepsLineBreaks ? nil : "&#9;"
      case "\u{FFFE}", "\u{FFFF}": "\u{FFFD}"
      default: scalar.value < 0x20 ? "\u{FFFD}" : nil
      }
    }
  }

  /// The message of a workflow command of GitHub.
  ///
  /// https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands
  package static func githubData(_ text: String) -> String {
    replacing(text) { ["%": "%25", "\r": "%0D", "\n": "%0A"][$0] }
  }

  /// The value of a property of a workflow command of GitHub.
  package static func githubProperty(_ text: String) -> String {
    replacing(githubData(text)) { [":": "%3A", ",": "%2C"][$0] }
  }

  private static func replacing(
    _ text: String, _ replacement: (Unicode.Scalar) -> String?
  ) -> String {
    var result = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      if let other = replacement(scalar) {
        result.append(contentsOf: other.unicodeScalars)
      } else {
        result.append(scalar)
      }
    }
    return String(result)
  }
}
