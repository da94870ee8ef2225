/// https://spec.graphql.org/September2025/#sec-Input-Object-Field-Uniqueness
final class UniqueInputFieldNames: RuleVisitor {
  private var known: [[String: SourceLocation]] = []

  func enter(value: Value, _ context: ValidationContext) {
    if case .object = value { known.append([:]) }
  }

  func leave(value: Value, _ context: ValidationContext) {
    if case .object = value { known.removeLast() }
  }

  func enter(objectField field: ObjectField, _ context: ValidationContext) {
    guard let last = known.indices.last else { return }
    if let first = known[last][field.name.value] {
      context.report(
        .uniqueInputFieldNames,
        "There can be only one input field named '\(field.name.value)'.",
        at: [first, field.name.location])
    } else {
      known[last][field.name.value] = field.name.location
    }
  }
}
