import GQLRunPipeline
import GQLRunPostgres
import Testing

@testable import GQLRunBatch

@Suite("Tables of a queue", .needsPostgres, .timeLimit(.minutes(10)))
struct TableQueueTests {
  private static let shop = Shop(orders: [5, 0, 2, 7, 1, 3, 9, 4])

  /// A queue with the task of one operation, whose tables are in its database.
  private func begun() throws -> (bench: QueueBench, manifest: Manifest) {
    let bench = try QueueBench()
    try Shop.write(to: bench.location)
    let manifest = try Shop.manifest(
      "to: postgres, pack: 3", run: "concurrency: 2, journal: \"\(bench.url)\"",
      in: bench.location)
    try bench.begin(manifest)
    return (bench, manifest)
  }

  private func rows(_ bench: QueueBench) throws -> [String] {
    try ["customers", "customers_orders", "customers_orders_lines"].flatMap { table in
      let rows = try bench.connection.run(
        "SELECT '\(table) ' || _key || ' ' || coalesce(_parent, '-') || ' ' || _position FROM \(table)"
      )
      return (0..<rows.count).map { rows.text($0, 0) }
    }.sorted()
  }

  /// The number of rows that the responses to a worker had.
  private func received(_ summary: BatchWorker.Summary) -> Int {
    summary.counters.tables?.rows.values.reduce(0, +) ?? 0
  }

  @Test("a failed task keeps what is left, and `batch retry` lets another worker request that")
  func retry() async throws {
    let (bench, manifest) = try begun()
    let broken = ShopTransport(
      Self.shop, breaks: { page, _ in page.owner == "C6" && page.start == 4 })
    let first = try #require(try await bench.work(manifest, transport: broken).first)
    #expect(first.counters.failed == 1)
    #expect(try bench.counts() == ["failed": 1])
    let error = try bench.connection.run("SELECT error FROM gq_task").text(0, 0)
    #expect(error.hasPrefix(CompletenessCheck.prefix), "\(error)")

    let resolution = TaskResolution(.retry, of: .failed, user: "test", time: 1_750_000_000)
    #expect(try resolution.apply(to: manifest).count == 1)
    let repaired = ShopTransport(Self.shop)
    let second = try #require(try await bench.work(manifest, transport: repaired).first)
    #expect(try bench.counts() == ["done": 1])
    #expect(!repaired.requests.contains { $0.document.contains("customers") })
    #expect(try rows(bench) == Self.shop.rows)
    #expect(received(first) + received(second) == Self.shop.rows.count)
  }

  @Test("pages that `allow_partial` accepted not to have are requested without it")
  func allowPartial() async throws {
    let (bench, strict) = try begun()
    let partial = try Shop.manifest(
      "to: postgres, pack: 3, allow_partial: true",
      run: "concurrency: 2, journal: \"\(bench.url)\"", in: bench.location)
    let broken = ShopTransport(
      Self.shop, breaks: { page, _ in page.owner == "C6" && page.start == 4 })
    let first = try #require(try await bench.work(partial, transport: broken).first)
    #expect(first.counters.done == 1 && first.warnings.count == 1)
    #expect(try bench.counts() == ["done": 1])

    #expect(try TaskResolution(.retry, of: .failed).apply(to: partial).count == 0)
    #expect(try TaskResolution(.retry, of: .failed, keys: ["shop"]).apply(to: strict).count == 1)
    let repaired = ShopTransport(Self.shop)
    let second = try #require(try await bench.work(strict, transport: repaired).first)
    #expect(second.counters.done == 1)
    #expect(!repaired.requests.contains { $0.document.contains("customers") })
    #expect(try rows(bench) == Self.shop.rows)
    #expect(received(first) + received(second) == Self.shop.rows.count)
    // Nothing is missing any more.
    #expect(try TaskResolution(.retry, of: .failed).apply(to: strict).count == 0)
  }

