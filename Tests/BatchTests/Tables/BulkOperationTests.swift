import Foundation
import GQLRunJSON
import GQLRunLanguage
import GQLRunPipeline
import GQLRunSupport
import GQLRunTestSupport
import GRDB
import HTTPTypes
import Testing

@testable import GQLRunBatch

@Suite("Bulk operations of Shopify")
struct BulkOperationTests {
  private let location: Place

  init() throws {
    location = try Place()
    try location.write(Self.schema, to: "schema.graphql")
    try location.write(Self.document, to: "products.graphql")
    try location.write(
      Bench.pipeline.replacing(
        "url: \"http://127.0.0.1:9/\"",
        with: "url: \"http://127.0.0.1:9/\", headers: { X-Shop: north-1 }"),
      to: "p.pipeline.yaml")
  }

  private static let schema = """
    type Query {
      products(first: Int, after: String, query: String, sortKey: ProductSortKeys): ProductConnection!
      product(id: ID!): Product
      node(id: ID!): Node
      shop: Shop!
      tags: [Tag!]!
    }
    enum ProductSortKeys { TITLE ID }
    interface Node { id: ID! }
    type PageInfo { hasNextPage: Boolean! endCursor: String }
    type Shop { name: String! products(first: Int, after: String): ProductConnection! }
    type Tag { name: String! }
    type ProductConnection { nodes: [Product!]! edges: [ProductEdge!]! pageInfo: PageInfo! totalCount: Int! }
    type ProductEdge { cursor: String! node: Product! }
    type Product implements Node {
      id: ID! title: String! price: Money options: [Option!]!
      variants(first: Int, after: String): VariantConnection!
      metafields(first: Int, after: String): MetafieldConnection!
      related(first: Int, after: String): ProductConnection!
    }
    type Money { amount: Float! }
    type Option { name: String! values: [String!]! products(first: Int, after: String): ProductConnection! }
    type VariantConnection { nodes: [Variant!]! edges: [VariantEdge!]! pageInfo: PageInfo! totalCount: Int! }
    type VariantEdge { cursor: String! node: Variant! }
    type Variant implements Node {
      id: ID! sku: String metafields(first: Int, after: String): MetafieldConnection!
    }
    type MetafieldConnection { nodes: [Metafield!]! edges: [MetafieldEdge!]! pageInfo: PageInfo! }
    type MetafieldEdge { node: Metafield! }
    type Metafield implements Node { id: ID! value: String! }
    """

  private static let document = """
    query Products($term: String, $sort: ProductSortKeys) {
      products(first: 50, query: $term, sortKey: $sort) {
        nodes {
          id title price { amount } options { name values }
          variants(first: 10) {
            edges { node { id sku metafields(first: 3) { nodes { id value } } } }
          }
          metafields(first: 3) { nodes { id value } }
        }
      }
    }
    """

  private func manifest(
    tables: String = "to: \"sqlite:out.db\"", operation: String = "", hasSchema: Bool = true
  ) throws -> Manifest {
    try Bench.load(
      """
      version: 1
      \(hasSchema ? "schema: schema.graphql" : "")
      pipeline: p.pipeline.yaml
      operations:
        - id: products
          document: products.graphql
          variables: { term: hat, sort: TITLE }
          tables: { \(tables), bulk: shopify }
          \(operation)
      """, in: location)
  }

