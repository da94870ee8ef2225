public import GQLRunLanguage

/// What the cache needs from a schema: the fields of each type, and the possible types of abstract
/// types.
///
/// Without a schema nothing is known; type conditions are then exact by name, and otherwise decided
/// by the fields in the response (`docs/decisions/0003-without-a-schema.md`).
public struct TypeFacts: Sendable {
  /// The name of each field's type without wrappers, by object or interface type and field name.
  package var fields: [String: [String: String]] = [:]
  /// The possible object types of an interface, union or object type.
  package var possibleTypes: [String: Set<String>] = [:]
  /// The names of the root operation types.
  package var roots: [OperationType: String] = [:]
  /// The schema, for enums, input objects and scalars.
  package var schema: Schema?

  /// Creates empty facts.
  public init() {}

  /// Creates the facts of a schema.
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

  /// Whether an object of type `object` satisfies the type condition `type`; `nil` if unknown.
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
