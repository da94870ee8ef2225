/// Prints nodes in the canonical layout of graphql-js.
///
/// Indentation applies to every line of a node, including lines inside block strings; parsing
/// removes it again. Takes time linear in the size of the output.
struct Printer {
  private(set) var output = ""
  private var indentation = 0
  /// The schema whose types are printed in the layout of graphql-core's `print_schema`, with complete
  /// default values and only the standard directives.
  private let schema: Schema?
  /// Whether the current item is the first of its block.
  private var isFirst = true

  /// Returns what `body` writes.
  static func print(_ schema: Schema? = nil, _ body: (inout Printer) -> Void) -> String {
    var printer = Printer(schema: schema)
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
    for (index, element) in items.enumerated() {
      isFirst = index == 0
      newLine()
      item(&self, element)
    }
    indentation -= 1
    newLine()
  }

  mutating func join<Item>(
    _ items: [Item], separator: String, item: (inout Printer, Item) -> Void
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
    guard var description else { return }
    if schema != nil {
      // The reference implementation does not print control characters in block strings.
      description.isBlock = !description.value.utf8.contains {
        $0 < 0x10 && $0 != UInt8(ascii: "\t") && $0 != UInt8(ascii: "\n")
      }
      if indentation > 0, !isFirst {
        // Members with a description follow an empty line.
        output.removeLast(2 * indentation)
        newLine()
      }
    }
    string(description)
    newLine()
  }

  /// Writes a space and a directive for each directive.
  mutating func directives(_ directives: [Directive]) {
    for directive in schema == nil ? directives : directives.standard {
      write(" ")
      self.directive(directive)
    }
  }