  /// A line of a connection of the document: products, variants, their metafields, metafields of products.
  private static func line(
    _ connection: Int, _ type: String, _ id: String, in parent: String? = nil, _ more: String = ""
  ) -> String {
    let parent = parent.map { #","__parentId":"gid://shopify/\#($0)""# } ?? ""
    return
      #"{"gqlrunLine\#(connection)":"\#(type)","__typename":"\#(type)","id":"gid://shopify/\#(type)/\#(id)"\#(more)\#(parent)}"#
  }

  /// Children before and after their parents, and in no order of parents.
  private static let lines = [
    line(1, "Variant", "21", in: "Product/2", #","sku":"c""#),
    line(2, "Metafield", "5", in: "Variant/11", #","value":"v""#),
    line(
      0, "Product", "1", in: nil,
      #","title":"Hat","price":{"amount":1.5},"options":[{"name":"Size","values":["S","M"]}]"#),
    line(1, "Variant", "11", in: "Product/1", #","sku":"a""#),
    line(3, "Metafield", "6", in: "Product/1", #","value":"p""#),
    line(0, "Product", "2", in: nil, #","title":"Cap","price":null,"options":[]"#),
    line(1, "Variant", "12", in: "Product/1", #","sku":null"#),
  ]

  private func rows(_ table: String, _ columns: String) throws -> [String] {
    try DatabaseQueue(path: location.file("out.db")).read { db in
      try GRDB.Row.fetchAll(
        db, sql: "SELECT _key, _parent, _position, \(columns) FROM \(table) ORDER BY rowid"
      )
      .map { row in
        row.databaseValues.map { value in
          value.isNull
            ? "-" : "\(value.storage.value ?? "")".replacing("gid://shopify/", with: "")
        }
        .joined(separator: " ")
      }
    }
  }

  private static let expected = [
    "products title,price_amount": [
      "Product:Product/1 - 0 Hat 1.5", "Product:Product/2 - 1 Cap -",
    ],
    "products_options name,\"values\"": [
      #"Product:Product/1.options.0 Product:Product/1 0 Size ["S","M"]"#
    ],
    "products_variants sku": [
      "Variant:Variant/11 Product:Product/1 0 a", "Variant:Variant/12 Product:Product/1 1 -",
      "Variant:Variant/21 Product:Product/2 0 c",
    ],
    "products_variants_metafields value": ["Metafield:Metafield/5 Variant:Variant/11 0 v"],
    "products_metafields value": ["Metafield:Metafield/6 Product:Product/1 0 p"],
  ]

  private func expectAll(sourceLocation: Testing.SourceLocation = #_sourceLocation) throws {
    for (table, rows) in Self.expected {
      let parts = table.split(separator: " ")
      #expect(
        try self.rows(String(parts[0]), String(parts[1])) == rows, sourceLocation: sourceLocation)
    }
  }

  private func reason(_ summary: RunSummary) throws -> String {
    // The clock of the run does not advance without a sleep, so that a summary omits what ended when the run began.
    let journal = try Journal(path: summary.journal, isReadOnly: true)
    defer { journal.close() }
    let reasons = try FailureReasons(journal, manifest()).all
    #expect(reasons.count == 1, "\(reasons)")
    return try #require(reasons.first).message
  }

  private func run(
    _ manifest: Manifest, _ shopify: FakeShopify, _ options: RunOptions = RunOptions(),
    control: RunControl = RunControl()
  ) async throws -> RunSummary {
    try await Bench.run(
      manifest, options, control: control, transport: shopify, clock: ServiceClock(shopify.clock))
  }

  // MARK: Results

  @Test("lines in any order are rows of the same tables as pages, with their parents and positions")
  func complete() async throws {
    let shopify = FakeShopify(lines: Self.lines)
    let summary = try await run(manifest(), shopify)
    #expect(summary.counters.done == 1 && summary.counters.records == 8)
    try expectAll()
    #expect(try location.values("PRAGMA foreign_key_check", in: "out.db").isEmpty)
    #expect(summary.tables?.tables.map(\.rows) == [2, 1, 3, 1, 1])
  }

  @Test(
    "the query has literals instead of variables, edges instead of pages, and the fields of keys")
  func query() async throws {
    let shopify = FakeShopify(lines: Self.lines)
    _ = try await run(manifest(), shopify)
    let text = try #require(shopify.submitted.first)
    let document = try Document(parsingUTF8: Array(text.utf8))
    #expect(document.operations.first?.variables.isEmpty == true)
    #expect(
      document.validate(against: try Schema(sdl: Document(parsingUTF8: Array(Self.schema.utf8))))
        .isEmpty, "\(text)")
    let flat = text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    #expect(flat.contains(#"products(query: "hat", sortKey: TITLE) { edges { node {"#), "\(flat)")
    #expect(flat.contains("variants { edges { node {") && flat.contains("metafields { edges {"))
    for absent in ["first", "pageInfo", "nodes", "$"] { #expect(!flat.contains(absent)) }
    // The key in the journal finds it again.
    #expect(flat.hasPrefix("query gqlrun_"))
  }

  @Test("the state is requested after a second, and then in longer and longer intervals up to ten")
  func polling() async throws {
    let shopify = FakeShopify(
      lines: Self.lines,
      states: Array(repeating: .init("RUNNING"), count: 12) + [.init("COMPLETED")])
    #expect(try await run(manifest(), shopify).counters.done == 1)
    let times = shopify.polls
    #expect(times.count == 13)
    let gaps = zip(times.dropFirst(), times).map { $0 - $1 }
    #expect(gaps.first == .seconds(1))
    #expect(gaps.last == .seconds(10))
    #expect(zip(gaps, gaps.dropFirst()).allSatisfy { $0 <= $1 })
  }

  @Test("the result is downloaded without the credentials of the endpoint")
  func credentials() async throws {
    let shopify = FakeShopify(lines: Self.lines)
    _ = try await run(manifest(), shopify)
    let download = try #require(shopify.downloads.first)
    #expect(download.path == "/result?signature=1")
    #expect(!download.headerFields.contains { $0.value.contains("north-1") })
    #expect(shopify.hadCredentials)
  }

  @Test("a result without lines is empty tables")
  func empty() async throws {
    let shopify = FakeShopify(lines: [], states: [.init("COMPLETED", url: nil)])
    #expect(try await run(manifest(), shopify).counters.done == 1)
    #expect(shopify.downloads.isEmpty)
    #expect(try rows("products", "title").isEmpty)
  }

  @Test("rows of a manifest are the parents of the first level, and its columns have their values")
  func rowsOfManifest() async throws {
    let shopify = FakeShopify(lines: Self.lines)
    let manifest = try manifest(
      tables: "to: out, format: csv",
      operation: """
        foreach: { inline: [{ id: 1, shop: north }], key: "s{{row.id}}" }
            columns: [row.shop]
        """)
    #expect(try await run(manifest, shopify).counters.done == 1)
    let lines = try location.lines("out/products.csv")
    #expect(lines[0] == "_key,_parent,_position,id,title,price_amount,shop")
    #expect(lines.dropFirst().allSatisfy { $0.contains(",s1,") && $0.hasSuffix(",north") })
    #expect(try location.lines("out/products_variants.csv")[0] == "_key,_parent,_position,id,sku")
  }

  @Test("many lines are written in parts, with positions over all of them")
  func many() async throws {
    let lines = (0..<2_500).map {
      Self.line(0, "Product", "\($0)", in: nil, #","title":"t","price":null,"options":[]"#)
    }
    let shopify = FakeShopify(lines: lines)
    let summary = try await run(manifest(), shopify)
    #expect(summary.counters.records == 2_500)
    let positions = try location.values(
      "SELECT count(DISTINCT _position) || ' ' || max(_position) FROM products", in: "out.db")
    #expect(positions == ["2500 2499"])
  }

  // MARK: Continuing

  @Test("a run that stops while it waits continues with the same bulk operation")
  func resumed() async throws {
    let control = RunControl()
    let stopping = FakeShopify(lines: Self.lines, states: [.init("RUNNING")]) {
      if $0 == 3 { await control.stop() }
    }
    let first = try await run(manifest(), stopping, control: control)
    #expect(first.stop == .interrupted && first.counters.done == 0)
    let shopify = FakeShopify(lines: Self.lines)
    let second = try await run(manifest(), shopify, Bench.resuming)
    #expect(second.counters.done == 1)
    #expect(stopping.submitted.count == 1 && shopify.submitted.isEmpty)
    try expectAll()
  }

  @Test("a resumed task continues after the lines whose rows are in the tables")
  func resumedAfterLines() async throws {
    let manifest = try manifest(tables: "to: out, format: ndjson")
    let control = RunControl()
    let stopping = FakeShopify(lines: Self.lines, states: [.init("RUNNING")]) {
      if $0 == 3 { await control.stop() }
    }
    let first = try await run(manifest, stopping, control: control)
    let journal = try DatabaseQueue(path: first.journal)
    try await journal.write { db in
      let cursor = try #require(try String.fetchOne(db, sql: "SELECT cursor FROM tasks"))
      var state = try #require(BulkOperation.State(cursor))
      #expect(state.id == FakeShopify.id && state.lines == 0)
      state.lines = 3
      try db.execute(sql: "UPDATE tasks SET cursor = ?", arguments: [state.text])
    }
    try journal.close()
    let shopify = FakeShopify(lines: Self.lines)
    let second = try await run(manifest, shopify, Bench.resuming)
    #expect(second.counters.done == 1)
    // The first three are the products and a variant; positions are those among all lines.
    #expect(try location.lines("out/products.ndjson").isEmpty)
    let rows = try location.lines("out/products_variants.ndjson").map { line in
      let row = try JSONValue(parsing: line)
      return "\(row["id"]?.stringValue?.suffix(2) ?? "") \(row["_position"]?.intValue ?? -1)"
    }
    #expect(rows == ["12 1", "21 0"])
  }

  @Test(
    "a bulk operation whose submission had no response is found by its name, also if it is listed late",
    arguments: [0, 1])
  func lostResponse(hides: Int) async throws {
    let shopify = FakeShopify(lines: Self.lines, losesResponse: true, hides: hides)
    #expect(try await run(manifest(), shopify).counters.done == 1)
    #expect(shopify.submitted.count == 1)
    try expectAll()
  }

  @Test(
    "while another bulk operation runs, the task waits; after `patience` it names the other one")
  func busy() async throws {
    let shopify = FakeShopify(lines: Self.lines, busy: 3)
    #expect(try await run(manifest(), shopify).counters.done == 1)
    #expect(shopify.submitted.count == 1)
    try expectAll()
    let blocked = FakeShopify(lines: Self.lines, busy: .max)
    let summary = try await run(manifest(), blocked)
    #expect(summary.counters.failed == 1)
    let message = try reason(summary)
    #expect(
      message.contains("gid://shopify/BulkOperation/other, RUNNING") && message.contains("5m")
        && message.contains("bulkOperationCancel"), "\(message)")
  }

  // MARK: Failures

  @Test(
    "a bulk operation that does not complete makes the task incomplete, with its reason",
    arguments: [
      (
        FakeShopify.State("FAILED", error: "ACCESS_DENIED", url: nil),
        "ACCESS_DENIED: the credentials lack"
      ),
      (.init("FAILED", error: "TIMEOUT", url: nil), "failed with TIMEOUT"),
      (.init("CANCELED", url: nil), "was canceled"), (.init("EXPIRED", url: nil), "has expired"),
    ])
  func failures(state: FakeShopify.State, message: String) async throws {
    let shopify = FakeShopify(lines: [], states: [state])
    let summary = try await run(manifest(), shopify)
    #expect(summary.counters.failed == 1)
    let found = try reason(summary)
    #expect(found.hasPrefix("incomplete: ") && found.contains(message), "\(found)")
    // Another attempt is another bulk operation.
    let again = FakeShopify(lines: Self.lines)
    #expect(try await run(manifest(), again, Bench.repeating).counters.done == 1)
    #expect(again.submitted.count == 1 && again.submitted != shopify.submitted)
    try expectAll()
  }

  @Test(
    "partial data of a failed bulk operation are in the tables, and only `allow_partial` accepts them"
  )
  func partial() async throws {
    let states = [
      FakeShopify.State("FAILED", error: "INTERNAL_SERVER_ERROR", url: nil, hasPartial: true)
    ]
    let failed = try await run(manifest(), FakeShopify(lines: Self.lines, states: states))
    #expect(failed.counters.failed == 1)
    #expect(try reason(failed).contains("the tables have what it read before"))
    try expectAll()
    let accepted = try await run(
      manifest(tables: "to: \"sqlite:out.db\", allow_partial: true"),
      FakeShopify(lines: Self.lines, states: states))
    #expect(accepted.counters.done == 1)
    #expect(accepted.warnings.contains { $0.contains("allow_partial") && $0.contains("INTERNAL") })
  }

  @Test(
    "a download that fails is repeated, with a new URL if the old one is not valid any more",
    arguments: [[500], [403, 404], [503, 429]])
  func downloads(statuses: [Int]) async throws {
    let shopify = FakeShopify(lines: Self.lines, downloadStatuses: statuses)
    #expect(try await run(manifest(), shopify).counters.done == 1)
    #expect(shopify.downloads.count == statuses.count + 1)
    try expectAll()
  }

  @Test(
    "a download that always fails, or is shorter than announced, fails the task and writes nothing")
  func noResult() async throws {
    let gone = FakeShopify(lines: Self.lines, downloadStatuses: [404, 404, 404])
    let summary = try await run(manifest(), gone)
    #expect(try reason(summary).contains("cannot be had: status 404, 3 times"))
    let short = FakeShopify(
      lines: Self.lines, states: [.init("COMPLETED", size: 100_000)])
    let truncated = try await run(manifest(), short, Bench.repeating)
    #expect(short.submitted.isEmpty && short.downloads.count == 3)
    #expect(try reason(truncated).contains("of 100000 bytes"))
    #expect(try rows("products", "title").isEmpty)
  }

  @Test("lines that no connection of the document has, or with an unknown parent, fail the task")
  func foreignLines() async throws {
    for (line, message) in [
      (#"{"id":"gid://shopify/Product/1"}"#, "of no connection"),
      (#"{"gqlrunLine0""#, "not a JSON object"),
      (Self.line(1, "Variant", "1", in: "Order/1", #","sku":null"#), "no object of `products`"),
      (Self.line(1, "Variant", "1", in: nil, #","sku":null"#), "has no `__parentId`"),
    ] {
      let summary = try await run(manifest(), FakeShopify(lines: [line]))
      #expect(try reason(summary).contains(message), "\(message)")
    }
  }

  @Test("a result with objects and without a URL is not complete")
  func noURL() async throws {
    let shopify = FakeShopify(lines: Self.lines, states: [.init("COMPLETED", url: nil)])
    let summary = try await run(manifest(), shopify)
    #expect(summary.counters.failed == 1)
    let message = try reason(summary)
    #expect(
      message.hasPrefix("incomplete: ")
        && message.contains("no URL of its result, after 7 objects"),
      "\(message)")
  }

  @Test("what the server says about the query is the error")
  func refused() async throws {
    let shopify = FakeShopify(
      lines: [], refusal: "Bulk queries must contain at least one connection")
    let summary = try await run(manifest(), shopify)
    #expect(try reason(summary).contains("refuses the bulk operation: Bulk queries must contain"))
  }

  // MARK: Restrictions

  private static let bulk = """
    version: 1
    schema: schema.graphql
    operations:
      - id: products
        document: products.graphql
        tables: { to: "sqlite:out.db", bulk: shopify }
    """

  @Test(
    "what a bulk operation cannot read is an error of the manifest",
    arguments: [
      ("{ tags { name } }", "needs a connection"),
      (
        "{ " + (0..<6).map { "a\($0): products { nodes { id } } " }.joined() + "}",
        "at most 5 connections"
      ),
      (
        "{ products { nodes { id related { nodes { id related { nodes { id related { nodes { id } } } } } } } } }",
        "at most 2 around one"
      ),
      (
        "{ node(id: 1) { ... on Product { variants { nodes { id } } } } }",
        "cannot begin with `node`"
      ),
      ("{ shop { name products { nodes { id } } } }", "`shop` is a single object"),
      (
        "{ products { nodes { id variants { totalCount nodes { id } } } } }",
        "products.nodes.variants.totalCount"
      ),
      ("{ products { edges { cursor node { id } } } }", "`products.edges.cursor` is a field"),
      (
        "{ products { nodes { id options { name products { nodes { id } } } } } }",
        "in the list `products.nodes.options`"
      ),
      ("{ products { nodes { id: title variants { nodes { id } } } } }", "no `id` by which"),
    ])
  func restrictions(document: String, message: String) throws {
    try location.write(document, to: "products.graphql")
    let found = try Bench.findings(Self.bulk, in: location)
    #expect(found.contains { $0.contains(message) }, "\(found)")
    #expect(found.contains { $0.contains("bulk") })
  }

  @Test("`expect` has no response to look at")
  func expectations() throws {
    let found = try Bench.findings(
      Self.bulk + "\n    expect: [\"errors == null\"]", in: location)
    #expect(found.count == 1 && found.allSatisfy { $0.hasPrefix("7:5 ") }, "\(found)")
  }

  @Test("without a schema, a value of an unknown type is an error of the task")
  func unknownType() async throws {
    let summary = try await run(manifest(hasSchema: false), FakeShopify(lines: []))
    let message = try reason(summary)
    #expect(message.contains("`ProductSortKeys` of `$sort`") && message.contains("schema"))
  }

  @Test("the state of a bulk operation in the journal is read as it was written")
  func states() {
    for state in [
      BulkOperation.State(name: "gqlrun_1"), .init(name: "gqlrun_2", id: "gid://shopify/B/1"),
      .init(name: "a", id: "b", lines: 7),
    ] {
      #expect(BulkOperation.State(state.text) == state)
    }
    #expect(BulkOperation.State(#"{"other":1}"#) == nil)
    #expect(BulkOperation.State(#"{"bulk":"a","lines":\#(Int.max)}"#)?.lines == 1 << 32)
  }
}

/// A shop that runs one bulk operation.
final class FakeShopify: HTTPTransport {
  /// A state of the bulk operation.
  struct State: Sendable, CustomTestStringConvertible {
    var status: String
    var error: String?
    var url: String?
    var size: Int?
    var hasPartial: Bool
    var testDescription: String { "\(status) \(error ?? "")" }

    init(
      _ status: String, error: String? = nil, url: String? = "/result?signature=", size: Int? = nil,
      hasPartial: Bool = false
    ) {
      self.status = status
      self.error = error
      self.url = url
      self.size = size
      self.hasPartial = hasPartial
    }
  }

  private struct Log {
    var submitted: [String] = []
    var polls: [Duration] = []
    var downloads: [HTTPRequest] = []
    var hadCredentials = true
    var busy: Int
    var losesResponse: Bool
    var hides: Int
    var requests = 0
  }

  static let id = "gid://shopify/BulkOperation/1"
  let clock = TestClock.jumping()
  private let lines: [String]
  private let states: [State]
  private let refusal: String?
  private let downloadStatuses: [Int]
  private let onRequest: @Sendable (Int) async -> Void
  private let log: Locked<Log>

  /// - Parameters:
  ///   - states: The states of the bulk operation, of which the last one stays.
  ///   - busy: The number of submissions during which another bulk operation runs.
  ///   - losesResponse: Whether the connection is lost after the first submission.
  ///   - hides: The number of requests for the newest bulk operation before the server lists it.
  ///   - refusal: The error of submissions.
  ///   - downloadStatuses: The statuses of downloads before those that succeed.
  ///   - onRequest: Called before each response with the number of the request.
  init(
    lines: [String], states: [State] = [State("CREATED"), State("RUNNING"), State("COMPLETED")],
    busy: Int = 0, losesResponse: Bool = false, hides: Int = 0, refusal: String? = nil,
    downloadStatuses: [Int] = [], onRequest: @escaping @Sendable (Int) async -> Void = { _ in }
  ) {
    self.lines = lines
    self.states = states
    self.refusal = refusal
    self.downloadStatuses = downloadStatuses
    self.onRequest = onRequest
    log = Locked(Log(busy: busy, losesResponse: losesResponse, hides: hides))
  }

  /// The queries of accepted bulk operations.
  var submitted: [String] { log.withLock { $0.submitted } }
  /// The times of requests for the state, after the submission.
  var polls: [Duration] { log.withLock { $0.polls } }
  var downloads: [HTTPRequest] { log.withLock { $0.downloads } }
  /// Whether all requests to the endpoint had the credentials.
  var hadCredentials: Bool { log.withLock { $0.hadCredentials } }

  func send(
    _ request: HTTPRequestMessage, limits: HTTPLimits
  ) async throws -> HTTPResponseMessage {
    let number = log.withLock { log in
      log.requests += 1
      return log.requests
    }
    await onRequest(number)
    if request.head.method == .get { return download(request.head) }
    let body = try JSONValue(parsing: request.body ?? [])
    let query = body["query"]?.stringValue ?? ""
    let isKnown = request.head.headerFields.contains { $0.value == "north-1" }
    log.withLock { $0.hadCredentials = $0.hadCredentials && isKnown }
    let data: String
    if query.contains("bulkOperationRunQuery") {
      data = try submit(body["variables"]?["query"]?.stringValue ?? "")
    } else if query.contains("currentBulkOperation") {
      data = current()
    } else {
      data = state()
    }
    return .data(#"{\#(data)}"#)
  }

  private func submit(_ query: String) throws -> String {
    func payload(_ operation: String, _ errors: String) -> String {
      #""bulkOperationRunQuery":{"bulkOperation":\#(operation),"userErrors":[\#(errors)]}"#
    }
    if let refusal {
      return payload("null", #"{"field":["query"],"message":"\#(refusal)","code":"INVALID"}"#)
    }
    let isLost: Bool? = log.withLock { log in
      if log.busy > 0 {
        log.busy -= 1
        return nil
      }
      guard log.submitted.isEmpty else { return nil }
      log.submitted.append(query)
      defer { log.losesResponse = false }
      return log.losesResponse
    }
    guard let isLost else {
      return payload(
        "null",
        #"{"field":null,"message":"A bulk query operation for this app and shop is already in progress","code":"OPERATION_IN_PROGRESS"}"#
      )
    }
    if isLost { throw ChainError.lostConnection }
    return payload(#"{"id":"\#(Self.id)","status":"CREATED"}"#, "")
  }

  private func current() -> String {
    let isHidden = log.withLock { log in
      log.hides -= 1
      return log.hides >= 0
    }
    guard !isHidden, let query = submitted.last else {
      return
        #""currentBulkOperation":{"id":"gid://shopify/BulkOperation/other","status":"RUNNING","query":"{ a }"}"#
    }
    let text = JSONValue.string(query).jsonText()
    return #""currentBulkOperation":{"id":"\#(Self.id)","status":"RUNNING","query":\#(text)}"#
  }

  private func state() -> String {
    let count = log.withLock { log in
      log.polls.append(clock.now.offset)
      return log.polls.count
    }
    let state = states[min(count, states.count) - 1]
    let isEnded = state.status == "COMPLETED"
    func url(_ path: String?) -> JSONValue {
      path.map { .string("http://127.0.0.1:9\($0)") } ?? .null
    }
    let size = state.size.map { "\($0)" } ?? "\(body.utf8.count)"
    let node: JSONObject = [
      "id": .string(Self.id), "status": .string(state.status),
      "errorCode": state.error.map { .string($0) } ?? .null,
      "objectCount": .string("\(lines.count)"),
      "fileSize": isEnded ? .string(size) : .null,
      "url": url(isEnded ? state.url.map { "\($0)1" } : nil),
      "partialDataUrl": url(state.hasPartial ? "/partial" : nil),
    ]
    return #""node":\#(JSONValue.object(node).jsonText())"#
  }

  private var body: String { lines.map { $0 + "\n" }.joined() }

  private func download(_ head: HTTPRequest) -> HTTPResponseMessage {
    let count = log.withLock { log in
      log.downloads.append(head)
      return log.downloads.count
    }
    guard count > downloadStatuses.count else { return .response(downloadStatuses[count - 1], "") }
    // In chunks that end within lines.
    let bytes = Array(body.utf8)
    let chunks = stride(from: 0, to: bytes.count, by: 100).map {
      Array(bytes[$0..<min($0 + 100, bytes.count)])
    }
    return HTTPResponseMessage(head: HTTPResponse(status: .ok), body: HTTPBody(chunks))
  }
}
