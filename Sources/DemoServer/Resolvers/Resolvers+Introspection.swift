import GQLRunJSON
import GQLRunLanguage

/// The introspection fields.
///
/// https://spec.graphql.org/September2025/#sec-Introspection
extension Resolvers {
  static let schemaFields: [String: FieldBehaviour] = [
    "description": node { _, _, schema in .optional(schema.description) },
    "types": node { _, _, schema in .list(schema.allTypeNames) { named($0) } },
    "queryType": node { _, _, schema in root(.query, schema) },
    "mutationType": node { _, _, schema in root(.mutation, schema) },
    "subscriptionType": node { _, _, schema in root(.subscription, schema) },
    "directives": node { _, _, schema in
      .list(schema.directiveNames.compactMap(schema.directive)) {
        .object(.introspection(.directive($0)))
      }
    },
  ]

  static let typeFields: [String: FieldBehaviour] = [
    "kind": type { type, _, schema in .string(schema.kind(of: type)) },
    "name": type { type, _, _ in .optional(type.plainName) },
    "description": type { type, _, schema in
      .optional(schema.definition(of: type)?.description)
    },
    "specifiedByURL": type { type, _, schema in
      .optional(schema.definition(of: type)?.directives.text("url", of: "specifiedBy"))
    },
    "fields": type { type, arguments, schema in
      guard let fields = schema.definition(of: type)?.fields else { return .null }
      return .list(fields.filter { arguments.includes($0.directives) }) {
        .object(.introspection(.field($0)))
      }
    },
    "interfaces": type { type, _, schema in
      switch schema.definition(of: type) {
      case .object(let object): .list(object.interfaces) { named($0.value) }
      case .interface(let interface): .list(interface.interfaces) { named($0.value) }
      default: .null
      }
    },
    "possibleTypes": type { type, _, schema in
      switch schema.definition(of: type) {
      case .interface(let definition):
        .list(schema.possibleTypes(of: definition.name)) { named($0) }
      case .union(let union): .list(union.types) { named($0.value) }
      default: .null
      }
    },
    "enumValues": type { type, arguments, schema in
      guard case .enumeration(let definition) = schema.definition(of: type) else { return .null }
      return .list(definition.values.filter { arguments.includes($0.directives) }) {
        .object(.introspection(.enumValue($0)))
      }
    },
    "inputFields": type { type, arguments, schema in
      guard case .inputObject(let definition) = schema.definition(of: type) else { return .null }
      return inputValues(Array(definition.fields), arguments)
    },
    "ofType": type { type, _, _ in
      switch type {
      case .named: .null
      case .list(let inner, _), .nonNull(let inner): .object(.introspection(.type(inner)))
      }
    },
    "isOneOf": type { type, _, schema in
      guard case .inputObject(let definition) = schema.definition(of: type) else { return .null }
      return .boolean(definition.isOneOf)
    },
  ]

  static let fieldFields: [String: FieldBehaviour] = [
    "name": field { field, _ in .string(field.name.value) },
    "description": field { field, _ in .optional(field.description?.value) },
    "args": field { field, arguments in inputValues(field.arguments, arguments) },
    "type": field { field, _ in .object(.introspection(.type(field.type))) },
    "isDeprecated": field { field, _ in .boolean(field.directives.areDeprecated) },
    "deprecationReason": field { field, _ in .optional(field.directives.deprecationReason) },
  ]

  static let inputValueFields: [String: FieldBehaviour] = [
    "name": inputValue { value in .string(value.name.value) },
    "description": inputValue { value in .optional(value.description?.value) },
    "type": inputValue { value in .object(.introspection(.type(value.type))) },
    "defaultValue": inputValue { value in .optional(value.defaultValue?.printed()) },
    "isDeprecated": inputValue { value in .boolean(value.directives.areDeprecated) },
    "deprecationReason": inputValue { value in .optional(value.directives.deprecationReason) },
  ]

  static let enumValueFields: [String: FieldBehaviour] = [
    "name": enumValue { value in .string(value.name.value) },
    "description": enumValue { value in .optional(value.description?.value) },
    "isDeprecated": enumValue { value in .boolean(value.directives.areDeprecated) },
    "deprecationReason": enumValue { value in .optional(value.directives.deprecationReason) },
  ]

  static let directiveFields: [String: FieldBehaviour] = [
    "name": directive { directive, _ in .string(directive.name.value) },
    "description": directive { directive, _ in .optional(directive.description?.value) },
    "isRepeatable": directive { directive, _ in .boolean(directive.isRepeatable) },
    "locations": directive { directive, _ in
      .list(directive.locations) { .string($0.rawValue) }
    },
    "args": directive { directive, arguments in inputValues(directive.arguments, arguments) },
  ]

