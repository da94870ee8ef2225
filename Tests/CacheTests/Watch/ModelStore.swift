/// A store with layers and watchers that is obviously right: dictionaries, merged again for each read.
struct ModelStore {
  indirect enum Value: Equatable {
    case leaf(String)
    case reference(String)
    case object([String: Value])

    var text: String {
      switch self {
      case .leaf(let text): text
      case .reference(let key): "{\"$ref\":\"\(key)\"}"
      case .object(let fields): ModelStore.text(fields)
      }
    }
  }

  typealias Records = [String: [String: Value]]

  enum Edit {
    case merge(Records)
    case remove(record: String, field: String?)
  }

  private(set) var base: Records = [:]
  private(set) var layers: [(id: UInt64, edits: [Edit])] = []

  /// The records as readers see them.
  var view: Records { layers.flatMap(\.edits).reduce(into: base) { Self.apply($1, to: &$0) } }

  /// Writes for good, takes a layer away at the same time, and tells which fields of the base differ.
  mutating func commit(_ edits: [Edit], settling layer: UInt64? = nil) -> Set<String> {
    let before = base
    for edit in edits { Self.apply(edit, to: &base) }
    layers.removeAll { $0.id == layer }
    return Self.difference(before, base)
  }

  mutating func add(layer: UInt64, _ edits: [Edit]) { layers.append((layer, edits)) }

  mutating func remove(layer: UInt64) { layers.removeAll { $0.id == layer } }

  mutating func removeLayers() { layers = [] }

  mutating func clear() {
    base = [:]
    layers = []
  }

  // MARK: Housekeeping

  /// Removes records, or fields of them, by the patterns of ``StoreStep``; returns what was removed.
  mutating func evict(_ pattern: String, fields: String?) -> Set<String> {
    keep { record, field in
      // Each field of the root is a record with one field of its name.
      let isRoot = record == "QUERY_ROOT"
      let isSelected =
        switch pattern {
        case "*": true
        case "T:*": !isRoot
        case "Query": isRoot
        default: pattern == (isRoot ? "Query.\(field)" : record)
        }
      let isMeant = fields.map { $0 == field || $0 == "?" && field.count == 1 } ?? true
      return !(isSelected && isMeant)
    }
  }

  /// Removes the records that no root field refers to; returns what was removed.
  mutating func collectGarbage() -> Set<String> {
    let reached = (base["QUERY_ROOT"] ?? [:]).values.map(\.text)
    return keep { record, _ in
      record == "QUERY_ROOT" || reached.contains(Value.reference(record).text)
    }
  }

  /// Keeps these fields of records; returns what was removed.
  mutating func keep(_ fields: Set<String>) -> Set<String> {
    keep { fields.contains("\($0).\($1)") }
  }

  private mutating func keep(_ isKept: (String, String) -> Bool) -> Set<String> {
    let before = base
    for (record, fields) in base {
      let rest = fields.filter { isKept(record, $0.key) }
      base[record] = rest.isEmpty ? nil : rest
    }
    return Self.difference(before, base)
  }

  private static func apply(_ edit: Edit, to records: inout Records) {
    switch edit {
    case .merge(let new):
      for (key, fields) in new {
        records[key, default: [:]].merge(fields) { merge($0, $1) }
      }
    case .remove(let record, let field):
      guard let field else {
        records[record] = nil
        return
      }
      records[record]?[field] = nil
      // The root is no record of its own.
      if record == "QUERY_ROOT", records[record]?.isEmpty == true { records[record] = nil }
    }
  }

  private static func merge(_ old: Value, _ new: Value) -> Value {
    guard case .object(let one) = old, case .object(let other) = new else { return new }
    return .object(one.merging(other) { merge($0, $1) })
  }

  static func difference(_ one: Records, _ other: Records) -> Set<String> {
    var result: Set<String> = []
    for key in Set(one.keys).union(other.keys) {
      let (before, after) = (one[key] ?? [:], other[key] ?? [:])
      for field in Set(before.keys).union(after.keys) where before[field] != after[field] {
        result.insert("\(key).\(field)")
      }
    }
    return result
  }

  /// The dump of the base.
  var dump: String {
    base.sorted { $0.key < $1.key }
      .map { "{\"key\":\"\($0.key)\",\"fields\":\(Self.text($0.value))}\n" }.joined()
  }

  static func text(_ fields: [String: Value]) -> String {
    let members = fields.sorted { $0.key < $1.key }.map { "\"\($0.key)\":\($0.value.text)" }
    return "{" + members.joined(separator: ",") + "}"
  }
}

/// A query for some fields of the record that a root field refers to.
struct ModelQuery {
  var root: String
  /// Leaf fields, in order.
  var fields: [String]
  /// Fields of the embedded object; none when it is not asked for.
  var embedded: [String]

  var document: String {
    let inner = embedded.isEmpty ? "" : " e { \(embedded.joined(separator: " ")) }"
    return "{ \(root) { \(fields.joined(separator: " "))\(inner) } }"
  }

  /// The answer from the records, `nil` when something is missing, and what it depends on.
  func answer(_ records: ModelStore.Records) -> (text: String?, dependencies: Set<String>) {
    var dependencies: Set<String> = ["QUERY_ROOT.\(root)"]
    guard case .reference(let key)? = records["QUERY_ROOT"]?[root] else {
      return (nil, dependencies)
    }
    guard let record = records[key] else { return (nil, dependencies.union(["\(key).*"])) }
    dependencies.formUnion((fields + ["__typename"]).map { "\(key).\($0)" })
    if !embedded.isEmpty { dependencies.insert("\(key).e") }
    var members: [String] = []
    for field in fields {
      guard let value = record[field] else { return (nil, dependencies) }
      members.append("\"\(field)\":\(value.text)")
    }
    if !embedded.isEmpty {
      switch record["e"] {
      case .object(let object):
        let inner = embedded.compactMap { name in object[name].map { "\"\(name)\":\($0.text)" } }
        guard inner.count == embedded.count else { return (nil, dependencies) }
        members.append("\"e\":{\(inner.joined(separator: ","))}")
      case .leaf(let null): members.append("\"e\":\(null)")
      default: return (nil, dependencies)
      }
    }
    return ("{\"\(root)\":{\(members.joined(separator: ","))}}", dependencies)
  }
}
