import Foundation
import GQLRunJSON
import GQLRunPipeline
import GQLRunSupport
import GQLRunTestSupport
import Testing

@testable import GQLRunBatch

/// A run of an operation with `tables`, whose tables are in `out.db`.
@Suite("Runs with tables")
struct TableRunTests {
  private let location: Place

  init() throws {
    location = try Place()
    try Shop.write(to: location)
  }

  /// Has connections with one page and with several, and without any element.
  private static let shop = Shop(orders: [5, 0, 2, 7, 1, 3, 9, 4])

  private func manifest(
    tables: String = "pack: 3", operation: String = "", run: String = "concurrency: 4"
  ) throws -> Manifest {
    try Shop.manifest(
      "to: \"sqlite:out.db\", \(tables)", operation: operation, run: run, in: location)
  }

  private static let names = ["customers", "customers_orders", "customers_orders_lines"]

  /// The rows of the tables, as ``Shop/rows`` has them.
  private func rows() throws -> [String] {
    try Self.names.flatMap { table in
      try location.values(
        "SELECT '\(table) ' || _key || ' ' || coalesce(_parent, '-') || ' ' || _position FROM \(table)",
        in: "out.db")
    }.sorted()
  }

  /// The number of rows that the responses of a run had.
  private func received(_ summary: RunSummary) -> Int {
    summary.counters.tables?.rows.values.reduce(0, +) ?? 0
  }

  private func jumping() -> ServiceClock { ServiceClock(TestClock.jumping()) }

  /// The error of the only failed task, as reports show it.
  private func reason(_ summary: RunSummary) throws -> FailureReason {
    let reasons = try #require(summary.failures?.all)
    #expect(reasons.count == 1, "\(reasons)")
    return reasons[0]
  }

  // MARK: Complete tables

  @Test(
    "every page of every connection is in the tables, with few requests",
    arguments: [(1, 1), (1, 8), (3, 4), (20, 1), (20, 16)])
  func complete(pack: Int, concurrency: Int) async throws {
    let transport = ShopTransport(Self.shop)
    let summary = try await Bench.run(
      manifest(tables: "pack: \(pack)", run: "concurrency: \(concurrency)"), transport: transport)
    #expect(summary.counters.done == 1 && summary.counts[.done] == 1)
    #expect(try rows() == Self.shop.rows)
    let tables = try #require(summary.tables)
    #expect(tables.tables.map(\.name) == Self.names)
    #expect(tables.rows == Self.shop.rows.count)
    #expect(summary.counters.records == Self.shop.rows.count)
    #expect(tables.requests == transport.requests.count)
    #expect(tables.leastRequests <= tables.requests)
    #expect(transport.requests.allSatisfy { $0.pages <= pack })
    // Without others that wait, packs are not full; with one request at a time they are.
    if concurrency == 1 {
      #expect(Double(tables.requests) <= 1.2 * Double(tables.leastRequests), "\(tables.text)")
    }
  }

  @Test("a task for each row, whose key is the parent of the first level")
  func rowsOfManifest() async throws {
    try location.write(
      "query Shop($id: ID!) { customer(id: $id) { orders(first: 2) { nodes { id lines(first: 2) { nodes { id } } } } } }",
      to: "shop.graphql")
    let transport = ShopTransport(Self.shop)
    let summary = try await Bench.run(
      manifest(
        tables: "as: { customer_orders: orders, customer_orders_lines: lines }",
        operation: """
          foreach: { inline: [{ id: C0 }, { id: C3 }, { id: C6 }], key: "key {{row.id}}" }
              variables: { id: "{{row.id}}" }
          """), transport: transport)
    #expect(summary.counters.done == 3)
    let orders = try location.values(
      "SELECT _parent || ' ' || count(*) FROM orders GROUP BY _parent ORDER BY 1", in: "out.db")
    #expect(orders == ["key C0 5", "key C3 7", "key C6 9"])
    let lines = [0, 3, 6].reduce(0) { sum, customer in
      sum + (0..<Self.shop.orders[customer]).reduce(0) { $0 + Self.shop.lines(customer, $1) }
    }
    #expect(try location.values("SELECT count(*) FROM lines", in: "out.db") == ["\(lines)"])
  }

