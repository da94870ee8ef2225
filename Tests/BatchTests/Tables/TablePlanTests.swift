import GQLRunCache
import GQLRunConfiguration
import GQLRunJSON
import GQLRunLanguage
import Testing

@testable import GQLRunBatch

/// The tables of a document, and how all pages of its connections are requested.
@Suite("Plans of tables")
struct TablePlanTests {
  static let shop = """
    type Query {
      customers(first: Int, after: String, last: Int, before: String): CustomerConnection!
      customer(id: ID!): Customer
      shop: Shop!
      search(first: Int, after: String): HitConnection
      version: String
    }
    type Shop {
      name: String!
      owner: Person
      products(first: Int, after: String): ProductConnection
    }
    type PageInfo { hasNextPage: Boolean! hasPreviousPage: Boolean! startCursor: String endCursor: String }
    type CustomerConnection { nodes: [Customer] edges: [CustomerEdge] pageInfo: PageInfo! totalCount: Int! }
    type CustomerEdge { cursor: String! role: Role node: Customer }
    enum Role { BUYER PAYER }
    scalar Date
    type Person { name: String address: Address }
    type Address { city: String street: String }
    type Customer {
      id: ID! name: String vip: Boolean rank: Int score: Float born: Date role: Role
      tags: [Tag!] words: [String!] person: Person
      orders(first: Int, after: String): OrderConnection!
    }
    type Tag { label: String }
    type OrderConnection { nodes: [Order!]! edges: [OrderEdge] pageInfo: PageInfo! totalCount: Int! }
    type OrderEdge { node: Order cursor: String! }
    type Order {
      id: ID! number: String! total: Float customer: Customer
      lines(first: Int!, after: String): LineConnection!
    }
    type LineConnection { nodes: [Line!]! pageInfo: PageInfo! }
    type Line { sku: String quantity: Int }
    interface Product { id: ID! name: String }
    type Book implements Product { id: ID! name: String pages: Int reviews(first: Int, after: String): ReviewConnection }
    type Film implements Product { id: ID! name: String minutes: Int reviews(first: Int, after: String): ReviewConnection }
    type ProductConnection { nodes: [Product] pageInfo: PageInfo! }
    type ReviewConnection { nodes: [Review] pageInfo: PageInfo! }
    type Review { id: ID! text: String }
    union Hit = Customer | Order | Line
    type HitConnection { edges: [HitEdge] pageInfo: PageInfo! }
    type HitEdge { node: Hit }
    """
  /// With `node(id:)`.
  static let relay =
    shop
      + """

      interface Node { id: ID! }
      extend type Query { node(id: ID!): Node }
      extend type Customer implements Node
      extend type Order implements Node
      extend type Book implements Node
      extend type Film implements Node
      """

  static func schema(_ text: String) throws -> Schema { try Schema(sdl: Document(parsing: text)) }

  static func plan(
    _ query: String, schema text: String? = relay, keys: KeyRules = KeyRules(),
    settings: TablesSettings = TablesSettings()
  ) throws -> TablePlan {
    try plan(query, in: text.map { try schema($0) }, keys: keys, settings: settings)
  }

  static func plan(
    _ query: String, in schema: Schema?, keys: KeyRules = KeyRules(),
    settings: TablesSettings = TablesSettings()
  ) throws -> TablePlan {
    let template = try OperationTemplate(
      document: Document(parsing: query), keys: keys, facts: schema.map { TypeFacts($0) })
    return try TablePlanner(template, settings: settings).plan()
  }

  private static func settings(
    as names: [(String, String)] = [], shared: [String] = [], allowPartial: Bool = false
  ) -> TablesSettings {
    var settings = TablesSettings()
    settings.as = OptionMap(names.map { (name: $0.0, value: Located($0.1)) })
    settings.shared = shared.map { Located($0) }
    settings.allowPartial = allowPartial
    return settings
  }

  private static let orders = """
    query($size: Int = 20) {
      customers(first: 50) {
        nodes { id name orders(first: $size) { totalCount nodes { id total lines(first: 10) { nodes { sku quantity } } } } }
      }
    }
    """

  // MARK: Tables

