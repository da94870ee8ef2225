import Foundation
import GQLRunJSON
import GQLRunPipeline
import GQLRunPostgres
import GQLRunTestSupport
import Testing

@testable import GQLRunBatch

@Suite("Rows in the tables of operations in PostgreSQL", .needsPostgres, .timeLimit(.minutes(10)))
struct TableQueueSinkTests {
  private let bench: QueueBench

  init() throws { bench = try QueueBench() }

  private func manifest(
    _ tables: String = "to: postgres", keys: [String] = ["a", "b"]
  ) throws -> Manifest {
    try TableBench.manifest(
      tables, keys: keys, head: "run: { journal: \"\(bench.url)\" }", in: bench.location)
  }

  private func claim(_ worker: QueueWorker, _ limit: Int = 1) throws -> [TaskItem] {
    try QueueClaim.take(limit, for: worker, operations: ["shop": 0], bench.connection)
      .sorted { $0.key < $1.key }
  }

  private static func outcome(
    _ item: TaskItem, of manifest: Manifest, page: Int = 1, rows: [TableRow],
    _ state: TaskState = .running
  ) throws -> Outcome {
    var update = TaskUpdate(id: item.id, operation: 0, key: item.key, state: state)
    update.lease = item.lease
    update.page = page
    update.records = rows.count
    update.cursor = "after \(page)"
    update.ended = 1
    var outcome = Outcome(update: update, operation: 0)
    outcome.pieces = try SinkPlan(manifest).pieces(of: rows, operation: 0)
    return outcome
  }

  /// A worker with the tasks that it has claimed.
  private struct Work {
    let manifest: Manifest
    let claims: [TaskItem]
    let stage: QueueStage
    let leases: LeaseTable

    /// Commits the outcome of a page of a task.
    @discardableResult
    func commit(
      _ item: TaskItem, page: Int = 1, rows: [TableRow], _ state: TaskState = .running
    ) async throws -> SinkChange {
      try await stage.commit([
        TableQueueSinkTests.outcome(item, of: manifest, page: page, rows: rows, state)
      ])
    }
  }

  /// Begins a run with two tasks, and claims some of them.
  private func begun(_ tables: String = "to: postgres", claims count: Int = 1) async throws -> Work
  {
    let manifest = try manifest(tables)
    try bench.begin(manifest)
    return try await work(on: manifest, claims: count)
  }

  private func work(on manifest: Manifest, claims count: Int) async throws -> Work {
    let worker = try bench.worker(manifest)
    let claims = try claim(worker, count)
    let (stage, leases) = try await bench.stage(manifest, worker, claims)
    return Work(manifest: manifest, claims: claims, stage: stage, leases: leases)
  }

  /// The values of the first column of a query.
  private func values(_ sql: String) throws -> [String] {
    let rows = try bench.connection.run(sql)
    return (0..<rows.count).map { rows.isNull($0, 0) ? "-" : rows.text($0, 0) }
  }

