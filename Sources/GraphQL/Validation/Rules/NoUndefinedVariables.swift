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
