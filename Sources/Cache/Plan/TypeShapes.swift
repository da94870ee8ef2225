public import GQLRunLanguage
import GQLRunSupport
import Synchronization

/// The fields of a response's records by type, for the SQL views.
final class TypeShapes: Sendable {
  struct Field: Sendable, Hashable {
    /// The stored field key, without quotes.
    var key: String
    /// Whether its value consists of objects, references or lists of them.
    var holdsObjects: Bool
  }

  struct Shape: Sendable {
    var typename: String
    /// The prefix of the keys, before the colon.
    var prefix: String
    var fields: [Field]
  }

  /// Two instances with the same number have the same shapes, within this process.
  let number: UInt64
  let types: [Shape]
  /// The names of all types of which the response had objects, with or without identity.
  let concreteTypes: [String]

  fileprivate init(number: UInt64, types: [Shape], concreteTypes: [String]) {
    self.number = number
    self.types = types
    self.concreteTypes = concreteTypes
  }
}

extension PlanTable {
  /// The types of which the response had objects, and those of records with their fields; `nil`
  /// without any.
  ///
  /// Does not allocate if a response of the same shapes occurred before.
  func shapes() -> TypeShapes? {
    var number: UInt64 = 0
    for index in 0..<planCount {
      for entry in plans[index].keyEntries where entry.usedIn == use {
        number = hashBytes(
          entry.typename.start, entry.typename.count, seed: number ^ processSeed)
        if entry.parts.isEmpty { continue }
        number = hashBytes(entry.prefix.start, entry.prefix.count, seed: number)
        for field in 0..<plans[index].fieldCount {
          let plan = plans[index].fields + field
          number = hashBytes(
            plan.pointee.storedPrefix.start, plan.pointee.storedPrefix.count,
            seed: plan.pointee.child < 0 ? number : ~number)
        }
      }
    }
    if number == 0 { return nil }
    return ShapeMemory.shared.shapes(number) {
      TypeShapes(number: number, types: collected(), concreteTypes: concreteTypes())
    }
  }

  private func concreteTypes() -> [String] {
    var names: Set<String> = []
    for index in 0..<planCount {
      for entry in plans[index].keyEntries where entry.usedIn == use && entry.typename.count <= 200
      {
        let name = entry.typename.string
        if isName(name[...]) { names.insert(name) }
      }
    }
    return names.sorted()
  }

  private func collected() -> [TypeShapes.Shape] {
    var types: [TypeShapes.Shape] = []
    var scratch = ByteStack(capacity: 64)
    for index in 0..<planCount {
      for entry in plans[index].keyEntries where !entry.parts.isEmpty && entry.usedIn == use {
        let typename = entry.typename.string
        var shape = TypeShapes.Shape(
          typename: typename, prefix: entry.prefix[0..<(entry.prefix.count - 1)].string, fields: [])
        for number in 0..<plans[index].fieldCount {
          let field = plans[index].fields[number]
          guard belongs(field, of: Int32(index), to: typename) else { continue }
          let stored = field.storedPrefix
          var key = RecordText.withUnescaped(stored[0..<(stored.count - 1)], scratch: &scratch) {
            $0.string
          }
          // A page becomes a part of the list.
          if key.hasPrefix("$page"), let colon = key.firstIndex(of: ":") {
            key = String(key[key.index(after: colon)...])
          }
          shape.fields.append(.init(key: key, holdsObjects: field.child >= 0))
        }
        types.append(shape)
      }
    }
    return types
  }

  /// Whether objects of `type` may have a field; the plan for every type has the fields of all.
  private func belongs(_ field: FieldPlan, of plan: Int32, to type: String) -> Bool {
    guard let node = nodes.first(where: { $0.union == plan }), node.isConditional else {
      return true
    }
    let key = field.key.string
    return node.parts.contains { part in
      self.plan.sets[part.set].contains {
        $0.responseKey == key && applies($0, to: type, isRoot: false) != nil
      }
    }
  }
}

/// Known shapes by number.
private final class ShapeMemory: Sendable {
  static let shared = ShapeMemory()
  private static let limit = 1024

  private let known = Locked<[UInt64: TypeShapes]>([:])

  func shapes(_ number: UInt64, _ collect: () -> TypeShapes) -> TypeShapes {
    if let found = known.withLock({ $0[number] }) { return found }
    let made = collect()
    known.withLock { known in
      if known.count >= Self.limit { known.removeAll() }
      known[number] = made
    }
    return made
  }
}

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

/// The names that objects gave as their `__typename`: names of object types, never of interfaces or
/// unions.
///
/// Without a schema they decide fragments: a type condition on one of them holds for that type and
/// no other. Every store keeps those it met; see ``StoreActivity/concreteTypes``.
final class ConcreteTypes: Sendable {
  private let names = Mutex<Set<String>>([])
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
