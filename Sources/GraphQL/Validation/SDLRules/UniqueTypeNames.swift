/// https://spec.graphql.org/September2025/#sec-Schema
final class UniqueTypeNames: RuleVisitor {
  private var known: [String: SourceLocation] = [:]

  func enter(definition: TypeSystemDefinition, _ context: ValidationContext) {
    guard !definition.isExtension, let name = definition.name else { return }
    if case .directive = definition { return }
    if context.isKnownType(name.value) {
      context.report(
        .uniqueTypeNames,
        "Type '\(name.value)' already exists in the schema. It cannot also be defined in this "
          + "type definition.",
        at: name.location)
    } else if let first = known[name.value] {
      context.report(
        .uniqueTypeNames, "There can be only one type named '\(name.value)'.",
        at: [first, name.location])
    } else {
      known[name.value] = name.location
    }
  }
}
