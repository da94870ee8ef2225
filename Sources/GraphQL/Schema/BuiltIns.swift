/// The definitions of every schema: standard scalars and directives, introspection types and
/// fields.
///
/// https://spec.graphql.org/September2025/#sec-Schema-Introspection
enum BuiltIns {
  static let definitions: [TypeSystemDefinition] = parsed(source)

  /// The standard directives by name.
  static let directives: [String: DirectiveDefinition] = {
    var directives: [String: DirectiveDefinition] = [:]
    for case .directive(let directive) in definitions {
      directives[directive.name.value] = directive
    }
    return directives
  }()

  /// The names of the standard scalars and the introspection types.
  static let typeNames: Set<String> = Set(
    definitions.compactMap { definition in
      if case .directive = definition { nil } else { definition.name?.value }
    })

  private static let introspectionNames = typeNames.filter { $0.hasPrefix("__") }

  static func isIntrospection(_ name: String) -> Bool { introspectionNames.contains(name) }

  static let typenameField = rootField("__typename")
  static let schemaField = rootField("__schema")
  static let typeField = rootField("__type")

  private static let rootFields: NamedList<FieldDefinition> = {
    let definitions = parsed(
      "type Root { __typename: String! __schema: __Schema! __type(name: String!): __Type }")
    guard case .object(let root)? = definitions.first else { return NamedList([]) }
    return NamedList(root.fields)
  }()

  private static func rootField(_ name: String) -> FieldDefinition {
    guard let field = rootFields[name] else { preconditionFailure("no field \(name)") }
    return field
  }

  private static func parsed(_ source: String) -> [TypeSystemDefinition] {
    do throws(GraphQLSyntaxError) {
      return try Document(parsing: source).definitions.compactMap { definition in
        if case .typeSystem(let definition) = definition { definition } else { nil }
      }
    } catch {
      preconditionFailure("\(error)")
    }
  }

  private static let source = """
    scalar Int
    scalar Float
    scalar String
    scalar Boolean
    scalar ID

    directive @skip(if: Boolean!) on FIELD | FRAGMENT_SPREAD | INLINE_FRAGMENT
    directive @include(if: Boolean!) on FIELD | FRAGMENT_SPREAD | INLINE_FRAGMENT
    directive @deprecated(reason: String! = "No longer supported")
      on FIELD_DEFINITION | ARGUMENT_DEFINITION | INPUT_FIELD_DEFINITION | ENUM_VALUE
    directive @specifiedBy(url: String!) on SCALAR
    directive @oneOf on INPUT_OBJECT

    type __Schema {
      description: String
      types: [__Type!]!
      queryType: __Type!
      mutationType: __Type
      subscriptionType: __Type
      directives: [__Directive!]!
    }
    type __Type {
      kind: __TypeKind!
      name: String
      description: String
      specifiedByURL: String
      fields(includeDeprecated: Boolean! = false): [__Field!]
      interfaces: [__Type!]
      possibleTypes: [__Type!]
      enumValues(includeDeprecated: Boolean! = false): [__EnumValue!]
      inputFields(includeDeprecated: Boolean! = false): [__InputValue!]
      ofType: __Type
      isOneOf: Boolean
    }
    enum __TypeKind { SCALAR OBJECT INTERFACE UNION ENUM INPUT_OBJECT LIST NON_NULL }
    type __Field {
      name: String!
      description: String
      args(includeDeprecated: Boolean! = false): [__InputValue!]!
      type: __Type!
      isDeprecated: Boolean!
      deprecationReason: String
    }
    type __InputValue {
      name: String!
      description: String
      type: __Type!
      defaultValue: String
      isDeprecated: Boolean!
      deprecationReason: String
    }
    type __EnumValue {
      name: String!
      description: String
      isDeprecated: Boolean!
      deprecationReason: String
    }
    type __Directive {
      name: String!
      description: String
      isRepeatable: Boolean!
      locations: [__DirectiveLocation!]!
      args(includeDeprecated: Boolean! = false): [__InputValue!]!
    }
    enum __DirectiveLocation {
      QUERY MUTATION SUBSCRIPTION FIELD FRAGMENT_DEFINITION FRAGMENT_SPREAD INLINE_FRAGMENT
      VARIABLE_DEFINITION SCHEMA SCALAR OBJECT FIELD_DEFINITION ARGUMENT_DEFINITION INTERFACE
      UNION ENUM ENUM_VALUE INPUT_OBJECT INPUT_FIELD_DEFINITION
    }
    """
}
