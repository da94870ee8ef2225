/// The types of variables are compatible with the expected types.
///
/// https://spec.graphql.org/September2025/#sec-All-Variable-Usages-Are-Allowed
final class VariablesInAllowedPosition: RuleVisitor {
  func leave(operation: OperationDefinition, _ context: ValidationContext) {
    guard let schema = context.schema, !operation.variables.isEmpty else { return }
    var definitions: [String: VariableDefinition] = [:]
    for variable in operation.variables { definitions[variable.name.value] = variable }
    for usage in context.usages(reachedFrom: context.definitionIndex) {
      guard let variable = definitions[usage.variable.value], let expected = usage.type,
        context.isKnownType(variable.type.namedType.value)
      else { continue }
      if let oneOf = usage.oneOf, !variable.type.isNonNull, !isReportedByValuesRule(usage, context)
      {
        context.report(
          .variablesInAllowedPosition,
          "Variable '\(usage.variable.value)' must be non-nullable to be used for OneOf Input "
            + "Object '\(oneOf)'.",
          at: [variable.location, usage.variable.location])
      }
      guard
        !isAllowed(variable, expected, usage.hasDefault, schema)
      else { continue }
      context.report(
        .variablesInAllowedPosition,
        "Variable '$\(usage.variable.value)' of type '\(variable.type.printed())' used in "
          + "position expecting type '\(expected.printed())'.",
        at: [variable.location, usage.variable.location])
      if context.isAborted { return }
    }
  }

  /// Whether `ValuesOfCorrectType` reports the usage; it checks each fragment once, with the
  /// operation before it.
  private func isReportedByValuesRule(_ usage: VariableUsage, _ context: ValidationContext) -> Bool
  {
    let before = context.document.definitions[...usage.definition]
    let operation = before.lastIndex { if case .operation = $0 { true } else { false } }
    return operation == context.definitionIndex
  }

  /// https://spec.graphql.org/September2025/#IsVariableUsageAllowed()
  private func isAllowed(
    _ variable: VariableDefinition, _ expected: TypeReference, _ hasDefault: Bool,
    _ schema: Schema
  ) -> Bool {
    guard case .nonNull(let nullable) = expected, !variable.type.isNonNull else {
      return schema.isSubtype(variable.type, of: expected)
    }
    let hasValue =
      switch variable.defaultValue {
      case nil, .null: false
      default: true
      }
    return (hasValue || hasDefault) && schema.isSubtype(variable.type, of: nullable)
  }
}
