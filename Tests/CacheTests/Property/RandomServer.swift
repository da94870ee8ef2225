import GQLRunJSON
import GQLRunLanguage
import GQLRunTestSupport

/// A server with random data: it answers operations as the specification says, from objects that keep
/// their values from one field to the next, and from one response to the next until they change.
final class RandomServer {
  enum Value {
    case null
    case leaf(JSONValue)
    case object(Node)
    case list([Value])
  }

  /// An object of the server's data.
  final class Node {
    let type: String
    var fields: [String: Value] = [:]

    init(_ type: String) { self.type = type }
  }

  let schema: RandomSchema
  private var random: SeededRandom
  private let root = Node("Query")
  private var entities: [String: [Node]] = [:]
  private var nodes: [Node] = []
  /// Whether a value that is asked for twice may differ.
  let isConsistent: Bool

  init(_ schema: RandomSchema, seed: UInt64, isConsistent: Bool) {
    self.schema = schema
    self.isConsistent = isConsistent
    random = SeededRandom(seed)
    nodes = [root]
    for name in schema.objectNames {
      let count = 1 + random.upTo(3)
      entities[name] = (0..<count).map { index in
        let node = Node(name)
        for key in schema.objects[name]?.keyFields ?? [] {
          node.fields[key] = .leaf(identifier(key, index))
        }
        nodes.append(node)
        return node
      }
    }
  }

  private func identifier(_ key: String, _ index: Int) -> JSONValue {
    if key == "num" { return .number(JSONNumber(index)) }
    if random.chance(5) { return .null }
    switch random.upTo(8) {
    case 0: return .number(JSONNumber(index))
    case 1: return .string("a+\(index)\\\"é")
    case 2: return .string("e\u{301}\u{0}\(index)")
    default: return .string("\(index)")
    }
  }

  /// Lets some of the data change.
  func advance() {
    for node in nodes {
      let keys = Set(schema.objects[node.type]?.keyFields ?? [])
      for name in node.fields.keys.sorted() where !keys.contains(name) && random.chance(25) {
        node.fields[name] = nil
      }
    }
  }

  // MARK: Answers

  func answer(_ collector: FieldCollector) -> JSONValue {
    object(root, [collector.root], collector)
  }

  private func object(
    _ node: Node, _ sets: [SelectionSet], _ collector: FieldCollector
  ) -> JSONValue {
    var result = JSONObject()
    for field in collector.fields(of: sets, type: node.type) {
      if field.name == "__typename" {
        result[field.key] = .string(node.type)
        continue
      }
      guard let definition = schema.fields[field.name] else { continue }
      let isKey = schema.objects[node.type]?.keyFields.contains(field.name) ?? false
      if node.fields[field.storedKey] == nil || (!isConsistent && !isKey && random.chance(40)) {
        node.fields[field.storedKey] = value(definition, depth: definition.listDepth)
      }
      result[field.key] = json(
        node.fields[field.storedKey] ?? .null, field.selections, collector)
    }
    return .object(result)
  }

  private func json(
    _ value: Value, _ sets: [SelectionSet], _ collector: FieldCollector
  ) -> JSONValue {
    switch value {
    case .null: .null
    case .leaf(let value): value
    case .object(let node): object(node, sets, collector)
    case .list(let values): .array(values.map { json($0, sets, collector) })
    }
  }

  // MARK: Data

  private func value(_ field: RandomSchema.Field, depth: Int) -> Value {
    // Nulls in lists make what comes first depend on what comes later, where answers are inconsistent.
    if isConsistent || depth == field.listDepth, random.chance(12) { return .null }
    if depth > 0 {
      // Long lists are rare, so that they are cut into segments now and then.
      if field.type == nil, field.leaf == .string, random.chance(1), isConsistent {
        let same = value(field, depth: depth - 1)
        return .list((0..<30_000).map { $0 % 1000 == 0 ? value(field, depth: depth - 1) : same })
      }
      let count = random.upTo(4)
      return .list((0..<count).map { _ in value(field, depth: depth - 1) })
    }
    guard let type = field.type else { return .leaf(leaf(field.leaf)) }
    let possible = schema.possibleTypes(type)
    guard !possible.isEmpty else { return .null }
    let name = random.pick(possible)
    let hasIdentity = !(schema.objects[name]?.keyFields.isEmpty ?? true)
    if hasIdentity, random.chance(92), let known = entities[name] {
      return .object(random.pick(known))
    }
    let node = Node(name)
    for key in schema.objects[name]?.keyFields ?? [] { node.fields[key] = .null }
    nodes.append(node)
    return .object(node)
  }

