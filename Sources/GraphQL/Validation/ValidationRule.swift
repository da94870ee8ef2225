/// A validation rule; the raw value is its name in the reference implementation.
///
/// https://spec.graphql.org/September2025/#sec-Validation
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
  /// Extended types are defined and are of the extension's kind.
  case possibleTypeExtensions = "PossibleTypeExtensionsRule"
  /// Arguments of directives are defined.
  case knownArgumentNamesOnDirectives = "KnownArgumentNamesOnDirectivesRule"
  /// Required arguments of directives are provided.
  case providedRequiredArgumentsOnDirectives = "ProvidedRequiredArgumentsOnDirectivesRule"

  /// Not a rule: marks the error that reports why validation stopped early.
  case limit = "ValidationLimit"

  /// The rules for executable documents, in the order of the reference implementation.
  public static let specified: [ValidationRule] = [
    .executableDefinitions, .knownOperationTypes, .uniqueOperationNames, .loneAnonymousOperation,
    .singleFieldSubscriptions, .knownTypeNames, .fragmentsOnCompositeTypes,
    .variablesAreInputTypes, .scalarLeafs, .fieldsOnCorrectType, .uniqueFragmentNames,
    .knownFragmentNames, .noUnusedFragments, .possibleFragmentSpreads, .noFragmentCycles,
    .uniqueVariableNames, .noUndefinedVariables, .noUnusedVariables, .knownDirectives,
    .uniqueDirectivesPerLocation, .deferStreamDirectiveOnRootField, .deferStreamDirectiveLabel,
    .streamDirectiveOnListField, .knownArgumentNames, .uniqueArgumentNames,
    .valuesOfCorrectType, .providedRequiredArguments, .variablesInAllowedPosition,
    .overlappingFieldsCanBeMerged, .uniqueInputFieldNames, .maxIntrospectionDepth,
  ]

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
    .providedRequiredArgumentsOnDirectives,
  ]

  /// The rules that produce warnings.
  public static let warnings: [ValidationRule] = [.namedOperations, .noDeprecated]
}
