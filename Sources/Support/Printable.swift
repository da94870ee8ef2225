/// Makes untrusted text safe for a terminal.
package enum Printable {
  /// `text` on one line, with each unprintable scalar replaced by U+FFFD and tabs by a space.
  package static func line(_ text: String) -> String {
    guard text.unicodeScalars.contains(where: { isUnsafe($0.value) }) else { return text }
    return QuotedText.replacing(text) {
      isUnsafe($0.value) ? ($0 == "\t" ? " " : "\u{FFFD}") : nil
    }
  }

  /// `text` with its lines and tabs; other unprintable scalars are escaped as in Swift, `\u{1b}`.
  package static func lines(_ text: String) -> String {
    QuotedText.replacing(text) {
      let isKept = !isUnsafe($0.value) || $0 == "\n" || $0 == "\t"
      return isKept ? nil : "\\u{\(String($0.value, radix: 16))}"
    }
  }

  /// The beginning of a text, of at most `count` scalars and an ellipsis if the text is longer.
  package static func shortened(_ text: String, to count: Int) -> String {
    let beginning = text.unicodeScalars.prefix(count)
    return beginning.endIndex == text.endIndex ? text : "\(String(beginning))…"
  }

  /// Whether a scalar controls a terminal, changes the direction of text, or separates lines.
  package static func isUnsafe(_ scalar: UInt32) -> Bool {
    switch scalar {
    case 0..<0x20, 0x7F..<0xA0: true
    case 0x061C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069, 0xFEFF: true
    default: false
    }
  }
}

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

  /// A path as one word of a POSIX shell, in quotes only if it needs them.
  package static func shellPath(_ path: String) -> String {
    let isPlain = path.allSatisfy {
      $0.isASCII && ($0.isLetter || $0.isNumber) || "-_./".contains($0)
    }
    return isPlain ? path : shellWord(path)
  }

  /// An SQL identifier. https://sqlite.org/lang_keywords.html
  package static func sqlIdentifier(_ name: String) -> String { doubled(name, "\"") }

  /// An SQL string literal.
  package static func sqlLiteral(_ text: String) -> String { doubled(text, "'") }

  /// The text between two `quote`s, with those in it doubled.
  package static func doubled(_ text: String, _ quote: Unicode.Scalar) -> String {
    "\(quote)" + replacing(text) { $0 == quote ? "\(quote)\(quote)" : nil } + "\(quote)"
  }

  /// A field of CSV as in RFC 4180. Empty text is quoted, which distinguishes it from a missing value.
  package static func csvField(_ text: String) -> [UInt8] {
    let utf8 = Array(text.utf8)
    guard
      utf8.isEmpty || utf8.contains(where: { [0x22, 0x2C, 0x0A, 0x0D].contains($0) })
        || utf8.first == 0x20 || utf8.last == 0x20
    else { return utf8 }
    return [0x22] + utf8.flatMap { $0 == 0x22 ? [0x22, 0x22] : [$0] } + [0x22]
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

  /// JSON in a `script` element of an HTML document: no character of it can end the element or begin a comment.
  ///
  /// The characters occur in the strings of JSON only, where an escape has the same meaning.
  package static func dataBlock(_ json: String) -> String {
    replacing(json) { scalar in
      switch scalar {
      case "<": #"\u003c"#
      case ">": #"\u003e"#
      case "&": #"\u0026"#
      case "\u{2028}": #"\u2028"#
      case "\u{2029}": #"\u2029"#
      default: nil
      }
    }
  }

  /// A component of a URL: all characters but the unreserved ones are percent-encoded, including `+` and `;`.
  ///
  /// https://www.rfc-editor.org/rfc/rfc3986#section-2.3
  package static func url(_ text: String) -> String {
    let digits = Array("0123456789ABCDEF".utf8)
    var bytes: [UInt8] = []
    for byte in text.utf8 {
      switch byte {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E: bytes.append(byte)
      default: bytes += [0x25, digits[Int(byte >> 4)], digits[Int(byte & 15)]]
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// The message of a workflow command of GitHub, without control characters: logs are read in terminals, too.
  ///
  /// https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands
  package static func githubData(_ text: String) -> String {
    replacing(text) {
      ["%": "%25", "\r": "%0D", "\n": "%0A"][$0]
        ?? (Printable.isUnsafe($0.value) ? Printable.lines(String($0)) : nil)
    }
  }

  /// A workflow command of GitHub, which annotates a file, with a line end.
  ///
  /// https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands
  ///
  /// - Parameters:
  ///   - level: `error`, `warning` or `notice`.
  ///   - properties: The properties of the command, such as `file` and `line`.
  ///   - text: The message.
  package static func githubCommand(
    _ level: String, properties: [(name: String, value: String)], text: String
  ) -> String {
    let list = properties.map { "\($0.name)=\(githubProperty($0.value))" }.joined(separator: ",")
    return "::\(level) \(list)::\(githubData(text))\n"
  }

  /// The value of a property of a workflow command of GitHub.
  package static func githubProperty(_ text: String) -> String {
    replacing(githubData(text)) { [":": "%3A", ",": "%2C"][$0] }
  }

  /// The text with other texts instead of some scalars.
  ///
  /// - Parameter replacement: The text for a scalar; `nil` keeps it.
  package static func replacing(
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

extension UInt8 {
  /// Whether the byte is a letter or a digit of ASCII.
  package var isASCIIAlphanumeric: Bool {
    switch self {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
    default: false
    }
  }

  /// The value of a hexadecimal digit of ASCII; `nil` for another byte.
  package var hexDigitValue: UInt8? {
    switch self {
    case 0x30...0x39: self - 0x30
    case 0x41...0x46: self - 0x41 + 10
    case 0x61...0x66: self - 0x61 + 10
    default: nil
    }
  }
}

extension StringProtocol {
  /// The text without the characters at both ends that are removed; by default, white space.
  package func trimmingEnds(
    where isRemoved: (Character) -> Bool = { $0.isWhitespace }
  ) -> String {
    guard let first = firstIndex(where: { !isRemoved($0) }),
      let last = lastIndex(where: { !isRemoved($0) })
    else { return "" }
    return String(self[first...last])
  }

  /// The text without the byte order mark with which some programs begin files.
  package var withoutByteOrderMark: String {
    String(first == "\u{FEFF}" ? dropFirst() : self[...])
  }
}

/// What an error of a library says, in words for people.
package enum ErrorWords {
  /// The name of the case of an enumeration, or of the type of another error, as words without upper
  /// case: `invalidHeaderToken` is `invalid header token`. Shows no type names and no values.
  package static func text(_ error: any Error) -> String {
    let isCase = Mirror(reflecting: error).displayStyle == .enum
    let name = isCase ? "\(error)" : "\(type(of: error))"
    let head = name.prefix { $0 != "(" }
    // A description of the library, which is in words already.
    guard !head.contains(" ") else { return head.trimmingEnds() }
    let last = head.split(separator: ".").last ?? ""
    return last.reduce(into: "") { words, character in
      if character.isUppercase, let before = words.last, before.isLowercase { words.append(" ") }
      words += character.lowercased()
    }
  }
}
