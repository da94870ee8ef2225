/// A rule of validation; the raw value is its name in the reference implementation.
///
/// https://spec.graphql.org/September2025/#sec-Validation
public enum ValidationRule: String, Sendable, Hashable, CaseIterable {
  case executableDefinitions = "ExecutableDefinitionsRule"
  /// New in the September 2025 specification; the name is that of graphql-js 17.
  case knownOperationTypes = "KnownOperationTypesRule"
  case uniqueOperationNames = "UniqueOperationNamesRule"
  case loneAnonymousOperation = "LoneAnonymousOperationRule"
  case singleFieldSubscriptions = "SingleFieldSubscriptionsRule"
  case knownTypeNames = "KnownTypeNamesRule"
  case fragmentsOnCompositeTypes = "FragmentsOnCompositeTypesRule"
  case variablesAreInputTypes = "VariablesAreInputTypesRule"
  case scalarLeafs = "ScalarLeafsRule"
  case fieldsOnCorrectType = "FieldsOnCorrectTypeRule"
  case uniqueFragmentNames = "UniqueFragmentNamesRule"
  case knownFragmentNames = "KnownFragmentNamesRule"
  case noUnusedFragments = "NoUnusedFragmentsRule"
  case possibleFragmentSpreads = "PossibleFragmentSpreadsRule"
  case noFragmentCycles = "NoFragmentCyclesRule"
  case uniqueVariableNames = "UniqueVariableNamesRule"
  case noUndefinedVariables = "NoUndefinedVariablesRule"
  case noUnusedVariables = "NoUnusedVariablesRule"
  case knownDirectives = "KnownDirectivesRule"
  case uniqueDirectivesPerLocation = "UniqueDirectivesPerLocationRule"
  case knownArgumentNames = "KnownArgumentNamesRule"
  case uniqueArgumentNames = "UniqueArgumentNamesRule"
  case valuesOfCorrectType = "ValuesOfCorrectTypeRule"
  case providedRequiredArguments = "ProvidedRequiredArgumentsRule"
  case variablesInAllowedPosition = "VariablesInAllowedPositionRule"
  case overlappingFieldsCanBeMerged = "OverlappingFieldsCanBeMergedRule"
  case uniqueInputFieldNames = "UniqueInputFieldNamesRule"
  /// Not of the specification, but of the reference implementation's defaults.
  case maxIntrospectionDepth = "MaxIntrospectionDepthRule"

  /// A warning: what is used is deprecated.
  case noDeprecated = "NoDeprecatedCustomRule"
  /// A warning: an operation has no name.
  case namedOperations = "NamedOperationsRule"
  /// Only on request: no introspection.
  case noSchemaIntrospection = "NoSchemaIntrospectionCustomRule"

  case loneSchemaDefinition = "LoneSchemaDefinitionRule"
  case uniqueOperationTypes = "UniqueOperationTypesRule"
  case uniqueTypeNames = "UniqueTypeNamesRule"
  case uniqueEnumValueNames = "UniqueEnumValueNamesRule"
  case uniqueFieldDefinitionNames = "UniqueFieldDefinitionNamesRule"
  case uniqueArgumentDefinitionNames = "UniqueArgumentDefinitionNamesRule"
  case uniqueDirectiveNames = "UniqueDirectiveNamesRule"
  case possibleTypeExtensions = "PossibleTypeExtensionsRule"
  case knownArgumentNamesOnDirectives = "KnownArgumentNamesOnDirectivesRule"
  case providedRequiredArgumentsOnDirectives = "ProvidedRequiredArgumentsOnDirectivesRule"

  /// Not a rule to check, but that of the error that says why validation stopped early.
  case limit = "ValidationLimit"

  /// What operations have to keep, in the order of the reference implementation.
  public static let specified: [ValidationRule] = [
    .executableDefinitions, .knownOperationTypes, .uniqueOperationNames, .loneAnonymousOperation,
    .singleFieldSubscriptions, .knownTypeNames, .fragmentsOnCompositeTypes,
    .variablesAreInputTypes, .scalarLeafs, .fieldsOnCorrectType, .uniqueFragmentNames,
    .knownFragmentNames, .noUnusedFragments, .possibleFragmentSpreads, .noFragmentCycles,
    .uniqueVariableNames, .noUndefinedVariables, .noUnusedVariables, .knownDirectives,
    .uniqueDirectivesPerLocation, .knownArgumentNames, .uniqueArgumentNames,
    .valuesOfCorrectType, .providedRequiredArguments, .variablesInAllowedPosition,
    .overlappingFieldsCanBeMerged, .uniqueInputFieldNames, .maxIntrospectionDepth,
  ]

  /// Those of them that can be checked without a schema, wholly or for the standard directives.
  public static let withoutSchema: [ValidationRule] = [
    .executableDefinitions, .uniqueOperationNames, .loneAnonymousOperation,
    .uniqueFragmentNames, .knownFragmentNames, .noUnusedFragments, .noFragmentCycles,
    .uniqueVariableNames, .noUndefinedVariables, .noUnusedVariables, .knownDirectives,
    .uniqueDirectivesPerLocation, .knownArgumentNamesOnDirectives, .uniqueArgumentNames,
    .providedRequiredArgumentsOnDirectives, .uniqueInputFieldNames,
  ]

  /// What type system documents have to keep.
  public static let typeSystem: [ValidationRule] = [
    .loneSchemaDefinition, .uniqueOperationTypes, .uniqueTypeNames, .uniqueEnumValueNames,
    .uniqueFieldDefinitionNames, .uniqueArgumentDefinitionNames, .uniqueDirectiveNames,
    .knownTypeNames, .knownDirectives, .uniqueDirectivesPerLocation, .possibleTypeExtensions,
    .knownArgumentNamesOnDirectives, .uniqueArgumentNames, .uniqueInputFieldNames,
    .providedRequiredArgumentsOnDirectives,
  ]

  /// What is allowed, but better avoided.
  public static let warnings: [ValidationRule] = [.namedOperations, .noDeprecated]
}
