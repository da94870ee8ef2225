extension Document {
  /// What the specification and `schema` forbid in the document, in source order; nothing when
  /// it is valid.
  ///
  /// Messages and locations are those of the reference implementation. The time is linear in the
  /// size of the document, or bounded by `maxSteps` where a rule cannot promise that.
  public func validate(
    against schema: Schema, options: ValidationOptions = ValidationOptions()
  ) -> [ValidationError] {
    validate(schema, options, [])
  }

  /// What the specification forbids in the document whatever the schema: names that are not
  /// unique, undefined or unused fragments and variables, fragments that contain themselves, and
  /// the standard directives wrongly used. Other directives pass.
  public func validateWithoutSchema(
    options: ValidationOptions = ValidationOptions(rules: ValidationRule.withoutSchema)
  ) -> [ValidationError] {
    validate(nil, options, [])
  }

  /// What is allowed, but better avoided: operations without a name, and, with a schema, fields,
  /// arguments, input fields and enum values that are deprecated.
  public func warnings(
    against schema: Schema?,
    options: ValidationOptions = ValidationOptions(rules: ValidationRule.warnings)
  ) -> [ValidationError] {
    validate(schema, options, [])
  }

  /// What the specification forbids in a type system document, or in one that extends `schema`.
  public func validateTypeSystem(
    extending schema: Schema? = nil,
    options: ValidationOptions = ValidationOptions(rules: ValidationRule.typeSystem)
  ) -> [ValidationError] {
    validate(schema, options, [], isTypeSystem: true)
  }

  /// Validates with rules of one's own after those of the options.
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
