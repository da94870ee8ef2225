/// A validation rule during the traversal of a document.
///
/// A node is entered before and left after its children, and the rules run in order at each node,
/// as in the reference implementation; so errors have the same order. `context.types` has the types
/// at the current node.
package protocol RuleVisitor: AnyObject {
  func enter(document: Document, _ context: ValidationContext)
  func leave(document: Document, _ context: ValidationContext)
  func enter(operation: OperationDefinition, _ context: ValidationContext)
  func leave(operation: OperationDefinition, _ context: ValidationContext)
  func enter(fragment: FragmentDefinition, _ context: ValidationContext)
  func enter(variable: VariableDefinition, _ context: ValidationContext)
  func enter(selectionSet: SelectionSet, _ context: ValidationContext)
  func enter(field: Field, _ context: ValidationContext)
  func leave(field: Field, _ context: ValidationContext)
  func enter(spread: FragmentSpread, _ context: ValidationContext)
  func enter(inlineFragment: InlineFragment, _ context: ValidationContext)
  func enter(argument: Argument, _ context: ValidationContext)
  func enter(directive: Directive, at location: DirectiveLocation, _ context: ValidationContext)
  func leave(directive: Directive, _ context: ValidationContext)
  func enter(namedType: Name, _ context: ValidationContext)
  func enter(value: Value, _ context: ValidationContext)
  func leave(value: Value, _ context: ValidationContext)
  func enter(objectField: ObjectField, _ context: ValidationContext)

  func enter(definition: TypeSystemDefinition, _ context: ValidationContext)
  func enter(fieldDefinition: FieldDefinition, _ context: ValidationContext)
  func enter(inputValue: InputValueDefinition, _ context: ValidationContext)
  func enter(enumValue: EnumValueDefinition, _ context: ValidationContext)
}

extension RuleVisitor {
  package func enter(document: Document, _ context: ValidationContext) {}
  package func leave(document: Document, _ context: ValidationContext) {}
  package func enter(operation: OperationDefinition, _ context: ValidationContext) {}
  package func leave(operation: OperationDefinition, _ context: ValidationContext) {}
  package func enter(fragment: FragmentDefinition, _ context: ValidationContext) {}
  package func enter(variable: VariableDefinition, _ context: ValidationContext) {}
  package func enter(selectionSet: SelectionSet, _ context: ValidationContext) {}
  package func enter(field: Field, _ context: ValidationContext) {}
  package func leave(field: Field, _ context: ValidationContext) {}
  package func enter(spread: FragmentSpread, _ context: ValidationContext) {}
  package func enter(inlineFragment: InlineFragment, _ context: ValidationContext) {}
  package func enter(argument: Argument, _ context: ValidationContext) {}
  package func enter(
    directive: Directive, at location: DirectiveLocation, _ context: ValidationContext
  ) {}
  package func leave(directive: Directive, _ context: ValidationContext) {}
  package func enter(namedType: Name, _ context: ValidationContext) {}
  package func enter(value: Value, _ context: ValidationContext) {}
  package func leave(value: Value, _ context: ValidationContext) {}
  package func enter(objectField: ObjectField, _ context: ValidationContext) {}
  package func enter(definition: TypeSystemDefinition, _ context: ValidationContext) {}
  package func enter(fieldDefinition: FieldDefinition, _ context: ValidationContext) {}
  package func enter(inputValue: InputValueDefinition, _ context: ValidationContext) {}
  package func enter(enumValue: EnumValueDefinition, _ context: ValidationContext) {}
}
