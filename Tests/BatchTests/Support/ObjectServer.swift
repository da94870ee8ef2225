import GQLRunCache
import GQLRunJSON
import GQLRunLanguage
import GQLRunPipeline

/// An object of a ``ObjectServer``.
final class TreeObject: Sendable {
  /// The value of a field.
  enum Value: Sendable {
    case leaf(JSONValue)
    case object(TreeObject?)
    case list([TreeObject?])
    case connection([Edge])

    /// A connection of objects that have their `id`.
    static func connection(
      of type: String, _ count: Int, id: (Int) -> String, fields: (Int) -> [String: Self]
    ) -> Self {
      .connection(
        (0..<count).map { index in
          let id = id(index)
          let fields = fields(index).merging(["id": .leaf(.string(id))]) { $1 }
          return Edge(node: TreeObject(type, id: id, fields))
        })
    }
  }

  /// An element of a connection.
  struct Edge: Sendable {
    var node: TreeObject?
    /// The values of the edge's own fields.
    var leaves: [String: JSONValue] = [:]
  }

  let type: String
  /// The value of `id`, which also names the object in ``ObjectServer/faults``; empty for an object without it.
  let id: String
  let fields: [String: Value]

  init(_ type: String, id: String = "", _ fields: [String: Value]) {
    self.type = type
    self.id = id
    self.fields = fields
  }

  /// This object and all below it.
  var all: [TreeObject] {
    [self]
      + fields.values.flatMap { value -> [TreeObject] in
        switch value {
        case .leaf: []
        case .object(let object): object.map { [$0] } ?? []
        case .list(let objects): objects.compactMap { $0 }
        case .connection(let edges): edges.compactMap(\.node)
        }
      }.flatMap(\.all)
  }
}

/// Answers any document over a tree of objects, as a server with connections does.
///
/// `node(id:)` and `nodes(ids:)` find every object, and each field of ``finders`` those of one type. Connections take
/// `first` and `after`, and have `nodes`, `edges`, `pageInfo` and `totalCount`.
struct ObjectServer {
  /// What is wrong with the next pages of one connection.
  struct Fault {
    enum Kind: CaseIterable {
      /// The connection is null.
      case connection
      /// An element is null.
      case element
      /// A leaf of an element is null.
      case leaf
    }

    var kind: Kind
    /// The number of pages that have it.
    var count: Int
    /// The number of pages before them.
    var after = 0
  }

  /// The answer to a request.
  struct Answer {
    var data: JSONValue
    var errors: [GraphQLError] = []

    /// The body of the response.
    var body: JSONObject {
      var body: JSONObject = ["data": data]
      if !errors.isEmpty { body["errors"] = .array(errors.map(\.json)) }
      return body
    }
  }

  let root: TreeObject
  /// All objects, by `TYPE:ID`, and those with an id by the id.
  fileprivate let objects: [String: TreeObject]
  /// The types of the objects that fields of the query find, by name of the field. They are found by the value of one
  /// argument, whatever its name.
  var finders: [String: String] = [:]
  /// By `TYPE:ID.FIELD` of a connection; the root is `Query:.FIELD`.
  var faults: [String: Fault] = [:]
  /// Whether the page of a connection with this first element is null, with an error, by the id of the object that has it.
  var breaks: @Sendable (_ owner: String, _ start: Int) -> Bool = { _, _ in false }
  /// The maximum number of elements in an answer; a request for more is refused as too complex.
  var maxElements: Int?
  /// The size of a page without `first`, and the maximum.
  var maxPageSize = 100
  /// The number of requests that were answered or refused.
  private(set) var requests = 0

  init(_ root: TreeObject) {
    self.root = root
    var objects: [String: TreeObject] = [:]
    for object in root.all where !object.id.isEmpty {
      objects["\(object.type):\(object.id)"] = object
      if !object.type.hasSuffix("Box") { objects[object.id] = object }
    }
    self.objects = objects
  }

