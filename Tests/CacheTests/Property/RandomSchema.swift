import GQLRunTestSupport

@testable import GQLRunCache

/// A small random type system: objects with and without identity, interfaces, a union.
///
/// A field name means the same wherever it is selected, so that every selection is one a server accepts.
struct RandomSchema {
  struct Field {
    var name: String
    /// The type of its value without the lists around it; `nil` for leaf values.
    var type: String?
    var listDepth: Int
    var hasArguments: Bool
    /// What leaf values it has.
    var leaf: Leaf
  }

  enum Leaf: CaseIterable { case int, string, boolean, json }

  struct ObjectType {
    var name: String
    var fields: [String]
    /// The fields that identify its objects; empty when none do.
    var keyFields: [String]
    var interfaces: Set<String>
  }

  var fields: [String: Field] = [:]
  var objects: [String: ObjectType] = [:]
  /// The fields of each interface.
  var interfaces: [String: [String]] = [:]
  /// The members of each union.
  var unions: [String: [String]] = [:]
  var keys = KeyRules()
  /// Whether the key rules name interfaces, which only a schema can resolve.
  var hasInterfaceRule = false

  var objectNames: [String] { objects.keys.sorted() }

  init(_ random: inout SeededRandom) {
    let objectCount = 2 + random.upTo(4)
    let names = (0..<objectCount).map { "O\($0)" }
    let interfaceNames = (0..<(1 + random.upTo(2))).map { "I\($0)" }
    let unionNames = ["U0"]
    let composites = names + interfaceNames + unionNames
    let fieldCount = 6 + random.upTo(8)
    for index in 0..<fieldCount {
      let isLeaf = random.chance(50)
      let name = "f\(index)"
      fields[name] = Field(
        name: name, type: isLeaf ? nil : random.pick(composites),
        listDepth: random.chance(35) ? 1 + random.upTo(2) : 0, hasArguments: random.chance(30),
        leaf: random.pick(Leaf.allCases))
    }
    for name in ["id", "code", "num"] {
      fields[name] = Field(
        name: name, type: nil, listDepth: 0, hasArguments: false,
        leaf: name == "num" ? .int : .string)
    }
    let all = (0..<fieldCount).map { "f\($0)" }
    for name in interfaceNames {
      interfaces[name] =
        all.shuffled(using: &random).prefix(1 + random.upTo(3)).sorted()
        + (random.chance(50) ? ["id"] : [])
    }
    for name in names {
      var own = Set(all.shuffled(using: &random).prefix(2 + random.upTo(5)))
      let implemented = Set(interfaceNames.filter { _ in random.chance(50) })
      for interface in implemented { own.formUnion(interfaces[interface] ?? []) }
      let kind = random.upTo(10)
      var keyFields: [String] = []
      if kind < 5 {
        keyFields = ["id"]
      } else if kind < 7 {
        keyFields = ["code", "num"]
        keys.types[name] = keyFields
      } else if kind < 8 {
        keyFields = ["code"]
        keys.types[name] = keyFields
      } else if own.contains("id") {
        keyFields = ["id"]
      }
      own.formUnion(keyFields)
      if own.contains("id"), keys.types[name] == nil { keyFields = ["id"] }
      objects[name] = ObjectType(
        name: name, fields: own.sorted(), keyFields: keyFields, interfaces: implemented)
    }
    for name in unionNames {
      unions[name] = Array(names.shuffled(using: &random).prefix(1 + random.upTo(objectCount)))
    }
    if random.chance(20) { keys.groups[random.pick(names)] = "Group" }
    if random.chance(15) {
      let interface = random.pick(interfaceNames)
      keys.types[interface] = ["id"]
      hasInterfaceRule = true
    }
  }

  func possibleTypes(_ type: String) -> [String] {
    if objects[type] != nil { return [type] }
    if let members = unions[type] { return members.sorted() }
    return objectNames.filter { objects[$0]?.interfaces.contains(type) ?? false }
  }

  /// The fields that can be selected on a type, without `__typename`.
  func fieldNames(of type: String) -> [String] {
    type == "Query"
      ? fields.keys.filter { $0.hasPrefix("f") }.sorted()
      : objects[type]?.fields ?? interfaces[type] ?? []
  }

  var facts: TypeFacts {
    var facts = TypeFacts()
    for type in objectNames + Array(interfaces.keys) + ["Query"] {
      var known = ["__typename": "String"]
      for name in fieldNames(of: type) { known[name] = fields[name]?.type ?? "JSON" }
      facts.fields[type] = known
    }
    for type in objectNames + Array(interfaces.keys) + Array(unions.keys) {
      facts.possibleTypes[type] = Set(possibleTypes(type))
    }
    facts.possibleTypes["Query"] = ["Query"]
    return facts
  }
}
