import Foundation
import GQLRunJSON
import GQLRunLanguage

@testable import GQLRunCache

/// The cache as one would write it down without a thought of speed: dictionaries of values.
struct ReferenceCache {
  /// Text as its bytes: Swift takes composed and decomposed letters for equal.
  struct Text: Hashable {
    var bytes: [UInt8]
    init(_ text: String) { bytes = Array(text.utf8) }
    var string: String { String(decoding: bytes, as: UTF8.self) }
  }

  indirect enum Value: Equatable {
    case null
    /// A leaf value or a list of them, as JSON text.
    case leaf(Text)
    case reference(Text)
    case object(type: String?, fields: [String: Value])
    case list([Value])
  }

  private(set) var records: [Text: [String: Value]] = [:]
  /// Whether the last response gave one field two values of which one hides what the other leads to:
  /// an object with and without its identity, say. Then a path does not lead where it led in the response.
  private(set) var hidesPaths = false
  /// Whether the last response had a list that was not stored because of an element.
  private(set) var dropsLists = false
  /// What the last response said of each record.
  private(set) var said: [Text: [String: Value]] = [:]
  let schema: RandomSchema
  let keys: KeyRules

  init(_ schema: RandomSchema) {
    self.schema = schema
    keys = schema.keys
  }

  // MARK: Writing

  /// One response: its records in the order in which they end, then joined with what is stored.
  private struct Response {
    let collector: FieldCollector
    /// The paths at which a null is an error's, and those of their beginnings.
    let errored: Set<[JSONValue]>
    let hasInterfaceRules: Bool
    var hidesPaths = false
    var dropsLists = false
    var dropped: [Text: Set<String>] = [:]
    var staged: [Text: [String: Value]] = [:]
    var order: [Text] = []
  }

  /// Writes a response to the operation as it was sent. Returns `record.field` of what changed.
  mutating func write(
    _ data: JSONValue, errors: [[JSONValue]], _ collector: FieldCollector, hasFacts: Bool
  ) -> Set<FieldChange> {
    var beginnings: Set<[JSONValue]> = []
    for path in errors {
      for count in 1...max(path.count, 1) { beginnings.insert(Array(path.prefix(count))) }
    }
    var response = Response(
      collector: collector, errored: beginnings, hasInterfaceRules: hasFacts)
    if case .object(let object) = data {
      let fields = collector.fields(of: [collector.root], type: "Query")
      for member in object {
        guard let field = fields.first(where: { $0.key == member.key }) else { continue }
        let value = value(
          member.value, field, path: [.string(member.key)], depth: listDepth(field), &response)
        if let value {
          stage(Text("QUERY_ROOT"), [field.storedKey: value], &response)
        } else if !member.value.isNull {
          noteDropped([field.storedKey], Text("QUERY_ROOT"), &response)
        }
      }
    }
    hidesPaths =
      response.hidesPaths
      || response.dropped.contains { key, fields in
        fields.contains { response.staged[key]?[$0] != nil }
      }
    dropsLists = response.dropsLists
    said = response.staged
    var changes: Set<FieldChange> = []
    for key in response.order {
      for (name, value) in response.staged[key] ?? [:] {
        let old = records[key]?[name]
        let merged = old.map { Self.merge($0, value) } ?? value
        if old != merged { changes.insert(FieldChange(recordKey: key.string, field: name)) }
        records[key, default: [:]][name] = merged
      }
    }
    return changes
  }

  private func listDepth(_ field: CollectedField) -> Int {
    schema.fields[field.name]?.listDepth ?? 0
  }

  private func stage(_ key: Text, _ fields: [String: Value], _ response: inout Response) {
    if response.staged[key] == nil { response.order.append(key) }
    for (name, value) in fields {
      let old = response.staged[key]?[name]
      if let old, Self.hides(old, value) { response.hidesPaths = true }
      response.staged[key, default: [:]][name] = old.map { Self.merge($0, value) } ?? value
    }
  }

  /// The value to store, or `nil` when it is an error's.
  private func value(
    _ json: JSONValue, _ field: CollectedField, path: [JSONValue], depth: Int,
    _ response: inout Response
  ) -> Value? {
    if json.isNull { return response.errored.contains(path) ? nil : .null }
    if field.selections.isEmpty {
      if hasErroredNull(json, path, depth, response) {
        response.dropsLists = true
        return nil
      }
      return .leaf(Text(json.jsonText()))
    }
    if depth > 0, let elements = json.arrayValue {
      var values: [Value] = []
      var isErrored = false
      for (index, element) in elements.enumerated() {
        let value = value(
          element, field, path: path + [.number(JSONNumber(index))], depth: depth - 1, &response)
        if let value { values.append(value) } else { isErrored = true }
      }
      if isErrored { response.dropsLists = true }
      return isErrored ? nil : .list(values)
    }
    return object(json, field.selections, path: path, &response)
  }

