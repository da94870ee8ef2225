extension Document {
  /// The document in the canonical layout of graphql-js, without a trailing newline.
  ///
  /// Parsing the result gives an equal document, except for source locations. Comments are lost.
  public func printed() -> String { Printer.print { $0.document(self) } }
}

extension Definition {
  /// The definition in the canonical layout, without a trailing newline.
  public func printed() -> String { Printer.print { $0.definition(self) } }
}

extension OperationDefinition {
  /// The operation in the canonical layout, without a trailing newline.
  public func printed() -> String { Printer.print { $0.operation(self) } }
}

extension FragmentDefinition {
  /// The fragment in the canonical layout, without a trailing newline.
  public func printed() -> String { Printer.print { $0.fragment(self) } }
}

extension VariableDefinition {
  /// The variable definition in the canonical layout.
  public func printed() -> String { Printer.print { $0.variable(self) } }
}

extension TypeSystemDefinition {
  /// The definition in the canonical layout, without a trailing newline.
  public func printed() -> String { Printer.print { $0.typeSystemDefinition(self) } }
}

extension FieldDefinition {
  /// The field definition in the canonical layout, without a trailing newline.
  public func printed() -> String { Printer.print { $0.fieldDefinition(self) } }
}

extension InputValueDefinition {
  /// The argument or input field in the canonical layout.
  public func printed() -> String { Printer.print { $0.inputValueDefinition(self) } }
}

extension SelectionSet {
  /// The selection set with its braces, in the canonical layout.
  public func printed() -> String { Printer.print { $0.selectionSet(self) } }
}

extension Selection {
  /// The selection in the canonical layout.
  public func printed() -> String { Printer.print { $0.selection(self) } }
}

extension Field {
  /// The field in the canonical layout.
  public func printed() -> String { Printer.print { $0.field(self) } }
}

extension Directive {
  /// The directive with its `@` and arguments.
  public func printed() -> String { Printer.print { $0.directive(self) } }
}

extension Argument {
  /// The argument as `name: value`.
  public func printed() -> String { Printer.print { $0.argument(self) } }
}

extension Value {
  /// The value as a GraphQL literal.
  public func printed() -> String { Printer.print { $0.value(self) } }
}

extension TypeReference {
  /// The type in GraphQL syntax: `[String!]!`.
  public func printed() -> String { Printer.print { $0.type(self) } }
}
