public import GQLRunLanguage

/// What the cache needs to know of a schema: which fields a type has, and which types a type can be.
///
/// Without a schema nothing is known; then type conditions are exact by name, and otherwise decided by
/// the fields that are there (`docs/decisions/0003-without-a-schema.md`).
public struct TypeFacts: Sendable {
  /// Field name to the name of its (unwrapped) type, per object and interface type.
  package var fields: [String: [String: String]] = [:]
  /// The object types that an interface, union or object type can be.
  package var possibleTypes: [String: Set<String>] = [:]
  /// The names of the root operation types.
  package var roots: [OperationType: String] = [:]
  /// The schema, for what only it knows: enums, input objects, scalars.
  package var schema: Schema?

  /// Nothing known.
  public init() {}

  /// What `schema` says.
  public init(_ schema: Schema) {
    self.schema = schema
    for name in schema.typeNames {
      guard let type = schema.type(named: name) else { continue }
      if let declared = type.fields {
        var types = ["__typename": "String"]
        for field in declared { types[field.name.value] = field.type.namedType.value }
        fields[name] = types
      }
      if type.isComposite { possibleTypes[name] = Set(schema.possibleTypes(of: name)) }
    }
    for operation in OperationType.allCases {
      roots[operation] = schema.rootType(for: operation)?.name
    }
  }

  /// Whether an object of type `object` satisfies the condition `type`; `nil` when nothing is known.
  package func isPossible(_ object: String, for type: String) -> Bool? {
    if object == type { return true }
    guard let possible = possibleTypes[type] else { return nil }
    return possible.contains(object)
  }

  package func rootType(_ operation: OperationType) -> String {
    if let name = roots[operation] { return name }
    return switch operation {
    case .query: "Query"
    case .mutation: "Mutation"
    case .subscription: "Subscription"
    }
  }
}
