extension Document {
  /// Validates the operations and fragments of the document against a schema.
  ///
  /// Messages and source locations are those of the reference implementation. Takes time linear in
  /// the size of the document; rules that need more are limited by ``ValidationOptions/maxSteps``.
  ///
  /// - Returns: The errors in source order; empty if the document is valid.
  public func validate(
    against schema: Schema, options: ValidationOptions = ValidationOptions()
  ) -> [ValidationError] {
    validate(schema, options, [])
  }

  /// Validates what does not depend on a schema: unique names, undefined or unused fragments and
  /// variables, fragment cycles, and the use of the standard directives. Other directives are
  /// ignored.
  ///
  /// - Returns: The errors in source order.
  public func validateWithoutSchema(
    options: ValidationOptions = ValidationOptions(rules: ValidationRule.withoutSchema)
  ) -> [ValidationError] {
    validate(nil, options, [])
  }

  /// Warnings for valid but discouraged constructs: operations without a name and, with a schema,
  /// deprecated fields, arguments, input fields and enum values.
  public func warnings(
    against schema: Schema?,
    options: ValidationOptions = ValidationOptions(rules: ValidationRule.warnings)
  ) -> [ValidationError] {
    validate(schema, options, [])
  }

  /// Validates a type system document, or a document that extends `schema`.
  ///
  /// - Returns: The errors in source order.
  public func validateTypeSystem(
    extending schema: Schema? = nil,
    options: ValidationOptions = ValidationOptions(rules: ValidationRule.typeSystem)
  ) -> [ValidationError] {
    validate(schema, options, [], isTypeSystem: true)
  }

  /// Validates with the rules of the options, then with additional rules.
  package func validate(
    _ schema: Schema?, _ options: ValidationOptions, _ own: [any RuleVisitor],
    isTypeSystem: Bool = false
  ) -> [ValidationError] {
    let context = ValidationContext(schema, self, options, isTypeSystem: isTypeSystem)
    let visitors = options.rules.compactMap { $0.visitor(for: context) } + own
    DocumentWalker(context, visitors).walkDocument()
    return context.errors
  }
}

extension ValidationRule {
  fileprivate func visitor(for context: ValidationContext) -> (any RuleVisitor)? {
    switch self {
    case .executableDefinitions: ExecutableDefinitions()
    case .knownOperationTypes: KnownOperationTypes()
    case .uniqueOperationNames: UniqueOperationNames()
    case .loneAnonymousOperation: LoneAnonymousOperation()
    case .singleFieldSubscriptions: SingleFieldSubscriptions()
    case .deferStreamDirectiveOnRootField: DeferStreamDirectiveOnRootField()
    case .deferStreamDirectiveLabel: DeferStreamDirectiveLabel()
    case .streamDirectiveOnListField: StreamDirectiveOnListField()
    case .knownTypeNames: KnownTypeNames(context)
    case .fragmentsOnCompositeTypes: FragmentsOnCompositeTypes()
    case .variablesAreInputTypes: VariablesAreInputTypes()
    case .scalarLeafs: ScalarLeafs()
    case .fieldsOnCorrectType: FieldsOnCorrectType()
    case .uniqueFragmentNames: UniqueFragmentNames()
    case .knownFragmentNames: KnownFragmentNames()
    case .noUnusedFragments: NoUnusedFragments()
    case .possibleFragmentSpreads: PossibleFragmentSpreads()
    case .noFragmentCycles: NoFragmentCycles()
    case .uniqueVariableNames: UniqueVariableNames()
    case .noUndefinedVariables: NoUndefinedVariables()
    case .noUnusedVariables: NoUnusedVariables()
    case .knownDirectives: KnownDirectives()
    case .uniqueDirectivesPerLocation: UniqueDirectivesPerLocation()
    case .knownArgumentNames: KnownArgumentNames(checksFields: true)
    case .knownArgumentNamesOnDirectives: KnownArgumentNames(checksFields: false)
    case .uniqueArgumentNames: UniqueArgumentNames()
    case .valuesOfCorrectType: ValuesOfCorrectType()
    case .providedRequiredArguments: ProvidedRequiredArguments(checksFields: true)
    case .providedRequiredArgumentsOnDirectives: ProvidedRequiredArguments(checksFields: false)
    case .variablesInAllowedPosition: VariablesInAllowedPosition()
    case .overlappingFieldsCanBeMerged: OverlappingFieldsCanBeMerged(context)
    case .uniqueInputFieldNames: UniqueInputFieldNames()
    case .maxIntrospectionDepth: MaxIntrospectionDepth()
    case .noDeprecated: NoDeprecated()
    case .namedOperations: NamedOperations()
    case .noSchemaIntrospection: NoSchemaIntrospection()
    case .loneSchemaDefinition: LoneSchemaDefinition()
    case .uniqueOperationTypes: UniqueOperationTypes()
    case .uniqueTypeNames: UniqueTypeNames()
    case .uniqueEnumValueNames: UniqueEnumValueNames()
    case .uniqueFieldDefinitionNames: UniqueFieldDefinitionNames()
    case .uniqueArgumentDefinitionNames: UniqueArgumentDefinitionNames()
    case .uniqueDirectiveNames: UniqueDirectiveNames()
    case .possibleTypeExtensions: PossibleTypeExtensions(context)
    case .limit: nil
    }
  }
}
