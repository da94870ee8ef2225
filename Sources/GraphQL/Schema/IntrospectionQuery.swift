/// A query for a server's schema.
///
/// The default query selects only fields that every server supports. Later versions of the
/// specification added the optional fields; a server that does not support one rejects the query.
///
/// https://spec.graphql.org/September2025/#sec-Schema-Introspection
public struct IntrospectionQuery: Sendable, Hashable {
  /// Descriptions of types, fields, arguments, values and directives.
  public var descriptions: Bool
  /// `specifiedByURL` of scalars.
  public var specifiedByURL: Bool
  /// `isRepeatable` of directives.
  public var directiveIsRepeatable: Bool
  /// The description of the schema itself.
  public var schemaDescription: Bool
  /// Deprecated arguments and input fields.
  public var inputValueDeprecation: Bool
  /// `isOneOf` of input objects.
  public var oneOf: Bool
  /// Deprecated directives.
  public var directiveDeprecation: Bool

  /// Creates a query; an optional field is selected if its parameter is true.
  public init(
    descriptions: Bool = true, specifiedByURL: Bool = false, directiveIsRepeatable: Bool = false,
    schemaDescription: Bool = false, inputValueDeprecation: Bool = false, oneOf: Bool = false,
    directiveDeprecation: Bool = false
  ) {
    self.descriptions = descriptions
    self.specifiedByURL = specifiedByURL
    self.directiveIsRepeatable = directiveIsRepeatable
    self.schemaDescription = schemaDescription
    self.inputValueDeprecation = inputValueDeprecation
    self.oneOf = oneOf
    self.directiveDeprecation = directiveDeprecation
  }

  /// Selects everything in the September 2026 specification. Servers of older editions reject it.
  public static let september2026 = IntrospectionQuery(
    specifiedByURL: true, directiveIsRepeatable: true, schemaDescription: true,
    inputValueDeprecation: true, oneOf: true, directiveDeprecation: true)

  /// Selects everything in the September 2025 specification. The result tells whether the server knows
  /// ``september2026``: ``Schema/serverEdition``.
  public static let complete = IntrospectionQuery(
    specifiedByURL: true, directiveIsRepeatable: true, schemaDescription: true,
    inputValueDeprecation: true, oneOf: true)

  /// The name of the operation.
  public static let operationName = "IntrospectionQuery"

  /// The text of the query, with a trailing newline.
  public var text: String {
    let description = descriptions ? "description" : nil
    let deprecated = inputValueDeprecation ? "(includeDeprecated: true)" : ""
    let lines: [String?] = [
      "query \(IntrospectionQuery.operationName) {",
      "  __schema {",
      schemaDescription ? description.map { "    " + $0 } : nil,
      "    queryType { name }",
      "    mutationType { name }",
      "    subscriptionType { name }",
      "    types {",
      "      ...FullType",
      "    }",
      "    directives\(directiveDeprecation ? "(includeDeprecated: true)" : "") {",
      "      name",
      description.map { "      " + $0 },
      directiveIsRepeatable ? "      isRepeatable" : nil,
      directiveDeprecation ? "      isDeprecated" : nil,
      directiveDeprecation ? "      deprecationReason" : nil,
      "      locations",
      "      args\(deprecated) {",
      "        ...InputValue",
      "      }",
      "    }",
      "  }",
      "}",
      "",
      "fragment FullType on __Type {",
      "  kind",
      "  name",
      description.map { "  " + $0 },
      specifiedByURL ? "  specifiedByURL" : nil,
      oneOf ? "  isOneOf" : nil,
      "  fields(includeDeprecated: true) {",
      "    name",
      description.map { "    " + $0 },
      "    args\(deprecated) {",
      "      ...InputValue",
      "    }",
      "    type {",
      "      ...TypeRef",
      "    }",
      "    isDeprecated",
      "    deprecationReason",
      "  }",
      "  inputFields\(deprecated) {",
      "    ...InputValue",
      "  }",
      "  interfaces {",
      "    ...TypeRef",
      "  }",
      "  enumValues(includeDeprecated: true) {",
      "    name",
      description.map { "    " + $0 },
      "    isDeprecated",
      "    deprecationReason",
      "  }",
      "  possibleTypes {",
      "    ...TypeRef",
      "  }",
      "}",
      "",
      "fragment InputValue on __InputValue {",
      "  name",
      description.map { "  " + $0 },
      "  type { ...TypeRef }",
      "  defaultValue",
      inputValueDeprecation ? "  isDeprecated" : nil,
      inputValueDeprecation ? "  deprecationReason" : nil,
      "}",
      "",
      "fragment TypeRef on __Type {",
      "  kind",
      "  name",
    ]
    return (lines.compactMap { $0 } + IntrospectionQuery.wrappedTypes + ["}", ""])
      .joined(separator: "\n")
  }

  /// The maximum number of list and non-null wrappers around a type in the result.
  private static let wrapperDepth = 9

  private static var wrappedTypes: [String] {
    func indent(_ level: Int) -> String { String(repeating: "  ", count: level) }
    var lines: [String] = []
    for level in 1...wrapperDepth {
      lines += ["\(indent(level))ofType {", "\(indent(level + 1))kind", "\(indent(level + 1))name"]
    }
    return lines + (1...wrapperDepth).reversed().map { "\(indent($0))}" }
  }
}

extension Schema {
  /// The `data` of the response to ``IntrospectionQuery/september2026`` for this schema.
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
      "kind": .string(type.directiveLocation.rawValue), "name": .string(type.name),
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
    .object(
      deprecation(directive.deprecationReason).merging([
        "name": .string(directive.name.value),
        "description": .optional(directive.description?.value),
        "isRepeatable": .boolean(directive.isRepeatable),
        "locations": .list(directive.locations.map { .string($0.rawValue) }),
        "args": .list(directive.arguments.map(introspect)),
      ]) { $1 })
  }

  private func introspect(_ reference: TypeReference) -> IntrospectionValue {
    let (kind, name, inner): (String, String?, TypeReference?) =
      switch reference {
      case .named(let name):
        ((types[name.value]?.directiveLocation ?? .scalar).rawValue, name.value, nil)
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

extension ScalarType {
  /// The URL of the scalar's specification.
  /// https://spec.graphql.org/September2025/#sec--specifiedBy
  public var specifiedByURL: String? {
    directives.first { $0.name.value == "specifiedBy" }?.text(of: "url")
  }
}
