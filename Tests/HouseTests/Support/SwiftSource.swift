import GQLRunTestSupport

/// The text of a Swift file, and the same text without what is not code.
///
/// Everything keeps its line and column. Knows comments (nested, too), string literals of all kinds
/// with interpolations, and extended regex literals (`#/…/#`); not the plain ones (`/…/`), which we do
/// not write.
struct SwiftSource {
  /// The lines as they are written.
  let written: [String]
  /// The lines with blanks in place of comments.
  let uncommented: [String]
  /// The lines with blanks in place of comments and of the contents of string literals. What is
  /// interpolated into a string is code.
  let code: [String]

  init(_ text: String) {
    var scanner = Scanner(text)
    scanner.scanCode(isInterpolation: false)
    written = text.lines.map(String.init)
    uncommented = String(decoding: scanner.uncommented, as: UTF8.self).lines.map(String.init)
    code = String(decoding: scanner.code, as: UTF8.self).lines.map(String.init)
  }

  /// One import, as `import`, `@testable import`, `public import`, `import struct X.Y` and so on.
  struct Import: Equatable {
    let module: String
    /// Counted from 1.
    let line: Int
  }

  var imports: [Import] {
    code.enumerated().flatMap { index, line in
      line.split(separator: ";").compactMap { statement in
        Self.importedModule(statement).map { Import(module: $0, line: index + 1) }
      }
    }
  }

  private static let access: Set<Substring> = [
    "public", "package", "internal", "fileprivate", "private", "open",
  ]
  private static let kinds: Set<Substring> = [
    "struct", "class", "enum", "protocol", "typealias", "func", "let", "var",
  ]

  private static func importedModule(_ statement: Substring) -> String? {
    guard statement.includes("import ") else { return nil }
    var words = statement.split(whereSeparator: \.isWhitespace)[...]
    while let word = words.first, word.hasPrefix("@") || access.contains(word) {
      words.removeFirst()
    }
    guard words.popFirst() == "import" else { return nil }
    if let word = words.first, kinds.contains(word) { words.removeFirst() }
    return words.first?.split(separator: ".").first?.filter { $0 != "`" }
  }
}

private struct Scanner {
  private let text: [UInt8]
  private var position = 0
  private(set) var uncommented: [UInt8]
  private(set) var code: [UInt8]

  init(_ text: String) {
    self.text = Array(text.utf8)
    uncommented = self.text
    code = self.text
  }

  /// Scans to the end of the text, or past the parenthesis that ends an interpolation.
  mutating func scanCode(isInterpolation: Bool) {
    var depth = 0
    while position < text.count {
      let byte = text[position]
      if byte == UInt8(ascii: "/"), starts(with: "//") {
        let start = position
        while position < text.count, text[position] != UInt8(ascii: "\n") { position += 1 }
        blank(start..<position, isComment: true)
      } else if byte == UInt8(ascii: "/"), starts(with: "/*") {
        scanBlockComment()
      } else if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "#"), scanLiteral() {
        continue
      } else {
        position += 1
        if byte == UInt8(ascii: "(") { depth += 1 }
        if byte == UInt8(ascii: ")") {
          if isInterpolation, depth == 0 { return }
          depth -= 1
        }
      }
    }
  }

  private mutating func scanBlockComment() {
    let start = position
    var depth = 0
    repeat {
      if starts(with: "/*") {
        depth += 1
        position += 2
      } else if starts(with: "*/") {
        depth -= 1
        position += 2
      } else {
        position += 1
      }
    } while depth > 0 && position < text.count
    blank(start..<position, isComment: true)
  }

  /// Scans a string or extended regex literal; false when none begins here.
  private mutating func scanLiteral() -> Bool {
    var pounds = 0
    while byte(at: position + pounds) == UInt8(ascii: "#") { pounds += 1 }
    let fence = String(repeating: "#", count: pounds)
    switch byte(at: position + pounds) {
    case UInt8(ascii: "\""):
      position += pounds
      scanString(fence)
      return true
    case UInt8(ascii: "/") where pounds > 0:
      position += pounds + 1
      let start = position
      while position < text.count, !starts(with: "/" + fence) { position += 1 }
      blank(start..<position, isComment: false)
      position = min(position + 1 + pounds, text.count)
      return true
    default: return false
    }
  }

  private mutating func scanString(_ fence: String) {
    let isMultiline = starts(with: "\"\"\"")
    let quotes = isMultiline ? "\"\"\"" : "\""
    let escape = "\\" + fence
    position += quotes.utf8.count
    var start = position
    while position < text.count {
      if starts(with: quotes + fence) {
        blank(start..<position, isComment: false)
        position += quotes.utf8.count + fence.utf8.count
        return
      }
      if starts(with: escape + "(") {
        position += escape.utf8.count
        blank(start..<position, isComment: false)
        position += 1
        scanCode(isInterpolation: true)
        start = position
      } else if starts(with: escape) {
        position = min(position + escape.utf8.count + 1, text.count)
      } else if !isMultiline, text[position] == UInt8(ascii: "\n") {
        break
      } else {
        position += 1
      }
    }
    blank(start..<position, isComment: false)
  }

  private func byte(at index: Int) -> UInt8? { index < text.count ? text[index] : nil }

  private func starts(with prefix: String) -> Bool {
    position < text.count && text[position] == prefix.utf8.first
      && text[position...].starts(with: prefix.utf8)
  }

  private mutating func blank(_ range: Range<Int>, isComment: Bool) {
    for index in range where text[index] != UInt8(ascii: "\n") {
      code[index] = UInt8(ascii: " ")
      if isComment { uncommented[index] = UInt8(ascii: " ") }
    }
  }
}

extension Repository {
  /// The Swift files of Sources.
  static let sources: [(path: String, source: SwiftSource)] =
    files(in: "Sources", suffix: ".swift").map { ($0.path, SwiftSource($0.text)) }
}
