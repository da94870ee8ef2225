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
