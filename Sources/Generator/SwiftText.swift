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

  /// Adds a function: on one line if it fits, otherwise with as many statements on a line as fit.
  mutating func function(_ head: String, _ statements: [String]) {
    let short =
      "\(head) {" + (statements.isEmpty ? "}" : " \(statements.joined(separator: "; ")) }")
    if fits(short) { return line(short) }
    line("\(head) {")
    rows(statements, separator: ";", endsLines: false)
    line("}")
  }

  /// Adds a function whose body is one call, with as many arguments on a line as fit.
  mutating func call(_ head: String, _ callee: String, _ arguments: [String]) {
    let call = "\(callee)(\(arguments.joined(separator: ", ")))"
    if fits("\(head) { \(call) }") { return line("\(head) { \(call) }") }
    block(head) { text in
      if text.fits(call) { return text.line(call) }
      text.line("\(callee)(")
      text.rows(arguments, separator: ",", endsLines: true, end: ")")
    }
  }

  /// Adds an initializer, whose parameters are on one line if they fit.
  mutating func initializer(_ head: String, _ parameters: [String], _ statements: [String]) {
    let short = "\(head)(\(parameters.joined(separator: ", ")))"
    if fits(short + " {") { return function(short, statements) }
    line("\(head)(")
    rows(parameters, separator: ",", endsLines: true)
    function(")", statements)
  }

  /// Adds indented lines with as many parts as fit.
  private mutating func rows(
    _ parts: [String], separator: String, endsLines: Bool, end: String = ""
  ) {
    indentation += "  "
    defer { indentation.removeLast(2) }
    var row = ""
    for part in parts {
      let longer = row.isEmpty ? part : "\(row)\(separator) \(part)"
      if !row.isEmpty, !fits(longer + separator) {
        line(row + (endsLines ? separator : ""))
        row = part
      } else {
        row = longer
      }
    }
    if !row.isEmpty { line(row + end) }
  }

  private func fits(_ line: String) -> Bool { indentation.utf8.count + line.utf8.count <= 120 }

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
