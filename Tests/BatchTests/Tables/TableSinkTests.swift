import Foundation
import GQLRunJSON
import Testing

@testable import GQLRunBatch

@Suite("Rows in the tables of operations")
struct TableSinkTests {
  private let location: Place

  init() throws { location = try Place() }

  private typealias Counts = TableSink.Counts

  private static let database = #"to: "sqlite:o.db""#
  private static let csv = "to: out/, format: csv"
  private static let ndjson = "to: out/, format: ndjson"
  private static let targets = [database, csv, ndjson]

  private func run(
    _ tables: String, keys: [String] = [], journal: String = "a.journal",
    _ options: RunOptions = RunOptions()
  ) async throws -> TableRun {
    try await TableRun(
      TableBench.manifest(tables, keys: keys, in: location), journal: location.file(journal),
      options)
  }

  /// The keys and parents of the rows of a table, in their order.
  private func rows(_ table: String, _ target: String) throws -> [String] {
    if target.hasPrefix(Self.database) {
      return try location.values(
        "SELECT _key || ' ' || coalesce(_parent, '-') FROM \(table) ORDER BY rowid", in: "o.db")
    }
    if target.hasPrefix(Self.csv) {
      return try location.lines("out/\(table).csv").dropFirst().map { line in
        let cells = line.split(separator: ",", omittingEmptySubsequences: false)
        return "\(cells[0]) \(cells[1].isEmpty ? "-" : cells[1])"
      }
    }
    return try location.lines("out/\(table).ndjson").map { line in
      let value = try JSONValue(parsing: line)
      return "\(value["_key"]?.stringValue ?? "") \(value["_parent"]?.stringValue ?? "-")"
    }
  }

  // MARK: Formats

