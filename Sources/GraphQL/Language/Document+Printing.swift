extension Document {
  /// The document in the canonical layout of graphql-js, without a trailing newline.
  ///
  /// Parsing it gives the same document, locations aside; comments are lost.
  public func printed() -> String { Printer.print { $0.document(self) } }
}

extension Definition {
  /// The definition in the canonical layout, without a trailing newline.
  public func printed() -> String { Printer.print { $0.definition(self) } }
}

extension OperationDefinition {
  public func printed() -> String { Printer.print { $0.operation(self) } }
}

extension FragmentDefinition {
  public func printed() -> String { Printer.print { $0.fragment(self) } }
}

extension VariableDefinition {
  public func printed() -> String { Printer.print { $0.variable(self) } }
}

extension TypeSystemDefinition {
  public func printed() -> String { Printer.print { $0.typeSystemDefinition(self) } }
}

extension FieldDefinition {
  public func printed() -> String { Printer.print { $0.fieldDefinition(self) } }
}

extension InputValueDefinition {
  public func printed() -> String { Printer.print { $0.inputValueDefinition(self) } }
}

extension SelectionSet {
  public func printed() -> String { Printer.print { $0.selectionSet(self) } }
}

extension Selection {
  public func printed() -> String { Printer.print { $0.selection(self) } }
}

extension Field {
  public func printed() -> String { Printer.print { $0.field(self) } }
}

extension Directive {
  /// The directive with its `@` and arguments.
  public func printed() -> String { Printer.print { $0.directive(self) } }
}

extension Argument {
  public func printed() -> String { Printer.print { $0.argument(self) } }
}

extension Value {
  /// The value as a GraphQL literal.
  public func printed() -> String { Printer.print { $0.value(self) } }
}

extension TypeReference {
  /// The type as the language writes it: `[String!]!`.
  public func printed() -> String { Printer.print { $0.type(self) } }
}
