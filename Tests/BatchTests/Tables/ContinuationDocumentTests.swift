import GQLRunCache
import GQLRunJSON
import GQLRunLanguage
import GQLRunPipeline
import Testing

@testable import GQLRunBatch

@Suite("Documents of further pages")
struct ContinuationDocumentTests {
  private static let types = """
    type PageInfo { hasNextPage: Boolean! endCursor: String }
    type CustomerConnection { nodes: [Customer] pageInfo: PageInfo! }
    type OrderConnection { nodes: [Order] pageInfo: PageInfo! }
    """
  private static let query = "customers(first: Int, after: String): CustomerConnection"
  private static let orders = "orders(first: Int!, after: ID, state: String): OrderConnection"

  private static func plan(
    _ document: String, schema text: String?, keys: KeyRules = KeyRules()
  ) throws -> TablePlan {
    try TablePlanTests.plan(document, schema: text.map { types + $0 }, keys: keys)
  }

  private static func relay(_ finder: String) -> String {
    """
    type Query { \(query) \(finder) }
    interface Node { id: ID! }
    type Customer implements Node { id: ID! account: Account \(orders) }
    type Account { \(orders) }
    type Order { id: ID! total: Float }
    """
  }

  private static let document = """
    query Shop($state: String, $other: Int, $after: String, $size: Int! = 3) {
      customers(first: 2, after: $after) {
        nodes { id orders(first: $size, state: $state) { nodes { id total } } }
      }
      other: customers(first: $other) { nodes { id } }
    }
    """

  private static func continuation(
    _ id: Int?, connection: Int = 1, cursor: String? = "c", type: String? = nil,
    argument: String = "id"
  ) -> Continuation {
    var continuation = Continuation(connection: connection, cursor: cursor)
    if let id { continuation.holder[argument] = .string("\(id)") }
    if let type { continuation.holder["__typename"] = .string(type) }
    return continuation
  }

  /// The document in one line, and its variables.
  private static func request(
    _ plan: TablePlan, _ continuations: [Continuation], size: Int? = nil,
    variables: JSONObject = ["state": "OPEN", "other": 7, "size": 3]
  ) throws -> (text: String, variables: JSONObject) {
    let request = try ContinuationDocuments(plan).request(
      ContinuationPack(continuations: continuations, pageSize: size), variables: variables)
    // A server accepts them.
    _ = try request.template.prepared(request.variables)
    let text = request.template.callerDocument.printed()
      .split { $0.isWhitespace }.joined(separator: " ")
    return (text, request.variables)
  }

  // MARK: Holders

