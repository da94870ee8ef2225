public import GQLRunLanguage
import GQLRunSupport

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
    roots[operation] ?? operation.defaultRootName
  }
}

/// The names that objects gave as their `__typename`: names of object types, never of interfaces or
/// unions.
///
/// Without a schema they decide fragments: a type condition on one of them holds for that type and
/// no other. Every store keeps those it met; see ``StoreActivity/concreteTypes``.
final class ConcreteTypes: Sendable {
  private let names = Locked<Set<String>>([])
  /// A server may invent type names without end.
  static let limit = 4096

  func contains(_ name: String) -> Bool { names.withLock { $0.contains(name) } }

  /// All names, in alphabetical order.
  var all: [String] { names.withLock { $0.sorted() } }

  /// Adds names, up to ``limit`` in all.
  func add(_ more: [String]) {
    names.withLock { names in
      for name in more where names.count < Self.limit { names.insert(name) }
    }
  }

  func removeAll() { names.withLock { $0 = [] } }
}
