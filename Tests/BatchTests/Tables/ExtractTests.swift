import Foundation
import GQLRun
import GQLRunDemoServer
import GQLRunPostgres
import GQLRunTestSupport
import GRDB
import Testing

@testable import GQLRunBatch

/// `PipelineClient.extract` and `rows`, over real sockets.
@Suite("Tables from Swift", .timeLimit(.minutes(5)))
struct ExtractTests {
  /// Selects what tables need without a schema.
  private static let document = """
    query Customers($since: DateTime) {
      customers(first: 50, updatedAfter: $since) {
        nodes {
          __typename id name updatedAt
          orders(first: 20) {
            nodes { __typename id total }
            pageInfo { hasNextPage endCursor }
          }
        }
        pageInfo { hasNextPage endCursor }
      }
    }
    """
  /// The numbers of customers and of their orders.
  private static let counts = ["customers": 120, "customers_orders": 1780]

  private static func withClient(
    _ body: (PipelineClient) async throws -> Void
  ) async throws {
    try await DemoServer.withServer { server in
      let client = try await PipelineClient(endpoint: server.url)
      try await client.shutdown { try await body($0) }
    }
  }

  private static func count(_ table: String, in path: String) throws -> Int? {
    try DatabaseQueue(path: path).read { db in
      try Int.fetchOne(db, sql: "SELECT count(DISTINCT _key) FROM \(table)")
    }
  }

  @Test("a target outside of the working directory has its journal beside it")
  func database() async throws {
    let folder = try Place()
    try await Self.withClient { client in
      let tables = try await client.extract(Self.document, into: .sqlite(folder.file("shop.db")))
      #expect(tables.tables.map(\.name) == ["customers", "customers_orders"])
      #expect(tables.tables.map(\.rows) == [120, 1780])
      #expect(Double(tables.requests) <= 1.2 * Double(tables.leastRequests))
    }
    for (table, count) in Self.counts {
      #expect(try Self.count(table, in: folder.file("shop.db")) == count)
    }
    let journals = try FileManager.default.contentsOfDirectory(atPath: folder.file("runs"))
    #expect(journals.contains { $0.hasPrefix("extract-Customers-shop-db-") })
  }

  @Test("files have the tables under the names of the options")
  func files() async throws {
    let folder = try Place()
    var options = ExtractOptions()
    options.names = ["customers_orders": "orders"]
    options.concurrency = 2
    try await Self.withClient { client in
      try await client.extract(
        Self.document, into: .files(folder.file("out"), .csv), options: options)
    }
    #expect(try folder.lines("out/orders.csv").count == 1781)
    let header = try folder.lines("out/customers.csv").first
    #expect(header?.hasPrefix("_key,_parent,_position,") == true)
  }

  @Test("the next run requests what has changed since the last one")
  func since() async throws {
    let folder = try Place()
    try await Self.withClient { client in
      let since = (field: "updatedAt", variable: "since")
      let target = TableTarget.sqlite(folder.file("shop.db"))
      #expect(try await client.extract(Self.document, into: target, since: since).rows == 1900)
      let rename = #"mutation { renameCustomer(id: "CU_7", name: "Ada Berg") { name } }"#
      _ = try await client.perform(rename)
      let second = try await client.extract(Self.document, into: target, since: since)
      #expect(second.tables.first?.rows == 1)
    }
    #expect(try Self.count("customers", in: folder.file("shop.db")) == 120)
  }

  @Test(
    "a PostgreSQL database has the tables, and the next run requests what has changed since",
    .needsPostgres)
  func postgres() async throws {
    let bench = try QueueBench()
    try await Self.withClient { client in
      let since = (field: "updatedAt", variable: "since")
      let target = TableTarget.postgres(bench.url)
      let first = try await client.extract(Self.document, into: target, since: since)
      #expect(first.tables.map(\.name) == ["customers", "customers_orders"])
      #expect(first.tables.map(\.rows) == [120, 1780])
      let rename = #"mutation { renameCustomer(id: "CU_7", name: "Ada Berg") { name } }"#
      _ = try await client.perform(rename)
      let second = try await client.extract(Self.document, into: target, since: since)
      #expect(second.tables.first?.rows == 1)
    }
    let orders = try bench.connection.run(
      "SELECT count(*) FROM customers_orders AS o JOIN customers AS c ON o._parent = c._key")
    #expect(orders.int(0, 0) == 1780)
    #expect(try bench.counts() == ["done": 2])
  }