  /// Whether a list of leaf values contains a null of an error.
  private func hasErroredNull(
    _ json: JSONValue, _ path: [JSONValue], _ depth: Int, _ response: Response
  ) -> Bool {
    if json.isNull { return response.errored.contains(path) }
    guard depth > 0, let elements = json.arrayValue else { return false }
    return elements.enumerated().contains { index, element in
      hasErroredNull(element, path + [.number(JSONNumber(index))], depth - 1, response)
    }
  }

  private func object(
    _ json: JSONValue, _ sets: [SelectionSet], path: [JSONValue], _ response: inout Response
  ) -> Value? {
    guard let object = json.objectValue else { return nil }
    let type = object["__typename"]?.stringValue
    let fields = response.collector.fields(of: sets, type: type ?? "")
    var stored: [String: Value] = [:]
    // Lists that are not stored because of an element. Where a response has the same list twice, the engine
    // keeps more of it than we do here.
    var dropped: Set<String> = []
    for member in object {
      guard let field = fields.first(where: { $0.key == member.key }) else { continue }
      let value = value(
        member.value, field, path: path + [.string(member.key)], depth: listDepth(field), &response)
      guard let value else {
        if !member.value.isNull, !dropped.insert(field.storedKey).inserted {
          response.hidesPaths = true
        }
        continue
      }
      let old = stored[field.storedKey]
      if let old, Self.hides(old, value) { response.hidesPaths = true }
      stored[field.storedKey] = old.map { Self.merge($0, value) } ?? value
    }
    if dropped.contains(where: { stored[$0] != nil }) { response.hidesPaths = true }
    guard let type, let key = key(type, stored, response) else {
      if !dropped.isEmpty { response.hidesPaths = true }
      return .object(type: type, fields: stored)
    }
    noteDropped(dropped, Text(key), &response)
    stage(Text(key), stored, &response)
    return .reference(Text(key))
  }

  private func noteDropped(_ fields: Set<String>, _ key: Text, _ response: inout Response) {
    for field in fields where !response.dropped[key, default: []].insert(field).inserted {
      response.hidesPaths = true
    }
  }

  private func key(_ type: String, _ fields: [String: Value], _ response: Response) -> String? {
    var names = keys.types[type]
    if names == nil, response.hasInterfaceRules {
      let interface = keys.types.keys.sorted().first {
        schema.interfaces[$0] != nil && schema.possibleTypes($0).contains(type)
      }
      names = interface.flatMap { keys.types[$0] }
    }
    let keyFields = names ?? keys.defaultFields
    var parts: [String] = []
    for name in keyFields {
      guard case .leaf(let text)? = fields[name], let value = try? JSONValue(parsing: text.bytes),
        let part = value.stringValue ?? value.numberValue?.text
      else { return nil }
      parts.append(part)
    }
    if parts.count > 1 {
      parts = parts.map {
        $0.replacingOccurrences(of: "\\", with: "\\\\").replacingOccurrences(of: "+", with: "\\+")
      }
    }
    return "\(keys.groups[type] ?? type):\(parts.joined(separator: "+"))"
  }

  private static func merge(_ old: Value, _ new: Value) -> Value {
    switch (old, new) {
    case (.object(let oldType, var fields), .object(let newType, let more)) where oldType == newType:
      for (name, value) in more { fields[name] = fields[name].map { merge($0, value) } ?? value }
      return .object(type: oldType, fields: fields)
    case (.list(let before), .list(let after)) where before.count == after.count:
      if zip(before, after).contains(where: { contradict($0, $1) }) { return new }
      return .list(zip(before, after).map { merge($0, $1) })
    default: return new
    }
  }

  /// Whether the second of two values in one response hides what the first leads to.
  private static func hides(_ old: Value, _ new: Value) -> Bool {
    switch (old, new) {
    case (.object(let one, let fields), .object(let other, let more)):
      one != other
        || fields.contains { name, value in more[name].map { hides(value, $0) } ?? false }
    case (.list(let before), .list(let after)):
      before.count != after.count
        || zip(before, after).contains { contradict($0, $1) || hides($0, $1) }
    case (.null, _), (.leaf, _), (_, .null), (_, .leaf): false
    default: contradict(old, new)
    }
  }

  private static func contradict(_ old: Value, _ new: Value) -> Bool {
    switch (old, new) {
    case (.object(let one, _), .object(let other, _)): one != other
    case (.reference(let one), .reference(let other)): one != other
    case (.object, .reference), (.reference, .object): true
    default: false
    }
  }

  // MARK: Dump

