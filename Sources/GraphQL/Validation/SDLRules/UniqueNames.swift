import GQLRunSupport

/// https://spec.graphql.org/September2025/#sec-Objects.Type-Validation
final class UniqueArgumentDefinitionNames: RuleVisitor {
  func enter(definition: TypeSystemDefinition, _ context: ValidationContext) {
    let name = definition.name?.value ?? ""
    check(definition.arguments, of: "@\(name)", context)
    for field in definition.fieldDefinitions {
      check(field.arguments, of: "\(name).\(field.name.value)", context)
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

/// https://spec.graphql.org/September2025/#sec-Schema
final class UniqueDirectiveNames: RuleVisitor {
  private var known: [String: SourceLocation] = [:]

  func enter(definition: TypeSystemDefinition, _ context: ValidationContext) {
    guard case .directive(let directive) = definition, !directive.isExtension else { return }
    let name = directive.name
    let isKnown = context.schema?.directive(named: name.value) != nil
    context.require(
      unique: name.value, at: name.location, among: &known, rule: .uniqueDirectiveNames,
      existing: isKnown
        ? "Directive '@\(name.value)' already exists in the schema. It cannot be redefined." : nil,
      message: "There can be only one directive named '@\(name.value)'.")
  }
}

/// https://spec.graphql.org/September2025/#sec-Enums
final class UniqueEnumValueNames: RuleVisitor {
  private var known = KnownMembers()

  func enter(definition: TypeSystemDefinition, _ context: ValidationContext) {
    for value in definition.enumValues {
      known.require(
        unique: value.name, of: definition, "Enum value", rule: .uniqueEnumValueNames, context)
    }
  }
}

/// https://spec.graphql.org/September2025/#sec-Objects.Type-Validation
final class UniqueFieldDefinitionNames: RuleVisitor {
  private var known = KnownMembers()

  func enter(definition: TypeSystemDefinition, _ context: ValidationContext) {
    for name in definition.fieldDefinitions.map(\.name) + definition.inputFields.map(\.name) {
      known.require(
        unique: name, of: definition, "Field", rule: .uniqueFieldDefinitionNames, context)
    }
  }
}

/// The fields or enum values of the types of a document and its extensions.
private struct KnownMembers {
  private var known: [String: [String: SourceLocation]] = [:]

  mutating func require(
    unique name: Name, of definition: TypeSystemDefinition, _ title: String, rule: ValidationRule,
    _ context: ValidationContext
  ) {
    let type = definition.name?.value ?? ""
    func member() -> String { "\(title) '\(type).\(name.value)'" }
    let isKnown =
      switch (definition, context.schema?.types[type]) {
      case (.enumeration, .enumeration(let existing)?): existing.values[name.value] != nil
      case (.enumeration, _): false
      case (_, .inputObject(let existing)?): existing.fields[name.value] != nil
      case (_, let existing): existing?.fields?[name.value] != nil
      }
    context.require(
      unique: name.value, at: name.location, among: &known[type, default: [:]], rule: rule,
      existing: isKnown
        ? "\(member()) already exists in the schema. It cannot also be defined in this type "
          + "extension." : nil,
      message: "\(member()) can only be defined once.")
  }
}

/// Each operation type has at most one root type.
final class UniqueOperationTypes: RuleVisitor {
  private var known: [OperationType: SourceLocation] = [:]

  func enter(definition: TypeSystemDefinition, _ context: ValidationContext) {
    for root in definition.operationTypes {
      let name = root.operation.rawValue
      let isKnown = context.schema?.rootType(for: root.operation) != nil
      context.require(
        unique: root.operation, at: root.location, among: &known, rule: .uniqueOperationTypes,
        existing: isKnown
          ? "Type for \(name) already defined in the schema. It cannot be redefined." : nil,
        message: "There can be only one \(name) type in schema.")
    }
  }
}

/// https://spec.graphql.org/September2025/#sec-Schema
final class UniqueTypeNames: RuleVisitor {
  private var known: [String: SourceLocation] = [:]

  func enter(definition: TypeSystemDefinition, _ context: ValidationContext) {
    guard !definition.isExtension, let name = definition.name else { return }
    if case .directive = definition { return }
    context.require(
      unique: name.value, at: name.location, among: &known, rule: .uniqueTypeNames,
      existing: context.isKnownType(name.value)
        ? "Type '\(name.value)' already exists in the schema. It cannot also be defined in this type "
          + "definition." : nil,
      message: "There can be only one type named '\(name.value)'.")
  }
}

/// There is at most one schema definition.
final class LoneSchemaDefinition: RuleVisitor {
  private var isDefined = false

  func enter(definition: TypeSystemDefinition, _ context: ValidationContext) {
    guard case .schema(let schema) = definition, !schema.isExtension else { return }
    if context.schema != nil {
      context.report(
        .loneSchemaDefinition, "Cannot define a new schema within a schema extension.",
        at: schema.location)
    } else if isDefined {
      context.report(
        .loneSchemaDefinition, "Must provide only one schema definition.", at: schema.location)
    }
    isDefined = true
  }
}

/// Extended types and directives are defined, and types are of the extension's kind.
///
/// https://spec.graphql.org/September2025/#sec-Type-Extensions
final class PossibleTypeExtensions: RuleVisitor {
  func enter(definition: TypeSystemDefinition, _ context: ValidationContext) {
    guard definition.isExtension, let name = definition.name else { return }
    if case .directive = definition { return check(directive: name, context) }
    let base = context.definedTypes[name.value]
    let existing = context.type(named: name.value)
    guard let kind = base?.directiveLocation ?? existing?.directiveLocation else {
      context.report(
        .possibleTypeExtensions,
        "Cannot extend type '\(name.value)' because it is not defined."
          + didYouMean(suggestions(for: name.value, in: context.knownTypeNames)),
        at: name.location)
      return
    }
    guard kind != definition.directiveLocation else { return }
    context.report(
      .possibleTypeExtensions,
      "Cannot extend non-\(definition.directiveLocation.title) type '\(name.value)'.",
      at: [base?.location, definition.location].compactMap { $0 })
  }

  private func check(directive name: Name, _ context: ValidationContext) {
    guard context.directives[name.value] == nil else { return }
    context.report(
      .possibleTypeExtensions,
      "Cannot extend directive '@\(name.value)' because it is not defined."
        + didYouMean(suggestions(for: name.value, in: Array(context.directives.keys))),
      at: name.location)
  }
}
