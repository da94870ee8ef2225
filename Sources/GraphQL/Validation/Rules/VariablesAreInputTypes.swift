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
