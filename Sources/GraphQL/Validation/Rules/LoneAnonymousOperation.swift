/// https://spec.graphql.org/September2025/#sec-Lone-Anonymous-Operation
final class LoneAnonymousOperation: RuleVisitor {
  private var operationCount = 0

  func enter(document: Document, _ context: ValidationContext) {
    for case .operation in document.definitions { operationCount += 1 }
  }

  func enter(operation: OperationDefinition, _ context: ValidationContext) {
    guard operation.name == nil, operationCount > 1 else { return }
    context.report(
      .loneAnonymousOperation, "This anonymous operation must be the only defined operation.",
      at: operation.location)
  }
}
