/// Swift source text, line by line.
struct SwiftText {
  private(set) var text = ""
  private var indentation = ""

  /// Adds a line; an empty one has no indentation.
  mutating func line(_ line: String = "") {
    text += line.isEmpty ? "\n" : "\(indentation)\(line)\n"
  }

  /// Adds a declaration with its body in braces.
  mutating func block(_ head: String, _ body: (inout Self) -> Void) {
    line(head + " {")
    indentation += "  "
    body(&self)
    indentation.removeLast(2)
    line("}")
  }

  /// Adds a `switch`, whose cases are not indented.
  mutating func cases(of value: String, _ body: (inout Self) -> Void) {
    line("switch \(value) {")
    body(&self)
    line("}")
  }

  /// Adds a function whose parameters are on one line if they fit.
  mutating func function(
    _ head: String, _ parameters: [String], suffix: String = "", _ body: (inout Self) -> Void
  ) {
    let short = "\(head)(\(parameters.joined(separator: ", ")))\(suffix)"
    if indentation.utf8.count + short.utf8.count + 2 <= 100 { return block(short, body) }
    line("\(head)(")
    indentation += "  "
    var row = ""
    for (index, parameter) in parameters.enumerated() {
      let part = parameter + (index + 1 < parameters.count ? "," : "")
      if !row.isEmpty, indentation.utf8.count + row.utf8.count + part.utf8.count + 1 > 100 {
        line(row)
        row = ""
      }
      row += row.isEmpty ? part : " " + part
    }
    line(row)
    indentation.removeLast(2)
    block(")\(suffix)", body)
  }

  /// Adds a description as a documentation comment.
  ///
  /// - Parameter isShort: Whether only the first paragraph is used.
  mutating func documentation(_ text: String?, isShort: Bool = false) {
    guard let text else { return }
    let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
      .map { $0.drop { $0 == " " || $0 == "\t" } }
    let start = lines.drop(while: \.isEmpty)
    for part in isShort ? start.prefix(while: { !$0.isEmpty }) : start {
      line(part.isEmpty ? "///" : "/// \(part)")
    }
  }

  /// Adds `@available` for a deprecated declaration.
  mutating func deprecation(_ reason: String?) {
    guard let reason else { return }
    line("@available(*, deprecated, message: \(Self.escapedLiteral(reason)))")
  }

  /// A string literal on one line, raw if the text has quotes or backslashes.
  static func literal(_ text: String) -> String {
    let needsEscapes = text.unicodeScalars.contains { $0.properties.generalCategory == .control }
    if needsEscapes { return escapedLiteral(text) }
    guard text.contains("\"") || text.contains("\\") else { return "\"\(text)\"" }
    var marks = "#"
    while text.contains("\"" + marks) || text.contains("\\" + marks) { marks += "#" }
    return "\(marks)\"\(text)\"\(marks)"
  }

  /// A string literal on one line with escape sequences.
  private static func escapedLiteral(_ text: String) -> String {
    let escaped = text.unicodeScalars.map { scalar in
      switch scalar {
      case "\"": "\\\""
      case "\\": "\\\\"
      case "\n": "\\n"
      case "\r": "\\r"
      case "\t": "\\t"
      default:
        scalar.properties.generalCategory == .control
          ? "\\u{\(String(scalar.value, radix: 16))}" : String(scalar)
      }
    }
    return "\"\(escaped.joined())\""
  }
}
