import GQLRunJSON
import GQLRunPipeline
import Testing

@testable import GQLRunBatch

@Suite("Rows of responses")
struct TableReaderTests {
  private static let schema = """
    type Query {
      customers(first: Int, after: String): CustomerConnection
      customer(id: ID!): Customer
      node(id: ID!): Node
      tags: [Tag]
    }
    interface Node { id: ID! }
    type PageInfo { hasNextPage: Boolean! endCursor: String }
    type CustomerConnection { totalCount: Int edges: [CustomerEdge] nodes: [Customer] pageInfo: PageInfo! }
    type CustomerEdge { role: String node: Customer }
    type Customer implements Node {
      id: ID! name: String address: Address words: [String] tags: [Tag]
      orders(first: Int, after: String): OrderConnection
    }
    type Address { city: String place: Place }
    type Place { zip: String }
    type Tag { text: String }
    type OrderConnection {
      totalCount: Int summary: Summary facets: [Tag] nodes: [Order] pageInfo: PageInfo!
    }
    type Summary { sum: Float }
    type Order implements Node { id: ID! total: Float lines(first: Int, after: String): LineConnection }
    type LineConnection { nodes: [Line] pageInfo: PageInfo! }
    type Line { sku: String }
    """

  /// Customers with their orders.
  private static let query =
    "{ customers(first: 2) { nodes { id orders(first: 2) { nodes { id } } } } }"

  static func plan(_ query: String, schema text: String? = schema) throws -> TablePlan {
    try TablePlanTests.plan(query, schema: text)
  }

  private static func texts(_ page: TablePage, _ plan: TablePlan) -> [String] {
    page.rows.map { RandomTables.text($0, plan) }
  }

  private static func error(_ message: String, _ path: [Any]? = nil) -> GraphQLError {
    GraphQLError(
      message: message,
      path: path?.compactMap {
        ($0 as? String).map { .key($0) } ?? ($0 as? Int).map { .index($0) }
      })
  }

  // MARK: Rows

