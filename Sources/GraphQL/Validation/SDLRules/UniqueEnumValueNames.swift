/// https://spec.graphql.org/September2025/#sec-Enums
final class UniqueEnumValueNames: RuleVisitor {
  private var known: [String: [String: SourceLocation]] = [:]

  func enter(definition: TypeSystemDefinition, _ context: ValidationContext) {
    guard case .enumeration(let enumeration) = definition else { return }
    let type = enumeration.name.value
    var existing: EnumType?
    if case .enumeration(let known)? = context.schema?.types[type] { existing = known }
    for value in enumeration.values {
      let name = value.name
      if existing?.values[name.value] != nil {
        context.report(
          .uniqueEnumValueNames,
          "Enum value '\(type).\(name.value)' already exists in the schema. It cannot also be "
            + "defined in this type extension.",
          at: name.location)
      } else if let first = known[type]?[name.value] {
        context.report(
          .uniqueEnumValueNames, "Enum value '\(type).\(name.value)' can only be defined once.",
          at: [first, name.location])
      } else {
        known[type, default: [:]][name.value] = name.location
      }
    }
  }
}
