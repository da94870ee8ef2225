/// https://spec.graphql.org/September2025/#sec-Objects.Type-Validation
final class UniqueArgumentDefinitionNames: RuleVisitor {
  func enter(definition: TypeSystemDefinition, _ context: ValidationContext) {
    switch definition {
    case .directive(let directive):
      check(directive.arguments, of: "@\(directive.name.value)", context)
    case .object(let object):
      for field in object.fields {
        check(field.arguments, of: "\(object.name.value).\(field.name.value)", context)
      }
    case .interface(let interface):
      for field in interface.fields {
        check(field.arguments, of: "\(interface.name.value).\(field.name.value)", context)
      }
    case .schema, .scalar, .union, .enumeration, .inputObject:
      break
    }
  }

  private func check(
    _ arguments: [InputValueDefinition], of parent: String, _ context: ValidationContext
  ) {
    for group in arguments.repeated(by: \.name) {
      context.report(
        .uniqueArgumentDefinitionNames,
        "Argument '\(parent)(\(group[0].value):)' can only be defined once.",
        at: group.map(\.location))
    }
  }
}
