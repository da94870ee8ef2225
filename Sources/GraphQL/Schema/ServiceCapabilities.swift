/// The proposed meta field by which a server announces its capabilities:
/// `{ __service { capabilities { identifier value } } }`.
///
/// https://github.com/graphql/graphql-spec/pull/1208
enum ServiceCapabilities {
  private static let definitions = BuiltIns.parsed(
    """
    type __Root { __service: __Service! }
    type __Service { capabilities: [__Capability!]! }
    type __Capability { identifier: String! description: String value: String }
    """)

  /// The types of the field by name.
  static let types: [String: SchemaType] = {
    var types: [String: SchemaType] = [:]
    for case .object(let definition) in definitions.dropFirst() {
      let name = definition.name.value
      types[name] = .object(
        ObjectType(
          name: name, description: nil, directives: [], interfaces: [],
          fields: NamedList(definition.fields)))
    }
    return types
  }()

  /// The field `__service` of the query type.
  static let field = definitions.first?.fieldDefinitions.first
}

extension Schema {
  /// The schema of a server that announces its capabilities: the query type has the field `__service`.
  package var withCapabilities: Schema {
    var schema = self
    schema.types.merge(ServiceCapabilities.types) { own, _ in own }
    return schema
  }
}
