extension Printer {
  mutating func typeSystemDefinition(_ definition: TypeSystemDefinition) {
    if !definition.isExtension { description(definition.description) }
    if definition.isExtension { write("extend ") }
    switch definition {
    case .schema(let schema):
      write("schema")
      directives(schema.directives)
      body(schema.operationTypes) { printer, operationType in
        printer.write("\(operationType.operation.rawValue): \(operationType.type.value)")
      }
    case .scalar(let scalar):
      write("scalar \(scalar.name.value)")
      directives(scalar.directives)
    case .object(let object):
      write("type \(object.name.value)")
      interfaces(object.interfaces)
      directives(object.directives)
      body(object.fields) { $0.fieldDefinition($1) }
    case .interface(let interface):
      write("interface \(interface.name.value)")
      interfaces(interface.interfaces)
      directives(interface.directives)
      body(interface.fields) { $0.fieldDefinition($1) }
    case .union(let union):
      write("union \(union.name.value)")
      directives(union.directives)
      if !union.types.isEmpty { write(" = ") }
      join(union.types, " | ") { $0.write($1.value) }
    case .enumeration(let enumeration):
      write("enum \(enumeration.name.value)")
      directives(enumeration.directives)
      body(enumeration.values) { printer, value in
        printer.description(value.description)
        printer.write(value.name.value)
        printer.directives(value.directives)
      }
    case .inputObject(let input):
      write("input \(input.name.value)")
      directives(input.directives)
      body(input.fields) { $0.inputValueDefinition($1) }
    case .directive(let directive):
      write("directive @\(directive.name.value)")
      arguments(directive.arguments)
      write(directive.isRepeatable ? " repeatable on " : " on ")
      join(directive.locations, " | ") { $0.write($1.rawValue) }
    }
  }

  private mutating func body<Item>(_ items: [Item], _ item: (inout Printer, Item) -> Void) {
    if !items.isEmpty { write(" ") }
    block(items, item)
  }

  private mutating func interfaces(_ interfaces: [Name]) {
    guard !interfaces.isEmpty else { return }
    write(" implements ")
    join(interfaces, " & ") { $0.write($1.value) }
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
    let printed = arguments.map { argument in
      Printer.print { $0.inputValueDefinition(argument) }
    }
    write("(")
    if printed.contains(where: { $0.utf8.contains(UInt8(ascii: "\n")) }) {
      indented(printed) { $0.write($1) }
    } else {
      join(printed, ", ") { $0.write($1) }
    }
    write(")")
  }

  mutating func inputValueDefinition(_ value: InputValueDefinition) {
    description(value.description)
    write("\(value.name.value): ")
    type(value.type)
    if let defaultValue = value.defaultValue {
      write(" = ")
      self.value(defaultValue)
    }
    directives(value.directives)
  }
}
