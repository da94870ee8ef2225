/// https://spec.graphql.org/September2025/#sec-Operation-Name-Uniqueness
final class UniqueOperationNames: RuleVisitor {
  private var known: [String: SourceLocation] = [:]

  func enter(operation: OperationDefinition, _ context: ValidationContext) {
    guard let name = operation.name else { return }
    if let first = known[name.value] {
      context.report(
        .uniqueOperationNames, "There can be only one operation named '\(name.value)'.",
        at: [first, name.location])
    } else {
      known[name.value] = name.location
    }
  }
}