  /// The type with this name, for `__type`.
  static func introspect(type name: String, in schema: Schema) -> Resolved {
    schema.type(named: name) == nil ? .null : named(name)
  }

  private static func named(_ name: String) -> Resolved {
    let nowhere = SourceLocation(line: 1, column: 1, offset: 0)
    return .object(.introspection(.type(.named(Name(name, at: nowhere)))))
  }

  private static func root(_ operation: OperationType, _ schema: Schema) -> Resolved {
    (schema.rootType(for: operation)?.name).map(named) ?? .null
  }

  private static func inputValues(
    _ values: [InputValueDefinition], _ arguments: Arguments
  ) -> Resolved {
    .list(values.filter { arguments.includes($0.directives) }) {
      .object(.introspection(.inputValue($0)))
    }
  }

  private static func node(
    _ body: @escaping @Sendable (IntrospectionNode, Arguments, Schema) -> Resolved
  ) -> FieldBehaviour {
    FieldBehaviour(of: { if case .introspection(let node) = $0 { node } else { nil } }) {
      node, arguments, context in body(node, arguments, context.schema)
    }
  }

  private static func type(
    _ body: @escaping @Sendable (TypeReference, Arguments, Schema) -> Resolved
  ) -> FieldBehaviour {
    FieldBehaviour(of: { if case .introspection(.type(let type)) = $0 { type } else { nil } }) {
      type, arguments, context in body(type, arguments, context.schema)
    }
  }

  private static func field(
    _ body: @escaping @Sendable (FieldDefinition, Arguments) -> Resolved
  ) -> FieldBehaviour {
    FieldBehaviour(of: { if case .introspection(.field(let field)) = $0 { field } else { nil } }) {
      field, arguments, _ in body(field, arguments)
    }
  }

  private static func inputValue(
    _ body: @escaping @Sendable (InputValueDefinition) -> Resolved
  ) -> FieldBehaviour {
    FieldBehaviour(of: {
      if case .introspection(.inputValue(let value)) = $0 { value } else { nil }
    }) { value, _, _ in body(value) }
  }

  private static func enumValue(
    _ body: @escaping @Sendable (EnumValueDefinition) -> Resolved
  ) -> FieldBehaviour {
    FieldBehaviour(of: {
      if case .introspection(.enumValue(let value)) = $0 { value } else { nil }
    }) { value, _, _ in body(value) }
  }

  private static func directive(
    _ body: @escaping @Sendable (DirectiveDefinition, Arguments) -> Resolved
  ) -> FieldBehaviour {
    FieldBehaviour(of: {
      if case .introspection(.directive(let directive)) = $0 { directive } else { nil }
    }) { directive, arguments, _ in body(directive, arguments) }
  }
}

extension Schema {
  fileprivate func definition(of type: TypeReference) -> SchemaType? {
    type.plainName.flatMap { self.type(named: $0) }
  }

  fileprivate func kind(of type: TypeReference) -> String {
    switch type {
    case .list: return "LIST"
    case .nonNull: return "NON_NULL"
    case .named(let name):
      switch self.type(named: name.value) {
      case .object: return "OBJECT"
      case .interface: return "INTERFACE"
      case .union: return "UNION"
      case .enumeration: return "ENUM"
      case .inputObject: return "INPUT_OBJECT"
      default: return "SCALAR"
      }
    }
  }
}

extension TypeReference {
  /// The name of a type that is neither a list nor non-null.
  fileprivate var plainName: String? {
    if case .named(let name) = self { name.value } else { nil }
  }
}

extension Arguments {
  /// Whether `includeDeprecated` includes a definition with these directives.
  fileprivate func includes(_ directives: [Directive]) -> Bool {
    self["includeDeprecated"]?.boolValue == true || !directives.areDeprecated
  }
}

extension [Directive] {
  fileprivate var areDeprecated: Bool { contains { $0.name.value == "deprecated" } }

  fileprivate var deprecationReason: String? {
    areDeprecated ? text("reason", of: "deprecated") ?? "No longer supported" : nil
  }

  /// The text of a directive's argument.
  fileprivate func text(_ argument: String, of directive: String) -> String? {
    for applied in self where applied.name.value == directive {
      for given in applied.arguments where given.name.value == argument {
        if case .string(let text) = given.value { return text.value }
      }
    }
    return nil
  }
}
