/// Warns of operations without a name: neither logs nor servers can tell them apart.
final class NamedOperations: RuleVisitor {
  func enter(operation: OperationDefinition, _ context: ValidationContext) {
    guard operation.name == nil else { return }
    context.report(
      .namedOperations,
      "This \(operation.type.rawValue) has no name; give it one, so that it can be told from "
        + "others.",
      at: operation.location)
  }
}