  /// Answers the operation of a document.
  mutating func answer(_ document: Document, variables: JSONObject) throws -> Answer {
    requests += 1
    let operation = try document.operation(named: nil)
    for definition in operation.variables
    where definition.type.isNonNull && variables[definition.name.value]?.isNull ?? true {
      let message = "the variable \(definition.name.value) is required"
      return Answer(data: .null, errors: [GraphQLError(message: message)])
    }
    var execution = TreeExecution(
      server: self, selection: TreeSelection(document: document, variables: variables))
    let data = execution.object(root, [operation.selectionSet])
    faults = execution.server.faults
    if let maxElements, execution.elements > maxElements {
      let message = "the complexity is \(execution.elements)"
      return Answer(data: .null, errors: [GraphQLError(message: message)])
    }
    return Answer(data: data, errors: execution.errors)
  }

  /// The objects that a field of the query finds by its argument; `nil` for another field.
  fileprivate func find(_ field: String, _ value: JSONValue?) -> TreeObject.Value? {
    switch field {
    case "nodes":
      return .list((value?.arrayValue ?? []).map { $0.stringValue.flatMap { objects[$0] } })
    case "node": return .object(value?.stringValue.flatMap { objects[$0] })
    default:
      return finders[field].map { type in
        .object(value?.stringValue.flatMap { objects["\(type):\($0)"] })
      }
    }
  }

  fileprivate mutating func nextFault(of name: String) -> Fault.Kind? {
    guard let fault = faults[name], fault.count > 0 else { return nil }
    if fault.after > 0 {
      faults[name]?.after -= 1
      return nil
    }
    faults[name]?.count -= 1
    return fault.kind
  }
}

/// The execution of one operation.
private struct TreeExecution {
  var server: ObjectServer
  let selection: TreeSelection
  var errors: [GraphQLError] = []
  /// The number of elements in lists.
  var elements = 0
  private var path: [GraphQLError.PathElement] = []

  init(server: ObjectServer, selection: TreeSelection) {
    self.server = server
    self.selection = selection
  }

  mutating func object(_ object: TreeObject, _ sets: [SelectionSet]) -> JSONValue {
    var result = JSONObject()
    for (key, fields) in selection.fields(of: sets, on: object.type) {
      path.append(.key(key))
      result[key] = value(of: fields, on: object)
      path.removeLast()
    }
    return .object(result)
  }

  private mutating func value(of fields: [Field], on object: TreeObject) -> JSONValue {
    let name = fields[0].name.value
    let sets = fields.compactMap(\.selectionSet)
    var found = object.fields[name]
    if found == nil, object === server.root {
      found = server.find(name, fields[0].arguments.first.flatMap { selection.value($0.value) })
    }
    switch found {
    case .leaf(let value): return value
    case .object(let found): return found.map { self.object($0, sets) } ?? .null
    case .list(let objects):
      elements += objects.count
      return list(objects) { object, execution in execution.object(object, sets) }
    case .connection(let edges):
      return connection(edges, fields, of: object)
    case nil:
      if name == "__typename" { return .string(object.type) }
      errors.append(GraphQLError(message: "\(object.type) has no field \(name)", path: path))
      return .null
    }
  }

  /// A list with a value for each element, or null for `nil`.
  private mutating func list<Element>(
    _ elements: [Element?], _ value: (Element, inout TreeExecution) -> JSONValue
  ) -> JSONValue {
    var result: [JSONValue] = []
    for (index, element) in elements.enumerated() {
      path.append(.index(index))
      result.append(element.map { value($0, &self) } ?? .null)
      path.removeLast()
    }
    return .array(result)
  }

  // MARK: Connections

