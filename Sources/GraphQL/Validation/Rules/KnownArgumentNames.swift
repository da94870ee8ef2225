import GQLRunSupport

/// Arguments are defined by their field or directive.
///
/// https://spec.graphql.org/September2025/#sec-Argument-Names
final class KnownArgumentNames: RuleVisitor {
  private let checksFields: Bool

  init(checksFields: Bool) {
    self.checksFields = checksFields
  }

  private var rule: ValidationRule {
    checksFields ? .knownArgumentNames : .knownArgumentNamesOnDirectives
  }

  func enter(directive: Directive, at _: DirectiveLocation, _ context: ValidationContext) {
    guard !directive.arguments.isEmpty,
      let definition = context.directives[directive.name.value]
    else { return }
    let known = definition.arguments.map(\.name.value)
    for argument in directive.arguments where !known.contains(argument.name.value) {
      let name = argument.name.value
      context.report(
        rule,
        "Unknown argument '\(name)' on directive '@\(directive.name.value)'."
          + didYouMean(suggestions(for: name, in: known)),
        at: argument.location)
    }
  }

  func enter(argument: Argument, _ context: ValidationContext) {
    let types = context.types
    guard checksFields, !types.isInDirective, types.argument == nil, let field = types.field,
      let parent = types.parentType
    else { return }
    let name = argument.name.value
    context.report(
      rule,
      "Unknown argument '\(name)' on field '\(parent.name).\(types.fieldName)'."
        + didYouMean(suggestions(for: name, in: field.arguments.map(\.name.value))),
      at: argument.location)
  }
}