  /// The document with a filter that the server refuses.
  private static let refused = document.replacing("$since)", with: "\"no time\")")
    .replacing("($since: DateTime)", with: "")

  /// Fails with one document, and continues with another one that has the same name.
  private static func edit(_ target: TableTarget) async throws {
    try await withClient { client in
      for resumes in [false, true] {
        let failure = await #expect(throws: ExtractFailure.self) {
          try await client.extract(refused, into: target, resumes: resumes)
        }
        #expect(failure?.message.contains("must be a time") == true)
      }
      let edited = try await client.extract(document, into: target, resumes: true)
      #expect(edited.rows == 1900)
      // It has no page left.
      #expect(try await client.extract(document, into: target, resumes: true).requests == 0)
    }
  }

  @Test("a run of another document is not continued: a new one begins")
  func edited() async throws {
    let folder = try Place()
    try await Self.edit(.sqlite(folder.file("shop.db")))
    let runs = try FileManager.default.contentsOfDirectory(atPath: folder.file("runs"))
    #expect(runs.count { $0.hasSuffix(".journal") } == 2)
  }

  @Test("a run of another document in a database is not continued, either", .needsPostgres)
  func editedInDatabase() async throws {
    let bench = try QueueBench()
    try await Self.edit(.postgres(bench.url))
    #expect(try bench.counts() == ["failed": 1, "done": 1])
    #expect(try bench.connection.run("SELECT count(*) FROM gq_run").int(0, 0) == 2)
  }

  @Test("rows arrive page by page, each after that of its parent")
  func rows() async throws {
    try await Self.withClient { client in
      var seen: [String: Set<String>] = [:]
      for try await page in try client.rows(of: Self.document) {
        for row in page.rows {
          #expect(seen[row.table, default: []].insert(row.key).inserted)
          if let parent = row.parent { #expect(seen["customers"]?.contains(parent) == true) }
          #expect(row.values["_key"] == nil && row.values["id"] != nil)
        }
      }
      #expect(seen.mapValues(\.count) == Self.counts)
    }
  }

  @Test("a sequence that ends anywhere continues after the checkpoint of its last page")
  func checkpoints() async throws {
    try await Self.withClient { client in
      var keys: [String] = []
      var checkpoint: String?
      var runs = 0
      repeat {
        runs += 1
        var count = 0
        var last: String?
        for try await page in try client.rows(of: Self.document, after: checkpoint) {
          keys += page.rows.map { "\($0.table) \($0.key)" }
          last = page.checkpoint
          count += 1
          if count == 2 { break }
        }
        checkpoint = last
      } while checkpoint != nil && runs < 1000
      #expect(runs > 3)
      #expect(keys.count == 1900)
      #expect(Set(keys).count == 1900)
    }
  }

  @Test("options that do not fit the document are errors before the first request")
  func options() async throws {
    try await DemoServer.withServer { server in
      let client = try await PipelineClient(endpoint: server.url)
      var options = ExtractOptions()
      options.names = ["orders": "x"]
      let found = #expect(throws: PipelineDiagnostics.self) {
        _ = try client.rows(of: Self.document, options: options)
      }
      #expect(found?.errors.first?.location.file == "as")
      #expect(throws: GraphQLSyntaxError.self) { _ = try client.rows(of: "{ customers {") }
      try await client.shutdown()
      #expect(server.log.requestCount == 0)
    }
  }

  @Test("a page that the server refuses for good ends the rows with its error")
  func failure() async throws {
    try await Self.withClient { client in
      var count = 0
      let failure = await #expect(throws: ExtractFailure.self) {
        for try await page in try client.rows(of: Self.refused) { count += page.rows.count }
      }
      #expect(count == 0)
      #expect(failure?.message.contains("must be a time") == true, "\(failure?.message ?? "")")
    }
  }
}