  private mutating func connection(
    _ edges: [TreeObject.Edge], _ fields: [Field], of object: TreeObject
  ) -> JSONValue {
    let field = fields[0].name.value
    let name = "\(object.type):\(object.id).\(field)"
    func given(_ name: String) -> JSONValue? {
      fields[0].arguments.first { $0.name.value == name }.flatMap { selection.value($0.value) }
    }
    let size = min(given("first")?.intValue ?? server.maxPageSize, server.maxPageSize)
    let start = given("after")?.stringValue.flatMap { Int($0.dropFirst()) } ?? 0
    let end = min(start + size, edges.count)
    let page = Array(edges[min(start, end)..<end])
    let fault = server.nextFault(of: name)
    if fault == .connection || server.breaks(object.id, start) {
      errors.append(GraphQLError(message: "a fault of \(name)", path: path))
      return .null
    }
    elements += page.count
    let info: [String: JSONValue] = [
      "hasNextPage": .boolean(end < edges.count),
      "endCursor": page.isEmpty ? .null : .string("c\(end)"),
    ]
    var result = JSONObject()
    for (key, fields) in selection.fields(of: fields.compactMap(\.selectionSet), on: nil) {
      let sets = fields.compactMap(\.selectionSet)
      path.append(.key(key))
      switch fields[0].name.value {
      case "totalCount": result[key] = .number(JSONNumber(edges.count))
      case "pageInfo": result[key] = selection.leaves(of: sets, info)
      case "nodes":
        let nodes = list(page.map(\.node)) { node, execution in execution.object(node, sets) }
        result[key] = damaged(nodes, by: fault, node: [])
      case "edges":
        let edges = list(page) { edge, execution in execution.edge(edge, sets) }
        result[key] = damaged(edges, by: fault, node: [.key("node")])
      // The schemas of tests name the type after the field. The pipeline omits what another type selects.
      default: result[key] = .string(field.prefix(1).uppercased() + field.dropFirst())
      }
      path.removeLast()
    }
    return .object(result)
  }

  private mutating func edge(_ edge: TreeObject.Edge, _ sets: [SelectionSet]) -> JSONValue {
    var result = JSONObject()
    for (key, fields) in selection.fields(of: sets, on: nil) {
      let name = fields[0].name.value
      path.append(.key(key))
      if name == "node" {
        let sets = fields.compactMap(\.selectionSet)
        result[key] = edge.node.map { object($0, sets) } ?? .null
      } else {
        result[key] = edge.leaves[name] ?? .string("Edge")
      }
      path.removeLast()
    }
    return .object(result)
  }

  /// The list without something in its first element, because of an error.
  private mutating func damaged(
    _ list: JSONValue, by fault: ObjectServer.Fault.Kind?, node: [GraphQLError.PathElement]
  ) -> JSONValue {
    guard let fault, var elements = list.arrayValue, !elements.isEmpty else { return list }
    errors.append(
      GraphQLError(
        message: "a fault of an element", path: path + [.index(0)] + node + [.key("name")]))
    if fault == .element {
      elements[0] = .null
    } else if node.isEmpty {
      elements[0]["name"] = .null
    } else {
      elements[0]["node"]?["name"] = .null
    }
    return .array(elements)
  }
}

/// What a document selects.
private struct TreeSelection {
  let document: Document
  var variables: JSONObject

  func value(_ literal: Value) -> JSONValue? { JSONValue(literal, variables: variables) }

  /// The fields of selection sets by response key, in their order.
  ///
  /// - Parameter type: That of the object; `nil` for one that no type condition is for.
  func fields(of sets: [SelectionSet], on type: String?) -> [(key: String, fields: [Field])] {
    var result: [(key: String, fields: [Field])] = []
    for set in sets { collect(set, on: type, into: &result) }
    return result
  }

  private func collect(
    _ set: SelectionSet, on type: String?, into result: inout [(key: String, fields: [Field])]
  ) {
    for selection in set.selections {
      switch selection {
      case .field(let field):
        if let index = result.firstIndex(where: { $0.key == field.responseKey }) {
          result[index].fields.append(field)
        } else {
          result.append((field.responseKey, [field]))
        }
      case .inlineFragment(let fragment):
        guard applies(fragment.typeCondition?.value, to: type) else { continue }
        collect(fragment.selectionSet, on: type, into: &result)
      case .fragmentSpread(let spread):
        guard
          let fragment = document.fragments.first(where: { $0.name.value == spread.name.value }),
          applies(fragment.typeCondition.value, to: type)
        else { continue }
        collect(fragment.selectionSet, on: type, into: &result)
      }
    }
  }

  private func applies(_ condition: String?, to type: String?) -> Bool {
    condition == nil || type == nil || condition == type || condition == "Node"
  }

  /// An object of leaves.
  func leaves(of sets: [SelectionSet], _ values: [String: JSONValue]) -> JSONValue {
    var result = JSONObject()
    for (key, fields) in fields(of: sets, on: nil) {
      result[key] = values[fields[0].name.value] ?? .string("PageInfo")
    }
    return .object(result)
  }
}
