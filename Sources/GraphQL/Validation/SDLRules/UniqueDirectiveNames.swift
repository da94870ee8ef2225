/// https://spec.graphql.org/September2025/#sec-Schema
final class UniqueDirectiveNames: RuleVisitor {
  private var known: [String: SourceLocation] = [:]

  func enter(definition: TypeSystemDefinition, _ context: ValidationContext) {
    guard case .directive(let directive) = definition else { return }
    let name = directive.name
    if context.schema?.directive(named: name.value) != nil {
      context.report(
        .uniqueDirectiveNames,
        "Directive '@\(name.value)' already exists in the schema. It cannot be redefined.",
        at: name.location)
    } else if let first = known[name.value] {
      context.report(
        .uniqueDirectiveNames, "There can be only one directive named '@\(name.value)'.",
        at: [first, name.location])
    } else {
      known[name.value] = name.location
    }
  }
}