  @Test("each list is a table with the leaves of its objects")
  func lists() throws {
    let plan = try Self.plan(Self.orders)
    #expect(
      plan.tableLines == [
        "customers: id text, name text, orders_totalCount integer (Query.customers)",
        "customers_orders < customers: id text, total real (Customer.orders)",
        "customers_orders_lines < customers_orders: sku text, quantity integer (Order.lines)",
      ])
    #expect(
      plan.connectionLines == [
        "customers: path; first 50, after; 0",
        "customers.nodes.orders: node(id: id) of Customer; first 20, after; 1",
        "customers.nodes.orders.nodes.lines: node(id: id) of Order; first 10, after; 2",
      ])
    #expect(plan.connections.map(\.parent) == [nil, 0, 1])
    #expect(plan.connections.map(\.totalKey) == [nil, "totalCount", nil])
    #expect(plan.tables[0].columns[2].coordinate == "OrderConnection.totalCount")
    #expect(plan.notes == [])
  }

  @Test("what continuations need is added to the operation, once")
  func added() throws {
    let plan = try Self.plan(
      """
      { customers { pageInfo { hasNextPage } nodes { number: name orders { nodes { total } pageInfo { endCursor hasNextPage } } } } }
      """)
    #expect(
      plan.sent == """
        { customers { pageInfo { endCursor hasNextPage } nodes { id __typename number: name orders { \
        nodes { id __typename total } pageInfo { endCursor hasNextPage } } } } }
        """)
    #expect(plan.tables.map { $0.columns.map(\.name) } == [["number"], ["total"]])
  }

  @Test("an added field does not collide with an alias of the user")
  func aliases() throws {
    let plan = try Self.plan(
      """
      { customers { pageInfo: totalCount info: pageInfo { hasNextPage: hasPreviousPage }
        nodes { id: name __typename: rank orders { nodes { total } } } } }
      """)
    let customers = try #require(plan.root.lists.first)
    #expect(
      customers.element.identity
        == TableShape.Identity(typename: "gqlrun___typename", fields: ["id": "gqlrun_id"]))
    #expect(plan.connections[0].hasMoreKeys == ["gqlrun_pageInfo", "hasNextPage"])
    #expect(plan.connections[0].cursorKeys == ["gqlrun_pageInfo", "endCursor"])
    #expect(plan.connections[1].values.map(\.keys) == [["gqlrun_id"]])
    #expect(plan.tableLines[0] == "customers: id text, __typename integer (Query.customers)")
  }

  @Test("kinds of columns come from the schema")
  func kinds() throws {
    let plan = try Self.plan(
      "{ customers { nodes { __typename id name vip rank score born role words } } }")
    #expect(
      plan.tables[0].columns.map { "\($0.name) \($0.kind)" } == [
        "__typename text", "id text", "name text", "vip boolean", "rank integer", "score real",
        "born any", "role text", "words json",
      ])
  }

  @Test("single objects are columns, and lists without pages are tables")
  func flattened() throws {
    let plan = try Self.plan(
      "{ customers { nodes { id person { name address { city } } tags { label } } } }")
    #expect(
      plan.tableLines == [
        "customers: id text, person_name text, person_address_city text (Query.customers)",
        "customers_tags < customers: label text (Customer.tags)",
      ])
    #expect(plan.tables.map(\.path) == ["customers", "tags"])
    let customers = try #require(plan.root.lists.first).element
    #expect(customers.paths.suffix(2) == ["person.address.city: 2", "tags: table 1"])
    let tags = try #require(customers.lists.first)
    #expect(tags.connection == nil && tags.element.identity == nil)
  }

  @Test("fields of an edge and of its node are columns of one row")
  func edges() throws {
    let plan = try Self.plan(
      "{ people: customers(last: 5) { edges { role who: node { id orders { edges { cursor node { id } } } } } } }"
    )
    #expect(
      plan.tableLines == [
        "people: role text, id text (Query.customers)",
        "people_orders < people: cursor text, id text (Customer.orders)",
      ])
    #expect(
      plan.connectionLines == [
        "people: path; last 5, before; 0",
        "people.edges.who.orders: node(id: who.id) of Customer; first, after; 1",
      ])
    #expect(plan.connections[0].hasMoreKeys == ["pageInfo", "hasPreviousPage"])
    #expect(plan.connections[0].cursorKeys == ["pageInfo", "startCursor"])
    #expect(plan.root.paths == ["people.edges: table 0"])
    let people = try #require(plan.root.lists.first)
    #expect(people.node == "who")
    #expect(people.element.paths == ["role: 0", "who.id: 1", "who.orders.edges: table 1"])
    #expect(plan.connections[1].listKey == "edges" && plan.connections[1].list.node == "node")
  }

  @Test("a single object at the root with leaves is a table of one row")
  func single() throws {
    let plan = try Self.plan(
      """
      { version shop { name owner { name } products { nodes { name } } }
        customer(id: 1) { orders { totalCount nodes { id } } } }
      """)
    #expect(
      plan.tableLines == [
        "shop: name text, owner_name text (Query.shop)",
        "shop_products < shop: name text (Shop.products)",
        "customer_orders: id text (Customer.orders)",
      ])
    #expect(plan.tables.map(\.isSingle) == [true, false, false])
    #expect(plan.connections.map(\.holder) == [.path, .path])
    #expect(
      plan.root.paths == [
        "shop.name: 0", "shop.owner.name: 1", "shop.products.nodes: table 1",
        "customer.orders.nodes: table 2",
      ])
    #expect(
      plan.root.entries.map { entry in
        if case .object(let shape) = entry.target { shape.table } else { nil }
      } == [0, nil])
    #expect(
      plan.notes == [
        "`version`, `customer.orders.totalCount` are in no table: no row has them"
      ])
  }

  @Test("a single object without leaves is no table; the outermost with leaves is one")
  func inner() throws {
    let plan = try Self.plan(
      "{ shop { owner { name address { city } } products { nodes { id } } } }")
    #expect(
      plan.tableLines == [
        "shop_owner: name text, address_city text (Shop.owner)",
        "shop_products: id text (Shop.products)",
      ])
  }

  @Test("fragments are read through, and fields of several types are columns of one table")
  func fragments() throws {
    let plan = try Self.plan(
      """
      query { search(first: 10) { ...Hits } }
      fragment Hits on HitConnection { edges { node { ... on Customer { name ...Orders } ... on Order { total } } } }
      fragment Orders on Customer { orders(first: 5) { nodes { ... { number } ...Total ...Total } } }
      fragment Total on Order { total customer { name } }
      """)
    #expect(
      plan.tableLines == [
        "search: name text, total real (Query.search)",
        "search_orders < search: number text, total real, customer_name text (Customer.orders)",
      ])
    #expect(
      plan.connectionLines == [
        "search: path; first 10, after; 0",
        "search.edges.node.orders: node(id: node.id) of Customer; first 5, after; 1",
      ])
    #expect(
      plan.sent == """
        { search(first: 10) { pageInfo { hasNextPage endCursor } edges { node { ... on Node { id } \
        __typename ... on Customer { name orders(first: 5) { pageInfo { hasNextPage endCursor } \
        nodes { id __typename number total customer { name } } } } ... on Order { total } } } } }
        """)
  }

  @Test("a connection that fragments on several types select has a way for each of them")
  func ways() throws {
    let plan = try Self.plan(
      """
      { shop { products { nodes { name
        ... on Book { reviews(first: 3) { nodes { text } } } ... on Film { reviews(first: 4) { nodes { text } } } } } } }
      """)
    let reviews = plan.connections[1]
    #expect(reviews.steps.map { $0.map(\.conditions) } == [[["Book"]], [["Film"]]])
    #expect(
      reviews.steps.map { $0.map { $0.field.flat } } == [
        ["reviews(first: 3) { pageInfo { hasNextPage endCursor } nodes { id __typename text } }"],
        ["reviews(first: 4) { pageInfo { hasNextPage endCursor } nodes { id __typename text } }"],
      ])
    #expect(reviews.values == [.init(argument: "id", keys: ["id"], type: reviews.values[0].type)])
    #expect(reviews.values[0].type.printed() == "ID!")
  }

  @Test("@include stays on fields, and not on the connection whose pages are requested")
  func included() throws {
    let plan = try Self.plan(
      """
      query($all: Boolean!) { customers { nodes {
        orders(first: 2) @include(if: $all) { totalCount nodes { id total @skip(if: $all) } } } } }
      """)
    #expect(
      plan.connections[1].steps.map { $0.map { $0.field.flat } } == [
        [
          "orders(first: 2) { pageInfo { hasNextPage endCursor } nodes { __typename id total @skip(if: $all) } }"
        ]
      ])
    #expect(plan.sent.contains("orders(first: 2) @include(if: $all) {"))
  }

  @Test(
    "pages go backwards from `last`, and from `before` without `first` and `after`",
    arguments: [
      ("last: 5", "last 5, before"), ("last: 5, after: \"x\"", "last 5, before"),
      ("before: \"x\"", "last, before"), ("first: 5, before: \"x\"", "first 5, after"),
      ("after: \"x\", before: \"y\"", "first, after"),
    ])
  func directions(arguments: String, pages: String) throws {
    let plan = try Self.plan("{ customers(\(arguments)) { nodes { id } } }")
    #expect(plan.connectionLines == ["customers: path; \(pages); 0"])
  }

  @Test("`first` and `last` of one connection leave the direction of its pages open")
  func bothSizes() throws {
    let error = #expect(throws: TablePlanError.self) {
      try Self.plan(
        "query($first: Int, $last: Int) { customers(first: $first, last: $last) { nodes { id } } }")
    }
    #expect(
      error?.lines == [
        "1:34: `customers` has `first` and `last`, so that nothing tells in which direction its pages go"
      ])
  }

  @Test("`as` renames tables, and `shared` marks them")
  func settings() throws {
    let plan = try Self.plan(
      Self.orders,
      settings: Self.settings(
        as: [("customers_orders_lines", "lines")], shared: ["customers_orders_lines"]))
    #expect(plan.tables.map(\.name) == ["customers", "customers_orders", "lines"])
    #expect(plan.tables.map(\.isShared) == [false, false, true])
    #expect(plan.tables.map(\.path) == ["customers", "orders", "lines"])
  }

  // MARK: Continuations

  @Test(
    "the object of a connection is found by what the schema has",
    arguments: [
      ("extend type Query { order(id: ID!, lang: String): Order }", "order(id: id) of Order"),
      ("extend type Query { order(id: ID): Order }", "order(id: id) of Order"),
      (
        "extend type Query { lostOrder(id: ID!): Order order(id: String!): Order }",
        "order(id: id) of Order"
      ),
      (
        "interface Node { id: ID! } extend type Query { nodes(ids: [ID!]!): [Node]! } extend type Order implements Node",
        "nodes(ids: id) of Order"
      ),
    ])
  func holders(extensions: String, holder: String) throws {
    let plan = try Self.plan(
      "{ customer(id: 1) { orders { nodes { lines(first: 1) { nodes { sku } } } } } }",
      schema: Self.shop + "\n" + extensions)
    #expect(
      plan.connectionLines.last == "customer.orders.nodes.lines: \(holder); first 1, after; 1")
    #expect(plan.connections[1].values[0].type.isNonNull == !extensions.contains("id: ID)"))
  }

  @Test(
    "a field that needs more, returns a list or takes another type does not find an object",
    arguments: [
      "order(id: ID!, shop: ID!): Order", "order(id: ID, shop: ID): Order",
      "order(id: [ID!]!): Order", "order(id: ID!): [Order]", "order(id: Int!): Order",
      "order(number: String!): Order", "order: Order",
    ])
  func noHolders(field: String) throws {
    let error = #expect(throws: TablePlanError.self) {
      try Self.plan(
        "{ customer(id: 1) { orders { nodes { lines(first: 1) { nodes { sku } } } } } }",
        schema: Self.shop + "\nextend type Query { \(field) }")
    }
    #expect(
      error?.problems.map(\.message) == [
        "the pages of `customer.orders.nodes.lines` after the first cannot be requested: neither `node(id:)` nor "
          + "a field of `Query` with its key finds `Order`"
      ])
    #expect(error?.problems.first?.hint?.contains("key_args: [id]") == true)
    #expect(error?.problems.first?.location?.column == 38)
  }

  @Test("a redirect of the key rules finds an object by several key fields, which are added")
  func redirect() throws {
    let keys = KeyRules(
      types: ["Order": ["number", "id"]],
      redirects: ["Query": ["placed": CacheRedirect(["number", "order"])]])
    let plan = try Self.plan(
      "{ customer(id: 1) { orders { nodes { lines(first: 1) { nodes { sku } } } } } }",
      schema: Self.shop + "\nextend type Query { placed(order: ID!, number: String!): Order }",
      keys: keys)
    #expect(plan.connectionLines[1].contains("placed(number: number, order: id) of Order"))
    #expect(plan.sent.contains("nodes { number id __typename lines"))
    #expect(plan.connections[1].values.map { $0.type.printed() } == ["String!", "ID!"])
  }

  @Test("a connection below single objects is found by the innermost that an id finds")
  func innermost() throws {
    let query =
      "{ customers { nodes { orders { nodes { customer { orders { nodes { id } } } } } } } }"
    let direct = try Self.plan(query)
    #expect(
      direct.connectionLines[2]
        == "customers.nodes.orders.nodes.customer.orders: node(id: customer.id) of Customer; first, after; 2"
    )
    #expect(direct.connections[2].holderKeys == ["orders"])
    let outer = try Self.plan(
      query.replacing("customer {", with: "customer { person { name } ").replacing(
        "nodes { id }", with: "nodes { number }"),
      schema: Self.shop + "\nextend type Query { order(id: ID!): Order }",
      keys: KeyRules(types: ["Customer": []]), settings: Self.settings(allowPartial: true))
    #expect(
      outer.connectionLines[2]
        == "customers.nodes.orders.nodes.customer.orders: order(id: id) of Order; first, after; 2")
    #expect(outer.connections[2].holderKeys == ["customer", "orders"])
    #expect(
      outer.connections[2].steps.map { $0.map { $0.field.flat } } == [
        [
          "customer",
          "orders { pageInfo { hasNextPage endCursor } nodes { id __typename number } }",
        ]
      ])
  }

  @Test("an object of an interface is found by a field that returns the interface")
  func interfaces() throws {
    let plan = try Self.plan(
      "{ shop { products { nodes { ... on Book { reviews { nodes { id } } } ... on Film { reviews { nodes { id } } } } } } }",
      schema: Self.shop + "\nextend type Query { product(id: ID!): Product }")
    #expect(
      plan.connectionLines[1]
        == "shop.products.nodes.reviews: product(id: id) of Product; first, after; 1")
    #expect(plan.connections[1].steps.map { $0[0].conditions } == [["Book"], ["Film"]])
  }

  // MARK: Without a schema

  @Test("without a schema, connections have the shape of connections, and objects need their id")
  func withoutSchema() throws {
    let plan = try Self.plan(
      """
      { shop { name } customers(first: 5) { nodes { id person { name } orders { edges { node { id lines { nodes { sku } } } } } } } }
      """, schema: nil)
    #expect(
      plan.tableLines == [
        "shop: name any", "customers: id any, person_name any",
        "customers_orders < customers: id any",
        "customers_orders_lines < customers_orders: sku any",
      ])
    #expect(
      plan.connectionLines == [
        "customers: path; first 5, after; 1",
        "customers.nodes.orders: node(id: id, __typename: __typename); after; 2",
        "customers.nodes.orders.edges.node.lines: node(id: node.id, __typename: node.__typename); after; 3",
      ])
  }

  @Test("without a schema, an added field has its name in all selections of an object")
  func aliasesWithoutSchema() throws {
    let plan = try Self.plan(
      """
      { customers { nodes { id __typename: rank orders { nodes { total } } }
        ... on CustomerConnection { nodes { name } } } }
      """, schema: nil)
    #expect(plan.connections[1].values.map(\.keys) == [["id"], ["gqlrun___typename"]])
    let added = "gqlrun___typename: __typename"
    #expect(plan.sent.contains(added))
    #expect(!plan.sent.replacing(added, with: "").contains("gqlrun"))
  }

  @Test("without a schema, a fragment tells the type of an object")
  func withoutSchemaInFragment() throws {
    let query = """
      { customers { nodes { id code ...Orders } } } fragment Orders on Customer { orders { nodes { id } } }
      """
    let plan = try Self.plan(query, schema: nil)
    #expect(
      plan.connectionLines[1] == "customers.nodes.orders: node(id: id) of Customer; after; 1")
    let keys = KeyRules(
      types: ["Customer": ["code"]],
      redirects: ["Query": ["customer": CacheRedirect(["code"], type: "Customer")]])
    let byCode = try Self.plan(query, schema: nil, keys: keys)
    #expect(
      byCode.connectionLines[1]
        == "customers.nodes.orders: customer(code: code) of Customer; after; 1")
  }

  // MARK: Keys

  @Test("the keys of rows are those of the cache")
  func keys() throws {
    var rules = KeyRules(
      types: ["Order": ["number", "id"], "Line": []], groups: ["Customer": "Person"])
    func key(_ object: JSONObject) throws -> String? {
      let plan = try Self.plan(
        "{ search { edges { node { ... on Customer { name } ... on Order { total } ... on Line { sku } } } } }",
        keys: rules)
      let list = try #require(plan.root.lists.first)
      #expect(list.node == "node")
      return plan.key(of: object, in: list.element)
    }
    #expect(try key(["__typename": "Customer", "id": "7"]) == "Person:7")
    #expect(try key(["__typename": "Customer", "id": 7]) == "Person:7")
    #expect(try key(["__typename": "Customer", "id": nil]) == nil)
    #expect(try key(["__typename": "Customer"]) == nil)
    #expect(try key(["id": "7"]) == nil)
    #expect(try key(["__typename": "Line", "id": "7"]) == nil)
    #expect(
      try key(["__typename": "Order", "id": "1+2", "number": "a\\b"]) == #"Order:a\\b+1\+2"#)
    rules.resolve(version: "1") { object in
      object.typename == "Line" ? .none : .id(object["id"]?.stringValue?.uppercased() ?? "")
    }
    #expect(try key(["__typename": "Customer", "id": "a"]) == "Person:A")
    #expect(try key(["__typename": "Customer", "id": ""]) == nil)
  }

  // MARK: Problems

  @Test(
    "what has no tables is refused with its location and what would work",
    arguments: [
      (
        "mutation { a: version }",
        "1:1: tables are made of queries, and the operation is the anonymous mutation"
      ),
      (
        "{ customers { nodes { id ... @defer { name } } } }",
        "1:30: `@defer` makes a response arrive in parts, and tables are read from whole ones"
      ),
      (
        "{ version shop { name } }",
        "1:1: the document selects no list of objects, so that it has no tables"
      ),
      (
        "{ customers { edges { role node { role } } } }",
        "1:35: `customers.edges.role` and `customers.edges.node.role` would be one column `role`"
      ),
      (
        "{ customers { nodes { person_name: name person { Name: name } } } }",
        "1:50: `customers.nodes.person_name` and `customers.nodes.person.Name` would be one column `person_Name`"
      ),
      (
        "{ customers { nodes { _Key: name } } }",
        "1:23: `customers.nodes._Key` would be the column `_Key`, which each table has for itself"
      ),
      (
        "{ a: shop { b_c: products { nodes { id } } } a_b: shop { C: products { nodes { id } } } }",
        "1:58: `a.b_c` and `a_b.C` would be one table `a_b_C`"
      ),
      (
        "{ customers { nodes { id } edges { role } } }",
        "1:28: `customers` selects its elements twice, as `nodes` and `edges`"
      ),
      (
        "{ list: pageless(first: 5, after: null) { nodes { id } } }",
        "1:3: `list` takes `after`, and nothing tells whether it has more pages: its type `Pageless` has no `pageInfo`"
      ),
      (
        "{ plain { id } }",
        "1:3: `plain` takes `after`, and nothing tells whether it has more pages: it is a list without `pageInfo`"
      ),
      ("{ grid { sku } }", "1:3: `grid` is a list of lists of objects, which is no table"),
      (
        "{ uncursored { nodes { id } } }",
        "1:3: only the first page of `uncursored` can be had: it takes no argument `after`"
      ),
      (
        "{ customers { nodes { tags2 { reviews { nodes { id } } } } } }",
        "1:31: the pages of `customers.nodes.tags2.reviews` after the first cannot be requested: `Tag` has no key: "
          + "it has no field `id`"
      ),
      (
        "{ search { edges { node { ... on Customer { x: orders { nodes { id } } } ... on Order { x: lines(first: 1) "
          + "{ nodes { number: sku } } } } } } other: search { edges { node { ... on Order { y: lines(last: 1) { nodes { sku } } } "
          + "... on Customer { y: orders(first: 1) { nodes { id } } } } } } }",
        "1:188: `other.edges.node.y` is a connection with other pages for each of several types"
      ),
    ])
  func problems(query: String, expected: String) throws {
    let extensions = """

      extend type Query {
        pageless(first: Int, after: ID): Pageless plain(after: ID): [Customer] uncursored: CustomerConnection
        grid: [[Line]]
      }
      type Pageless { nodes: [Customer] }
      type Mutation { version: Int }
      extend type Customer { tags2: [Tag] }
      extend type Tag { reviews(first: Int, after: String): ReviewConnection }
      directive @defer(if: Boolean, label: String) on FRAGMENT_SPREAD | INLINE_FRAGMENT
      """
    let error = #expect(throws: TablePlanError.self) {
      try Self.plan(query, schema: Self.relay + extensions)
    }
    #expect(error?.lines == [expected])
  }

  @Test("all problems are reported together, in the order of the document")
  func allProblems() throws {
    let error = #expect(throws: TablePlanError.self) {
      try Self.plan(
        "{ customers { nodes { _key: id _parent: name orders { nodes { _position: id } } } } }",
        settings: Self.settings(
          as: [("customer", "people"), ("customers", "no name")], shared: ["tags"]))
    }
    #expect(
      error?.lines == [
        "1:23: `customers.nodes._key` would be the column `_key`, which each table has for itself",
        "1:32: `customers.nodes._parent` would be the column `_parent`, which each table has for itself",
        "1:63: `customers.nodes.orders.nodes._position` would be the column `_position`, which each table has for itself",
        "`as` names the table `customer`, which the document does not make",
        "`no name` cannot be the name of a table",
        "`shared` names the table `tags`, which the document does not make",
      ])
    #expect(
      error?.problems.suffix(3).map(\.hint) == [
        "did you mean `customers`?", "letters, digits and `_`, of which the first is no digit",
        "its tables are customers, customers_orders",
      ])
  }

  @Test(
    "two tables of one name are refused, whatever `as` says", arguments: ["customers", "CUSTOMERS"])
  func sameNames(name: String) throws {
    let error = #expect(throws: TablePlanError.self) {
      try Self.plan(Self.orders, settings: Self.settings(as: [("customers_orders", name)]))
    }
    #expect(
      error?.lines == [
        "3:21: `customers` and `customers.nodes.orders` would be one table `\(name)`"
      ])
    #expect(error?.problems[0].hint == "give one of them another name with `as`")
  }

  @Test("`allow_partial` accepts connections whose further pages nothing finds, with a note")
  func partial() throws {
    let plan = try Self.plan(
      "{ customer(id: 1) { orders { nodes { lines(first: 1) { nodes { sku } } } } } }",
      schema: Self.shop, settings: Self.settings(allowPartial: true))
    #expect(
      plan.connections.map(\.holder) == [
        .path,
        .none(reason: "neither `node(id:)` nor a field of `Query` with its key finds `Order`"),
      ])
    #expect(plan.notes.count == 1)
  }

  @Test(
    "a connection may have a list of another name; a list without pages has a note if its arguments select a part"
  )
  func otherLists() throws {
    let plan = try Self.plan(
      """
      { found(after: null) { items { id orders { nodes { id } } } total }
        dated(after: "2026-01-01", limit: 5) { sku } shop2(page: 1) { lines { sku } } }
      """,
      schema: Self.relay + """

        extend type Query {
          found(after: String): Found dated(after: Date, limit: Int): [Line] shop2(page: Int): Lines
        }
        type Found { items: [Customer] pageInfo: PageInfo total: Int }
        type Lines { lines: [Line] }
        """)
    #expect(
      plan.tableLines == [
        "found: id text (Query.found)", "found_orders < found: id text (Customer.orders)",
        "dated: sku text (Query.dated)", "shop2_lines: sku text (Lines.lines)",
      ])
    #expect(
      plan.connectionLines == [
        "found: path; after; 0",
        "found.items.orders: node(id: id) of Customer; first, after; 1",
      ])
    #expect(
      plan.notes == [
        "`dated` takes `limit`: its table has what one response has",
        "`shop2` takes `page`: its table has what one response has",
        "`found.total` is in no table: no row has it",
      ])
  }

  @Test("GitHub's `rateLimit` is no table; another field of that name is one")
  func rateLimit() throws {
    let query = "{ customers { nodes { id } } limit: rateLimit { cost remaining } }"
    let schema = """
      \(Self.relay)
      extend type Query { rateLimit(dryRun: Boolean): RateLimit }
      type RateLimit { cost: Int! limit: Int! remaining: Int! resetAt: Date! }
      """
    for text in [schema, nil] {
      let plan = try Self.plan(query, schema: text)
      #expect(plan.tables.map(\.name) == ["customers"] && plan.notes == [])
      #expect(plan.sent.contains("limit: rateLimit { cost remaining }"))
    }
    let other = try Self.plan(
      query,
      schema: schema.replacing("limit: Int! remaining", with: "quota: Int! remaining")
        .replacing("resetAt", with: "until"))
    #expect(other.tables.map(\.name) == ["customers", "limit"])
  }

  @Test("edges that only have cursors are no second list")
  func cursors() throws {
    let plan = try Self.plan("{ customers { edges { cursor } nodes { id } } }")
    #expect(plan.tableLines == ["customers: id text (Query.customers)"])
    #expect(plan.notes == ["the cursors of `customers` are in no table"])
  }

  @Test("fragments that multiply their fields are refused", .timeLimit(.minutes(1)))
  func hostile() throws {
    var text = "{ customers { nodes { ...F0 } } }\n"
    for level in 0..<40 {
      text += """
        fragment F\(level) on Customer { a: orders { nodes { customer { ...F\(level + 1) } } }
          b: orders { nodes { customer { ...F\(level + 1) } } } }

        """
    }
    text += "fragment F40 on Customer { id }"
    let error = #expect(throws: TablePlanError.self) { try Self.plan(text) }
    #expect(error?.problems.first?.message.contains("more than 50000 fields") == true)
  }
}

