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
    validate(schema, options: options, own: [])
  }

  /// Validates what does not depend on a schema: unique names, undefined or unused fragments and
  /// variables, fragment cycles, and the use of the standard directives. Other directives are
  /// ignored.
  ///
  /// - Returns: The errors in source order.
  public func validateWithoutSchema(
    options: ValidationOptions = ValidationOptions(rules: ValidationRule.withoutSchema)
  ) -> [ValidationError] {
    validate(nil, options: options, own: [])
  }

  /// Warnings for valid but discouraged constructs: operations without a name and, with a schema,
  /// deprecated fields, arguments, input fields, enum values and directives.
  public func warnings(
    against schema: Schema?,
    options: ValidationOptions = ValidationOptions(rules: ValidationRule.warnings)
  ) -> [ValidationError] {
    validate(schema, options: options, own: [])
  }

  /// Validates a type system document, or a document that extends `schema`.
  ///
  /// - Returns: The errors in source order.
  public func validateTypeSystem(
    extending schema: Schema? = nil,
    options: ValidationOptions = ValidationOptions(rules: ValidationRule.typeSystem)
  ) -> [ValidationError] {
    validate(schema, options: options, own: [], isTypeSystem: true)
  }

  /// Validates with the rules of the options, then with additional rules.
  package func validate(
    _ schema: Schema?, options: ValidationOptions, own: [any RuleVisitor],
    isTypeSystem: Bool = false
  ) -> [ValidationError] {
    let context = ValidationContext(
      schema, document: self, options: options, isTypeSystem: isTypeSystem)
    let visitors = options.rules.compactMap { $0.visitor(for: context) } + own
    DocumentWalker(context: context, visitors: visitors).walkDocument()
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
    case .knownTypeNames: KnownTypeNames()
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
    case .knownArgumentNames, .knownArgumentNamesOnDirectives: KnownArgumentNames(self)
    case .uniqueArgumentNames: UniqueArgumentNames()
    case .valuesOfCorrectType: ValuesOfCorrectType()
    case .providedRequiredArguments, .providedRequiredArgumentsOnDirectives:
      ProvidedRequiredArguments(self)
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
    case .possibleTypeExtensions: PossibleTypeExtensions()
    case .noDirectiveDefinitionCycles: NoDirectiveDefinitionCycles()
    case .limit: nil
    }
  }
}

/// A violation of a validation rule, or a warning.
public struct ValidationError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The violated rule.
  public var rule: ValidationRule
  /// The message, as in graphql-core.
  public var message: String
  /// The source locations, the most relevant first; empty if the error concerns the whole document.
  public var locations: [SourceLocation]

  /// Creates an error.
  public init(rule: ValidationRule, message: String, locations: [SourceLocation]) {
    self.rule = rule
    self.message = message
    self.locations = locations
  }

  /// `line:column: message`.
  public var description: String {
    locations.first.map { "\($0.line):\($0.column): \(message)" } ?? message
  }
}

/// The rules and limits of a validation.
public struct ValidationOptions: Sendable, Hashable {
  /// The rules, in the order in which errors at the same location are listed. By default, the
  /// specification's rules for executable documents.
  public var rules: [ValidationRule]
  /// The maximum number of errors, 100 by default. If there are more, the last error has the rule
  /// ``ValidationRule/limit``.
  public var maxErrors: Int
  /// The maximum number of steps of rules whose time is not linear, ten million by default. If it
  /// is reached, validation ends with an error of the rule ``ValidationRule/limit``.
  public var maxSteps: Int
  /// The edition whose rules are checked; the newest by default.
  public var edition: Edition

  /// Creates options.
  public init(
    rules: [ValidationRule] = ValidationRule.specified, maxErrors: Int = 100,
    maxSteps: Int = 10_000_000, edition: Edition = .newest
  ) {
    self.rules = rules
    self.maxErrors = maxErrors
    self.maxSteps = maxSteps
    self.edition = edition
  }
}

