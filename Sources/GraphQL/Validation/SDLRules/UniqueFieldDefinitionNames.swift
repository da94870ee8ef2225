/// https://spec.graphql.org/September2025/#sec-Objects.Type-Validation
final class UniqueFieldDefinitionNames: RuleVisitor {
  private var known: [String: [String: SourceLocation]] = [:]

  func enter(definition: TypeSystemDefinition, _ context: ValidationContext) {
    switch definition {
    case .object(let object): check(object.fields.map(\.name), of: object.name.value, context)
    case .interface(let type): check(type.fields.map(\.name), of: type.name.value, context)
    case .inputObject(let input): check(input.fields.map(\.name), of: input.name.value, context)
    case .schema, .scalar, .union, .enumeration, .directive: break
    }
  }

  private func check(_ names: [Name], of type: String, _ context: ValidationContext) {
    for name in names {
      if hasField(name.value, context.schema?.types[type]) {
        context.report(
          .uniqueFieldDefinitionNames,
          "Field '\(type).\(name.value)' already exists in the schema. It cannot also be defined "
            + "in this type extension.",
          at: name.location)
      } else if let first = known[type]?[name.value] {
        context.report(
          .uniqueFieldDefinitionNames, "Field '\(type).\(name.value)' can only be defined once.",
          at: [first, name.location])
      } else {
        known[type, default: [:]][name.value] = name.location
      }
    }
  }

  private func hasField(_ name: String, _ type: SchemaType?) -> Bool {
    if case .inputObject(let input)? = type { return input.fields[name] != nil }
    return type?.fields?[name] != nil
  }
}
