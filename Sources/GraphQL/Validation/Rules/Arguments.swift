import GQLRunSupport

/// Arguments are defined by their field or directive.
///
/// https://spec.graphql.org/September2025/#sec-Argument-Names
final class KnownArgumentNames: RuleVisitor {
  private let rule: ValidationRule

  init(_ rule: ValidationRule) { self.rule = rule }

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
    guard rule == .knownArgumentNames, !types.isInDirective, types.argument == nil,
      let field = types.field, let parent = types.parentType
    else { return }
    let name = argument.name.value
    context.report(
      rule,
      "Unknown argument '\(name)' on field '\(parent.name).\(types.fieldName)'."
        + didYouMean(suggestions(for: name, in: field.arguments.map(\.name.value))),
      at: argument.location)
  }
}

/// Required arguments are provided.
///
/// https://spec.graphql.org/September2025/#sec-Required-Arguments
final class ProvidedRequiredArguments: RuleVisitor {
  private let rule: ValidationRule

  init(_ rule: ValidationRule) { self.rule = rule }

  func leave(directive: Directive, _ context: ValidationContext) {
    guard let definition = context.directives[directive.name.value] else { return }
    for argument in missing(from: directive.arguments, of: definition.arguments) {
      report(
        argument, subject: "Directive '@\(directive.name.value)'", location: directive.location,
        context: context)
    }
  }

  func leave(field: Field, _ context: ValidationContext) {
    guard rule == .providedRequiredArguments, let definition = context.types.field else { return }
    for argument in missing(from: field.arguments, of: definition.arguments) {
      report(
        argument, subject: "Field '\(field.name.value)'", location: field.location, context: context
      )
    }
  }

  private func missing(
    from given: [Argument], of definitions: [InputValueDefinition]
  ) -> [InputValueDefinition] {
    guard definitions.contains(where: \.isRequired) else { return [] }
    let names = Set(given.map(\.name.value))
    return definitions.filter { $0.isRequired && !names.contains($0.name.value) }
  }

  private func report(
    _ argument: InputValueDefinition, subject: String, location: SourceLocation,
    context: ValidationContext
  ) {
    context.report(
      rule,
      "\(subject) argument '\(argument.name.value)' of type '\(argument.type.printed())' is "
        + "required, but it was not provided.",
      at: location)
  }
}

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
