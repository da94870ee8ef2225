import GQLRunLanguage
import GQLRunTyped

/// Random data of an operation: valid for its document and schema, with every object's `__typename`.
struct RandomResponse {
  private let schema: Schema
  private let fragments: [String: FragmentDefinition]
  private let operation: OperationDefinition
  private var random: SeededRandom

  init(_ document: Document, _ schema: Schema, seed: UInt64) throws {
    self.schema = schema
    operation = try document.operation(named: nil)
    fragments = Dictionary(
      uniqueKeysWithValues: document.fragments.map { ($0.name.value, $0) })
    random = SeededRandom(seed: seed)
  }

  /// The data.
  mutating func data() -> JSONValue {
    let root = schema.rootType(for: operation.type)?.name ?? ""
    var object = object(of: root, [operation.selectionSet], depth: 0)
    let selectsTypename = fields(of: root, [operation.selectionSet]).contains {
      $0.key == "__typename"
    }
    if !selectsTypename { object["__typename"] = nil }
    return .object(object)
  }

  private mutating func object(
    of type: String, _ sets: [SelectionSet], depth: Int
  ) -> JSONObject {
    var object: JSONObject = ["__typename": .string(type)]
    for (key, uses) in fields(of: type, sets) where key != "__typename" {
      let name = uses[0].name.value
      guard name != "__typename" else {
        object[key] = .string(type)
        continue
      }
      guard let definition = schema.field(name, on: type) else { continue }
      // A null there would need an error.
      let isPresent = promisesValue(of: definition, on: type)
      object[key] = value(
        of: isPresent ? definition.type.withoutNulls : definition.type,
        uses.compactMap(\.selectionSet), depth: depth + 1)
    }
    return object
  }

  /// Whether a field has `@semanticNonNull`, or its type names it in `@semanticNonNullField`.
  private func promisesValue(of field: FieldDefinition, on type: String) -> Bool {
    let ofType = schema.type(named: type)?.directives ?? []
    return field.directives.contains { $0.name.value == "semanticNonNull" }
      || ofType.contains { directive in
        directive.arguments.contains {
          if case .string(let text) = $0.value { text.value == field.name.value } else { false }
        }
      }
  }

  private mutating func value(
    of type: TypeReference, _ sets: [SelectionSet], depth: Int
  ) -> JSONValue {
    if case .nonNull(let inner) = type { return present(inner, sets, depth) }
    return Int.random(in: 0..<5, using: &random) == 0 ? .null : present(type, sets, depth)
  }

  private mutating func present(
    _ type: TypeReference, _ sets: [SelectionSet], _ depth: Int
  ) -> JSONValue {
    switch type {
    case .nonNull(let inner): return present(inner, sets, depth)
    case .list(let inner, _):
      let count = Int.random(in: 0...(depth < 6 ? 3 : 1), using: &random)
      return .array((0..<count).map { _ in value(of: inner, sets, depth: depth) })
    case .named(let name):
      guard sets.isEmpty else {
        let types = schema.possibleTypes(of: name.value)
        let chosen = types.randomElement(using: &random) ?? name.value
        return .object(object(of: chosen, sets, depth: depth))
      }
      return leaf(name.value)
    }
  }

  private mutating func leaf(_ name: String) -> JSONValue {
    if case .enumeration(let type)? = schema.type(named: name) {
      let names = type.values.map(\.name.value) + ["ADDED_LATER"]
      return .string(names.randomElement(using: &random) ?? "")
    }
    switch name {
    case "Int": return .number(JSONNumber(Int.random(in: -1000...1000, using: &random)))
    case "Float": return .number(JSONNumber(Int.random(in: 0...9, using: &random)))
    case "Boolean": return .boolean(Bool.random(using: &random))
    case "DateTime": return "2020-01-31T12:00:00Z"
    case "URL": return "https://example.org/a?b=%20c"
    case "JSON": return ["any": [1, nil, "x"]]
    default:
      return ["", "a", "\"quoted\" \\", "line\nend", "日本 🚀"].randomElement(using: &random) ?? ""
    }
  }

  /// The fields of an object of a type by response key, in selection order; skipped ones are included.
  private func fields(
    of type: String, _ sets: [SelectionSet]
  ) -> [(key: String, uses: [Field])] {
    var found: [(key: String, uses: [Field])] = []
    func collect(_ set: SelectionSet) {
      for selection in set.selections {
        switch selection {
        case .field(let field):
          if let index = found.firstIndex(where: { $0.key == field.responseKey }) {
            found[index].uses.append(field)
          } else {
            found.append((field.responseKey, [field]))
          }
        case .inlineFragment(let fragment):
          if applies(fragment.typeCondition?.value ?? type, type) {
            collect(fragment.selectionSet)
          }
        case .fragmentSpread(let spread):
          guard let fragment = fragments[spread.name.value] else { continue }
          if applies(fragment.typeCondition.value, type) { collect(fragment.selectionSet) }
        }
      }
    }
    for set in sets { collect(set) }
    return found
  }

  private func applies(_ condition: String, _ type: String) -> Bool {
    schema.possibleTypes(of: condition).contains(type)
  }
}

extension TypeReference {
  /// The type without null at any level.
  fileprivate var withoutNulls: TypeReference {
    switch self {
    case .named: .nonNull(self)
    case .list(let inner, let location): .nonNull(.list(inner.withoutNulls, location))
    case .nonNull(let inner): inner.withoutNulls
    }
  }
}

/// The same numbers in every run (SplitMix64).
struct SeededRandom: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var value = state
    value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
    value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
    return value ^ (value >> 31)
  }
}
