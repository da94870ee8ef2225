/// https://spec.graphql.org/September2025/#sec-Argument-Uniqueness
final class UniqueArgumentNames: RuleVisitor {
  func enter(field: Field, _ context: ValidationContext) { check(field.arguments, context) }

  func enter(directive: Directive, at _: DirectiveLocation, _ context: ValidationContext) {
    check(directive.arguments, context)
  }

  private func check(_ arguments: [Argument], _ context: ValidationContext) {
    for group in arguments.repeated(by: \.name) {
      context.report(
        .uniqueArgumentNames, "There can be only one argument named '\(group[0].value)'.",
        at: group.map(\.location))
    }
  }
}
