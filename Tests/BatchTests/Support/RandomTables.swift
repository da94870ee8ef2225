import GQLRunCache
import GQLRunJSON
import GQLRunTestSupport

@testable import GQLRunBatch

/// A random document with connections in connections, and random data for it with the rows that the tables must have.
struct RandomTables {
  /// How the objects with connections are found again.
  enum Finder: CaseIterable {
    case node, nodes, key, redirect, nodeWithoutSchema
  }

  /// A connection of the document, and the type of its elements.
  final class Connection {
    let index: Int
    let size: Int?
    let usesEdges: Bool
    let hasTotal: Bool
    let hasInfo: Bool
    let hasAlias: Bool
    /// Whether the object above has it in a single object.
    let isInBox: Bool
    let hasTags: Bool
    let hasBox: Bool
    let hasKey: Bool
    var inner: [Connection] = []

    init(_ index: Int, _ random: inout SeededRandom, isInBox: Bool, isWithoutSchema: Bool) {
      self.index = index
      self.isInBox = isInBox
      size = random.chance(90) ? 1 + random.upTo(4) : nil
      usesEdges = random.chance(40)
      hasTotal = random.chance(40)
      hasInfo = random.chance(30)
      hasAlias = random.chance(30)
      hasTags = !isWithoutSchema && random.chance(40)
      hasBox = random.chance(30)
      hasKey = isWithoutSchema || random.chance(60)
    }

    var type: String { "T\(index)" }
    var field: String { "f\(index)" }
    var key: String { hasAlias ? "a\(index)" : field }
    var boxed: [Connection] { inner.filter(\.isInBox) }
    var direct: [Connection] { inner.filter { !$0.isInBox } }
  }

  let finder: Finder
  let roots: [Connection]
  let connections: [Connection]
  /// Whether the connections of the first level are in a single object with a row.
  let hasMe: Bool
  /// The largest page of the server, and its size without `first`.
  static let maxPageSize = 4

  init(_ random: inout SeededRandom, finder: Finder) {
    self.finder = finder
    hasMe = random.chance(30)
    var all: [Connection] = []
    var roots: [Connection] = []
    let isWithoutSchema = finder == .nodeWithoutSchema
    func add(depth: Int, isBoxed: Bool) -> Connection {
      let connection = Connection(
        all.count, &random, isInBox: isBoxed, isWithoutSchema: isWithoutSchema)
      all.append(connection)
      for _ in 0..<2 where depth < 5 && all.count < 7 && random.chance(depth < 3 ? 65 : 45) {
        let isBoxed = connection.hasBox && random.chance(50)
        connection.inner.append(add(depth: depth + 1, isBoxed: isBoxed))
      }
      return connection
    }
    for _ in 0...random.upTo(2) { roots.append(add(depth: 1, isBoxed: false)) }
    self.roots = roots
    connections = all
  }

  // MARK: Document and schema

  private var keyField: String { finder == .redirect ? "code" : "id" }

  var document: String {
    let fields = roots.map { text($0) }.joined(separator: " ")
    return "query Tree { \(hasMe ? "me { id name \(fields) }" : fields) }"
  }

  private func text(_ connection: Connection) -> String {
    var parts: [String] = []
    if connection.hasKey { parts.append(keyField) }
    parts.append("name number")
    if connection.hasTags { parts.append("tags { text }") }
    if connection.hasBox {
      parts.append("box { city \(connection.boxed.map { text($0) }.joined(separator: " ")) }")
    }
    parts += connection.direct.map { text($0) }
    let node = parts.joined(separator: " ")
    let alias = connection.hasAlias ? "\(connection.key): " : ""
    let size = connection.size.map { "(first: \($0))" } ?? ""
    let total = connection.hasTotal ? "totalCount " : ""
    let info =
      connection.hasInfo || finder == .nodeWithoutSchema
      ? "pageInfo { endCursor hasNextPage } " : ""
    let list = connection.usesEdges ? "edges { role node { \(node) } }" : "nodes { \(node) }"
    return "\(alias)\(connection.field)\(size) { \(total)\(info)\(list) }"
  }