extension TablePlanError {
  /// `1:3: message`.
  var lines: [String] {
    problems.map { problem in
      (problem.location.map { "\($0.line):\($0.column): " } ?? "") + problem.message
    }
  }
}

extension TablePlan {
  /// `customers_orders < customers: id text, total real (Customer.orders)`.
  var tableLines: [String] {
    tables.map { table in
      let parent = table.parent.map { " < \(tables[$0].name)" } ?? ""
      let columns = table.columns.map { "\($0.name) \($0.kind)" }.joined(separator: ", ")
      return "\(table.name)\(parent): \(columns)" + (table.coordinate.map { " (\($0))" } ?? "")
    }
  }

  /// `customers.nodes.orders: node(id: id) of Customer; first 50, after; 1`, which ends with the table.
  var connectionLines: [String] {
    connections.map { connection in
      let arguments = connection.values.map { "\($0.argument): \($0.keys.joined(separator: "."))" }
        .joined(separator: ", ")
      let holder =
        switch connection.holder {
        case .path: "path"
        case .field(let name, let type, _):
          "\(name)(\(arguments))" + (type.map { " of \($0)" } ?? "")
        case .none(let reason): reason
        }
      let size = connection.sizeArgument.map { name in
        name + (connection.pageSize.map { " \($0)" } ?? "") + ", "
      }
      return
        "\(connection.keys.joined(separator: ".")): \(holder); \(size ?? "")\(connection.cursorArgument); "
        + "\(connection.table)"
    }
  }

  /// The operation with what is added, in one line.
  var sent: String { template.callerDocument.printed().flat }
}

extension TableShape {
  /// The response keys to the cells and lists, each with the column or the table: `address.city: 2`, `tags: table 1`.
  var paths: [String] {
    entries.flatMap { key, target -> [String] in
      switch target {
      case .cell(let column): ["\(key): \(column)"]
      case .object(let shape): shape.paths.map { "\(key).\($0)" }
      case .list(let list): ["\(key): table \(list.table)"]
      }
    }
  }
}

extension String {
  /// With one space for white space.
  var flat: String { split { $0 == " " || $0 == "\n" }.joined(separator: " ") }
}

extension Field {
  /// The field with its selection set, in one line.
  var flat: String {
    let set = SelectionSet(selections: [.field(self)], location: location)
    let operation = OperationDefinition(
      type: .query, name: nil, variables: [], directives: [], selectionSet: set, location: location)
    return String(
      Document(definitions: [.operation(operation)]).printed().flat.dropFirst(2).dropLast(2))
  }
}