  @Test("a run is not continued without a table that it has written")
  func droppedTable() async throws {
    let (bench, manifest) = try begun()
    try await bench.work(manifest, transport: ShopTransport(Self.shop))
    try bench.connection.run("DROP TABLE customers_orders_lines")
    let queue = try BatchQueue(manifest)
    let actions: [() throws -> Void] = [
      { _ = try ExtractionRun(manifest, resumes: true, overwrites: false) },
      { _ = try queue.initialize() },
    ]
    for action in actions {
      let error = #expect(throws: JournalError.self) { try action() }
      #expect(
        error?.description.contains(
          "has written rows into it: restore the table, or begin a new run") == true)
    }
    let worker = try bench.worker(manifest)
    await #expect(throws: JournalError.self) {
      _ = try await bench.stage(manifest, worker, [])
    }
    let found = "SELECT to_regclass('customers_orders_lines') IS NULL"
    #expect(try bench.connection.run(found).int(0, 0) == 1)
    #expect(try queue.initialize(beginsNew: true))
    #expect(try bench.connection.run(found).int(0, 0) == 0)
  }

  @Test("a task of a worker that stops is continued by another one", arguments: [1, 2, 5, 9])
  func stops(stopAt: Int) async throws {
    let (bench, manifest) = try begun()
    let control = RunControl()
    let transport = ShopTransport(Self.shop) { request in
      if request.number == stopAt { await control.stop() }
      return nil
    }
    let first = try await BatchWorker(manifest, services: Services(transport: transport))
      .run(control)
    #expect(first.stop == .interrupted)
    #expect(try bench.counts() == ["queued": 1])
    let second = try #require(
      try await bench.work(manifest, transport: ShopTransport(Self.shop)).first)
    let error = try bench.connection.run("SELECT coalesce(error, '') FROM gq_task").text(0, 0)
    #expect(second.counters.done == 1, "\(error)")
    #expect(try rows(bench) == Self.shop.rows)
    #expect(received(first) + received(second) == Self.shop.rows.count)
    #expect(try bench.connection.run("SELECT count(*) FROM gq_cursor").int(0, 0) == 0)
  }

  @Test("a run of a document that was edited since is not continued, and has no failed pages of it")
  func edited() throws {
    let (bench, _) = try begun()
    try bench.location.write(Shop.document.replacing("id sku", with: "id"), to: "shop.graphql")
    let edited = try Shop.manifest(
      "to: postgres, pack: 3", run: "concurrency: 2, journal: \"\(bench.url)\"",
      in: bench.location)
    func runs() throws -> Int {
      try bench.connection.run("SELECT count(*) FROM gq_run").int(0, 0)
    }
    let error = #expect(throws: JournalError.self) {
      try ExtractionRun(edited, resumes: true, requiresSame: true, overwrites: false)
    }
    #expect(error?.description.contains("has no failed pages of this one") == true)
    #expect(try runs() == 1 && bench.counts() == ["queued": 1])
    #expect(try ExtractionRun(edited, resumes: true, overwrites: false).isOfOther)
    #expect(try runs() == 2)
    #expect(
      try !ExtractionRun(edited, resumes: true, requiresSame: true, overwrites: false).isOfOther)
    #expect(try runs() == 2)
    // As after a crash between the run and its task.
    try bench.connection.run("DELETE FROM gq_task")
    let none = #expect(throws: JournalError.self) {
      try ExtractionRun(edited, resumes: true, requiresSame: true, overwrites: false)
    }
    #expect(none?.description.contains("no earlier run of this document") == true)
    #expect(try !ExtractionRun(edited, resumes: true, overwrites: false).isOfOther)
    #expect(try runs() == 3 && bench.counts() == ["queued": 1])
  }

  @Test("a claim has the parts that another worker recorded while it waited for the task")
  func claimedParts() throws {
    let (bench, manifest) = try begun()
    // As the row is after that worker has returned the task.
    try bench.connection.run("UPDATE gq_task SET page = 3, requests = 3")
    // The statement of the claim does not see what is added after it began.
    try bench.connection.run(
      """
      CREATE FUNCTION record_parts() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        INSERT INTO gq_cursor (run, id, part, text)
        VALUES (NEW.run, NEW.id, 1, '2'), (NEW.run, NEW.id, 0, 'page ');
        RETURN NEW;
      END $$
      """)
    try bench.connection.run(
      """
      CREATE TRIGGER record_parts BEFORE UPDATE ON gq_task FOR EACH ROW
      WHEN (NEW.state = 'leased') EXECUTE FUNCTION record_parts()
      """)
    let worker = try bench.worker(manifest)
    let claimed = try QueueClaim.take(1, for: worker, operations: ["shop": 0], bench.connection)
    #expect(claimed.first?.record?.page == 3)
    #expect(claimed.first?.record?.cursor == "page 2")
  }
}
