import GQLRunJSON
import GQLRunLanguage
import GQLRunPipeline
import Synchronization

@testable import GQLRunBatch

/// The data of a shop: customers, which have orders, which have lines.
struct Shop: Sendable {
  /// The number of orders of each customer.
  var orders: [Int]
  /// The number of lines of each order of a customer, by both numbers.
  var lines: @Sendable (_ customer: Int, _ order: Int) -> Int = { ($0 + $1) % 5 }

  static let schema = """
    type Query { customers(first: Int, after: String): Customers customer(id: ID!): Customer node(id: ID!): Node }
    interface Node { id: ID! }
    type Customer implements Node { id: ID! name: String! orders(first: Int, after: String): Orders }
    type Order implements Node { id: ID! total: Int! lines(first: Int, after: String): Lines }
    type Line { id: ID! sku: String! }
    type Customers { nodes: [Customer] pageInfo: PageInfo! totalCount: Int! }
    type Orders { nodes: [Order] pageInfo: PageInfo! totalCount: Int! }
    type Lines { nodes: [Line] pageInfo: PageInfo! totalCount: Int! }
    type PageInfo { hasNextPage: Boolean! endCursor: String }
    """
  static let document = """
    query Shop {
      customers(first: 3) {
        nodes { id name orders(first: 2) { nodes { id total lines(first: 2) { nodes { id sku } } } } }
      }
    }
    """

  /// All rows of the tables, each as `table key parent position`, sorted.
  var rows: [String] {
    var rows: [String] = []
    for (customer, count) in orders.enumerated() {
      rows.append("customers Customer:C\(customer) - \(customer)")
      for order in 0..<count {
        rows.append("customers_orders Order:O\(customer)_\(order) Customer:C\(customer) \(order)")
        for line in 0..<lines(customer, order) {
          let key = "Line:L\(customer)_\(order)_\(line)"
          rows.append("customers_orders_lines \(key) Order:O\(customer)_\(order) \(line)")
        }
      }
    }
    return rows.sorted()
  }

  /// Writes the files of ``manifest(_:operation:run:in:)``.
  static func write(
    schema: String = schema, document: String = document, to location: Place
  ) throws {
    try location.write(schema, to: "schema.graphql")
    try location.write(document, to: "shop.graphql")
  }

  /// The manifest of one operation with tables.
  static func manifest(
    _ tables: String, operation: String = "", run: String, in location: Place
  ) throws -> Manifest {
    try Bench.load(
      """
      version: 1
      schema: schema.graphql
      pipeline: p.pipeline.yaml
      run: { \(run) }
      operations:
        - id: shop
          document: shop.graphql
          tables: { \(tables) }
          \(operation)
      """, in: location)
  }

  fileprivate var server: ObjectServer {
    let customers = TreeObject.Value.connection(of: "Customer", orders.count, id: { "C\($0)" }) {
      customer in
      let orders = TreeObject.Value.connection(
        of: "Order", orders[customer], id: { "O\(customer)_\($0)" }
      ) { order in
        let lines = TreeObject.Value.connection(
          of: "Line", lines(customer, order), id: { "L\(customer)_\(order)_\($0)" }
        ) { ["sku": .leaf(.string("sku \($0)"))] }
        return ["total": .leaf(.number(JSONNumber(order * 10))), "lines": lines]
      }
      return ["name": .leaf(.string("customer \(customer)")), "orders": orders]
    }
    var server = ObjectServer(
      TreeObject("Query", ["customers": customers, "rateLimit": .leaf(.null)]))
    server.finders = ["customer": "Customer"]
    server.maxPageSize = 1_000
    return server
  }
}

/// Answers the queries of a shop.
final class ShopTransport: HTTPTransport {
  /// A request, before it is answered.
  struct Request: Sendable {
    /// Counted from 1.
    var number: Int
    /// The number of fields at the root: that of the pages of a pack.
    var pages: Int
    var document: String
    var variables: JSONObject
  }

  /// What a response has beside its data.
  struct Report: Sendable {
    var extensions: JSONValue?
    var headers: [String: String] = [:]
    /// The value of `rateLimit`, for documents that select it.
    var rateLimit: JSONValue = .null
    /// Beside those of broken pages.
    var errors: [GraphQLError] = []
  }

  /// A page of a connection.
  struct Page: Sendable {
    /// The id of the object that has the connection; empty for the customers.
    var owner: String
    /// The index of its first element.
    var start: Int
  }

  private let server: ObjectServer
  private let before: @Sendable (Request) async throws -> HTTPResponseMessage?
  private let breaks: @Sendable (Page, _ request: Int) -> Bool
  private let report: @Sendable (Request) -> Report
  private let log = Mutex<[Request]>([])

  /// - Parameters:
  ///   - before: What happens to a request instead of its answer; `nil` to answer it.
  ///   - breaks: Whether a page is null, with an error.
  ///   - report: What an answer has beside its data.
  init(
    _ shop: Shop,
    before: @escaping @Sendable (Request) async throws -> HTTPResponseMessage? = { _ in nil },
    breaks: @escaping @Sendable (Page, _ request: Int) -> Bool = { _, _ in false },
    report: @escaping @Sendable (Request) -> Report = { _ in Report() }
  ) {
    server = shop.server
    self.before = before
    self.breaks = breaks
    self.report = report
  }

  /// The requests so far.
  var requests: [Request] { log.withLock { $0 } }

  func send(
    _ message: HTTPRequestMessage, limits: HTTPLimits
  ) async throws -> HTTPResponseMessage {
    let body = try JSONValue(parsing: message.body ?? [])
    let text = body["query"]?.stringValue ?? ""
    let document = try Document(parsing: text)
    let operation = document.operations[0]
    let variables = body["variables"]?.objectValue ?? [:]
    let request = log.withLock { log in
      log.append(
        Request(
          number: log.count + 1, pages: operation.selectionSet.selections.count, document: text,
          variables: variables))
      return log[log.count - 1]
    }
    if let given = try await before(request) { return given }
    var server = server
    server.breaks = { [breaks] in breaks(Page(owner: $0, start: $1), request.number) }
    var answer = try server.answer(document, variables: variables)
    let report = report(request)
    answer.errors += report.errors
    if answer.data["rateLimit"] != nil { answer.data["rateLimit"] = report.rateLimit }
    var response = answer.body
    response["extensions"] = report.extensions
    return .response(200, JSONValue.object(response).jsonText(), headers: report.headers)
  }
}
