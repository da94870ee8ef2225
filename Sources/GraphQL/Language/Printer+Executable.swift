extension Printer {
  mutating func document(_ document: Document) {
    join(document.definitions, "\n\n") { $0.definition($1) }
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
    join(printed, areLong ? "\n" : ", ") { $0.write($1) }
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
        join(arguments, ", ") { $0.write($1) }
      }
      write(")")
    }
    directives(field.directives)
    if let selectionSet = field.selectionSet, !selectionSet.selections.isEmpty {
      write(" ")
      self.selectionSet(selectionSet)
    }
  }
}
