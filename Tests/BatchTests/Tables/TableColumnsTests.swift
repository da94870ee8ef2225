import GQLRunJSON
import GQLRunPipeline
import GRDB
import Testing

@testable import GQLRunBatch

@Suite("Columns of rows in tables")
struct TableColumnsTests {
  private let location: Place

  init() throws {
    location = try Place()
    try location.write(
      """
      type Query { customer(id: ID!): Customer node(id: ID!): Node }
      interface Node { id: ID! }
      type Customer implements Node { id: ID! name: String orders(first: Int, after: String): Orders! }
      type Orders { nodes: [Order!]! pageInfo: PageInfo! }
      type PageInfo { hasNextPage: Boolean! endCursor: String }
      type Order implements Node { id: ID! total: Int lines: [Line!]! }
      type Line { sku: String }
      """, to: "schema.graphql")
    try location.write(
      "query C($id: ID!) { customer(id: $id) { orders(first: 2) { nodes { id total lines { sku } } } } }",
      to: "c.graphql")
    try location.write("id,region\n1,north\n2,south\n", to: "rows.csv")
  }

  private func yaml(_ tables: String, columns: String = "[row.region, { customer: key }]") -> String
  {
    """
    version: 1
    schema: schema.graphql
    pipeline: p.pipeline.yaml
    run: { order: output }
    operations:
      - id: c
        document: c.graphql
        foreach: { csv: rows.csv, key: "c{{row.id}}" }
        variables: { id: "{{row.id}}" }
        tables: { \(tables), as: { customer_orders: orders, customer_orders_lines: lines } }
        columns: \(columns)
    """
  }

  /// Has one order with one line for each customer.
  private static let transport = ScriptedTransport { body, _ in
    let id = try JSONValue(parsing: Array(body.utf8))["variables"]?["id"]?.stringValue ?? ""
    return .data(
      #"{"customer":{"__typename":"Customer","id":"\#(id)","orders":{"nodes":[{"__typename":"Order","id":"o\#(id)","total":5,"lines":[{"sku":"s"}]}],"pageInfo":{"hasNextPage":false,"endCursor":null}}}}"#
    )
  }

  @Test("tables of the first level have the values of the row, in a database with their types")
  func database() async throws {
    let manifest = try Bench.load(yaml("to: \"sqlite:o.db\""), in: location)
    #expect(try await Bench.run(manifest, transport: Self.transport).counters.done == 2)
    try await DatabaseQueue(path: location.file("o.db")).read { db in
      let rows = try String.fetchAll(
        db,
        sql:
          "SELECT _key || ' ' || _parent || ' ' || total || ' ' || region || ' ' || customer FROM orders ORDER BY 1"
      )
      #expect(rows == ["Order:o1 c1 5 north c1", "Order:o2 c2 5 south c2"])
      #expect(
        try db.columns(in: "lines").map(\.name) == ["_key", "_parent", "_position", "sku"])
      #expect(try db.columns(in: "orders").last?.type == "TEXT")
    }
  }

  @Test("files of the first level have the values of the row")
  func files() async throws {
    let csv = try Bench.load(yaml("to: out, format: csv"), in: location)
    _ = try await Bench.run(csv, transport: Self.transport)
    #expect(
      try location.lines("out/orders.csv") == [
        "_key,_parent,_position,id,total,region,customer", "Order:o1,c1,0,o1,5,north,c1",
        "Order:o2,c2,0,o2,5,south,c2",
      ])
    let ndjson = try Bench.load(yaml("to: more, format: ndjson"), in: location)
    _ = try await Bench.run(ndjson, transport: Self.transport)
    #expect(
      try location.lines("more/orders.ndjson").first
        == #"{"_key":"Order:o1","_parent":"c1","_position":0,"id":"o1","total":5,"region":"north","customer":"c1"}"#
    )
  }

  @Test("other columns are refused after rows were recorded")
  func resumed() async throws {
    _ = try await Bench.run(
      Bench.load(yaml("to: out, format: ndjson"), in: location), transport: Self.transport)
    let changed = try Bench.load(
      yaml("to: out, format: ndjson", columns: "[{ region: row.id }, { customer: key }]"),
      in: location)
    let error = await #expect(throws: StoppedByStorage.self) {
      _ = try await Bench.run(changed, Bench.resuming, transport: Self.transport)
    }
    #expect(error?.message.contains("rows with row.region, customer: key before") == true)
  }

  @Test(
    "what is wrong with a column is reported at its location",
    arguments: [
      ("[id]", "11:15", "is not a value of the row, and tables have all fields"),
      ("[row.id]", "11:15", "`id` would be two columns of the table `orders`"),
      ("[{ Total: row.id }]", "11:17", "`Total` would be two columns of the table `orders`"),
      ("[{ _key: row.id }]", "11:17", "`_key` would be two columns of the table `orders`"),
      ("[row.area]", "11:15", "leads to `area`, which the rows do not have"),
      ("[row.region, { region: row.id }]", "11:29", "two columns of `c` have the name `region`"),
    ])
  func errors(columns: String, start: String, message: String) throws {
    let found = try Bench.findings(yaml("to: out, format: csv", columns: columns), in: location)
    #expect(found.count == 1, "\(found)")
    #expect(found.allSatisfy { $0.hasPrefix("\(start) ") && $0.contains(message) }, "\(found)")
  }
}
