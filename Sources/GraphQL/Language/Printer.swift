/// Prints nodes in the canonical layout of graphql-js.
///
/// Indentation applies to every line of a node, including lines inside block strings; parsing
/// removes it again. Takes time linear in the size of the output.
struct Printer {
  private(set) var output = ""
  private var indentation = 0

  /// Returns what `body` writes.
  static func print(_ body: (inout Printer) -> Void) -> String {
    var printer = Printer()
    body(&printer)
    return printer.output
  }

  /// Writes text, and indents the lines that start in it.
  mutating func write(_ text: String) {
    guard indentation > 0, text.utf8.contains(UInt8(ascii: "\n")) else {
      output += text
      return
    }
    for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false)
      .enumerated()
    {
      if number > 0 { newLine() }
      output += line
    }
  }

  mutating func newLine() {
    output += "\n"
    for _ in 0..<indentation { output += "  " }
  }

  /// Writes `{`, one item per line, `}`; nothing if there are no items.
  mutating func block<Item>(_ items: [Item], _ item: (inout Printer, Item) -> Void) {
    guard !items.isEmpty else { return }
    write("{")
    indented(items, item)
    write("}")
  }

  /// Writes one indented item per line, and starts a new line.
  mutating func indented<Item>(_ items: [Item], _ item: (inout Printer, Item) -> Void) {
    indentation += 1
    for element in items {
      newLine()
      item(&self, element)
    }
    indentation -= 1
    newLine()
  }

  mutating func join<Item>(
    _ items: [Item], _ separator: String, _ item: (inout Printer, Item) -> Void
  ) {
    var isFirst = true
    for element in items {
      if !isFirst { write(separator) }
      isFirst = false
      item(&self, element)
    }
  }

  /// Writes a description on its own lines.
  mutating func description(_ description: StringValue?) {
    guard let description else { return }
    string(description)
    newLine()
  }

  /// Writes a space and a directive for each directive.
  mutating func directives(_ directives: [Directive]) {
    for directive in directives {
      write(" ")
      self.directive(directive)
    }
  }

  mutating func directive(_ directive: Directive) {
    write("@\(directive.name.value)")
    guard !directive.arguments.isEmpty else { return }
    write("(")
    join(directive.arguments, ", ") { $0.argument($1) }
    write(")")
  }

  mutating func argument(_ argument: Argument) {
    write("\(argument.name.value): ")
    value(argument.value)
  }

  mutating func value(_ value: Value) {
    switch value {
    case .variable(let name): write("$" + name.value)
    case .int(let text, _), .float(let text, _): write(text)
    case .string(let string): self.string(string)
    case .boolean(let value, _): write(value ? "true" : "false")
    case .null: write("null")
    case .enumeration(let name): write(name.value)
    case .list(let values, _):
      write("[")
      join(values, ", ") { $0.value($1) }
      write("]")
    case .object(let fields, _):
      write("{")
      join(fields, ", ") { printer, field in
        printer.write("\(field.name.value): ")
        printer.value(field.value)
      }
      write("}")
    }
  }

  /// Writes a string in its original form, if that can represent the value.
  mutating func string(_ string: StringValue) {
    if string.isBlock, BlockString.canDenote(string.value) {
      write(BlockString.printed(string.value))
    } else {
      write(Printer.quoted(string.value))
    }
  }

  mutating func type(_ type: TypeReference) {
    switch type {
    case .named(let name): write(name.value)
    case .list(let inner, _):
      write("[")
      self.type(inner)
      write("]")
    case .nonNull(let inner):
      self.type(inner)
      write("!")
    }
  }

  /// `value` as a quoted string literal, with escaped control characters.
  private static func quoted(_ value: String) -> String {
    var literal = "\""
    for scalar in value.unicodeScalars {
      switch scalar {
      case "\"": literal += "\\\""
      case "\\": literal += "\\\\"
      case "\u{8}": literal += "\\b"
      case "\t": literal += "\\t"
      case "\n": literal += "\\n"
      case "\u{C}": literal += "\\f"
      case "\r": literal += "\\r"
      case "\u{0}"..."\u{1F}", "\u{7F}"..."\u{9F}":
        let digits = String(scalar.value, radix: 16, uppercase: true)
        literal += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: literal.unicodeScalars.append(scalar)
      }
    }
    return literal + "\""
  }
}
