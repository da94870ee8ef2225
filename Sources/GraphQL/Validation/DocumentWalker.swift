/// Traverses a document in source order, keeps `context.types` up to date, and calls every rule for
/// every node.
struct DocumentWalker {
  let context: ValidationContext
  let visitors: [any RuleVisitor]

  func walkDocument() {
    for visitor in visitors { visitor.enter(document: context.document, context) }
    for (index, definition) in context.document.definitions.enumerated() {
      guard !context.isAborted else { return }
      context.definitionIndex = index
      switch definition {
      case .operation(let operation): walk(operation, withVariables: true)
      case .fragment(let fragment): walk(fragment)
      case .typeSystem(let definition): walk(definition)
      }
    }
    for visitor in visitors { visitor.leave(document: context.document, context) }
  }

  /// Traverses an operation or fragment without its variable definitions.
  func walkForUsages(_ definition: Definition) {
    switch definition {
    case .operation(let operation): walk(operation, withVariables: false)
    case .fragment(let fragment): walk(fragment)
    case .typeSystem: break
    }
  }

  // MARK: - Executable definitions

  private func walk(_ operation: OperationDefinition, withVariables: Bool) {
    context.types.type = (context.schema?.rootType(for: operation.type)?.name)
      .map { TypeReference(named: $0) }
    for visitor in visitors { visitor.enter(operation: operation, context) }
    if withVariables { for variable in operation.variables { walk(variable) } }
    let location: DirectiveLocation =
      switch operation.type {
      case .query: .query
      case .mutation: .mutation
      case .subscription: .subscription
      }
    walk(operation.directives, at: location)
    walk(operation.selectionSet)
    for visitor in visitors { visitor.leave(operation: operation, context) }
    context.types.type = nil
  }

  private func walk(_ fragment: FragmentDefinition) {
    context.types.type = outputType(fragment.typeCondition)
    for visitor in visitors { visitor.enter(fragment: fragment, context) }
    walk(namedType: fragment.typeCondition)
    walk(fragment.directives, at: .fragmentDefinition)
    walk(fragment.selectionSet)
    context.types.type = nil
  }

  private func outputType(_ name: Name) -> TypeReference? {
    context.type(named: name.value)?.isOutput == true ? .named(name) : nil
  }

  private func walk(_ variable: VariableDefinition) {
    let outer = pushInput(
      context.type(named: variable.type.namedType.value)?.isInput == true ? variable.type : nil)
    for visitor in visitors { visitor.enter(variable: variable, context) }
    walk(namedType: variable.type.namedType)
    if let value = variable.defaultValue { walk(value) }
    walk(variable.directives, at: .variableDefinition)
    popInput(outer)
  }

  private func walk(_ selectionSet: SelectionSet) {
    let outer = context.types.parentType
    if let type = context.namedType(of: context.types.type), type.isComposite {
      context.types.parentType = type
    } else {
      context.types.parentType = nil
    }
    for visitor in visitors { visitor.enter(selectionSet: selectionSet, context) }
    for selection in selectionSet.selections {
      guard !context.isAborted else { break }
      switch selection {
      case .field(let field): walk(field)
      case .fragmentSpread(let spread):
        for visitor in visitors { visitor.enter(spread: spread, context) }
        walk(spread.directives, at: .fragmentSpread)
      case .inlineFragment(let fragment): walk(fragment)
      }
    }
    context.types.parentType = outer
  }

  private func walk(_ field: Field) {
    let (outerType, outerField) = (context.types.type, context.types.field)
    let outerName = context.types.fieldName
    let definition = context.types.parentType.flatMap {
      context.schema?.field(field.name.value, on: $0.name)
    }
    context.types.field = definition
    context.types.type = definition?.type
    context.types.fieldName = field.name.value
    for visitor in visitors { visitor.enter(field: field, context) }
    for argument in field.arguments { walk(argument) }
    walk(field.directives, at: .field)
    if let selectionSet = field.selectionSet { walk(selectionSet) }
    for visitor in visitors { visitor.leave(field: field, context) }
    context.types.type = outerType
    context.types.field = outerField
    context.types.fieldName = outerName
  }

  private func walk(_ fragment: InlineFragment) {
    let outer = context.types.type
    if let condition = fragment.typeCondition {
      context.types.type = outputType(condition)
    } else {
      context.types.type = context.types.type.map { .named($0.namedType) }
    }
    for visitor in visitors { visitor.enter(inlineFragment: fragment, context) }
    if let condition = fragment.typeCondition { walk(namedType: condition) }
    walk(fragment.directives, at: .inlineFragment)
    walk(fragment.selectionSet)
    context.types.type = outer
  }

  private func walk(namedType name: Name) {
    for visitor in visitors { visitor.enter(namedType: name, context) }
  }

  // MARK: - Directives, arguments and values

  private func walk(_ directives: [Directive], at location: DirectiveLocation) {
    for directive in directives {
      guard !context.isAborted else { return }
      context.types.directive = context.schema?.directive(named: directive.name.value)
      context.types.isInDirective = true
      for visitor in visitors { visitor.enter(directive: directive, at: location, context) }
      for argument in directive.arguments { walk(argument) }
      for visitor in visitors { visitor.leave(directive: directive, context) }
      context.types.directive = nil
      context.types.isInDirective = false
    }
  }

