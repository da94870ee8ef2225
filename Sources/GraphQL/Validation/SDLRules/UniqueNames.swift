import GQLRunSupport

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
    } else {
      context.require(
        unique: name.value, at: name.location, among: &known, rule: .uniqueDirectiveNames,
        message: "There can be only one directive named '@\(name.value)'.")
    }
  }
}

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
      } else {
        context.require(
          unique: name.value, at: name.location, among: &known[type, default: [:]],
          rule: .uniqueEnumValueNames,
          message: "Enum value '\(type).\(name.value)' can only be defined once.")
      }
    }
  }
}

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
      } else {
        context.require(
          unique: name.value, at: name.location, among: &known[type, default: [:]],
          rule: .uniqueFieldDefinitionNames,
          message: "Field '\(type).\(name.value)' can only be defined once.")
      }
    }
  }

  private func hasField(_ name: String, _ type: SchemaType?) -> Bool {
    if case .inputObject(let input)? = type { return input.fields[name] != nil }
    return type?.fields?[name] != nil
  }
}

/// Each operation type has at most one root type.
final class UniqueOperationTypes: RuleVisitor {
  private var known: [OperationType: SourceLocation] = [:]

  func enter(definition: TypeSystemDefinition, _ context: ValidationContext) {
    guard case .schema(let schema) = definition else { return }
    for root in schema.operationTypes {
      let name = root.operation.rawValue
      if context.schema?.rootType(for: root.operation) != nil {
        context.report(
          .uniqueOperationTypes,
          "Type for \(name) already defined in the schema. It cannot be redefined.",
          at: root.location)
      } else {
        context.require(
          unique: root.operation, at: root.location, among: &known, rule: .uniqueOperationTypes,
          message: "There can be only one \(name) type in schema.")
      }
    }
  }
}

/// https://spec.graphql.org/September2025/#sec-Schema
final class UniqueTypeNames: RuleVisitor {
  private var known: [String: SourceLocation] = [:]

  func enter(definition: TypeSystemDefinition, _ context: ValidationContext) {
    guard !definition.isExtension, let name = definition.name else { return }
    if case .directive = definition { return }
    if context.isKnownType(name.value) {
      context.report(
        .uniqueTypeNames,
        "Type '\(name.value)' already exists in the schema. It cannot also be defined in this "
          + "type definition.",
        at: name.location)
    } else {
      context.require(
        unique: name.value, at: name.location, among: &known, rule: .uniqueTypeNames,
        message: "There can be only one type named '\(name.value)'.")
    }
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

/// Extended types are defined and are of the extension's kind.
///
/// https://spec.graphql.org/September2025/#sec-Type-Extensions
final class PossibleTypeExtensions: RuleVisitor {
  private var defined: [String: TypeSystemDefinition] = [:]

  init(_ context: ValidationContext) {
    for case .typeSystem(let definition) in context.document.definitions
    where !definition.isExtension {
      if case .directive = definition { continue }
      if let name = definition.name?.value { defined[name] = definition }
    }
  }

  func enter(definition: TypeSystemDefinition, _ context: ValidationContext) {
    guard definition.isExtension, let name = definition.name else { return }
    let base = defined[name.value]
    let existing = context.type(named: name.value)
    guard let kind = base?.kindName ?? existing?.kindName else {
      var known = Array(defined.keys)
      if let schema = context.schema { known += schema.types.keys.filter(context.isKnownType) }
      context.report(
        .possibleTypeExtensions,
        "Cannot extend type '\(name.value)' because it is not defined."
          + didYouMean(suggestions(for: name.value, in: known)),
        at: name.location)
      return
    }
    guard kind != definition.kindName else { return }
    context.report(
      .possibleTypeExtensions,
      "Cannot extend non-\(definition.kindName) type '\(name.value)'.",
      at: [base?.location, definition.location].compactMap { $0 })
  }
}

extension SchemaType {
  /// The kind as error messages show it.
  var kindName: String {
    switch self {
    case .scalar: "scalar"
    case .object: "object"
    case .interface: "interface"
    case .union: "union"
    case .enumeration: "enum"
    case .inputObject: "input object"
    }
  }
}