  @Test("with `order: output`, the rows of a task come before those of the next one")
  func order() async throws {
    try location.write(
      "query Shop($id: ID!) { customer(id: $id) { orders(first: 2) { nodes { id } } } }",
      to: "shop.graphql")
    let manifest = try Shop.manifest(
      "to: out/, format: ndjson",
      operation: """
        foreach: { inline: [{ id: C6 }, { id: C0 }, { id: C3 }], key: "{{row.id}}" }
            variables: { id: "{{row.id}}" }
        """, run: "concurrency: 4, order: output", in: location)
    let summary = try await Bench.run(manifest, transport: ShopTransport(Self.shop))
    #expect(summary.counters.done == 3)
    let parents = try location.lines("out/customer_orders.ndjson").map {
      try JSONValue(parsing: $0)["_parent"]?.stringValue ?? ""
    }
    let expected = [("C6", 9), ("C0", 5), ("C3", 7)].flatMap { Array(repeating: $0, count: $1) }
    #expect(parents == expected)
  }

  // MARK: Stops

  @Test(
    "a run that stops after any response continues where it was, and requests no page twice",
    arguments: [1, 3])
  func stops(concurrency: Int) async throws {
    let run = "concurrency: \(concurrency)"
    let whole = ShopTransport(Self.shop)
    _ = try await Bench.run(manifest(run: run), transport: whole)
    for stopAt in 1..<whole.requests.count {
      let test = try TableRunTests()
      let control = RunControl()
      let transport = ShopTransport(Self.shop) { request in
        if request.number == stopAt { await control.stop() }
        return nil
      }
      let manifest = try test.manifest(run: run)
      let first = try await Bench.run(manifest, control: control, transport: transport)
      // With several requests at a time, the number of requests depends on their order.
      if concurrency == 1 {
        #expect(first.stop == .interrupted && first.counters.done == 0, "\(stopAt)")
        #expect(transport.requests.count == stopAt)
      }
      let second = try await Bench.run(manifest, Bench.resuming, transport: transport)
      #expect(second.counts[.done] == 1, "\(stopAt)")
      #expect(try test.rows() == Self.shop.rows, "\(stopAt)")
      #expect(received(first) + received(second) == Self.shop.rows.count, "\(stopAt)")
    }
  }

  @Test("a run that stopped is continued, also with `--only failed`")
  func continuation() async throws {
    let manifest = try manifest()
    let control = RunControl()
    let stopping = ShopTransport(Self.shop) { request in
      if request.number == 2 { await control.stop() }
      return nil
    }
    _ = try await Bench.run(manifest, control: control, transport: stopping)
    // It has no failed task, so that nothing is requested; that is said.
    let transport = ShopTransport(Self.shop)
    let nothing = try await Bench.run(manifest, Bench.repeating, transport: transport)
    #expect(transport.requests.isEmpty && nothing.warnings.contains { $0.contains("--resume") })
    let rest = try ExtractionRun(manifest, resumes: true, overwrites: false)
    let summary = try await rest.run(Services(transport: transport), RunControl())
    #expect(!rest.isOfOther && summary.failures == nil && summary.warnings.isEmpty)
    #expect(try rows() == Self.shop.rows)
  }

  /// The document with other connections, of which the journal knows none.
  private static let edited = Shop.document.replacing("id sku", with: "id")

  @Test("a run that stopped before its first page is not continued: its document may change")
  func nothingRecorded() async throws {
    try location.write(Self.edited, to: "shop.graphql")
    let control = RunControl()
    await control.stop()
    let transport = ShopTransport(Self.shop)
    _ = try await Bench.run(manifest(), control: control, transport: transport)
    #expect(transport.requests.isEmpty)
    try location.write(Shop.document, to: "shop.graphql")
    let manifest = try manifest()
    let run = try ExtractionRun(manifest, resumes: true, overwrites: false)
    let summary = try await run.run(Services(transport: transport), RunControl())
    #expect(!run.isOfOther && summary.failures == nil && summary.warnings.isEmpty)
    #expect(try rows() == Self.shop.rows)
    #expect(try JournalFolder(manifest).all().count == 2)
  }