  /// The schema; `nil` for ``Finder/nodeWithoutSchema``.
  var schema: String? {
    let page = "(first: Int, after: String)"
    func fields(_ connections: [Connection]) -> String {
      connections.map { "\($0.field)\(page): \($0.type)Connection" }.joined(separator: " ")
    }
    var query = hasMe ? "me: Me" : fields(roots)
    var isNode = false
    switch finder {
    case .node: (query, isNode) = (query + " node(id: ID!): Node", true)
    case .nodes: (query, isNode) = (query + " nodes(ids: [ID!]!): [Node]!", true)
    case .key:
      query += connections.map { " t\($0.index)(id: ID!): \($0.type)" }.joined()
    case .redirect:
      query += connections.map { " find\($0.index)(code: ID!): \($0.type)" }.joined()
    case .nodeWithoutSchema: return nil
    }
    var text = "type Query { \(query) } type PageInfo { hasNextPage: Boolean! endCursor: String }"
    if isNode { text += " interface Node { id: ID! }" }
    if hasMe { text += " type Me { id: ID! name: String \(fields(roots)) }" }
    text += " type Tag { text: String }"
    for connection in connections {
      let type = connection.type
      let node = isNode ? " implements Node" : ""
      text += """

        type \(type)\(node) {
          id: ID! code: ID! name: String number: Int tags: [Tag] box: \(type)Box \(fields(connection.direct))
        }
        type \(type)Box { city: String \(fields(connection.boxed)) }
        type \(type)Edge { role: String node: \(type) }
        type \(type)Connection { totalCount: Int nodes: [\(type)] edges: [\(type)Edge] pageInfo: PageInfo! }
        """
    }
    return text
  }

  private var keys: KeyRules {
    guard finder == .redirect else { return KeyRules() }
    let types = Dictionary(uniqueKeysWithValues: connections.map { ($0.type, ["code"]) })
    let redirects = connections.map { ("find\($0.index)", CacheRedirect(["code"])) }
    return KeyRules(
      types: types, redirects: ["Query": Dictionary(uniqueKeysWithValues: redirects)])
  }

  /// The plan of the document.
  func plan() throws -> TablePlan {
    try TablePlanTests.plan(document, schema: schema, keys: keys)
  }

  // MARK: Data

  /// A server of random data.
  ///
  /// - Parameters:
  ///   - scale: The maximum number of elements in a connection of the first level.
  ///   - most: The number of objects from which elements are null.
  func server(_ random: inout SeededRandom, scale: Int = 5, most: Int = 40) -> ObjectServer {
    var builder = Builder(random: random, maxCount: most)
    let lists = builder.lists(roots, most: scale)
    let root =
      hasMe
      ? TreeObject(
        "Query",
        [
          "me": .object(
            TreeObject(
              "Me", id: "1",
              ["id": .leaf("1"), "name": .leaf("me")].merging(lists) { first, _ in first }))
        ])
      : TreeObject("Query", lists)
    random = builder.random
    var server = ObjectServer(root)
    server.maxPageSize = Self.maxPageSize
    for connection in connections {
      if finder == .key { server.finders["t\(connection.index)"] = connection.type }
      if finder == .redirect { server.finders["find\(connection.index)"] = connection.type }
    }
    return server
  }

  /// Makes objects with ids of their own.
  private struct Builder {
    var random: SeededRandom
    let maxCount: Int
    var count = 0

    mutating func lists(_ connections: [Connection], most: Int) -> [String: TreeObject.Value] {
      var lists: [String: TreeObject.Value] = [:]
      for connection in connections {
        let length = random.chance(20) ? 0 : random.upTo(most + 1)
        lists[connection.field] = .connection(
          (0..<length).map { _ in
            let node = random.chance(7) || count >= maxCount ? nil : object(connection, most: most)
            return TreeObject.Edge(node: node, leaves: ["role": .string("r\(count)")])
          })
      }
      return lists
    }