  private func walk(_ argument: Argument) {
    guard !context.isAborted else { return }
    // The arguments of an unknown directive on a field are checked as the field's arguments, as in
    // the reference implementation.
    let name = argument.name.value
    let definition =
      if let directive = context.types.directive {
        directive.argument(named: name)
      } else {
        context.types.field?.argument(named: name)
      }
    context.types.argument = definition
    let outer = pushInput(definition?.type, hasDefault: definition?.defaultValue != nil)
    for visitor in visitors { visitor.enter(argument: argument, context) }
    walk(argument.value)
    context.types.argument = nil
    popInput(outer)
  }

  private func walk(_ value: Value) {
    guard !context.isAborted else { return }
    switch value {
    case .list(let values, _):
      let type = context.types.inputType?.nullable
      let item: TypeReference? = if case .list(let item, _)? = type { item } else { type }
      let outer = pushInput(item)
      for visitor in visitors { visitor.enter(value: value, context) }
      for value in values { walk(value) }
      for visitor in visitors { visitor.leave(value: value, context) }
      popInput(outer)
    case .object(let fields, _):
      for visitor in visitors { visitor.enter(value: value, context) }
      for field in fields { walk(field) }
      for visitor in visitors { visitor.leave(value: value, context) }
    default:
      for visitor in visitors { visitor.enter(value: value, context) }
    }
  }

  private func walk(_ field: ObjectField) {
    var definition: InputValueDefinition?
    if case .inputObject(let object)? = context.namedType(of: context.types.inputType) {
      definition = object.fields[field.name.value]
    }
    let outer = pushInput(definition?.type, hasDefault: definition?.defaultValue != nil)
    for visitor in visitors { visitor.enter(objectField: field, context) }
    walk(field.value)
    popInput(outer)
  }

  private typealias Input = (type: TypeReference?, parent: TypeReference?, hasDefault: Bool)

  private func pushInput(_ type: TypeReference?, hasDefault: Bool = false) -> Input {
    let outer = (context.types.inputType, context.types.parentInputType, context.types.hasDefault)
    context.types.parentInputType = outer.0
    context.types.inputType = type
    context.types.hasDefault = hasDefault
    return outer
  }

  private func popInput(_ outer: Input) {
    context.types.inputType = outer.type
    context.types.parentInputType = outer.parent
    context.types.hasDefault = outer.hasDefault
  }

  // MARK: - Type system definitions

  private func walk(_ definition: TypeSystemDefinition) {
    for visitor in visitors { visitor.enter(definition: definition, context) }
    for name in definition.interfaces { walk(namedType: name) }
    for argument in definition.arguments { walk(argument, at: .argumentDefinition) }
    walk(definition.directives, at: definition.directiveLocation)
    for root in definition.operationTypes { walk(namedType: root.type) }
    for field in definition.fieldDefinitions { walk(field) }
    for name in definition.memberTypes { walk(namedType: name) }
    for value in definition.enumValues {
      for visitor in visitors { visitor.enter(enumValue: value, context) }
      walk(value.directives, at: .enumValue)
    }
    for field in definition.inputFields { walk(field, at: .inputFieldDefinition) }
  }

  private func walk(_ field: FieldDefinition) {
    guard !context.isAborted else { return }
    for visitor in visitors { visitor.enter(fieldDefinition: field, context) }
    for argument in field.arguments { walk(argument, at: .argumentDefinition) }
    walk(namedType: field.type.namedType)
    walk(field.directives, at: .fieldDefinition)
  }

  private func walk(_ value: InputValueDefinition, at location: DirectiveLocation) {
    guard !context.isAborted else { return }
    for visitor in visitors { visitor.enter(inputValue: value, context) }
    walk(namedType: value.type.namedType)
    if let defaultValue = value.defaultValue { walk(defaultValue) }
    walk(value.directives, at: location)
  }
}

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

/// The schema's types at the current node of a traversal; `nil` where unknown.
package struct TypeInfo {
  /// The type of the current field, fragment or operation.
  package var type: TypeReference?
  /// The enclosing composite type, from which fields are selected.
  package var parentType: SchemaType?
  /// The definition of the innermost field.
  package var field: FieldDefinition?
  /// The name of the innermost field, even if the schema does not define it.
  package var fieldName = ""
  /// The definition of the enclosing directive.
  package var directive: DirectiveDefinition?
  /// Whether the current node is inside a directive, defined or not.
  package var isInDirective = false
  package var argument: InputValueDefinition?
  /// The expected type of the current value.
  package var inputType: TypeReference?
  /// The expected type of the enclosing value.
  package var parentInputType: TypeReference?
  /// Whether a default value applies if the current value is omitted.
  package var hasDefault = false
}

extension TypeReference {
  /// The type without its outer non-null wrapper.
  package var nullable: TypeReference {
    if case .nonNull(let inner) = self { inner } else { self }
  }

  /// The type of the elements of a list, or of a list that must not be null; `nil` for another type.
  package var element: TypeReference? {
    if case .list(let element, _) = nullable { element } else { nil }
  }

  /// Whether it is a list, or a list that must not be null.
  package var isList: Bool {
    if case .list = nullable { true } else { false }
  }

  /// How many lists are nested around the named type.
  package var listDepth: Int {
    switch self {
    case .named: 0
    case .nonNull(let inner): inner.listDepth
    case .list(let element, _): 1 + element.listDepth
    }
  }

  /// A reference without a meaningful source location.
  init(named name: String) {
    self = .named(Name(name, at: .generated))
  }
}