  private func leaf(_ kind: RandomSchema.Leaf) -> JSONValue {
    switch kind {
    case .int:
      .number(
        JSONNumber(text: random.pick(["0", "1", "2", "-0", "1.50", "1e400", "7"])) ?? JSONNumber(0))
    case .boolean: .boolean(random.chance(50))
    case .string:
      .string(
        random.pick(["", "a", "b", "é", "e\u{301}", "q\"\\\n", "\u{0}", "🚀", "{\"$ref\":\"x\"}"]))
    case .json:
      random.pick([
        ["a": 1], [], [1, nil, ["b": ["$ref": "O0:1"]]], ["$null": 1], ["$ref": "O1:0"],
        ["__typename": "O0", "id": "1"], ["$segments": ["0123456789abcdef"], "count": 1], "text", 5,
      ])
    }
  }
}

/// Nulls with errors, put into an answer.
struct RandomErrors {
  private(set) var data: JSONValue
  private(set) var paths: [[JSONValue]] = []
  private let schema: RandomSchema
  private let collector: FieldCollector

  init(
    _ data: JSONValue, _ collector: FieldCollector, _ schema: RandomSchema, count: Int,
    _ random: inout SeededRandom
  ) {
    self.data = data
    self.schema = schema
    self.collector = collector
    for _ in 0..<count {
      var positions: [[JSONValue]] = []
      visit(data, [collector.root], isRoot: true, path: [], &positions)
      guard !positions.isEmpty else { return }
      let path = random.pick(positions)
      // The null is at the error's path, or at an ancestor.
      let position = Array(
        path.prefix(random.chance(60) ? path.count : 1 + random.upTo(path.count)))
      guard positions.contains(position) else { continue }
      self.data = Self.nulling(position[...], in: self.data)
      paths.append(path)
    }
  }

  /// The places of all values that are not null and do not identify.
  private func visit(
    _ value: JSONValue, _ sets: [SelectionSet], isRoot: Bool, path: [JSONValue],
    _ positions: inout [[JSONValue]]
  ) {
    // Enough to choose from.
    if positions.count > 300 { return }
    switch value {
    case .object(let object):
      guard isRoot || !sets.isEmpty else { return }
      let typeKey = isRoot ? nil : object["__typename"]?.stringValue
      let type = isRoot ? "Query" : typeKey ?? ""
      for field in collector.fields(of: sets, type: type) where field.name != "__typename" {
        guard let member = object[field.key], !member.isNull,
          !["id", "code", "num"].contains(field.name)
        else { continue }
        positions.append(path + [.string(field.key)])
        let listDepth = schema.fields[field.name]?.listDepth ?? 0
        visit(
          member, field.selections, listDepth: listDepth, path: path + [.string(field.key)],
          &positions
        )
      }
    default: return
    }
  }

  private func visit(
    _ value: JSONValue, _ sets: [SelectionSet], listDepth: Int, path: [JSONValue],
    _ positions: inout [[JSONValue]]
  ) {
    if listDepth > 0, let elements = value.arrayValue {
      for (index, element) in elements.enumerated() where !element.isNull {
        let position = path + [.number(JSONNumber(index))]
        positions.append(position)
        visit(element, sets, listDepth: listDepth - 1, path: position, &positions)
      }
    } else if listDepth == 0 {
      visit(value, sets, isRoot: false, path: path, &positions)
    }
  }

  private static func nulling(_ path: ArraySlice<JSONValue>, in value: JSONValue) -> JSONValue {
    guard let step = path.first else { return .null }
    switch value {
    case .object(var object):
      guard let key = step.stringValue, let member = object[key] else { return value }
      object[key] = nulling(path.dropFirst(), in: member)
      return .object(object)
    case .array(var elements):
      guard let index = step.intValue, elements.indices.contains(index) else { return value }
      elements[index] = nulling(path.dropFirst(), in: elements[index])
      return .array(elements)
    default: return value
    }
  }
}
