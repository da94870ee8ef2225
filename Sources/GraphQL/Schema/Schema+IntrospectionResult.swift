extension Schema {
  /// The `data` of the response to ``IntrospectionQuery/complete`` for this schema.
  public var introspection: IntrospectionValue {
    let types = (typeNames + Schema.standardTypeNames.filter { !typeNames.contains($0) })
      .filter { !unreferencedScalars.contains($0) }
      .compactMap { self.types[$0] }
    let directives = directiveNamesInOrder.compactMap { directiveDefinitions[$0] }
    return .object([
      "__schema": .object([
        "description": .optional(description),
        "queryType": root(.query), "mutationType": root(.mutation),
        "subscriptionType": root(.subscription),
        "types": .list(types.map(introspect)),
        "directives": .list(directives.map(introspect)),
      ])
    ])
  }

  /// Sorted, so that the order is stable.
  private static let standardTypeNames = BuiltIns.typeNames.sorted()

  private func root(_ operation: OperationType) -> IntrospectionValue {
    rootType(for: operation).map { .object(["name": .string($0.name)]) } ?? .null
  }

  private func introspect(_ type: SchemaType) -> IntrospectionValue {
    var result: [String: IntrospectionValue] = [
      "kind": .string(type.kind), "name": .string(type.name),
      "description": .optional(type.description),
      "specifiedByURL": .null, "isOneOf": .null, "fields": .null, "interfaces": .null,
      "possibleTypes": .null, "enumValues": .null, "inputFields": .null,
    ]
    switch type {
    case .scalar(let scalar):
      result["specifiedByURL"] = .optional(scalar.specifiedByURL)
    case .object, .interface:
      result["fields"] = .list((type.fields ?? NamedList([])).map(introspect))
      result["interfaces"] = .list(type.interfaces.map { introspect(.named($0)) })
      if type.isAbstract { result["possibleTypes"] = possibleTypeReferences(of: type.name) }
    case .union:
      result["possibleTypes"] = possibleTypeReferences(of: type.name)
    case .enumeration(let enumeration):
      result["enumValues"] = .list(
        enumeration.values.map { value in
          .object(
            deprecation(value.deprecationReason).merging([
              "name": .string(value.name.value),
              "description": .optional(value.description?.value),
            ]) { $1 })
        })
    case .inputObject(let input):
      result["inputFields"] = .list(input.fields.map(introspect))
      result["isOneOf"] = .boolean(input.isOneOf)
    }
    return .object(result)
  }

  private func possibleTypeReferences(of name: String) -> IntrospectionValue {
    .list(possibleTypes(of: name).map { introspect(TypeReference(named: $0)) })
  }

  private func introspect(_ field: FieldDefinition) -> IntrospectionValue {
    .object(
      deprecation(field.deprecationReason).merging([
        "name": .string(field.name.value), "description": .optional(field.description?.value),
        "args": .list(field.arguments.map(introspect)), "type": introspect(field.type),
      ]) { $1 })
  }

  private func introspect(_ value: InputValueDefinition) -> IntrospectionValue {
    .object(
      deprecation(value.deprecationReason).merging([
        "name": .string(value.name.value), "description": .optional(value.description?.value),
        "type": introspect(value.type),
        "defaultValue": .optional(defaultValue(of: value)?.printed()),
      ]) { $1 })
  }

  private func introspect(_ directive: DirectiveDefinition) -> IntrospectionValue {
    .object([
      "name": .string(directive.name.value),
      "description": .optional(directive.description?.value),
      "isRepeatable": .boolean(directive.isRepeatable),
      "locations": .list(directive.locations.map { .string($0.rawValue) }),
      "args": .list(directive.arguments.map(introspect)),
    ])
  }

  private func introspect(_ reference: TypeReference) -> IntrospectionValue {
    let (kind, name, inner): (String, String?, TypeReference?) =
      switch reference {
      case .named(let name): (types[name.value]?.kind ?? "SCALAR", name.value, nil)
      case .list(let inner, _): ("LIST", nil, inner)
      case .nonNull(let inner): ("NON_NULL", nil, inner)
      }
    return .object([
      "kind": .string(kind), "name": .optional(name), "ofType": inner.map(introspect) ?? .null,
    ])
  }

  private func deprecation(_ reason: String?) -> [String: IntrospectionValue] {
    ["isDeprecated": .boolean(reason != nil), "deprecationReason": .optional(reason)]
  }
}

extension IntrospectionValue {
  fileprivate static func optional(_ text: String?) -> IntrospectionValue {
    text.map { .string($0) } ?? .null
  }
}

extension SchemaType {
  /// https://spec.graphql.org/September2025/#sec-The-__Type-Type
  fileprivate var kind: String {
    switch self {
    case .scalar: "SCALAR"
    case .object: "OBJECT"
    case .interface: "INTERFACE"
    case .union: "UNION"
    case .enumeration: "ENUM"
    case .inputObject: "INPUT_OBJECT"
    }
  }
}

extension ScalarType {
  /// The URL of the scalar's specification.
  /// https://spec.graphql.org/September2025/#sec--specifiedBy
  public var specifiedByURL: String? {
    for directive in directives where directive.name.value == "specifiedBy" {
      for argument in directive.arguments where argument.name.value == "url" {
        if case .string(let url) = argument.value { return url.value }
      }
    }
    return nil
  }
}
