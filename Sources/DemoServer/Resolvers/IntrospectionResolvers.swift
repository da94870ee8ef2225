import GQLRunJSON
import GQLRunLanguage

/// The introspection of the schema, by which the introspection fields are resolved.
///
/// https://spec.graphql.org/September2025/#sec-Introspection
struct Introspection: Sendable {
  /// An object of an introspection type, with some or all of its members.
  struct Object: Sendable {
    let typeName: String
    let members: [String: IntrospectionValue]
  }

  static let demo = Introspection(.demo)

  let schema: ResolvedValue
  /// All members of each type by its name.
  private let types: [String: IntrospectionValue]

  private init(_ schema: Schema) {
    let introspection = schema.introspection["__schema"] ?? .null
    self.schema = Self.resolved(introspection, as: "__Schema")
    types = Dictionary((introspection["types"]?.list ?? []).map { ($0["name"]?.string ?? "", $0) })
    {
      first, _ in first
    }
  }

  /// The type with this name, for `__type`.
  func type(_ name: String) -> ResolvedValue { Self.resolved(types[name] ?? .null, as: "__Type") }

  /// The value of a field; where an object only refers to a type, that of the type.
  fileprivate func value(of field: FieldDefinition, in object: Object, _ arguments: Arguments)
    -> ResolvedValue
  {
    let name = field.name.value
    let value = object.members[name] ?? object.members["name"]?.string.flatMap { types[$0]?[name] }
    return Self.resolved(
      value ?? .null, as: field.type.namedType.value,
      hidesDeprecated: arguments["includeDeprecated"]?.boolValue == false)
  }

  private static func resolved(
    _ value: IntrospectionValue, as type: String, hidesDeprecated: Bool = false
  ) -> ResolvedValue {
    switch value {
    case .null: .null
    case .boolean(let value): .boolean(value)
    case .number(let text), .string(let text): .string(text)
    case .object(let members):
      .object(.introspection(Object(typeName: type, members: members)))
    case .list(let values):
      .list(
        hidesDeprecated ? values.filter { $0["isDeprecated"] != .boolean(true) } : values
      ) { resolved($0, as: type) }
    }
  }
}

extension Resolvers {
  /// The fields of all introspection types.
  static let introspectionFields: [String: [String: FieldBehaviour]] = {
    let names = ["__Schema", "__Type", "__Field", "__InputValue", "__EnumValue", "__Directive"]
    return Dictionary(
      uniqueKeysWithValues: names.map { name in
        let fields = Schema.demo.type(named: name)?.fields ?? NamedList([])
        return (
          name, Dictionary(uniqueKeysWithValues: fields.map { ($0.name.value, behaviour(of: $0)) })
        )
      })
  }()

  private static func behaviour(of field: FieldDefinition) -> FieldBehaviour {
    FieldBehaviour(of: { if case .introspection(let object) = $0 { object } else { nil } }) {
      object, arguments, _ in Introspection.demo.value(of: field, in: object, arguments)
    }
  }
}