/// A validation rule; the raw value is its name in the reference implementation.
///
/// https://spec.graphql.org/September2026/#sec-Validation
public enum ValidationRule: String, Sendable, Hashable, CaseIterable {
  /// The document contains only operations and fragments.
  case executableDefinitions = "ExecutableDefinitionsRule"
  /// The schema supports the operation's type. New in the September 2025 specification; the name is
  /// that of graphql-js 17.
  case knownOperationTypes = "KnownOperationTypesRule"
  /// Operation names are unique.
  case uniqueOperationNames = "UniqueOperationNamesRule"
  /// An operation without a name is the document's only one.
  case loneAnonymousOperation = "LoneAnonymousOperationRule"
  /// A subscription selects exactly one root field.
  case singleFieldSubscriptions = "SingleFieldSubscriptionsRule"
  /// Referenced types are defined.
  case knownTypeNames = "KnownTypeNamesRule"
  /// Type conditions are object, interface or union types.
  case fragmentsOnCompositeTypes = "FragmentsOnCompositeTypesRule"
  /// Variables have scalar, enum or input object types, or lists of them.
  case variablesAreInputTypes = "VariablesAreInputTypesRule"
  /// Only fields of composite types have a selection set.
  case scalarLeafs = "ScalarLeafsRule"
  /// Selected fields are defined on the enclosing type.
  case fieldsOnCorrectType = "FieldsOnCorrectTypeRule"
  /// Fragment names are unique.
  case uniqueFragmentNames = "UniqueFragmentNamesRule"
  /// Spread fragments are defined.
  case knownFragmentNames = "KnownFragmentNamesRule"
  /// Fragments are used.
  case noUnusedFragments = "NoUnusedFragmentsRule"
  /// A fragment's type and the enclosing type have a possible object type in common.
  case possibleFragmentSpreads = "PossibleFragmentSpreadsRule"
  /// Fragments do not contain themselves.
  case noFragmentCycles = "NoFragmentCyclesRule"
  /// An operation's variable names are unique.
  case uniqueVariableNames = "UniqueVariableNamesRule"
  /// Used variables are defined.
  case noUndefinedVariables = "NoUndefinedVariablesRule"
  /// Defined variables are used.
  case noUnusedVariables = "NoUnusedVariablesRule"
  /// Directives are defined and applied at an allowed location.
  case knownDirectives = "KnownDirectivesRule"
  /// Directives that are not repeatable are applied at most once per location.
  case uniqueDirectivesPerLocation = "UniqueDirectivesPerLocationRule"
  /// Mutations and subscriptions have no `@defer` or `@stream` at their root.
  case deferStreamDirectiveOnRootField = "DeferStreamDirectiveOnRootFieldRule"
  /// Labels of `@defer` and `@stream` are strings without variables, and unique.
  case deferStreamDirectiveLabel = "DeferStreamDirectiveLabelRule"
  /// Fields with `@stream` are lists.
  case streamDirectiveOnListField = "StreamDirectiveOnListFieldRule"
  /// Arguments are defined by their field or directive.
  case knownArgumentNames = "KnownArgumentNamesRule"
  /// Argument names are unique.
  case uniqueArgumentNames = "UniqueArgumentNamesRule"
  /// Literals are valid values of the expected type.
  case valuesOfCorrectType = "ValuesOfCorrectTypeRule"
  /// Required arguments are provided.
  case providedRequiredArguments = "ProvidedRequiredArgumentsRule"
  /// The types of variables are compatible with the expected types.
  case variablesInAllowedPosition = "VariablesInAllowedPositionRule"
  /// Fields with the same response key can be merged.
  case overlappingFieldsCanBeMerged = "OverlappingFieldsCanBeMergedRule"
  /// The field names of an input object are unique.
  case uniqueInputFieldNames = "UniqueInputFieldNamesRule"
  /// The nesting of lists in introspection is limited. Not in the specification, but a default rule
  /// of the reference implementation.
  case maxIntrospectionDepth = "MaxIntrospectionDepthRule"

  /// A warning: the document uses something deprecated.
  case noDeprecated = "NoDeprecatedCustomRule"
  /// A warning: the operation has no name.
  case namedOperations = "NamedOperationsRule"
  /// No introspection. Only used on request.
  case noSchemaIntrospection = "NoSchemaIntrospectionCustomRule"

  /// There is at most one schema definition.
  case loneSchemaDefinition = "LoneSchemaDefinitionRule"
  /// Each operation type has at most one root type.
  case uniqueOperationTypes = "UniqueOperationTypesRule"
  /// Type names are unique.
  case uniqueTypeNames = "UniqueTypeNamesRule"
  /// The value names of an enum are unique.
  case uniqueEnumValueNames = "UniqueEnumValueNamesRule"
  /// The field names of a type are unique.
  case uniqueFieldDefinitionNames = "UniqueFieldDefinitionNamesRule"
  /// The argument names of a field or directive definition are unique.
  case uniqueArgumentDefinitionNames = "UniqueArgumentDefinitionNamesRule"
  /// Directive names are unique.
  case uniqueDirectiveNames = "UniqueDirectiveNamesRule"
  /// Extended types and directives are defined, and types are of the extension's kind.
  case possibleTypeExtensions = "PossibleTypeExtensionsRule"
  /// Arguments of directives are defined.
  case knownArgumentNamesOnDirectives = "KnownArgumentNamesOnDirectivesRule"
  /// Required arguments of directives are provided.
  case providedRequiredArgumentsOnDirectives = "ProvidedRequiredArgumentsOnDirectivesRule"
  /// The definition of a directive does not lead back to the directive. The name is that of graphql-js 17.
  case noDirectiveDefinitionCycles = "NoDirectiveDefinitionCyclesRule"

  /// Not a rule: marks the error that reports why validation stopped early.
  case limit = "ValidationLimit"

  /// The rules for executable documents, in the order of the reference implementation: the cases
  /// before ``noDeprecated``.
  public static let specified = Array(allCases.prefix { $0 != .noDeprecated })

  /// The specified rules that can be checked without a schema, some only for standard directives.
  public static let withoutSchema: [ValidationRule] = [
    .executableDefinitions, .uniqueOperationNames, .loneAnonymousOperation,
    .uniqueFragmentNames, .knownFragmentNames, .noUnusedFragments, .noFragmentCycles,
    .uniqueVariableNames, .noUndefinedVariables, .noUnusedVariables, .knownDirectives,
    .uniqueDirectivesPerLocation, .knownArgumentNamesOnDirectives, .uniqueArgumentNames,
    .providedRequiredArgumentsOnDirectives, .uniqueInputFieldNames,
  ]

  /// The rules for type system documents.
  public static let typeSystem: [ValidationRule] = [
    .loneSchemaDefinition, .uniqueOperationTypes, .uniqueTypeNames, .uniqueEnumValueNames,
    .uniqueFieldDefinitionNames, .uniqueArgumentDefinitionNames, .uniqueDirectiveNames,
    .knownTypeNames, .knownDirectives, .uniqueDirectivesPerLocation, .possibleTypeExtensions,
    .knownArgumentNamesOnDirectives, .uniqueArgumentNames, .uniqueInputFieldNames,
    .providedRequiredArgumentsOnDirectives, .noDirectiveDefinitionCycles,
  ]

  /// The rules that produce warnings.
  public static let warnings: [ValidationRule] = [.namedOperations, .noDeprecated]
}