  @Test("through node(id:), each page has its object and its cursor, and all have one fragment")
  func node() throws {
    let plan = try Self.plan(Self.document, schema: Self.relay("node(id: ID!): Node"))
    let (text, variables) = try Self.request(
      plan, [Self.continuation(1), Self.continuation(2, cursor: nil)])
    let head = """
      query ShopNextPage($gqlrunID_0: ID!, $gqlrunAfter_0: ID, $gqlrunID_1: ID!, $gqlrunAfter_1: ID, $state: String, \
      $size: Int! = 3) { p0: node(id: $gqlrunID_0) { gqlrunID: id ... on Customer { \
      orders(first: $size, state: $state, after: $gqlrunAfter_0) { ...gqlrunPage } } } \
      p1: node(id: $gqlrunID_1) { gqlrunID: id ... on Customer { \
      orders(first: $size, state: $state, after: $gqlrunAfter_1) { ...gqlrunPage } } } } \
      fragment gqlrunPage on OrderConnection {
      """
    #expect(text.hasPrefix(head), "\(text)")
    #expect(
      variables == [
        "gqlrunID_0": "1", "gqlrunAfter_0": "c", "gqlrunID_1": "2", "state": "OPEN", "size": 3,
      ])
  }

  @Test("each document selects `rateLimit` if that of the caller does")
  func rateLimit() throws {
    let schema =
      Self.relay("node(id: ID!): Node rateLimit(dryRun: Boolean): Limit")
      + "type Limit { cost: Int remaining: Int resetAt: String }"
    let document = Self.document.replacing(
      "  other:", with: "  rateLimit(dryRun: $dry) { cost remaining }\n  other:"
    ).replacing("$other: Int,", with: "$other: Int, $dry: Boolean,")
    let plan = try Self.plan(document, schema: schema)
    for connection in 0..<2 {
      let (text, variables) = try Self.request(
        plan, [Self.continuation(connection == 0 ? nil : 1, connection: connection)],
        variables: ["size": 3, "dry": false])
      #expect(text.contains("rateLimit(dryRun: $dry) { cost remaining } }"), "\(text)")
      #expect(variables["dry"] == false)
    }
  }

  @Test("a page has what the first one has of fragments that `@include` leaves out")
  func included() throws {
    let plan = try Self.plan(
      """
      query($deep: Boolean!, $all: Boolean!) { customers(first: 2) { nodes {
        orders(first: 2) { nodes { id } } orders(first: 2) @skip(if: $all) { nodes { other: id } }
        ... on Customer @include(if: $deep) { orders(first: 2) { nodes { total } } } } } }
      """, schema: Self.relay("node(id: ID!): Node"))
    let (text, variables) = try Self.request(
      plan, [Self.continuation(1), Self.continuation(2)], variables: ["deep": false, "all": true])
    let orders = "orders(first: 2, after: $gqlrunAfter_1)"
    #expect(text.contains("... @include(if: $deep) { \(orders) {"), "\(text)")
    #expect(text.contains("\(orders) @skip(if: $all) {"), "\(text)")
    #expect(text.contains("\(orders) {"), "\(text)")
    #expect(variables["deep"] == false && variables["all"] == true)
  }

  @Test("a single page has its selection in place")
  func single() throws {
    let plan = try Self.plan(Self.document, schema: Self.relay("node(id: ID!): Node"))
    let (text, _) = try Self.request(plan, [Self.continuation(1)])
    #expect(!text.contains("fragment"))
    #expect(text.contains("total"))
  }

  @Test("through nodes(ids:), each page has a list of one id")
  func nodes() throws {
    let plan = try Self.plan(Self.document, schema: Self.relay("nodes(ids: [ID!]!): [Node]!"))
    let (text, variables) = try Self.request(
      plan, [Self.continuation(1, argument: "ids"), Self.continuation(2, argument: "ids")])
    #expect(
      text.contains(
        "p1: nodes(ids: [$gqlrun_ids_1]) { gqlrunID: id ... on Customer { orders("), "\(text)")
    #expect(variables["gqlrun_ids_1"] == "2")
    #expect(
      plan.connections[1].holderPath(1) == [.key("p1"), .index(0)])
  }

  @Test("through a field by the arguments of a redirect, in any number")
  func field() throws {
    let schema = """
      type Query { \(Self.query) find(shop: Int!, nr: String!): Customer }
      type Customer { shop: Int! nr: String! \(Self.orders) }
      type Order { id: ID! total: Float }
      """
    let keys = KeyRules(
      types: ["Customer": ["shop", "nr"]],
      redirects: ["Query": ["find": CacheRedirect(["shop", "nr"])]])
    let document = "{ customers(first: 2) { nodes { orders(first: 1) { nodes { id } } } } }"
    let plan = try Self.plan(document, schema: schema, keys: keys)
    var continuation = Continuation(connection: 1, cursor: "c")
    continuation.holder = ["shop": 4, "nr": "x"]
    let (text, variables) = try Self.request(plan, [continuation])
    #expect(
      text.contains("p0: find(shop: $gqlrun_shop_0, nr: $gqlrun_nr_0) { ... on Customer { orders("),
      "\(text)")
    #expect(variables == ["gqlrun_shop_0": 4, "gqlrun_nr_0": "x", "gqlrunAfter_0": "c"])
  }

  @Test(
    "a field `node` with another argument finds its object by that key, and no id is compared with it"
  )
  func nodeByKey() throws {
    let schema = """
      type Query { \(Self.query) node(name: String!): Customer }
      type Customer { id: ID! name: String! \(Self.orders) }
      type Order { id: ID! total: Float }
      """
    let document = "{ customers(first: 2) { nodes { orders(first: 1) { nodes { id } } } } }"
    let plan = try Self.plan(
      document, schema: schema, keys: KeyRules(types: ["Customer": ["name"]]))
    let (text, variables) = try Self.request(plan, [Self.continuation(1, argument: "name")])
    #expect(
      text.contains("p0: node(name: $gqlrun_name_0) { ... on Customer { orders("), "\(text)")
    #expect(variables["gqlrun_name_0"] == "1")
  }

  @Test("by the path, with the variables and the response keys of the document")
  func path() throws {
    let schema = """
      type Query { shop(name: String!): Shop }
      type Shop { name: String \(Self.query) }
      type Customer { id: ID! \(Self.orders) }
      type Order { id: ID! total: Float }
      """
    let document =
      "query($n: String!) { s: shop(name: $n) { name c: customers(first: 2) { nodes { id } } } }"
    let plan = try Self.plan(document, schema: schema)
    let (text, variables) = try Self.request(
      plan, [Self.continuation(nil, connection: 0)], variables: ["n": "x"])
    let head = """
      query NextPage($gqlrunAfter: String, $n: String!) { s: shop(name: $n) { \
      c: customers(first: 2, after: $gqlrunAfter) {
      """
    #expect(text.hasPrefix(head), "\(text)")
    #expect(variables == ["gqlrunAfter": "c", "n": "x"])
    #expect(plan.connections[0].holderPath(0) == [])
  }

  @Test("an object below that of the holder is reached by its fields")
  func steps() throws {
    let plan = try Self.plan(
      "{ customers(first: 2) { nodes { account { orders(first: 1) { nodes { id } } } } } }",
      schema: Self.relay("node(id: ID!): Node"))
    let (text, _) = try Self.request(plan, [Self.continuation(1)])
    #expect(
      text.contains(
        "p0: node(id: $gqlrunID_0) { gqlrunID: id ... on Customer { account { orders(first: 1, after: $gqlrunAfter_0) {"
      ), "\(text)")
    #expect(plan.connections[1].holderKeys == ["account", "orders"])
  }

  @Test("without a schema, each page names the type that its object has said")
  func withoutSchema() throws {
    let page = "pageInfo { hasNextPage endCursor }"
    let plan = try Self.plan(
      "{ customers { nodes { id orders(first: 3) { nodes { id } \(page) } } \(page) } }",
      schema: nil)
    let (text, variables) = try Self.request(
      plan, [Self.continuation(1, type: "Person"), Self.continuation(2, type: "Shop")])
    #expect(
      text.contains("p0: node(id: $gqlrunID_0) { gqlrunID: id ... on Person { orders(first: 3, "),
      "\(text)")
    #expect(
      text.contains("p1: node(id: $gqlrunID_1) { gqlrunID: id ... on Shop { orders(first: 3, "),
      "\(text)")
    #expect(!text.contains("fragment"))
    #expect(variables.count == 4)
  }

  @Test(
    "a type that is no name gets into no document",
    arguments: ["A { id } } evil: x(a: 1) { ...", ""])
  func hostileType(name: String) throws {
    let page = "pageInfo { hasNextPage endCursor }"
    let plan = try Self.plan(
      "{ customers { nodes { id orders(first: 3) { nodes { id } \(page) } } \(page) } }",
      schema: nil)
    let error = #expect(throws: TaskProblem.self) {
      try Self.request(plan, [Self.continuation(1, type: name)])
    }
    #expect(error?.message.contains("the server has named the type \"\(name)\"") == true)
  }

  // MARK: Cursors and sizes

  @Test("the first page begins where the document does", arguments: ["x", nil])
  func start(after: String?) throws {
    let plan = try Self.plan(Self.document, schema: Self.relay("node(id: ID!): Node"))
    var variables: JSONObject = ["size": 3]
    if let after { variables["after"] = .string(after) }
    let first = Self.continuation(nil, connection: 0, cursor: nil)
    let request = try Self.request(plan, [first], variables: variables)
    #expect(request.variables["gqlrunAfter"] == after.map { .string($0) })
    #expect(request.variables["after"] == nil)
    // The sizes of inner pages are still those of the caller.
    #expect(request.variables["size"] == 3)
  }

  @Test("an adapted size is a variable of its own, in all pages")
  func size() throws {
    let plan = try Self.plan(Self.document, schema: Self.relay("node(id: ID!): Node"))
    let (text, variables) = try Self.request(
      plan, [Self.continuation(1), Self.continuation(2)], size: 2)
    #expect(text.contains("$gqlrunSize: Int!"), "\(text)")
    #expect(text.contains("orders(state: $state, after: $gqlrunAfter_1, first: $gqlrunSize)"))
    #expect(variables["gqlrunSize"] == 2 && variables["size"] == nil)
  }

  @Test("the operation itself has smaller pages on its first level")
  func firstSizes() throws {
    let plan = try Self.plan(Self.document, schema: Self.relay("node(id: ID!): Node"))
    let documents = ContinuationDocuments(plan)
    let variables: JSONObject = ["other": 7, "size": 3]
    let same = try documents.first(sizes: [:], variables: variables)
    #expect(same.template.document == plan.template.document && same.variables == variables)
    let index = try #require(plan.connections.firstIndex { $0.keys == ["other"] })
    let smaller = try documents.first(sizes: [0: 1, index: 3], variables: variables)
    _ = try smaller.template.prepared(smaller.variables)
    let text = smaller.template.document
    #expect(text.contains("customers(after: $after, first: $gqlrunSize_0)"), "\(text)")
    #expect(text.contains("other: customers(first: $gqlrunSize_\(index))"), "\(text)")
    #expect(text.contains("orders(first: $size, state: $state)"), "\(text)")
    #expect(
      smaller.variables == ["gqlrunSize_0": 1, "gqlrunSize_\(index)": 3, "size": 3] as JSONObject)
  }

  @Test("smaller first pages keep the variables of the operation's directives")
  func directives() throws {
    let schema = Self.relay("node(id: ID!): Node") + "directive @trace(id: String) on QUERY"
    let plan = try Self.plan(
      "query($id: String) @trace(id: $id) { customers(first: 4) { nodes { id } } }", schema: schema)
    let smaller = try ContinuationDocuments(plan).first(sizes: [0: 2], variables: ["id": "x"])
    _ = try smaller.template.prepared(smaller.variables)
    #expect(smaller.variables == ["id": "x", "gqlrunSize_0": 2])
  }

  @Test("a document that the schema refuses is a problem that names the table")
  func refused() throws {
    let schema = """
      type Query { \(Self.query) node(id: ID!, token: String): Node }
      interface Node { id: ID! }
      type Customer implements Node { id: ID! \(Self.orders) }
      type Order { id: ID! total: Float }
      """
    let plan = try Self.plan(Self.document, schema: schema)
    var broken = plan.connections[1]
    broken.holder = .node(type: "Gone")
    broken.steps = broken.steps.map {
      $0.map { TableConnection.Step(conditions: [], field: $0.field) }
    }
    let other = TablePlan(
      template: plan.template, tables: plan.tables, connections: [plan.connections[0], broken],
      root: plan.root, notes: [], keys: plan.keys)
    let error = #expect(throws: TaskProblem.self) {
      try Self.request(other, [Self.continuation(1)])
    }
    #expect(
      error?.message.hasPrefix("the next pages of `customers.nodes.orders` cannot be requested: ")
        == true,
      "\(error?.message ?? "")")
  }
}