  @Test("`batch init` creates tables with types, keys, foreign keys and comments")
  func definitions() throws {
    _ = try BatchQueue(manifest()).initialize()
    func columns(_ table: String) throws -> [String] {
      try values(
        """
        SELECT attname || ' ' || format_type(atttypid, atttypmod)
          || coalesce(' ' || col_description(attrelid, attnum), '')
        FROM pg_attribute WHERE attrelid = to_regclass('\(table)') AND attnum > 0 ORDER BY attnum
        """)
    }
    #expect(
      try columns("customers") == [
        "_key text", "_parent text", "_position bigint", "id text Customer.id",
        "name text Customer.name", "active boolean Customer.active",
        "score double precision Customer.score", "tags jsonb Customer.tags",
      ])
    #expect(
      try columns("customers_orders") == [
        "_key text", "_parent text", "_position bigint", "id text Order.id",
        "total bigint Order.total", "due text Order.due",
      ])
    #expect(
      try values(
        """
        SELECT pg_get_constraintdef(oid) FROM pg_constraint
        WHERE conrelid = to_regclass('customers_orders') AND contype IN ('f', 'p') ORDER BY contype
        """) == [
          "FOREIGN KEY (_parent) REFERENCES customers(_key) DEFERRABLE INITIALLY DEFERRED",
          "PRIMARY KEY (_key)",
        ])
    #expect(
      try values("SELECT obj_description(to_regclass('customers_orders'), 'pg_class')")
        == ["Customer.orders"])
  }

  @Test("a table that no run has created is refused, and stays as it is")
  func foreign() throws {
    try bench.connection.run("CREATE TABLE customers (id int PRIMARY KEY)")
    let queue = try BatchQueue(manifest())
    let error = #expect(throws: JournalError.self) { _ = try queue.initialize() }
    #expect(
      error?.description.contains("the table `customers` of") == true
        && error?.description.contains("as: { customers: … }") == true,
      "\(error?.description ?? "")")
    #expect(
      try values(
        """
        SELECT attname FROM pg_attribute
        WHERE attrelid = to_regclass('customers') AND attnum > 0 AND NOT attisdropped
        """) == ["id"])
  }

  @Test("a worker creates tables that are missing, and adds columns that a table does not have")
  func missing() async throws {
    let manifest = try manifest()
    try bench.begin(manifest)
    try bench.connection.run("DROP TABLE customers_orders")
    try bench.connection.run("ALTER TABLE customers DROP COLUMN score")
    let work = try await work(on: manifest, claims: 2)
    try await work.commit(
      work.claims[0], rows: [TableBench.customer(1, of: "a"), TableBench.order(1, of: 1)], .done)
    #expect(await work.stage.tableCounts().map(\.records) == [1, 1])
    await work.stage.close()
    #expect(
      try values("SELECT concat_ws(' ', name, active, score, tags->>0) FROM customers")
        == ["a t 1.5 x, y"])
    #expect(
      try values("SELECT concat_ws(' ', _key, _parent, total, due) FROM customers_orders")
        == ["Order:1 Customer:1 7 2026-01-31"])
  }

  @Test(
    "a table may have a name that a statement gives to another one",
    arguments: ["excluded", "kept", "r", "written"])
  func names(_ name: String) async throws {
    let work = try await begun("to: postgres, as: { customers: \(name) }")
    let customer = TableBench.customer(1, of: "a")
    try await work.commit(work.claims[0], rows: [customer])
    let next = try await work.commit(work.claims[0], page: 2, rows: [customer], .done)
    #expect(next.repeated == 1)
    await work.stage.close()
    #expect(try values("SELECT name FROM \(name)") == ["a"])
  }

  @Test("a row that comes again is one row, and counts as repeated")
  func repeated() async throws {
    let work = try await begun()
    let customer = TableBench.customer(1, of: "a")
    let change = try await work.commit(
      work.claims[0],
      rows: [customer, TableBench.order(1, of: 1), TableBench.order(1, of: 1, total: 8)])
    #expect(change.repeated == 1)
    let next = try await work.commit(
      work.claims[0], page: 2, rows: [customer, TableBench.order(2, of: 1)], .done)
    #expect(next.repeated == 1)
    #expect(
      await work.stage.tableCounts() == [
        TableSink.Counts(records: 1, repeated: 1), TableSink.Counts(records: 2, repeated: 1),
      ])
    await work.stage.close()
    #expect(try values("SELECT total::text FROM customers_orders ORDER BY _key") == ["8", "7"])
  }

  @Test(
    "an object of a second parent fails its task, of this or of another worker",
    arguments: [true, false])
  func secondParent(hasOneWorker: Bool) async throws {
    let manifest = try manifest()
    try bench.begin(manifest)
    let (one, two) = (try bench.worker(manifest), try bench.worker(manifest))
    let claims = hasOneWorker ? try claim(one, 2) : try claim(one) + claim(two)
    let (first, _) = try await bench.stage(manifest, one, claims)
    let (second, _) =
      hasOneWorker ? (first, LeaseTable()) : try await bench.stage(manifest, two, [claims[1]])
    let (key, other) = (claims[0].key, claims[1].key)
    try await first.commit([
      Self.outcome(claims[0], of: manifest, rows: [TableBench.customer(1, of: key)], .done)
    ])
    try await second.commit([
      Self.outcome(claims[1], of: manifest, rows: [TableBench.customer(2, of: other)])
    ])
    let wrong = [TableBench.customer(3, of: other), TableBench.customer(1, of: other)]
    let change = try await second.commit([
      Self.outcome(claims[1], of: manifest, page: 2, rows: wrong)
    ])
    let message = try #require(change.refused[claims[1].id]?.message)
    #expect(
      message.contains("has `Customer:1` under `\(key)`, and it is under `\(other)`, too"),
      "\(message)")
    try await second.commit([Self.outcome(claims[1], of: manifest, page: 3, rows: wrong, .done)])
    await first.close()
    await second.close()
    #expect(
      try values("SELECT _key || ' ' || _parent FROM customers ORDER BY _key")
        == ["Customer:1 \(key)", "Customer:2 \(other)"])
    let task = try bench.connection.run(
      "SELECT state, error, page::bigint, cursor FROM gq_task WHERE key = $1", .text(other))
    #expect(task.text(0, 0) == "failed" && task.text(0, 1) == message)
    #expect(task.int(0, 2) == 1 && task.text(0, 3) == "after 1")
    #expect(try bench.counts() == ["done": 1, "failed": 1])
  }

  @Test("a task that its worker repeats is not refused because of its earlier rows")
  func retried() async throws {
    let manifest = try manifest()
    try bench.begin(manifest)
    let worker = try bench.worker(manifest)
    let claims = try claim(worker, 2)
    let (stage, leases) = try await bench.stage(manifest, worker, claims)
    let other = claims[1].key
    let wrong = [TableBench.customer(1, of: other)]
    try await stage.commit([
      Self.outcome(
        claims[0], of: manifest, rows: [TableBench.customer(1, of: claims[0].key)], .done),
      Self.outcome(claims[1], of: manifest, rows: wrong, .done),
    ])
    #expect(try bench.counts() == ["done": 1, "failed": 1])
    _ = try TaskResolution(.retry, of: .failed, user: "test", time: 1).apply(to: manifest)
    try bench.connection.run("DELETE FROM customers")
    let again = try #require(try claim(worker).first)
    leases.add(again.id, again.lease)
    let change = try await stage.commit([Self.outcome(again, of: manifest, rows: wrong, .done)])
    #expect(change.refused.isEmpty)
    await stage.close()
    #expect(try bench.counts() == ["done": 2])
    #expect(try values("SELECT _parent FROM customers") == [other])
  }

  @Test("keys are distinct if their bytes are: `é` as one scalar and as two")
  func distinctKeys() async throws {
    let work = try await begun()
    let rows = ["caf\u{E9}", "cafe\u{301}"].map { key in
      var row = TableBench.customer(1, of: work.claims[0].key)
      row.key = key
      return row
    }
    for page in 1...2 { try await work.commit(work.claims[0], page: page, rows: rows) }
    #expect(await work.stage.tableCounts()[0] == TableSink.Counts(records: 2, repeated: 2))
    await work.stage.close()
    #expect(try values("SELECT count(*)::text FROM customers") == ["2"])
  }

  @Test("a shared table has a row for each parent")
  func shared() async throws {
    let work = try await begun("to: postgres, shared: [customers]", claims: 2)
    for claim in work.claims {
      let customer = TableBench.customer(1, of: claim.key)
      try await work.commit(claim, rows: [customer, customer], .done)
    }
    #expect(await work.stage.tableCounts()[0] == TableSink.Counts(records: 2, repeated: 2))
    await work.stage.close()
    #expect(try values("SELECT _parent FROM customers ORDER BY _parent") == ["a", "b"])
    #expect(try bench.counts() == ["done": 2])
  }

  @Test("in the next run, an object that moved to another parent is replaced")
  func moved() async throws {
    let manifest = try manifest()
    for (index, key) in ["a", "b"].enumerated() {
      _ = try BatchQueue(manifest).initialize(beginsNew: true)
      _ = try BatchQueue(manifest).enqueue()
      let work = try await work(on: manifest, claims: 2)
      let change = try await work.commit(
        work.claims[index], rows: [TableBench.customer(1, of: key)], .done)
      #expect(change.refused.isEmpty && change.repeated == 0)
      await work.stage.close()
    }
    #expect(try values("SELECT _parent FROM customers") == ["b"])
  }

  @Test(
    "a value that the column cannot have is an error that names it",
    arguments: [
      (JSONValue.string("7"), "is integer, and the server sent \"7\""),
      (.number(JSONNumber(7)), ""),
      (.null, ""),
    ])
  func types(_ value: JSONValue, message: String) throws {
    let plan = try SinkPlan(manifest())
    var row = TableBench.order(1, of: 1)
    row.cells[1] = value
    let error = Result { try plan.pieces(of: [row], operation: 0) }
    switch error {
    case .success: #expect(message.isEmpty)
    case .failure(let error):
      #expect(
        "\(error)".contains("the column `total` of the row `Order:1` of `customers_orders`")
          && "\(error)".contains(message) && !message.isEmpty, "\(error)")
    }
    var text = TableBench.customer(1)
    text.cells[1] = .string("a\0b")
    let nul = #expect(throws: TaskProblem.self) { try plan.pieces(of: [text], operation: 0) }
    #expect(nul?.message.contains("has a NUL character") == true)
  }

  @Test("a real number is stored as the double that it is, and no worker ends because of it")
  func reals() async throws {
    let work = try await begun()
    let texts = ["1e-400", "5e-324", "0.1", "1E+2", "-0.30000000000000004"]
    let rows = try texts.enumerated().map { index, text in
      var row = TableBench.customer(index, of: work.claims[0].key)
      row.cells[3] = try .number(#require(JSONNumber(text: text)))
      return row
    }
    try await work.commit(work.claims[0], rows: rows, .done)
    await work.stage.close()
    #expect(
      try values("SELECT score::text FROM customers ORDER BY _key")
        == ["0", "5e-324", "0.1", "100", "-0.30000000000000004"])
    var infinite = TableBench.customer(1)
    infinite.cells[3] = try .number(#require(JSONNumber(text: "1e400")))
    let error = #expect(throws: TaskProblem.self) {
      try SinkPlan(work.manifest).pieces(of: [infinite], operation: 0)
    }
    #expect(error?.message.contains("`score`") == true)
  }

  @Test("keys are stored up to the length that PostgreSQL indexes, and longer ones fail their task")
  func longKeys() async throws {
    let work = try await begun("to: postgres, shared: [customers]")
    // Without repetitions, which PostgreSQL would compress.
    var random = SeededRandom(7)
    let text = String(
      (0..<2_600).map { _ in Character(UnicodeScalar(UInt8(33 + random.upTo(90)))) })
    var row = TableBench.customer(1, of: "k")
    row.key = String(text.dropLast())
    try await work.commit(work.claims[0], rows: [row], .done)
    await work.stage.close()
    #expect(try values("SELECT length(_key)::text FROM customers") == ["2599"])
    row.key = text
    let error = #expect(throws: TaskProblem.self) {
      try SinkPlan(work.manifest).pieces(of: [row], operation: 0)
    }
    #expect(error?.message.contains("have 2601 bytes") == true, "\(error?.message ?? "")")
  }

  @Test("the values that the next run starts from are kept when all tasks are done")
  func since() async throws {
    let manifest = try manifest("to: postgres, since: { path: name, variable: since }")
    let operation = manifest.operations[0]
    let bookmark = try #require(operation.tables?.since?.bookmark)
    let name = try #require(operation.sinceName)
    try bench.begin(manifest)
    let workers = [try bench.worker(manifest), try bench.worker(manifest)]
    for (worker, value) in zip(workers, ["m", "c"]) {
      #expect(try values("SELECT value FROM gqlrun_since").isEmpty)
      let claims = try claim(worker)
      let (stage, _) = try await bench.stage(manifest, worker, claims)
      let key = claims[0].key
      let row = TableBench.customer(value == "m" ? 1 : 2, of: key, name: value)
      var outcome = try Self.outcome(claims[0], of: manifest, rows: [row], .done)
      outcome.bookmarks = [(bookmark, .max, .string(value))]
      try await stage.commit([outcome])
      await stage.close()
      try QueueSince.save(manifest, run: worker.run, bench.connection)
    }
    #expect(try values("SELECT name || ' ' || value FROM gqlrun_since") == ["\(name) \"m\""])
    // The next run passes the value, also if it changes meanwhile.
    let one = try self.manifest(
      "to: postgres, since: { path: name, variable: since }", keys: ["x"])
    _ = try BatchQueue(one).initialize(beginsNew: true)
    try bench.connection.run("UPDATE gqlrun_since SET value = '\"z\"'")
    _ = try BatchQueue(one).enqueue()
    #expect(
      try values("SELECT variables FROM gq_task WHERE state = 'queued'") == [#"{"since":"m"}"#])
  }

  @Test("workers that run a manifest fill the tables, and a folder of files, which a merge joins")
  func work() async throws {
    let names = ["a": "ann", "b": "bob"]
    let transport = ScriptedTransport { body, _ in
      let since = try JSONValue(parsing: body)["variables"]?["since"]?.stringValue ?? ""
      return .data(
        #"{"customers":[{"__typename":"Customer","id":"\#(since)","name":"\#(names[since] ?? "")","#
          + #""active":null,"score":null,"tags":null,"orders":[]}]}"#)
    }
    let tables = try manifest()
    try bench.begin(tables)
    let summaries = try await bench.work(tables, workers: 2, transport: transport)
    #expect(summaries.reduce(0) { $0 + ($1.tables?.rows ?? 0) } == 2)
    #expect(try values("SELECT name FROM customers ORDER BY name") == ["ann", "bob"])
    let files = try manifest("to: out/, format: csv")
    _ = try BatchQueue(files).initialize(beginsNew: true)
    _ = try BatchQueue(files).enqueue()
    try await bench.work(files, workers: 2, transport: transport)
    #expect(try BatchQueue(files).merge().count == 2)
    let lines = try bench.location.lines("out/customers.csv")
    #expect(lines[0].hasPrefix("_key,_parent,_position,id,name"))
    #expect(lines.dropFirst().sorted() == ["Customer:a,a,0,a,ann,,,", "Customer:b,b,0,b,bob,,,"])
  }
}