  @Test(
    "rows have cells of single objects, of edges and of the connections in them, after the row of their parent"
  )
  func rows() throws {
    let plan = try Self.plan(
      """
      { customers(first: 2) {
          totalCount
          edges { role node {
            name words address { city place { zip } }
            orders(first: 1) { totalCount nodes { id total lines(first: 9) { nodes { sku } } } } tags { text }
          } } } }
      """)
    let data = try JSONValue(
      parsing: """
        {"customers": {"totalCount": 5, "pageInfo": {"hasNextPage": true, "endCursor": "c2"}, "edges": [
          {"role": "BUYER", "node": {"__typename": "Customer", "id": "1", "name": "A", "words": ["x", "y"],
            "address": {"city": "Rome", "place": {"zip": "00100"}}, "tags": [{"text": "t0"}, null, {"text": "t2"}],
            "orders": {"totalCount": 2, "pageInfo": {"hasNextPage": true, "endCursor": "o1"}, "nodes": [
              {"__typename": "Order", "id": "7", "total": 1.50,
                "lines": {"pageInfo": {"hasNextPage": false}, "nodes": [{"sku": "s"}, {"sku": null}]}}]}}},
          null,
          {"role": null, "node": null},
          {"role": "PAYER", "node": {"__typename": "Customer", "id": "2", "name": null, "words": null, "address": null,
            "tags": null, "orders": null}}]}}
        """)
    let page = try TableReader(plan: plan).read(data, errors: [], rowKey: "R")
    #expect(
      Self.texts(page, plan) == [
        #"customers Customer:1 R 0 address_city="Rome" address_place_zip="00100" name="A" orders_totalCount=2 role="BUYER" words=["x","y"]"#,
        #"customers_orders Order:7 Customer:1 0 id="7" total=1.50"#,
        #"customers_orders_lines Order:7.lines.0 Order:7 0 sku="s""#,
        #"customers_orders_lines Order:7.lines.1 Order:7 1 sku=null"#,
        #"customers_tags Customer:1.tags.0 Customer:1 0 text="t0""#,
        #"customers_tags Customer:1.tags.2 Customer:1 2 text="t2""#,
        #"customers Customer:2 R 3 name=null role="PAYER" words=null"#,
      ])
    #expect(
      page.open == [
        Continuation(
          connection: 1, cursor: "o1", holder: ["id": "1"], parent: "Customer:1", count: 1,
          pages: 1,
          mark: "o1", total: 2),
        Continuation(
          connection: 0, cursor: "c2", parent: "R", count: 4, pages: 1, mark: "c2", total: 5),
      ])
  }

  @Test(
    "a single object with leaves has a row, whose key its lists have; without it, the first level has none"
  )
  func singleObjects() throws {
    let query = "{ customer(id: 1) { name orders(first: 1) { nodes { total } } } tags { text } }"
    let plan = try Self.plan(query)
    let data = try JSONValue(
      parsing: """
        {"customer": {"__typename": "Customer", "id": "1", "name": "A",
          "orders": {"pageInfo": {"hasNextPage": false, "endCursor": null},
            "nodes": [{"__typename": "Order", "id": "3", "total": 2}]}}, "tags": [{"text": "t"}]}
        """)
    for (key, tag) in [(nil, "tags.0 -"), ("R", "R.tags.0 R")] {
      let page = try TableReader(plan: plan).read(data, errors: [], rowKey: key)
      #expect(
        Self.texts(page, plan).sorted() == [
          #"customer Customer:1 \#(key ?? "-") 0 name="A""#,
          "customer_orders Order:3 Customer:1 0 total=2", "tags \(tag) 0 text=\"t\"",
        ])
      #expect(Set(page.rows.map(\.parent)) == [key, "Customer:1"])
    }
    let absent = try JSONValue(parsing: #"{"customer": null, "tags": []}"#)
    #expect(try TableReader(plan: plan).read(absent, errors: [], rowKey: nil).rows.isEmpty)
  }

  @Test("an edge without the field `node` is a row; one whose node is null is none")
  func absentNodes() throws {
    let plan = try Self.plan("{ customers(first: 3) { edges { role node { id } } } }")
    let data = try JSONValue(
      parsing: """
        {"customers": {"pageInfo": {"hasNextPage": false}, "edges": [
          {"role": "A"}, {"role": "B", "node": null}, {"role": "C", "node": {"__typename": "Customer", "id": "7"}}]}}
        """)
    let page = try TableReader(plan: plan).read(data, errors: [], rowKey: nil)
    #expect(
      Self.texts(page, plan) == [
        #"customers customers.0 - 0 role="A""#, #"customers Customer:7 - 2 id="7" role="C""#,
      ])
  }

  @Test("the rows of a page continue the positions of the pages before it")
  func positions() throws {
    let plan = try Self.plan(Self.query)
    let reader = TableReader(plan: plan)
    let pack = ContinuationPack(
      continuations: [
        Continuation(
          connection: 1, cursor: "a", holder: ["id": "1"], parent: "Customer:1", count: 2, pages: 1,
          mark: "a"),
        Continuation(
          connection: 1, cursor: "b", holder: ["id": "2"], parent: "Customer:2", count: 6, pages: 3,
          mark: "x"),
      ])
    let data = try JSONValue(
      parsing: """
        {"p0": {"__typename": "Customer", "orders": {"nodes": [{"__typename": "Order", "id": "5"}],
           "pageInfo": {"hasNextPage": false, "endCursor": "z"}}},
         "p1": {"__typename": "Customer", "orders": {"nodes": [null, {"__typename": "Order", "id": "6"}],
           "pageInfo": {"hasNextPage": true, "endCursor": "c"}}}}
        """)
    let pages = try reader.read(data, errors: [], pack: pack).map { try $0.get() }
    #expect(
      pages.map { Self.texts($0, plan) } == [
        [#"customers_orders Order:5 Customer:1 2 id="5""#],
        [#"customers_orders Order:6 Customer:2 7 id="6""#],
      ])
    #expect(
      pages.map(\.open) == [
        [],
        [
          Continuation(
            connection: 1, cursor: "c", holder: ["id": "2"], parent: "Customer:2", count: 8,
            pages: 4,
            mark: "c")
        ],
      ])
  }

  @Test(
    "without a schema, a list where the document has an object is an error that asks for the schema"
  )
  func mismatches() throws {
    let plan = try Self.plan(
      "{ customers { nodes { id address { city } } pageInfo { hasNextPage endCursor } } }",
      schema: nil)
    let data = try JSONValue(
      parsing: """
        {"customers": {"nodes": [{"__typename": "C", "id": "1", "address": [{"city": "Rome"}]}],
          "pageInfo": {"hasNextPage": false, "endCursor": null}}}
        """)
    let error = #expect(throws: TaskProblem.self) {
      try TableReader(plan: plan).read(data, errors: [], rowKey: nil)
    }
    #expect(
      error?.message
        == "`address` is a list in the response, and the tables expect an object; give the schema (--schema)"
    )
  }

  // MARK: Pages that cannot be had

  /// A page of orders of a customer, after the cursor `a`.
  private static func next(
    _ data: String, errors: [GraphQLError] = [], cursor: String? = "a"
  ) throws -> Result<TablePage, TaskProblem> {
    let plan = try plan(query)
    let continuation = Continuation(
      connection: 1, cursor: cursor, holder: ["id": "1"], parent: "Customer:1", count: 4, pages: 2,
      mark: "m")
    let results = TableReader(plan: plan).read(
      try JSONValue(parsing: data), errors: errors,
      pack: ContinuationPack(continuations: [continuation]))
    return try #require(results.first)
  }

  private static func orders(_ nodes: String, _ pageInfo: String) -> String {
    #"{"p0": {"orders": {"nodes": \#(nodes), "pageInfo": \#(pageInfo)}}}"#
  }

  @Test(
    "a page that a repeated request would not change is a problem at once, with the rows that it has",
    arguments: [
      (
        orders(#"[{"__typename":"Order","id":"5"}]"#, #"{"hasNextPage":true,"endCursor":null}"#),
        "the server says that there are more pages and gives no cursor", 1
      ),
      (
        orders(#"[{"__typename":"Order","id":"5"}]"#, #"{"hasNextPage":true,"endCursor":"a"}"#),
        "the server gave a cursor a second time, so that its pages would repeat without end", 1
      ),
      (
        orders("[]", #"{"hasNextPage":true,"endCursor":"m"}"#),
        "the server gave a cursor a second time, so that its pages would repeat without end", 0
      ),
      (
        orders("[]", #"{"hasNextPage":true,"endCursor":"a"}"#),
        "a page has no elements, and the server says that there are more with the same cursor", 0
      ),
      (orders("[]", #"{"endCursor":"b"}"#), "a page does not have `pageInfo.hasNextPage`", 0),
      (
        orders("[]", #"{"hasNextPage":"true","endCursor":"b"}"#),
        "a page does not have `pageInfo.hasNextPage`", 0
      ),
      (
        orders("[]", #"{"hasNextPage":true,"endCursor":7}"#),
        "the server says that there are more pages and gives no cursor: `endCursor` is a number", 0
      ),
      (
        orders(
          "[]",
          #"{"hasNextPage":true,"endCursor":"\#(String(repeating: "x", count: 1 << 20))"}"#),
        "the cursor of the next page has 1048576 bytes, and the journal keeps at most 65536", 0
      ),
      (
        #"{"p0": {"orders": null}}"#,
        "the server announced a page, and returned null for it without an error", 0
      ),
      (
        #"{"p0": null}"#, #"its object is gone: the server finds none by id "1""#, 0
      ),
      (
        #"{"p0": {"gqlrunID": "2", "orders": {"nodes": [{"id": "5"}], "pageInfo": {"hasNextPage": false}}}}"#,
        #"its object is another one: the server found it by id "1", and gave another `id`"#, 0
      ),
      (
        #"{"p0": {}}"#,
        "its object is of another type now, or lacks the connection: the response has no such field",
        0
      ),
    ])
  func problems(data: String, problem: String, rows: Int) throws {
    let page = try Self.next(data).get()
    #expect(page.open.map(\.problem) == [problem] && page.rows.count == rows)
    #expect(page.open.first?.parent == "Customer:1")
  }

  @Test("a page that was read and has a problem has its rows again at the same positions")
  func readAgain() throws {
    let page = try Self.next(
      Self.orders(
        #"[{"__typename":"Order","id":"5"}]"#, #"{"hasNextPage":true,"endCursor":null}"#)
    ).get()
    #expect(page.open.map(\.count) == [5])
    let plan = try Self.plan(Self.query)
    var frontier = TableFrontier(plan, pack: 1, concurrency: 1)
    frontier.begin(page)
    var resumed = try TableFrontier(plan, pack: 1, concurrency: 1, resuming: frontier.text)
    let next = resumed.next()?.continuations.first
    #expect(next?.cursor == "a" && next?.count == 4 && next?.pages == 2)
    #expect(next?.problem == nil && next?.read == nil)
  }

  @Test(
    "a number of elements that no server has is none that overflows",
    arguments: [("-9223372036854775808", 0), ("9223372036854775807", 1 << 32), ("1e400", nil)])
  func totals(given: String, total: Int?) throws {
    let plan = try Self.plan(
      "{ customers(first: 2) { nodes { id orders(first: 2) { totalCount nodes { id } } } } }")
    let more = #"{"hasNextPage": true, "endCursor": "c"}"#
    let customers = (0..<3).map { number in
      #"{"__typename": "Customer", "id": "\#(number)", "orders": {"totalCount": \#(given), "#
        + #""pageInfo": \#(more), "nodes": [{"__typename": "Order", "id": "\#(number)"}]}}"#
    }
    let data = try JSONValue(
      parsing: #"{"customers": {"nodes": [\#(customers.joined(separator: ","))], "#
        + #""pageInfo": {"hasNextPage": false}}}"#)
    let page = try TableReader(plan: plan).read(data, errors: [], rowKey: nil)
    #expect(page.open.map(\.total) == [total, total, total])
    var frontier = TableFrontier(plan, pack: 2, concurrency: 1)
    frontier.begin(page)
    #expect(frontier.next()?.continuations.count == 2)
  }

  @Test("a page without elements, and with another cursor, continues")
  func emptyPage() throws {
    let page = try Self.next(Self.orders("[]", #"{"hasNextPage":true,"endCursor":"b"}"#)).get()
    #expect(page.open.first?.cursor == "b" && page.open.first?.problem == nil)
  }

  @Test("a first page that is null without an error ends the connection")
  func nullFirstPage() throws {
    let page = try Self.next(#"{"p0": {"orders": null}}"#, cursor: nil).get()
    #expect(page.open == [] && page.rows.isEmpty)
  }

  @Test(
    "cursors that repeat after any number of pages are found",
    arguments: [(0, 1), (0, 7), (5, 3), (40, 17)])
  func cycles(lead: Int, length: Int) throws {
    let plan = try Self.plan("{ customers(first: 1) { nodes { id } } }")
    let reader = TableReader(plan: plan)
    func data(_ page: Int) throws -> JSONValue {
      let cursor = page < lead ? page : lead + (page - lead) % length
      return try JSONValue(
        parsing:
          #"{"customers": {"nodes": [], "pageInfo": {"hasNextPage": true, "endCursor": "c\#(cursor)"}}}"#
      )
    }
    var open = try reader.read(data(0), errors: [], rowKey: nil).open
    var pages = 1
    while let next = open.first, next.problem == nil {
      let results = reader.read(
        try data(pages), errors: [], pack: ContinuationPack(continuations: [next]))
      open = try #require(results.first).get().open
      pages += 1
      try #require(pages < 4 * (lead + length) + 4)
    }
    #expect(open.first?.problem != nil)
  }

  // MARK: Errors

  @Test(
    "an error fails the innermost connection that can be requested by itself",
    arguments: [
      // In an order of the first customer.
      (["customers", "nodes", 0, "orders", "nodes", 0, "total"], "1 Customer:1"),
      (["customers", "nodes", 0, "orders", "pageInfo", "endCursor"], "1 Customer:1"),
      (["customers", "nodes", 0, "orders"], "1 Customer:1"),
      // In the order that is null, and with it the connection of its lines.
      (
        ["customers", "nodes", 1, "orders", "nodes", 0, "lines", "nodes", 0, "sku"], "1 Customer:2"
      ),
      (["customers", "nodes", 0, "orders", "nodes", 0, "lines", "nodes", 0, "sku"], "2 Order:7"),
      // In cells of rows, which would be lost.
      (["customers", "nodes", 0, "name"], "0 -"),
      (["customers", "nodes", 0, "orders", "totalCount"], "0 -"),
      (["customers"], "0 -"),
    ] as [([any Sendable], String)])
  func errors(path: [any Sendable], failed: String) throws {
    let plan = try Self.plan(
      """
      { customers(first: 2) { nodes { name
          orders(first: 1) { totalCount nodes { total lines(first: 1) { nodes { sku } } } } } } }
      """)
    let data = try JSONValue(
      parsing: """
        {"customers": {"pageInfo": {"hasNextPage": false, "endCursor": null}, "nodes": [
          {"__typename": "Customer", "id": "1", "name": "A", "orders": {
            "totalCount": 1, "pageInfo": {"hasNextPage": true, "endCursor": "o"}, "nodes": [
              {"__typename": "Order", "id": "7", "total": 1, "lines": null}]}},
          {"__typename": "Customer", "id": "2", "name": "B", "orders": {
            "totalCount": 1, "pageInfo": {"hasNextPage": false, "endCursor": null}, "nodes": [null]}}]}}
        """)
    let page = try TableReader(plan: plan).read(
      data, errors: [Self.error("no", path)], rowKey: nil)
    let found = page.open.filter { $0.failures > 0 }
    #expect(found.map { "\($0.connection) \($0.parent ?? "-")" } == [failed])
    #expect(found.allSatisfy { $0.cursor == nil && $0.pages == 0 && $0.count == 0 })
    let isFailed: [String: [String]] = [
      "0 -": [], "1 Customer:1": ["customers", "customers"],
      "1 Customer:2": ["customers", "customers_orders", "customers"],
      "2 Order:7": ["customers", "customers_orders", "customers"],
    ]
    #expect(page.rows.map { plan.tables[$0.table].name } == isFailed[failed])
    // The row above has the cells of a connection that failed.
    let total = plan.tables[0].columns.firstIndex { $0.name == "orders_totalCount" }
    #expect(page.rows.first.map { $0.cells[total ?? 0]?.intValue == 1 } ?? true)
  }

  @Test(
    "an error in a connection keeps what other tables have of it, or the connection around it fails",
    arguments: [
      (["nodes", 0, "total"], "", "1 Customer:1"), (["pageInfo"], "", "1 Customer:1"),
      (["nodes"], "nodes", "1 Customer:1"), (["facets", 1, "text"], "", "0 -"),
      (["facets"], "facets", "0 -"), (["summary", "sum"], "summary", "0 -"),
      (["summary"], "summary", "0 -"), ([], "orders", "0 -"),
    ] as [([any Sendable], String, String)])
  func otherParts(path: [any Sendable], absent: String, failed: String) throws {
    let plan = try Self.plan(
      """
      { customers(first: 1) { nodes { name
          orders(first: 1) { summary { sum } facets { text } nodes { total } } } } }
      """)
    let end: JSONValue = ["hasNextPage": false]
    var orders: JSONObject = [
      "pageInfo": end, "summary": ["sum": 3], "facets": [["text": "a"], ["text": "b"]],
      "nodes": [["__typename": "Order", "id": "7", "total": 1]],
    ]
    if orders[absent] != nil { orders[absent] = .null }
    let customer: JSONValue = [
      "__typename": "Customer", "id": "1", "name": "A",
      "orders": absent == "orders" ? .null : .object(orders),
    ]
    let data: JSONValue = ["customers": ["pageInfo": end, "nodes": [customer]]]
    let page = try TableReader(plan: plan).read(
      data, errors: [Self.error("no", ["customers", "nodes", 0, "orders"] + path)], rowKey: nil)
    #expect(page.open.map { "\($0.connection) \($0.parent ?? "-")" } == [failed])
    #expect(
      Self.texts(page, plan)
        == (failed == "0 -"
          ? []
          : [
            #"customers Customer:1 - 0 name="A" orders_summary_sum=3"#,
            #"customers_orders_facets Customer:1.orders_facets.0 Customer:1 0 text="a""#,
            #"customers_orders_facets Customer:1.orders_facets.1 Customer:1 1 text="b""#,
          ]))
  }

  @Test("a connection that an error has removed from the response is requested by itself")
  func removed() throws {
    let plan = try Self.plan(Self.query)
    let data: JSONValue = [
      "customers": [
        "pageInfo": ["hasNextPage": false], "nodes": [["__typename": "Customer", "id": "1"]],
      ]
    ]
    let page = try TableReader(plan: plan).read(
      data, errors: [Self.error("no", ["customers", "nodes", 0, "orders"])], rowKey: nil)
    #expect(
      page.open == [
        Continuation(connection: 1, holder: ["id": "1"], parent: "Customer:1", failures: 1)
      ])
    #expect(page.rows.count == 1)
  }

  @Test("an error outside of connections, or without a path, fails the response")
  func fatalErrors() throws {
    let plan = try Self.plan("{ customer(id: 1) { name orders(first: 1) { nodes { id } } } }")
    let reader = TableReader(plan: plan)
    let data = try JSONValue(parsing: #"{"customer": null}"#)
    for path in [nil, ["customer"], ["customer", "name"], ["customer", "orders"]] as [[Any]?] {
      let error = #expect(throws: TaskProblem.self) {
        try reader.read(data, errors: [Self.error("no", path)], rowKey: nil)
      }
      #expect(error?.message.hasPrefix("the response has 1 error: ") == true)
    }
    #expect(throws: TaskProblem.self) { try reader.read(.null, errors: [], rowKey: nil) }
  }

  @Test("a response without a selected field is an error, unless a directive leaves the field out")
  func lackingFields() throws {
    let plan = try Self.plan(
      "query($x: Boolean!) { customers(first: 2) { nodes { id } } tags @include(if: $x) { text } }")
    let reader = TableReader(plan: plan)
    let empty: JSONValue = [:]
    let error = #expect(throws: TaskProblem.self) {
      try reader.read(empty, errors: [], rowKey: nil)
    }
    #expect(error?.message == "the response lacks `customers`, which the operation selects")
    let absent: JSONValue = ["customers": nil]
    #expect(try reader.read(absent, errors: [], rowKey: nil).rows.isEmpty)
    // An error that has removed the connection is one of the connection.
    let failed = try reader.read(empty, errors: [Self.error("no", ["customers"])], rowKey: nil)
    #expect(failed.open.map(\.failures) == [1])
  }

  @Test(
    "a selected field is found by its response key, in all places that select it",
    arguments: [
      ("{ t: tags { text } }", "t"),
      ("{ ...F } fragment F on Query { tags { text } }", "tags"),
      ("query($x: Boolean!) { ...F @include(if: $x) } fragment F on Query { tags { text } }", nil),
      ("query($x: Boolean!) { ...F } fragment F on Query { tags @include(if: $x) { text } }", nil),
      ("query($x: Boolean!) { tags @include(if: $x) { text } tags { text } }", "tags"),
    ] as [(String, String?)])
  func lackingKeys(_ query: String, _ key: String?) throws {
    let reader = TableReader(plan: try Self.plan(query))
    let empty: JSONValue = [:]
    guard let key else {
      #expect(try reader.read(empty, errors: [], rowKey: nil).rows.isEmpty)
      return
    }
    let error = #expect(throws: TaskProblem.self) {
      try reader.read(empty, errors: [], rowKey: nil)
    }
    #expect(error?.message == "the response lacks `\(key)`, which the operation selects")
  }

  @Test(
    "without a schema, fields of a fragment of the root are selected, unless a directive leaves it out",
    arguments: [("{ ...F }", true), ("query($x: Boolean!) { ...F @include(if: $x) }", false)])
  func lackingKeysWithoutSchema(_ operation: String, _ isRequired: Bool) throws {
    let fragment =
      "fragment F on Query { customers { nodes { id } pageInfo { hasNextPage endCursor } } }"
    let plan = try Self.plan("\(operation) \(fragment)", schema: nil)
    #expect(plan.required == (isRequired ? ["customers"] : []))
  }

  @Test("errors in a pack fail the pages that they concern")
  func packErrors() throws {
    let plan = try Self.plan(Self.query)
    let pack = ContinuationPack(
      continuations: (0..<12).map {
        Continuation(
          connection: 1, cursor: "a", holder: ["id": .string("\($0)")], parent: "Customer:\($0)")
      })
    let page: JSONValue = [
      "orders": ["nodes": [], "pageInfo": ["hasNextPage": false, "endCursor": nil]]
    ]
    var data = JSONObject()
    for index in 0..<12 { data["p\(index)"] = page }
    let reader = TableReader(plan: plan)
    func failed(_ errors: [GraphQLError]) -> [Int] {
      reader.read(.object(data), errors: errors, pack: pack).enumerated()
        .filter { if case .failure = $0.element { true } else { false } }.map(\.offset)
    }
    #expect(failed([]) == [])
    #expect(failed([Self.error("no", ["p1", "orders", "nodes"])]) == [1])
    #expect(failed([Self.error("no", ["p3"]), Self.error("no", ["p11", "orders"])]) == [3, 11])
    #expect(failed([Self.error("no")]) == Array(0..<12))
    #expect(failed([Self.error("no", ["other"])]) == Array(0..<12))
    data = [:]
    #expect(failed([]) == [])
    #expect(
      reader.read(.null, errors: [], pack: pack).allSatisfy {
        if case .failure = $0 { true } else { false }
      })
  }
}
