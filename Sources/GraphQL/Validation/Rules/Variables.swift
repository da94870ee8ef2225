import GQLRunSupport

/// Variables used by an operation and its fragments are defined.
///
/// https://spec.graphql.org/September2025/#sec-All-Variable-Uses-Defined
final class NoUndefinedVariables: RuleVisitor {
  func leave(operation: OperationDefinition, _ context: ValidationContext) {
    let defined = Set(operation.variables.map(\.name.value))
    for usage in context.usages(reachedFrom: context.definitionIndex)
    where !defined.contains(usage.variable.value) {
      let by = operation.name.map { " by operation '\($0.value)'" } ?? ""
      context.report(
        .noUndefinedVariables, "Variable '$\(usage.variable.value)' is not defined\(by).",
        at: [usage.variable.location, operation.location])
      if context.isAborted { return }
    }
  }
}

/// https://spec.graphql.org/September2025/#sec-All-Variables-Used
final class NoUnusedVariables: RuleVisitor {
  func leave(operation: OperationDefinition, _ context: ValidationContext) {
    guard !operation.variables.isEmpty else { return }
    let used = Set(
      context.usages(reachedFrom: context.definitionIndex).map(\.variable.value))
    for variable in operation.variables where !used.contains(variable.name.value) {
      let by = operation.name.map { " in operation '\($0.value)'" } ?? ""
      context.report(
        .noUnusedVariables, "Variable '$\(variable.name.value)' is never used\(by).",
        at: variable.location)
    }
  }
}

/// https://spec.graphql.org/September2025/#sec-Variable-Uniqueness
final class UniqueVariableNames: RuleVisitor {
  func enter(operation: OperationDefinition, _ context: ValidationContext) {
    for group in operation.variables.repeated(by: \.name) {
      context.report(
        .uniqueVariableNames, "There can be only one variable named '$\(group[0].value)'.",
        at: group.map { $0.location.afterDollar })
    }
  }
}

extension SourceLocation {
  /// The source location of a variable's name, computed from that of its `$`.
  ///
  /// Assumes that no ignored characters separate the two.
  fileprivate var afterDollar: SourceLocation {
    SourceLocation(line: line, column: column + 1, offset: offset + 1)
  }
}

extension Array {
  /// The names of several elements, with all their source locations, in the order of the first one.
  func repeated(by name: (Element) -> Name) -> [[Name]] {
    guard count > 1 else { return [] }
    return OrderedGroups(map(name), by: \.value).all.map(\.elements).filter { $0.count > 1 }
  }
}

/// https://spec.graphql.org/September2025/#sec-Variables-Are-Input-Types
final class VariablesAreInputTypes: RuleVisitor {
  func enter(variable: VariableDefinition, _ context: ValidationContext) {
    guard let type = context.type(named: variable.type.namedType.value), !type.isInput else {
      return
    }
    context.report(
      .variablesAreInputTypes,
      "Variable '$\(variable.name.value)' cannot be non-input type '\(variable.type.printed())'.",
      at: variable.type.location)
  }
}

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
        !isAllowed(variable, expected: expected, hasDefault: usage.hasDefault, schema: schema)
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
    _ variable: VariableDefinition, expected: TypeReference, hasDefault: Bool,
    schema: Schema
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
