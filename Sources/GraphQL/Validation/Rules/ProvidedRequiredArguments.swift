/// Required arguments are provided.
///
/// https://spec.graphql.org/September2025/#sec-Required-Arguments
final class ProvidedRequiredArguments: RuleVisitor {
  private let checksFields: Bool

  init(checksFields: Bool) {
    self.checksFields = checksFields
  }

  func leave(directive: Directive, _ context: ValidationContext) {
    guard let definition = context.directives[directive.name.value] else { return }
    for argument in missing(from: directive.arguments, of: definition.arguments) {
      report(argument, "Directive '@\(directive.name.value)'", directive.location, context)
    }
  }

  func leave(field: Field, _ context: ValidationContext) {
    guard checksFields, let definition = context.types.field else { return }
    for argument in missing(from: field.arguments, of: definition.arguments) {
      report(argument, "Field '\(field.name.value)'", field.location, context)
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
    _ argument: InputValueDefinition, _ subject: String, _ location: SourceLocation,
    _ context: ValidationContext
  ) {
    context.report(
      checksFields ? .providedRequiredArguments : .providedRequiredArgumentsOnDirectives,
      "\(subject) argument '\(argument.name.value)' of type '\(argument.type.printed())' is "
        + "required, but it was not provided.",
      at: location)
  }
}
