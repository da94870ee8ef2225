/// The schema supports the operation's type.
///
/// https://spec.graphql.org/September2025/#sec-Operation-Type-Existence
final class KnownOperationTypes: RuleVisitor {
  func enter(operation: OperationDefinition, _ context: ValidationContext) {
    guard let schema = context.schema, schema.rootType(for: operation.type) == nil else { return }
    context.report(
      .knownOperationTypes,
      "The \(operation.type.rawValue) operation is not supported by the schema.",
      at: operation.location)
  }
}