    private mutating func object(_ connection: Connection, most: Int) -> TreeObject {
      count += 1
      let id = "\(count)"
      var fields: [String: TreeObject.Value] = [
        "id": .leaf(.string(id)), "code": .leaf(.string(id)),
        "name": .leaf(random.chance(10) ? .null : .string("name \(id)")),
        "number": .leaf(.number(JSONNumber(count * 7))),
      ]
      fields["tags"] = .list(
        (0..<random.upTo(3)).map { index in
          random.chance(20) ? nil : TreeObject("Tag", ["text": .leaf(.string("tag \(index)"))])
        })
      let inner = max(most / 2, 2)
      if random.chance(15) {
        fields["box"] = .object(nil)
      } else {
        let lists = lists(connection.boxed, most: inner)
        let city: [String: TreeObject.Value] = ["city": .leaf(.string("city \(id)"))]
        fields["box"] = .object(
          TreeObject("\(connection.type)Box", id: id, city.merging(lists) { first, _ in first }))
      }
      fields.merge(lists(connection.direct, most: inner)) { first, _ in first }
      return TreeObject(connection.type, id: id, fields)
    }
  }

  // MARK: Truth

  /// The rows of all tables, sorted, by walking the data.
  func rows(of server: ObjectServer, rowKey: String?) -> [String] {
    var rows: [String] = []
    var (object, parent, prefix) = (server.root, rowKey, "")
    if hasMe, case .object(let me?)? = server.root.fields["me"] {
      let cells = ["id": "1", "name": "me"].merging(totals(roots, of: me)) { first, _ in first }
      rows.append(Self.text("me", "Me:1", rowKey, 0, cells))
      (object, parent, prefix) = (me, "Me:1", "me_")
    }
    for connection in roots { add(connection, of: object, parent, prefix, to: &rows) }
    return rows.sorted()
  }

  private func totals(_ connections: [Connection], of object: TreeObject) -> [String: JSONValue] {
    var cells: [String: JSONValue] = [:]
    for connection in connections where connection.hasTotal {
      guard case .connection(let edges)? = object.fields[connection.field] else { continue }
      let box = connection.isInBox ? "box_" : ""
      cells["\(box)\(connection.key)_totalCount"] = .number(JSONNumber(edges.count))
    }
    return cells
  }

  private func add(
    _ connection: Connection, of object: TreeObject, _ parent: String?, _ prefix: String,
    to rows: inout [String]
  ) {
    guard case .connection(let edges)? = object.fields[connection.field] else { return }
    let table = prefix + (connection.isInBox ? "box_" : "") + connection.key
    for (position, edge) in edges.enumerated() {
      guard let node = edge.node else { continue }
      let key = "\(connection.type):\(node.id)"
      var cells = totals(connection.direct, of: node)
      for name in ["name", "number"] + (connection.hasKey ? [keyField] : []) {
        if case .leaf(let value)? = node.fields[name] { cells[name] = value }
      }
      if connection.usesEdges { cells["role"] = edge.leaves["role"] }
      if connection.hasBox, case .object(let box?)? = node.fields["box"] {
        if case .leaf(let city)? = box.fields["city"] { cells["box_city"] = city }
        cells.merge(totals(connection.boxed, of: box)) { first, _ in first }
        for inner in connection.boxed { add(inner, of: box, key, "\(table)_", to: &rows) }
      }
      rows.append(Self.text(table, key, parent, position, cells))
      if connection.hasTags, case .list(let tags)? = node.fields["tags"] {
        for (index, tag) in tags.enumerated() {
          guard case .leaf(let text)? = tag?.fields["text"] else { continue }
          rows.append(
            Self.text("\(table)_tags", "\(key).tags.\(index)", key, index, ["text": text]))
        }
      }
      for inner in connection.direct { add(inner, of: node, key, "\(table)_", to: &rows) }
    }
  }

  /// A row of a plan as text, to compare it.
  static func text(_ row: TableRow, _ plan: TablePlan) -> String {
    let table = plan.tables[row.table]
    var cells: [String: JSONValue] = [:]
    for (column, value) in zip(table.columns, row.cells) { cells[column.name] = value }
    return text(table.name, row.key, row.parent, row.position, cells)
  }

  private static func text(
    _ table: String, _ key: String, _ parent: String?, _ position: Int, _ cells: [String: JSONValue]
  ) -> String {
    let cells = cells.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value.jsonText())" }
    return "\(table) \(key) \(parent ?? "-") \(position) \(cells.joined(separator: " "))"
  }
}
