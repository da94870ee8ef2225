/// https://spec.graphql.org/September2025/#sec-Fragment-Name-Uniqueness
final class UniqueFragmentNames: RuleVisitor {
  private var known: [String: SourceLocation] = [:]

  func enter(fragment: FragmentDefinition, _ context: ValidationContext) {
    let name = fragment.name
    if let first = known[name.value] {
      context.report(
        .uniqueFragmentNames, "There can be only one fragment named '\(name.value)'.",
        at: [first, name.location])
    } else {
      known[name.value] = name.location
    }
  }
}