  var dump: String {
    let sorted = records.sorted { $0.key.bytes.lexicographicallyPrecedes($1.key.bytes) }
    return sorted.compactMap { key, fields in
      var fields = fields
      let isRoot = key == Text("QUERY_ROOT")
      if isRoot { fields["__typename"] = nil }
      if isRoot, fields.isEmpty { return nil }
      return "{\"key\":\(JSONText.quoted(key.string)),\"fields\":\(Self.text(fields))}\n"
    }.joined()
  }

  private static func text(_ fields: [String: Value]) -> String {
    let sorted = fields.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
    return "{"
      + sorted.map { "\(JSONText.quoted($0.key)):\(text($0.value))" }.joined(separator: ",") + "}"
  }

  private static func text(_ value: Value) -> String {
    switch value {
    case .null: "null"
    case .leaf(let text): text.string
    case .reference(let key): "{\"$ref\":\(JSONText.quoted(key.string))}"
    case .object(_, let fields): text(fields)
    case .list(let values): "[" + values.map(text).joined(separator: ",") + "]"
    }
  }

  // MARK: Types

  /// The types of all objects.
  var types: Set<String> {
    var types: Set<String> = []
    for fields in records.values {
      Self.addTypes(of: .object(type: nil, fields: fields), to: &types)
    }
    return types
  }

  private static func addTypes(of value: Value, to types: inout Set<String>) {
    switch value {
    case .object(_, let fields):
      types.insert(type(fields))
      for value in fields.values { addTypes(of: value, to: &types) }
    case .list(let values): for value in values { addTypes(of: value, to: &types) }
    case .null, .leaf, .reference: return
    }
  }

  // MARK: Reading

  enum Answer: Equatable {
    case hit(JSONValue)
    case miss(String)
  }

  private struct Miss: Error { var path: String }

  /// The fields of records that an answer consists of.
  final class Visits {
    var fields: [(record: Text, field: String)] = []
  }

  /// Answers an operation as its author wrote it; the schema decides which fragments apply.
  func read(_ collector: FieldCollector, visits: Visits = Visits()) -> Answer {
    do {
      let key = Text("QUERY_ROOT")
      return .hit(
        try read(records[key] ?? [:], "Query", [collector.root], "", collector, key, visits))
    } catch let miss as Miss {
      return .miss(miss.path)
    } catch {
      return .miss("\(error)")
    }
  }

  private func read(
    _ fields: [String: Value], _ type: String, _ sets: [SelectionSet], _ path: String,
    _ collector: FieldCollector, _ key: Text?, _ visits: Visits
  ) throws -> JSONValue {
    var result = JSONObject()
    for field in collector.fields(of: sets, type: type) {
      let path = path.isEmpty ? field.key : "\(path).\(field.key)"
      guard let value = fields[field.storedKey] else {
        if type == "Query", field.name == "__typename" {
          result[field.key] = "Query"
          continue
        }
        throw Miss(path: path)
      }
      if let key { visits.fields.append((key, field.storedKey)) }
      result[field.key] = try read(value, field, path, collector, visits)
    }
    return .object(result)
  }

  private func read(
    _ value: Value, _ field: CollectedField, _ path: String, _ collector: FieldCollector,
    _ visits: Visits
  ) throws -> JSONValue {
    switch value {
    case .null: return .null
    case .leaf(let text): return try JSONValue(parsing: text.bytes)
    case .reference(let key):
      guard let record = records[key] else { throw Miss(path: path) }
      return try read(record, Self.type(record), field.selections, path, collector, key, visits)
    case .object(_, let fields):
      return try read(fields, Self.type(fields), field.selections, path, collector, nil, visits)
    case .list(let values):
      return .array(
        try values.enumerated().map { index, value in
          try read(value, field, "\(path)[\(index)]", collector, visits)
        })
    }
  }

  private static func type(_ fields: [String: Value]) -> String {
    guard case .leaf(let text)? = fields["__typename"] else { return "" }
    return String(text.string.dropFirst().dropLast())
  }

  // MARK: Delivery

  /// What the caller sees of a response to the operation as it was sent.
  ///
  /// - Parameter leaf: Replaces the values of scalars and enums.
  static func shown(
    _ json: JSONValue, _ sets: [SelectionSet], type: String?, _ collector: FieldCollector,
    leaf: (JSONValue) -> JSONValue = { $0 }
  ) -> JSONValue {
    switch json {
    case .array(let elements):
      return .array(elements.map { shown($0, sets, type: nil, collector, leaf: leaf) })
    case .object(let object):
      guard let type = type ?? object["__typename"]?.stringValue else { return json }
      var result = JSONObject()
      let fields = collector.fields(of: sets, type: type)
      for member in object {
        guard let field = fields.first(where: { $0.key == member.key }) else { continue }
        result[member.key] =
          field.selections.isEmpty
          ? leaf(member.value)
          : shown(member.value, field.selections, type: nil, collector, leaf: leaf)
      }
      return .object(result)
    default: return json
    }
  }
}
