/// Each operation type has at most one root type.
final class UniqueOperationTypes: RuleVisitor {
  private var known: [OperationType: SourceLocation] = [:]

  func enter(definition: TypeSystemDefinition, _ context: ValidationContext) {
    guard case .schema(let schema) = definition else { return }
    for root in schema.operationTypes {
      let name = root.operation.rawValue
      if context.schema?.rootType(for: root.operation) != nil {
        context.report(
          .uniqueOperationTypes,
          "Type for \(name) already defined in the schema. It cannot be redefined.",
          at: root.location)
      } else if let first = known[root.operation] {
        context.report(
          .uniqueOperationTypes, "There can be only one \(name) type in schema.",
          at: [first, root.location])
      } else {
        known[root.operation] = root.location
      }
    }
  }
}
