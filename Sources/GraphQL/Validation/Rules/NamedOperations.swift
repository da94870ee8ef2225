/// Warns about operations without a name, which logs and servers cannot distinguish.
final class NamedOperations: RuleVisitor {
  func enter(operation: OperationDefinition, _ context: ValidationContext) {
    guard operation.name == nil else { return }
    context.report(
      .namedOperations,
      "This \(operation.type.rawValue) has no name; name it to identify it in logs and on "
        + "the server.",
      at: operation.location)
  }
}