  @Test("a database has types, keys, foreign keys, and comments with schema coordinates")
  func definitions() async throws {
    try await run(Self.database).finish()
    let tables = try location.values(
      "SELECT sql FROM sqlite_schema WHERE name LIKE 'customers%' ORDER BY name", in: "o.db")
    #expect(
      tables == [
        """
        CREATE TABLE "customers" ( /* Query.customers */
          "_key" TEXT NOT NULL,
          "_parent" TEXT,
          "_position" INTEGER,
          "id" TEXT /* Customer.id */,
          "name" TEXT /* Customer.name */,
          "active" BOOLEAN /* Customer.active */,
          "score" REAL /* Customer.score */,
          "tags" TEXT /* Customer.tags */,
          PRIMARY KEY ("_key"))
        """,
        """
        CREATE TABLE "customers_orders" ( /* Customer.orders */
          "_key" TEXT NOT NULL,
          "_parent" TEXT REFERENCES "customers" ("_key") DEFERRABLE INITIALLY DEFERRED,
          "_position" INTEGER,
          "id" TEXT /* Order.id */,
          "total" INTEGER /* Order.total */,
          "due" /* Order.due */,
          PRIMARY KEY ("_key"))
        """,
      ])
    // The index on the foreign key.
    #expect(
      try location.values(
        "SELECT name FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL ORDER BY name",
        in: "o.db") == ["gqlrun_customers__parent", "gqlrun_customers_orders__parent"])
  }

  @Test("each cell is stored with the type of its column")
  func cells() async throws {
    let run = try await run(Self.database)
    let item = try await run.claim()
    var empty = TableBench.order(2, of: 1)
    empty.cells = [.number(JSONNumber(2)), nil, .null]
    try await run.commit(
      item, rows: [TableBench.customer(1), TableBench.order(1, of: 1), empty], .done)
    try await run.finish()
    #expect(
      try location.values(
        """
        SELECT id || name || active || score || tags || typeof(active) || typeof(score) FROM customers
        """, in: "o.db") == [#"1a11.5["x, y"]integerreal"#])
    #expect(
      try location.values(
        "SELECT typeof(id) || typeof(total) || typeof(due) FROM customers_orders", in: "o.db")
        == ["textintegertext", "textnullnull"])
  }

  @Test(
    "an integer that SQLite would round is refused, and others are exact",
    arguments: [
      ("9223372036854775807", true), ("-9223372036854775808", true),
      ("9223372036854775808", false), ("12345678901234567890", false),
    ])
  func integers(_ text: String, isExact: Bool) async throws {
    let run = try await run(Self.database)
    var order = TableBench.order(1, of: 1)
    order.cells[1] = try .number(#require(JSONNumber(text: text)))
    let rows = [TableBench.customer(1), order]
    if isExact {
      try await run.commit(run.claim(), rows: rows, .done)
      try await run.finish()
      #expect(
        try location.values("SELECT CAST(total AS TEXT) FROM customers_orders", in: "o.db")
          == [text])
    } else {
      let error = #expect(throws: TaskProblem.self) { try run.plan.pieces(of: rows, operation: 0) }
      #expect(
        error?.message.contains("the column `total` of the row `Order:1` of `customers_orders`")
          == true && error?.message.hasSuffix("the server sent \(text)") == true)
      await run.cut()
    }
  }

  @Test("files have the columns in the order of the table, and a header in CSV")
  func files() async throws {
    for (target, journal) in [(Self.csv, "a.journal"), (Self.ndjson, "b.journal")] {
      let run = try await run(target, journal: journal)
      let item = try await run.claim()
      try await run.commit(item, rows: [TableBench.customer(1), TableBench.order(1, of: 1)], .done)
      try await run.finish()
    }
    #expect(
      try location.lines("out/customers.csv") == [
        "_key,_parent,_position,id,name,active,score,tags",
        #"Customer:1,,1,1,a,true,1.5,"[""x, y""]""#,
      ])
    #expect(
      try location.lines("out/customers.ndjson") == [
        #"{"_key":"Customer:1","_parent":null,"_position":1,"id":"1","name":"a","active":true,"score":1.5,"tags":["x, y"]}"#
      ])
    #expect(
      try location.lines("out/customers_orders.csv")[1] == "Order:1,Customer:1,1,1,7,2026-01-31")
  }

  @Test("tables without rows are there when the run has ended", arguments: targets)
  func empty(_ target: String) async throws {
    try await run(target).finish()
    #expect(try rows("customers_orders", target).isEmpty)
  }

  @Test("columns that a later document selects are added to the table, with their types")
  func newColumns() async throws {
    try location.execute(
      """
      CREATE TABLE customers (_key TEXT NOT NULL PRIMARY KEY, _parent TEXT, _position INTEGER, NAME TEXT);
      INSERT INTO customers VALUES ('Customer:1', NULL, 0, 'old'), ('Customer:9', NULL, 1, 'kept');
      CREATE INDEX gqlrun_customers__parent ON customers (_parent);
      """, in: "o.db")
    let run = try await run(Self.database)
    let item = try await run.claim()
    try await run.commit(item, rows: [TableBench.customer(1)], .done)
    #expect(try run.counts()[0] == Counts(records: 1))
    try await run.finish()
    #expect(
      try location.values(
        "SELECT name || ' ' || coalesce(score, '-') FROM customers ORDER BY _key", in: "o.db")
        == ["a 1.5", "kept -"])
    #expect(
      try location.values(
        "SELECT type FROM pragma_table_info('customers') WHERE name = 'active'", in: "o.db")
        == ["BOOLEAN"])
  }

  @Test("a table with another primary key is refused, and unchanged")
  func otherKey() async throws {
    try await run(Self.database).finish()
    let error = await #expect(throws: StoppedByStorage.self) {
      _ = try await run(
        Self.database + ", shared: [customers_orders]", journal: "b.journal")
    }
    #expect(error?.isRefusal == true)
    #expect(
      error?.message.contains(
        "the table `customers_orders` of \(location.path)/o.db: its primary key is _key, and that of the rows is "
          + "_parent, _key") == true, "\(error?.message ?? "")")
  }

  // MARK: Keys

  @Test("a row that comes again is one row, with the last values in a database", arguments: targets)
  func repeated(_ target: String) async throws {
    let run = try await run(target)
    let item = try await run.claim()
    let first = [TableBench.customer(1), TableBench.order(1, of: 1), TableBench.order(2, of: 1)]
    try await run.commit(item, rows: first + [TableBench.order(1, of: 1, total: 8)])
    try await run.commit(
      item, page: 2, rows: [TableBench.customer(1, name: "b"), TableBench.order(3, of: 1)], .done)
    #expect(
      try run.counts() == [Counts(records: 1, repeated: 1), Counts(records: 3, repeated: 1)])
    #expect(run.store.progress.counters.repeated == 2)
    try await run.finish()
    #expect(try rows("customers", target) == ["Customer:1 -"])
    #expect(
      try rows("customers_orders", target)
        == (1...3).map { "Order:\($0) Customer:1" })
    if target == Self.database {
      #expect(try location.values("SELECT name FROM customers", in: "o.db") == ["b"])
      #expect(
        try location.values("SELECT total FROM customers_orders", in: "o.db") == ["8", "7", "7"])
    }
  }

  @Test(
    "an object of a second parent fails its task, and nothing of its page is written",
    arguments: targets)
  func secondParent(_ target: String) async throws {
    let run = try await run(target, keys: ["a", "b"])
    let (a, b) = (try await run.claim(), try await run.claim())
    let wrong = [
      TableBench.customer(2, of: "b"), TableBench.order(2, of: 2), TableBench.order(1, of: 2),
    ]
    try await run.store.commit([
      run.outcome(b, rows: [TableBench.customer(3, of: "b")]),
      run.outcome(a, rows: [TableBench.customer(1, of: "a"), TableBench.order(1, of: 1)], .done),
      run.outcome(b, page: 2, rows: wrong),
    ])
    let message =
      "the table `customers_orders` has `Order:1` under `Customer:1`, and it is under `Customer:2`, too; for a row "
      + "under each of them, add `shared: [customers_orders]` to `tables` (--shared customers_orders)"
    #expect(run.store.refusal(of: b) == message)
    #expect(run.store.refusal(of: a) == nil)
    // A response that was in flight, and the end of the task.
    try await run.store.commit([
      run.outcome(b, page: 3, rows: [TableBench.customer(4, of: "b")]),
      run.outcome(b, page: 4, rows: [TableBench.customer(5, of: "b")], .done),
    ])
    let record = try #require(try run.journal.task(b.id))
    #expect(record.state == .failed && record.error == message)
    #expect(record.page == 1 && record.records == 1 && record.cursor == "after 1")
    #expect(run.store.progress.counters.failed == 1)
    #expect(try run.counts().map(\.records) == [2, 1])
    try await run.finish()
    #expect(try rows("customers", target) == ["Customer:3 b", "Customer:1 a"])
    #expect(try rows("customers_orders", target) == ["Order:1 Customer:1"])
    // The failed task continues behind its last page.
    let again = try await self.run(target, keys: ["a", "b"], Bench.repeating)
    #expect(try await again.claim().record?.cursor == "after 1")
    await again.cut()
  }

  private static func customer(_ key: String) -> TableRow {
    var row = TableBench.customer(1, name: key)
    row.key = key
    return row
  }

  private static func order(_ key: String, of customer: String) -> TableRow {
    var row = TableBench.order(1, of: 1)
    (row.key, row.parent) = (key, customer)
    return row
  }

  /// `é` as one scalar and as two, and texts that are equal up to their first NUL character.
  private static let distinctTexts = ["caf\u{E9}", "cafe\u{301}", "a\0b", "a", "a\0c"]

  @Test("keys are distinct if their bytes are", arguments: targets)
  func distinctKeys(_ target: String) async throws {
    let run = try await run(target)
    let item = try await run.claim()
    let rows = Self.distinctTexts.flatMap { [Self.customer($0), Self.order($0, of: $0)] }
    try await run.commit(item, rows: rows)
    #expect(try run.counts() == [Counts(records: 5), Counts(records: 5)])
    try await run.commit(item, page: 2, rows: rows, .done)
    #expect(run.store.refusal(of: item) == nil)
    #expect(
      try run.counts() == [Counts(records: 5, repeated: 5), Counts(records: 5, repeated: 5)])
    try await run.finish()
  }

  @Test("a parent with other bytes is a second parent", arguments: targets)
  func distinctParents(_ target: String) async throws {
    let run = try await run(target)
    let item = try await run.claim()
    let parents = Self.distinctTexts.prefix(2)
    try await run.commit(
      item, rows: parents.map { Self.customer($0) } + [Self.order("o", of: parents[0])])
    try await run.commit(item, page: 2, rows: [Self.order("o", of: parents[1])])
    #expect(run.store.refusal(of: item) != nil)
    await run.cut()
  }

  @Test("a shared table has a row for each parent, and no foreign key", arguments: targets)
  func shared(_ target: String) async throws {
    let target = target + ", shared: [customers_orders]"
    let run = try await run(target)
    let item = try await run.claim()
    let rows = [
      TableBench.customer(1), TableBench.customer(2), TableBench.order(1, of: 1),
      TableBench.order(1, of: 2), TableBench.order(1, of: 1),
    ]
    try await run.commit(item, rows: rows, .done)
    #expect(try run.counts()[1] == Counts(records: 2, repeated: 1))
    try await run.finish()
    #expect(
      try self.rows("customers_orders", target) == ["Order:1 Customer:1", "Order:1 Customer:2"])
    guard target.hasPrefix(Self.database) else { return }
    #expect(
      try location.values(
        "SELECT name FROM pragma_table_info('customers_orders') WHERE pk > 0 ORDER BY pk",
        in: "o.db") == ["_parent", "_key"])
    #expect(
      try location.values("SELECT id FROM pragma_foreign_key_list('customers_orders')", in: "o.db")
        .isEmpty)
  }

  @Test("`shared` without rows above the first level changes nothing there")
  func sharedFirstLevel() async throws {
    try await run(Self.database + ", shared: [customers]").finish()
    #expect(
      try location.values(
        "SELECT name FROM pragma_table_info('customers') WHERE pk > 0", in: "o.db") == ["_key"])
  }

  @Test("a row of an earlier run cannot be replaced behind the highest row id")
  func highestRowID() async throws {
    let first = try await run(Self.database)
    let rows = [TableBench.customer(1), TableBench.customer(2)]
    try await first.commit(first.claim(), rows: rows, .done)
    try await first.finish()
    try location.execute(
      "UPDATE customers SET rowid = \(Int64.max) WHERE _key = 'Customer:2'", in: "o.db")
    let second = try await run(Self.database, journal: "b.journal")
    let error = await #expect(throws: StoppedByStorage.self) {
      try await second.commit(second.claim(), rows: [TableBench.customer(1)])
    }
    #expect(
      error?.message.hasSuffix(
        "`customers` has a row with the highest row id; write to another database, or give that row a lower id"
      )
        == true, "\(error as Any)")
    await second.cut()
  }

  @Test("in the next run, an object that moved to another parent is replaced")
  func moved() async throws {
    let first = try await run(Self.database)
    let rows = [TableBench.customer(1), TableBench.customer(2), TableBench.order(1, of: 1)]
    try await first.commit(first.claim(), rows: rows, .done)
    try await first.finish()
    let second = try await run(Self.database, journal: "b.journal")
    let item = try await second.claim()
    let moved = [TableBench.customer(2, name: "b"), TableBench.order(1, of: 2, total: 9)]
    try await second.commit(item, rows: moved)
    #expect(try second.counts() == [Counts(records: 1), Counts(records: 1)])
    // From now on, it is a row of this run.
    try await second.commit(item, page: 2, rows: [TableBench.order(1, of: 1)])
    #expect(second.store.refusal(of: item)?.contains("under `Customer:2`") == true)
    await second.cut()
    #expect(
      try location.values("SELECT _key || name FROM customers ORDER BY _key", in: "o.db")
        == ["Customer:1a", "Customer:2b"])
    #expect(
      try location.values("SELECT _parent || total FROM customers_orders", in: "o.db")
        == ["Customer:29"])
  }

  @Test("the rows of a commit refer to rows that are there, whatever their order")
  func deferred() async throws {
    let run = try await run(Self.database)
    let item = try await run.claim()
    try await run.store.commit([
      run.outcome(item, rows: [TableBench.order(1, of: 1)]),
      run.outcome(item, page: 2, rows: [TableBench.customer(1)]),
    ])
    await #expect(throws: StoppedByStorage.self) {
      try await run.commit(item, page: 3, rows: [TableBench.order(2, of: 9)])
    }
    await run.cut()
    #expect(try location.values("SELECT _key FROM customers_orders", in: "o.db") == ["Order:1"])
  }

  // MARK: Crashes

  @Test(
    "a crash between the tables and the journal leaves each row once, and exact numbers",
    arguments: targets)
  func crash(_ target: String) async throws {
    let path = location.file("a.journal")
    let first = try await run(target)
    let item = try await first.claim()
    try await first.commit(item, rows: [TableBench.customer(1), TableBench.order(1, of: 1)])
    await first.cut()
    let pages: [[TableRow]] = [
      [TableBench.customer(2), TableBench.order(2, of: 2), TableBench.order(1, of: 1)],
      [TableBench.order(3, of: 2), TableBench.order(2, of: 2)],
    ]
    // Twice: the lost step may be followed by another one.
    for _ in 0..<2 {
      let journal = try Data(contentsOf: URL(fileURLWithPath: path))
      let lost = try await run(target)
      let item = try await lost.claim()
      #expect(item.record?.cursor == "after 1")
      try await lost.commit(item, page: 2, rows: pages[0])
      #expect(
        try lost.counts() == [Counts(records: 2), Counts(records: 2, repeated: 1)])
      await lost.cut()
      try journal.write(to: URL(fileURLWithPath: path))
    }
    let last = try await run(target)
    let again = try await last.claim()
    try await last.commit(again, page: 2, rows: pages[0])
    try await last.commit(again, page: 3, rows: pages[1], .done)
    #expect(try last.counts() == [Counts(records: 2), Counts(records: 3, repeated: 2)])
    try await last.finish()
    #expect(try rows("customers", target) == ["Customer:1 -", "Customer:2 -"])
    #expect(
      try rows("customers_orders", target) == [
        "Order:1 Customer:1", "Order:2 Customer:2", "Order:3 Customer:2",
      ])
  }

  @Test("a second parent is found after a crash, too", arguments: targets)
  func secondParentAfterCrash(_ target: String) async throws {
    let first = try await run(target)
    try await first.commit(
      first.claim(),
      rows: [TableBench.customer(1), TableBench.customer(2), TableBench.order(1, of: 1)])
    await first.cut()
    let second = try await run(target)
    let item = try await second.claim()
    try await second.commit(item, page: 2, rows: [TableBench.order(1, of: 2)])
    #expect(second.store.refusal(of: item)?.contains("has `Order:1` under `Customer:1`") == true)
    await second.cut()
  }

  @Test("`--only failed` after a part of the run leaves the next run at its old value")
  func sinceOfFailed() async throws {
    let tables = Self.database + ", since: { path: name, variable: since }"
    let first = try await run(tables, keys: ["a", "b"])
    let since = try #require(first.manifest.operations[0].tables?.since)
    let item = try await first.claim()
    var outcome = try first.outcome(item, rows: [TableBench.customer(1, of: item.key)], .done)
    outcome.bookmarks = [(since.bookmark, .max, "m")]
    try await first.store.commit([outcome])
    await first.cut()
    let failed = try await run(tables, keys: ["a", "b"], Bench.repeating)
    guard case .none = try await failed.store.claim() else {
      Issue.record("no task has failed")
      return
    }
    try await failed.finish()
    #expect(try first.manifest.sinceValues().isEmpty)
    let last = try await run(tables, keys: ["a", "b"])
    try await last.commit(last.claim(), rows: [], .done)
    guard case .none = try await last.store.claim() else {
      Issue.record("there is a third task")
      return
    }
    try await last.finish()
    #expect(try first.manifest.sinceValues()["shop"] == "m")
  }

  @Test("a journal and a database of the version before are continued")
  func older() async throws {
    let first = try await run(Self.database)
    try await first.commit(first.claim(), rows: [TableBench.customer(1)])
    await first.cut()
    try location.execute(
      "ALTER TABLE outputs DROP COLUMN repeated; DROP TABLE row_keys; DROP TABLE cursors; PRAGMA user_version = 4",
      in: "a.journal")
    try location.execute(
      "ALTER TABLE gqlrun_outputs DROP COLUMN base; ALTER TABLE gqlrun_outputs DROP COLUMN before",
      in: "o.db")
    let reader = try Journal(path: location.file("a.journal"), isReadOnly: true)
    #expect(try reader.outputs().map(\.counts.repeated) == [0, 0])
    reader.close()
    let second = try await run(Self.database)
    let item = try await second.claim()
    try await second.commit(item, page: 2, rows: [TableBench.customer(2)], .done)
    #expect(try second.counts()[0].records == 2)
    try await second.finish()
    #expect(try rows("customers", Self.database) == ["Customer:1 -", "Customer:2 -"])
  }

  @Test("a table that was changed since is refused, and so are other tables of the manifest")
  func refusedResume() async throws {
    let first = try await run(Self.database)
    try await first.commit(first.claim(), rows: [TableBench.customer(1), TableBench.customer(2)])
    await first.cut()
    let renamed = await #expect(throws: StoppedByStorage.self) {
      _ = try await run(Self.database + ", as: { customers_orders: orders }")
    }
    #expect(renamed?.message.contains("no longer has that sink") == true)
    try location.execute("DELETE FROM customers WHERE id = 2", in: "o.db")
    let emptied = await #expect(throws: StoppedByStorage.self) { _ = try await run(Self.database) }
    #expect(emptied?.message.contains("rows that the journal recorded were removed") == true)
  }
}
