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
  mutating func call(_ head: String, callee: String, arguments: [String]) {
    let call = "\(callee)(\(arguments.joined(separator: ", ")))"
    if fits("\(head) { \(call) }") { return line("\(head) { \(call) }") }
    block(head) { text in
      if text.fits(call) { return text.line(call) }
      text.line("\(callee)(")
      text.rows(arguments, separator: ",", endsLines: true, end: ")")
    }
  }

  /// Adds an initializer, whose parameters are on one line if they fit.
  mutating func initializer(_ head: String, parameters: [String], statements: [String]) {
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
    // Swift warns about NUL characters in comments.
    let lines = text.filter { $0 != "\0" }
      .split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
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

/// Names in Swift for names of a schema.
enum SwiftNames {
  /// A property, parameter or enum case.
  static func member(_ name: String, _ naming: GeneratorOptions.Naming) -> String {
    usable(naming == .camel ? camelCase(name) : name)
  }

  /// A property or enum case that is not in `taken`: the converted name, else the unchanged one, else
  /// with underscores.
  static func member(
    _ name: String, _ naming: GeneratorOptions.Naming, avoiding taken: inout Set<String>
  ) -> String {
    var candidate = member(name, naming)
    if taken.contains(candidate) { candidate = usable(name) }
    while !taken.insert(candidate).inserted { candidate += "_" }
    return candidate
  }

  /// The name in backticks if it is a keyword, or begins an expression: `await`, `unsafe`.
  static func escaped(_ name: String) -> String {
    keywords.contains(name) ? "`\(name)`" : name
  }

  /// A type: the name with an upper-case start, without the underscores of `snake_case`.
  static func type(_ name: String) -> String {
    let parts = name.split(separator: "_").map { $0.prefix(1).uppercased() + $0.dropFirst() }
    let joined = parts.joined()
    return joined.first?.isLetter == true ? joined : "Type" + joined
  }

  /// The type of the elements of a list: `countries` contains values of `Country`.
  static func singular(_ name: String) -> String {
    if name.hasSuffix("ies"), name.count > 4 { return name.dropLast(3) + "y" }
    for ending in ["sses", "xes", "ches", "shes"] where name.hasSuffix(ending) {
      return String(name.dropLast(2))
    }
    if name.hasSuffix("s"), !["ss", "us", "is"].contains(where: name.hasSuffix), name.count > 2 {
      return String(name.dropLast())
    }
    return name
  }

  /// Whether a text is an identifier, or several with dots between them.
  static func isPath(_ text: String) -> Bool {
    text.split(separator: ".", omittingEmptySubsequences: false).allSatisfy { part in
      part.first?.isNumber == false && part.allSatisfy { $0.isLetter || $0.isNumber || $0 == "_" }
        && !keywords.contains(String(part))
    }
  }

  private static let maxTypeLength = 500

  /// Whether a text is a type of values: `Money`, `Shop.Money?`, `[Int]`, `[String: Tagged<Shop, Int>]`.
  ///
  /// A text of more than ``maxTypeLength`` bytes is none: it may have more nested brackets than the stack has room for.
  static func isType(_ text: String) -> Bool {
    guard text.utf8.count <= maxTypeLength else { return false }
    let text = text.trimmingPrefix(while: \.isWhitespace)
    var type = text[...]
    while let last = type.last, last.isWhitespace || last == "?" { type.removeLast() }
    if type.first == "[", type.last == "]" {
      let parts = parts(of: type.dropFirst().dropLast(), separator: ":")
      return (1...2).contains(parts.count) && parts.allSatisfy { isType(String($0)) }
    }
    guard type.last == ">", let start = type.firstIndex(of: "<") else {
      return isPath(String(type))
    }
    return isPath(String(type[..<start]))
      && parts(of: type[type.index(after: start)...].dropLast(), separator: ",").allSatisfy {
        isType(String($0))
      }
  }

  /// The names in a type, with what they are in: those of `[Int: Shop.Money?]` are `Int` and `Shop.Money`.
  static func paths(in type: String) -> [Substring] {
    type.split { !$0.isLetter && !$0.isNumber && $0 != "_" && $0 != "." }
  }

  /// The parts between separators that are in no brackets.
  private static func parts(of text: Substring, separator: Character) -> [Substring] {
    var parts: [Substring] = []
    var depth = 0
    var start = text.startIndex
    for index in text.indices {
      switch text[index] {
      case "[", "<": depth += 1
      case "]", ">": depth -= 1
      case separator where depth == 0:
        parts.append(text[start..<index])
        start = text.index(after: index)
      default: break
      }
    }
    return parts + [text[start...]]
  }

  private static func camelCase(_ name: String) -> String {
    let words = name.split(separator: "_").map(String.init)
    guard let first = words.first else { return name }
    let prefix = name.prefix { $0 == "_" }
    let start = isUpperCase(first) ? first.lowercased() : lowerCaseStart(first)
    let rest = words.dropFirst().map { word in
      let end = String(word.dropFirst())
      return word.prefix(1).uppercased() + (isUpperCase(word) ? end.lowercased() : end)
    }
    return prefix + start + rest.joined()
  }

  static func lowerCaseStart(_ word: String) -> String {
    word.prefix(1).lowercased() + word.dropFirst()
  }

  private static func isUpperCase(_ word: String) -> Bool {
    !word.contains { $0.isLowercase }
  }

  /// Swift gives these names another meaning after a dot, or the generated types use them.
  private static func usable(_ name: String) -> String {
    if name.allSatisfy({ $0 == "_" }) { return "underscore" + name }
    if name.first?.isNumber == true { return "_" + name }
    return unusable.contains(name) ? name + "_" : name
  }

  private static let unusable: Set<String> = [
    "self", "Self", "init", "Type", "Protocol", "hashValue", "json",
  ]

  /// Properties of the runtime's protocols: one of the same type and name in a generated structure would replace it.
  static let witnesses: Set<String> = ["isAbsent", "uploadsByPath"]

  /// Types of Swift, Foundation and the runtime that generated code refers to.
  static let reservedTypes: Set<String> = [
    "Any", "Array", "Bool", "Character", "Codable", "Data", "Date", "Decimal", "Decodable",
    "Deferred",
    "Dictionary", "Double", "Encodable", "Error", "Float", "Foundation", "GraphQLEnum",
    "GraphQLInputObject", "GraphQLMutation", "GraphQLNullable", "GraphQLObject", "GraphQLOperation",
    "GraphQLQuery", "GraphQLSubscription", "GraphQLUpload", "Hashable", "Identifiable", "Int",
    "JSONValue", "Never",
    "ObjectReader", "ObjectWriter", "Optional", "Protocol", "Result", "Self", "Sendable", "Set",
    "String", "Swift", "Task", "Type", "URL", "UUID", "Void",
  ]

  private static let keywords: Set<String> = [
    "Any", "as", "associatedtype", "await", "break", "case", "catch", "class", "continue",
    "default",
    "defer",
    "deinit", "do", "else", "enum", "extension", "fallthrough", "false", "fileprivate", "for",
    "func",
    "guard", "if", "import", "in", "inout", "internal", "is", "let", "nil", "operator",
    "precedencegroup",
    "private", "protocol", "public", "repeat", "rethrows", "return", "static", "struct",
    "subscript",
    "super", "switch", "throw", "throws", "true", "try", "typealias", "unsafe", "var", "where",
    "while",
  ]
}