  mutating func directive(_ directive: Directive) {
    write("@\(directive.name.value)")
    guard !directive.arguments.isEmpty else { return }
    write("(")
    join(directive.arguments, separator: ", ") { $0.argument($1) }
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
      join(values, separator: ", ") { $0.value($1) }
      write("]")
    case .object(let fields, _):
      write("{")
      join(fields, separator: ", ") { printer, field in
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

extension Printer {
  mutating func document(_ document: Document) {
    join(document.definitions, separator: "\n\n") { $0.definition($1) }
  }

  mutating func definition(_ definition: Definition) {
    switch definition {
    case .operation(let operation): self.operation(operation)
    case .fragment(let fragment): self.fragment(fragment)
    case .typeSystem(let definition): typeSystemDefinition(definition)
    }
  }

  mutating func operation(_ operation: OperationDefinition) {
    description(operation.description)
    let isShorthand =
      operation.type == .query && operation.name == nil && operation.variables.isEmpty
      && operation.directives.isEmpty && operation.description == nil
    if !isShorthand {
      write(operation.type.rawValue)
      if operation.name != nil || !operation.variables.isEmpty { write(" ") }
      if let name = operation.name { write(name.value) }
      variables(operation.variables)
      directives(operation.directives)
      write(" ")
    }
    selectionSet(operation.selectionSet)
  }

  private mutating func variables(_ variables: [VariableDefinition]) {
    guard !variables.isEmpty else { return }
    let printed = variables.map { variable in Printer.print { $0.variable(variable) } }
    // One per line; graphql-js does not indent them.
    let areLong = printed.contains { $0.utf8.contains(UInt8(ascii: "\n")) }
    write(areLong ? "(\n" : "(")
    join(printed, separator: areLong ? "\n" : ", ") { $0.write($1) }
    write(areLong ? "\n)" : ")")
  }

  mutating func variable(_ variable: VariableDefinition) {
    description(variable.description)
    write("$\(variable.name.value): ")
    type(variable.type)
    if let value = variable.defaultValue {
      write(" = ")
      self.value(value)
    }
    directives(variable.directives)
  }

  mutating func fragment(_ fragment: FragmentDefinition) {
    description(fragment.description)
    write("fragment \(fragment.name.value) on \(fragment.typeCondition.value)")
    directives(fragment.directives)
    write(" ")
    selectionSet(fragment.selectionSet)
  }

  mutating func selectionSet(_ selectionSet: SelectionSet) {
    guard !selectionSet.selections.isEmpty else { return write("{ }") }
    block(selectionSet.selections) { $0.selection($1) }
  }

  mutating func selection(_ selection: Selection) {
    switch selection {
    case .field(let field):
      self.field(field)
    case .fragmentSpread(let spread):
      write("...\(spread.name.value)")
      directives(spread.directives)
    case .inlineFragment(let fragment):
      write("...")
      if let name = fragment.typeCondition { write(" on \(name.value)") }
      directives(fragment.directives)
      write(" ")
      selectionSet(fragment.selectionSet)
    }
  }

  mutating func field(_ field: Field) {
    let head = (field.alias.map { $0.value + ": " } ?? "") + field.name.value
    write(head)
    if !field.arguments.isEmpty {
      let arguments = field.arguments.map { argument in Printer.print { $0.argument(argument) } }
      // In UTF-16 code units, as in JavaScript.
      let separators = 2 * (arguments.count - 1)
      let length = arguments.reduce(head.utf16.count + 2 + separators) { $0 + $1.utf16.count }
      write("(")
      if length > 80 {
        indented(arguments) { $0.write($1) }
      } else {
        join(arguments, separator: ", ") { $0.write($1) }
      }
      write(")")
    }
    directives(field.directives)
    if let selectionSet = field.selectionSet {
      write(" ")
      self.selectionSet(selectionSet)
    }
  }
}

extension Printer {
  mutating func typeSystemDefinition(_ definition: TypeSystemDefinition) {
    if !definition.isExtension { description(definition.description) }
    if definition.isExtension { write("extend ") }
    let keyword =
      switch definition {
      case .schema: "schema"
      case .scalar: "scalar "
      case .object: "type "
      case .interface: "interface "
      case .union: "union "
      case .enumeration: "enum "
      case .inputObject: "input "
      case .directive: "directive @"
      }
    write(keyword + (definition.name?.value ?? ""))
    // Each definition has the parts of its kind.
    interfaces(definition.interfaces)
    arguments(definition.arguments)
    directives(definition.directives)
    body(definition.operationTypes) { printer, operationType in
      printer.write("\(operationType.operation.rawValue): \(operationType.type.value)")
    }
    body(definition.fieldDefinitions) { $0.fieldDefinition($1) }
    body(definition.enumValues) { printer, value in
      printer.description(value.description)
      printer.write(value.name.value)
      printer.directives(value.directives)
    }
    body(definition.inputFields) { $0.inputValueDefinition($1) }
    if !definition.memberTypes.isEmpty { write(" = ") }
    join(definition.memberTypes, separator: " | ") { $0.write($1.value) }
    guard case .directive(let directive) = definition, !directive.isExtension else { return }
    write(directive.isRepeatable ? " repeatable on " : " on ")
    join(directive.locations, separator: " | ") { $0.write($1.rawValue) }
  }

  private mutating func body<Item>(_ items: [Item], _ item: (inout Printer, Item) -> Void) {
    if !items.isEmpty { write(" ") }
    block(items, item)
  }

  private mutating func interfaces(_ interfaces: [Name]) {
    guard !interfaces.isEmpty else { return }
    write(" implements ")
    join(interfaces, separator: " & ") { $0.write($1.value) }
  }

  mutating func fieldDefinition(_ field: FieldDefinition) {
    description(field.description)
    write(field.name.value)
    arguments(field.arguments)
    write(": ")
    type(field.type)
    directives(field.directives)
  }

  /// Writes the arguments on one line, or on one line each if one of them has several lines.
  private mutating func arguments(_ arguments: [InputValueDefinition]) {
    guard !arguments.isEmpty else { return }
    var arguments = arguments
    let areLong = arguments.contains { argument in
      if schema != nil { return argument.description?.value.isEmpty == false }
      if argument.description != nil { return true }
      // Without a description, only a block string has several lines.
      return (argument.defaultValue != nil || !argument.directives.isEmpty)
        && argument.printed().utf8.contains(UInt8(ascii: "\n"))
    }
    write("(")
    if areLong {
      indented(arguments) { $0.inputValueDefinition($1) }
    } else {
      for index in arguments.indices { arguments[index].description = nil }
      join(arguments, separator: ", ") { $0.inputValueDefinition($1) }
    }
    write(")")
  }

  mutating func inputValueDefinition(_ value: InputValueDefinition) {
    description(value.description)
    write("\(value.name.value): ")
    type(value.type)
    if let defaultValue = schema?.defaultValue(of: value) ?? value.defaultValue {
      write(" = ")
      self.value(defaultValue)
    }
    directives(value.directives)
  }
}

/// Removes ignored characters from a document: white space, commas and comments that no token
/// needs.
///
/// The result parses to an equal document, and equals the result of graphql-core's
/// `strip_ignored_characters`. Block strings lose their indentation. Takes linear time.
///
/// - Throws: ``GraphQLSyntaxError`` if the source contains an invalid token.
///
/// https://spec.graphql.org/September2025/#sec-Language.Source-Text.Ignored-Tokens
public func strippingIgnoredCharacters(of source: String) throws(GraphQLSyntaxError) -> String {
  var lexer = Lexer(bytes: Array(source.utf8))
  var result = ""
  var followsWord = false
  while true {
    let token = try lexer.next()
    if token.kind == .endOfFile { return result }
    let isWord = !token.kind.isPunctuator
    if followsWord, isWord || token.kind == .spread { result += " " }
    result +=
      token.kind == .blockString
      ? BlockString.printed(lexer.text, isMinimal: true) : lexer.source(of: token)
    followsWord = isWord
  }
}