  @Test("a run killed before its journal had tables is continued", arguments: [true, false])
  func emptyJournal(isExtraction: Bool) async throws {
    let manifest = try manifest()
    let journal = try JournalFolder(manifest).open(resumes: false, at: 1_750_000_000)
    journal.close()
    try Data().write(to: URL(fileURLWithPath: journal.path))
    let transport = ShopTransport(Self.shop)
    if isExtraction {
      let run = try ExtractionRun(manifest, resumes: true, overwrites: false)
      let summary = try await run.run(Services(transport: transport), RunControl())
      #expect(!run.isOfOther && summary.failures == nil)
    } else {
      let summary = try await Bench.run(manifest, Bench.resuming, transport: transport)
      #expect(summary.counts[.done] == 1 && summary.journal == journal.path)
    }
    #expect(try rows() == Self.shop.rows)
  }

  @Test("failed pages of another document are an error, before anything is written")
  func onlyFailedOfOther() async throws {
    let broken = ShopTransport(Self.shop, breaks: { page, _ in page.owner == "C6" })
    let first = try ExtractionRun(manifest(), resumes: false, overwrites: false)
    let summary = try await first.run(Services(transport: broken), RunControl())
    #expect(summary.failures != nil)
    let before = try rows()
    try location.write(Self.edited, to: "shop.graphql")
    let other = try manifest()
    let error = #expect(throws: JournalError.self) {
      try ExtractionRun(other, resumes: true, requiresSame: true, overwrites: false)
    }
    #expect(error?.description.contains("has no failed pages of this one") == true)
    #expect(try rows() == before)
    #expect(try JournalFolder(other).all().count == 1)
  }

  @Test("a resumed task whose document is another one begins again")
  func otherDocument() async throws {
    let control = RunControl()
    let stopping = ShopTransport(Self.shop) { request in
      if request.number == 3 { await control.stop() }
      return nil
    }
    _ = try await Bench.run(manifest(), control: control, transport: stopping)
    try location.write(
      Shop.document.replacing("lines(first: 2)", with: "lines(first: 3)"), to: "shop.graphql")
    let transport = ShopTransport(Self.shop)
    let summary = try await Bench.run(manifest(), Bench.resuming, transport: transport)
    #expect(summary.counters.done == 1)
    #expect(transport.requests.first?.document.contains("customers") == true)
    #expect(try rows() == Self.shop.rows)
  }

  // MARK: Failures

  @Test("refusals are waited out, and nothing is lost or doubled")
  func refusals() async throws {
    let transport = ShopTransport(Self.shop) { request in
      request.number % 3 == 1 ? .response(503, "busy") : nil
    }
    let summary = try await Bench.run(manifest(), transport: transport, clock: jumping())
    #expect(summary.counters.done == 1)
    #expect(try rows() == Self.shop.rows)
    #expect(received(summary) == Self.shop.rows.count)
  }

  @Test("a page that is broken twice is requested by itself, and then complete")
  func brokenTwice() async throws {
    let counts = Locked<[String: Int]>([:])
    let transport = ShopTransport(
      Self.shop,
      breaks: { page, _ in
        // Nested connections, on their first page and on further ones.
        guard ["C0", "C6", "O3_2"].contains(page.owner) else { return false }
        return counts.withLock { counts in
          counts["\(page.owner) \(page.start)", default: 0] += 1
          return counts["\(page.owner) \(page.start)", default: 0] <= 2
        }
      })
    let summary = try await Bench.run(manifest(), transport: transport)
    #expect(summary.counters.done == 1, "\(String(describing: summary.failures))")
    #expect(try rows() == Self.shop.rows)
    #expect(received(summary) == Self.shop.rows.count)
  }

  /// Whether a server is broken.
  private final class Fault: Sendable {
    let isThere = Locked(true)
  }

  /// A server that has no further orders of the customer `C6` and no lines of the order `O3_0`, until it is repaired.
  private static func broken(_ fault: Fault = Fault()) -> ShopTransport {
    ShopTransport(
      shop,
      breaks: { page, _ in
        fault.isThere.withLock { $0 }
          && (page.owner == "C6" && page.start == 4 || page.owner == "O3_0")
      })
  }

  @Test(
    "pages that fail for good are said, the others are there, and --only failed requests the rest")
  func onlyFailed() async throws {
    let fault = Fault()
    let transport = Self.broken(fault)
    let first = try await Bench.run(manifest(), transport: transport)
    #expect(first.counters.failed == 1 && first.stop == nil)
    let reason = try reason(first)
    #expect(reason.isIncomplete)
    #expect(
      reason.message.hasPrefix(
        "incomplete: pages are missing in 2 connections (1 of `customers.nodes.orders`, 1 of "
          + "`customers.nodes.orders.nodes.lines`)"), "\(reason.message)")
    #expect(reason.message.contains("p0.lines: a fault of Order:O3_0.lines"), "\(reason.message)")
    let gone = Self.shop.rows.filter { line in
      line.contains("Order:O3_0 ") && line.hasPrefix("customers_orders_lines")
        || (4..<9).contains { order in line.contains("O6_\(order)") }
    }
    #expect(try rows() == Self.shop.rows.filter { !gone.contains($0) })
    #expect(try RunInspection(manifest(), journal: first.journal).report().contains("incomplete"))
    let again = try await Bench.run(manifest(), Bench.repeating, transport: transport)
    #expect(again.counters.failed == 1 && received(again) == 0)

    fault.isThere.withLock { $0 = false }
    let before = transport.requests.count
    let last = try await Bench.run(manifest(), Bench.repeating, transport: transport)
    #expect(last.counters.done == 1 && last.counts[.failed] == 0)
    #expect(received(last) == gone.count)
    #expect(!transport.requests.dropFirst(before).contains { $0.document.contains("customers") })
    #expect(try rows() == Self.shop.rows)
  }

  @Test("`allow_partial` makes such a task done, with a warning")
  func allowPartial() async throws {
    let fault = Fault()
    let transport = Self.broken(fault)
    let summary = try await Bench.run(
      manifest(tables: "allow_partial: true"), transport: transport)
    #expect(summary.counters.done == 1 && summary.counters.failed == 0)
    let warning = try #require(summary.warnings.first)
    #expect(summary.warnings.count == 1)
    #expect(
      warning.contains("shop is incomplete: pages are missing in 2 connections"), "\(warning)")
    let report = try JSONValue(
      parsing: RunInspection(manifest(), journal: summary.journal).report())
    #expect(report["partial"]?.arrayValue?.count == 1)
    #expect(report["resolved"] == nil)
    // A run that continues without it needs the pages.
    let strict = try await Bench.run(manifest(), Bench.resuming, transport: transport)
    #expect(strict.counters.failed == 1 && received(strict) == 0)
    fault.isThere.withLock { $0 = false }
    let last = try await Bench.run(manifest(), Bench.repeating, transport: transport)
    #expect(last.counters.done == 1 && received(last) > 0)
    #expect(try rows() == Self.shop.rows)
  }

  @Test("such a task of an earlier version begins again, and counts its rows once")
  func olderPartial() async throws {
    let fault = Fault()
    let transport = Self.broken(fault)
    let first = try await Bench.run(
      manifest(tables: "allow_partial: true"), transport: transport)
    try location.execute("UPDATE tasks SET cursor = NULL; DELETE FROM cursors", in: first.journal)
    fault.isThere.withLock { $0 = false }
    let last = try await Bench.run(manifest(), Bench.resuming, transport: transport)
    #expect(last.counters.done == 1)
    #expect(try rows() == Self.shop.rows)
    let records = try location.values("SELECT records FROM tasks", in: last.journal)
    #expect(records == ["\(Self.shop.rows.count)"])
  }

  @Test("`allow_partial` accepts any number of connections that nothing finds again")
  func unfound() async throws {
    try location.write(
      Shop.schema.replacing(" customer(id: ID!): Customer node(id: ID!): Node", with: ""),
      to: "schema.graphql")
    try location.write(
      "{ customers(first: 500) { nodes { id orders(first: 2) { totalCount nodes { id } } } } }",
      to: "shop.graphql")
    let transport = ShopTransport(Shop(orders: Array(repeating: 3, count: 1_200)))
    let summary = try await Bench.run(
      manifest(tables: "allow_partial: true"), transport: transport)
    #expect(summary.counters.done == 1, "\(String(describing: summary.failures))")
    #expect(transport.requests.count == 3)
    #expect(
      try location.values("SELECT count(*) FROM customers_orders", in: "out.db") == ["2400"])
    let warning = try #require(summary.warnings.first)
    #expect(
      warning.contains(
        "pages are missing in 1200 connections (1200 of `customers.nodes.orders`), at least 1200 rows; "
          + "`customers.nodes.orders`: neither `node(id:)`"), "\(warning)")
  }

  @Test(
    "secrets in errors of the server are in no journal and in no warning", arguments: [true, false])
  func secrets(allowsPartial: Bool) async throws {
    let transport = ShopTransport(Self.shop) { request in
      request.number == 1 ? nil : .errors("wrong token canary-77")
    }
    let services = Services(transport: transport)
    services.secrets.insert(SecretString("canary-77"))
    let summary = try await Bench.run(
      manifest(tables: "allow_partial: \(allowsPartial)"), services: services)
    #expect(summary.counters.failed == (allowsPartial ? 0 : 1))
    let texts = try location.values(
      "SELECT coalesce(cursor, '') || coalesce(error, '') FROM tasks", in: summary.journal)
    #expect((texts + summary.warnings).contains { $0.contains("wrong token •••") })
    #expect(!(texts + summary.warnings).contains { $0.contains("canary") })
  }

  @Test(
    "an error in the first response outside of its connections fails the task after three requests",
    arguments: [
      (#"{"data":{"customers":null},"errors":[{"message":"no","path":["other"]}]}"#, 3),
      (#"{"errors":[{"message":"no such field"}]}"#, 1),
    ])
  func firstResponse(_ body: String, _ requests: Int) async throws {
    let transport = ShopTransport(Self.shop) { _ in .response(200, body) }
    let summary = try await Bench.run(manifest(), transport: transport)
    #expect(summary.counters.failed == 1)
    #expect(transport.requests.count == requests)
    #expect(try reason(summary).message.contains("no"))
    let again = try await Bench.run(
      manifest(), Bench.repeating, transport: ShopTransport(Self.shop))
    #expect(again.counters.done == 1)
    #expect(try rows() == Self.shop.rows)
  }

  @Test("the conditions of `expect` are those of the first response")
  func expectations() async throws {
    let transport = ShopTransport(Self.shop)
    let summary = try await Bench.run(
      manifest(operation: #"expect: ["http == 200", "count(data.customers.nodes) > 100"]"#),
      transport: transport)
    #expect(try reason(summary).message.contains("count(data.customers.nodes) > 100"))
    #expect(transport.requests.count == 1)
    let good = try await Bench.run(
      manifest(operation: #"expect: ["count(data.customers.nodes) == 3", "errors == null"]"#),
      transport: transport)
    #expect(good.counters.done == 1)
    #expect(try rows() == Self.shop.rows)
  }

  @Test(
    "a pack that the server refuses as too costly is halved",
    arguments: [
      (200, #"{"data":null,"errors":[{"message":"Query has complexity 1001"}]}"#),
      (400, #"{"errors":[{"message":"The query exceeds the maximum complexity of 1000"}]}"#),
      (413, "the request is too large"), (504, "timeout"),
    ])
  func costly(status: Int, body: String) async throws {
    let transport = ShopTransport(Self.shop) { request in
      request.pages > 2 ? .response(status, body) : nil
    }
    let summary = try await Bench.run(manifest(tables: "pack: 20"), transport: transport)
    #expect(summary.counters.done == 1)
    #expect(try rows() == Self.shop.rows)
    #expect(transport.requests.filter { $0.pages > 2 }.count < 10)
  }

  @Test(
    "a first request that costs too much is sent again with smaller pages",
    arguments: [
      (200, #"{"data":null,"errors":[{"message":"Query has complexity 1001"}]}"#),
      (200, #"{"data":{"customers":null},"errors":[{"message":"timed out","path":["other"]}]}"#),
      (400, #"{"errors":[{"message":"The query exceeds the maximum complexity of 1000"}]}"#),
      (413, "the request is too large"), (504, "timeout"),
    ])
  func firstCostly(status: Int, body: String) async throws {
    let transport = ShopTransport(Self.shop) { request in
      request.document.contains("customers(first: 3)") ? .response(status, body) : nil
    }
    let summary = try await Bench.run(manifest(), transport: transport)
    #expect(summary.counters.done == 1, "\(String(describing: summary.failures))")
    #expect(try rows() == Self.shop.rows)
    #expect(received(summary) == Self.shop.rows.count)
    let sizes = transport.requests.filter { $0.document.contains("customers(") }.map {
      $0.variables["gqlrunSize_0"] ?? $0.variables["gqlrunSize"]
    }
    let expected: [JSONValue?] = [nil, 1, 1, 1, 1, 1, 1, 1, 1]
    #expect(sizes == expected)
  }

  @Test("a first request that costs too much with the smallest pages fails the task")
  func alwaysCostly() async throws {
    let transport = ShopTransport(Self.shop) { _ in
      .response(200, #"{"data":null,"errors":[{"message":"Query has complexity 1001"}]}"#)
    }
    let summary = try await Bench.run(manifest(), transport: transport)
    #expect(try reason(summary).message.contains("complexity"))
    #expect(transport.requests.count == 2)
  }

  @Test("a page by itself that the server cannot make in time is requested in smaller ones")
  func slowPage() async throws {
    let transport = ShopTransport(Self.shop) { request in
      guard request.document.contains("on Customer {"), request.variables["gqlrunSize"] == nil
      else { return nil }
      let pages = (0..<request.pages).map { "p\($0)" }
      let data = pages.map { #""\#($0)":null"# }.joined(separator: ",")
      let errors = pages.map { #"{"message":"timed out","path":["\#($0)"]}"# }
        .joined(separator: ",")
      return .response(200, #"{"data":{\#(data)},"errors":[\#(errors)]}"#)
    }
    let summary = try await Bench.run(manifest(), transport: transport)
    #expect(summary.counters.done == 1, "\(String(describing: summary.failures))")
    #expect(try rows() == Self.shop.rows)
  }

  @Test("a condition about errors accepts those of whole responses, also of further pages")
  func acceptedErrors() async throws {
    let transport = ShopTransport(
      Self.shop,
      report: { _ in
        ShopTransport.Report(errors: [GraphQLError(message: "the API has a new version")])
      })
    let summary = try await Bench.run(
      manifest(operation: #"expect: ["count(errors) < 3"]"#), transport: transport)
    #expect(summary.counters.done == 1, "\(String(describing: summary.failures))")
    #expect(try rows() == Self.shop.rows)
    #expect(transport.requests.count == summary.tables?.requests)
  }

  @Test("a page that the server always refuses as too costly makes the tables incomplete")
  func tooCostly() async throws {
    let transport = ShopTransport(Self.shop) { request in
      request.document.contains("on Customer {") ? .response(504, "timeout") : nil
    }
    let summary = try await Bench.run(manifest(), transport: transport)
    #expect(try reason(summary).isIncomplete)
    #expect(try rows().filter { $0.hasPrefix("customers ") }.count == 8)
  }

  // MARK: Memory

  @Test("tasks that run at the same time have few packs in memory")
  func limits() {
    let limits = TableLimits(concurrency: 3)
    #expect([limits.take(), limits.take(), limits.take()] == [true, true, false])
    limits.release(1)
    #expect(limits.take() && !limits.take())
  }
}
