import GQLRunTestSupport

/// A random operation on a random schema, as its author would write it.
struct RandomOperation {
  private(set) var document = ""
  /// The variables, as JSON text.
  private(set) var variables = "{}"

  private let schema: RandomSchema
  private var fragments: [(name: String, type: String, body: String)] = []
  private var declared: [(name: String, type: String, defaultValue: String?, given: String?)] = []
  /// Whether response keys may mean different fields in fragments on different object types.
  private let hasConflicts: Bool
  /// Whether type conditions name object types only.
  private let hasConcreteConditions: Bool
  /// The type conditions below the root.
  private(set) var conditions: Set<String> = []

  init(
    _ schema: RandomSchema, _ random: inout SeededRandom, hasConcreteConditions: Bool = false
  ) {
    self.schema = schema
    self.hasConcreteConditions = hasConcreteConditions
    hasConflicts = random.chance(50)
    let body = selection(on: "Query", depth: 0, &random)
    let definitions = declared.map { variable in
      "$\(variable.name): \(variable.type)" + (variable.defaultValue.map { " = \($0)" } ?? "")
    }
    let head = definitions.isEmpty ? "query" : "query(\(definitions.joined(separator: ", ")))"
    let rest = fragments.map { "fragment \($0.name) on \($0.type) \($0.body)" }
    document = ([head + " " + body] + rest).joined(separator: "\n")
    let given = declared.compactMap { variable in
      variable.given.map { "\"\(variable.name)\":\($0)" }
    }
    variables = "{\(given.joined(separator: ","))}"
  }

  private mutating func selection(
    on type: String, depth: Int, _ random: inout SeededRandom
  ) -> String {
    var parts: [String] = []
    let names = schema.fieldNames(of: type)
    let isRoot = type == "Query"
    let count = isRoot ? 1 + random.upTo(3) : random.upTo(4)
    for _ in 0..<count {
      guard !names.isEmpty else { break }
      let name = random.pick(names)
      if let field = field(name, depth: depth, &random) { parts.append(field) }
    }
    if !isRoot {
      for key in ["id", "code", "num"] where names.contains(key) && random.chance(70) {
        parts.append(random.chance(15) ? "key_\(key): \(key)" : key)
      }
      if random.chance(15) { parts.append(random.chance(30) ? "type: __typename" : "__typename") }
      for _ in 0..<random.upTo(3) where depth < 3 {
        parts.append(fragment(on: type, depth: depth, &random))
      }
    } else if random.chance(20) {
      parts.append("... on Query \(selection(on: type, depth: depth + 1, &random))")
    }
    if parts.isEmpty { parts.append("__typename") }
    return "{ " + parts.shuffled(using: &random).joined(separator: " ") + " }"
  }

  private mutating func fragment(
    on type: String, depth: Int, _ random: inout SeededRandom
  ) -> String {
    let directives = directives(&random)
    if random.chance(20) {
      return "...\(directives) \(selection(on: type, depth: depth + 1, &random))"
    }
    // A condition that overlaps the type.
    let possible = schema.possibleTypes(type)
    let candidates =
      hasConcreteConditions
      ? possible
      : possible
        + schema.interfaces.keys.sorted().filter { name in
          schema.possibleTypes(name).contains { possible.contains($0) }
        }
        + (schema.unions.keys.sorted().filter { name in
          schema.possibleTypes(name).contains { possible.contains($0) }
        })
    guard !candidates.isEmpty else { return "__typename" }
    let condition = random.pick(candidates)
    conditions.insert(condition)
    if random.chance(40) {
      let known = fragments.filter { $0.type == condition }
      if let fragment = known.first, random.chance(50) {
        return "...\(fragment.name)\(directives)"
      }
      let body = selection(on: condition, depth: depth + 1, &random)
      let name = "F\(fragments.count)"
      fragments.append((name, condition, body))
      return "...\(name)\(directives)"
    }
    var body = selection(on: condition, depth: depth + 1, &random)
    if hasConflicts, schema.objects[condition] != nil, random.chance(50) {
      // The key `k` is another field in each object type, but always a leaf that is no list.
      let leaves = schema.fieldNames(of: condition).filter {
        let field = schema.fields[$0]
        return field?.type == nil && field?.listDepth == 0 && field?.hasArguments == false
      }
      if let leaf = leaves.first { body = "{ k: \(leaf) " + body.dropFirst() }
    }
    return "... on \(condition)\(directives) \(body)"
  }

  private mutating func field(
    _ name: String, depth: Int, _ random: inout SeededRandom
  ) -> String? {
    guard let field = schema.fields[name] else { return nil }
    var text = name
    var alias: String?
    if field.hasArguments, random.chance(80) {
      let (arguments, key) = arguments(&random)
      if !arguments.isEmpty {
        text += "(\(arguments))"
        // The alias tells the arguments, so that one key never means two fields.
        alias = "\(name)_\(key)"
      }
    }
    if alias == nil, random.chance(15) { alias = "\(random.pick(["x", "y"]))_\(name)" }
    text = (alias.map { "\($0): " } ?? "") + text + directives(&random)
    guard let type = field.type else { return text }
    guard depth < 4 else { return nil }
    return text + " " + selection(on: type, depth: depth + 1, &random)
  }

  private mutating func arguments(_ random: inout SeededRandom) -> (text: String, key: String) {
    switch random.upTo(7) {
    case 0: return ("a: 1", "one")
    case 1: return ("a: 1, b: \"1\"", "oneStrOne")
    case 2: return ("b: \"1\" a: 1", "oneStrOneToo")
    case 3: return ("a: null", "null")
    case 4: return ("c: {y: [1, RED], x: {}}", "object")
    case 5:
      let name = variable(
        "Int", given: random.chance(60) ? "\(random.upTo(3))" : random.chance(50) ? "null" : nil,
        defaultValue: random.chance(40) ? "7" : nil)
      return ("a: $\(name)", "var\(name)")
    default:
      let name = variable(
        "I", given: random.chance(70) ? #"{"y":[1,"RED"],"x":{}}"# : nil, defaultValue: nil)
      return ("c: $\(name) b: \"é\"", "var\(name)")
    }
  }

  private mutating func directives(_ random: inout SeededRandom) -> String {
    var text = ""
    if random.chance(12) { text += " @skip(if: \(condition(&random)))" }
    if random.chance(12) { text += " @include(if: \(condition(&random)))" }
    return text
  }

  private mutating func condition(_ random: inout SeededRandom) -> String {
    let value = random.chance(50)
    if random.chance(50) { return "\(value)" }
    let isDefault = random.chance(30)
    return "$"
      + variable(
        "Boolean!", given: isDefault ? nil : "\(value)", defaultValue: isDefault ? "\(value)" : nil)
  }

  private mutating func variable(_ type: String, given: String?, defaultValue: String?) -> String {
    let name = "v\(declared.count)"
    declared.append((name, type, defaultValue, given))
    return name
  }
}
