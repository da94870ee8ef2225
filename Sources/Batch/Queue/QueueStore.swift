import GQLRunJSON
import GQLRunPipeline
import GQLRunPostgres
import GQLRunSupport
import GRDB

/// The tasks of a queue that a worker claims, in groups, with leases.
///
/// ```
/// queue ─▶ QueueStore.claim ─▶ RunEngine ─▶ QueueStore.commit ─▶ segments, queue
///                                  ▲
///                              QueuePulse: heartbeat every 10 s, tasks of lost workers
/// ```
final class QueueStore: TaskStore {
  private struct State {
    var ready: [TaskItem] = []
    /// Tasks to be returned before the next claim.
    var returned: [(id: TaskID, lease: Int)] = []
    var isExhausted = false
    /// The tasks with rows that a table has refused.
    var refused: [TaskID: TaskRefusal] = [:]
  }

  let progress: RunProgress
  let plan: SinkPlan
  let numbers: [Int]
  let pulse: QueuePulse
  let stage: QueueStage
  private let manifest: Manifest
  private let operations: [String: Int]
  private let worker: QueueWorker
  private let client: QueueClient
  private let leases = LeaseTable()
  private let limits: QueueLimits
  private let governor: Governor
  private let clock: ServiceClock
  private let stop: RunStop
  private let claiming = AsyncMutex()
  private let state = Locked(State())
  /// The largest number of tasks in one claim.
  private let limit: Int

  /// Creates the store of a worker.
  ///
  /// - Parameters:
  ///   - manifest: The manifest.
  ///   - database: The database.
  ///   - worker: The worker, which has a row in `gq_worker`.
  ///   - limits: What the workers share about the server.
  ///   - governor: Learns of delays that other workers were asked for.
  ///   - services: The clocks.
  ///   - stop: Ends the run.
  init(
    _ manifest: Manifest, database: QueueDatabase, worker: QueueWorker, limits: QueueLimits,
    governor: Governor, services: Services, stop: RunStop
  ) throws {
    self.manifest = manifest
    self.worker = worker
    self.limits = limits
    self.governor = governor
    self.stop = stop
    clock = services.clock
    plan = try SinkPlan(manifest)
    numbers = Array(manifest.operations.indices)
    progress = RunProgress(manifest, services, stop: stop)
    client = QueueClient(database)
    pulse = QueuePulse(
      manifest, worker: worker, client: QueueClient(database.waiting(atMost: .zero)), clock: clock,
      stop: stop)
    stage = QueueStage(
      manifest, database: database, worker: worker, plan: plan, leases: leases)
    limit = min(max(manifest.settings.concurrency, 32), 1_000)
    operations = Dictionary(
      manifest.operations.map { ($0.id, $0.index) }, uniquingKeysWith: { first, _ in first })
  }

  var maySend: Bool { pulse.isFresh }

  func holds(_ item: TaskItem) -> Bool { leases.holds(item.id, item.lease) }

  // MARK: Claims

  func claim() async throws -> TaskClaim {
    while stop.reason == nil {
      if let item = pop() { return .task(item) }
      guard !state.withLock({ $0.isExhausted }) else { return .none }
      try await claiming.acquire()
      defer { claiming.release() }
      // Another caller may have claimed tasks meanwhile.
      if stop.reason != nil { return .none }
      if let item = pop() { return .task(item) }
      try await fill()
    }
    return .none
  }

  /// The next claimed task that is still this worker's.
  private func pop() -> TaskItem? {
    state.withLock { state in
      while let item = state.ready.popLast() {
        guard holds(item) else { continue }
        _ = progress.start()
        return item
      }
      return nil
    }
  }

  /// Claims tasks; waits if there are none now, and notes when there will be none any more.
  private func fill() async throws {
    let returned = state.withLock { state in
      defer { state.returned = [] }
      return state.returned
    }
    if !returned.isEmpty {
      leases.remove(returned)
      try await returnTasks()
    }
    // Without a heartbeat, claimed tasks could soon be another worker's.
    if pulse.isFresh {
      let delay = try await limits.update()
      if delay > .zero { governor.pause(for: delay) }
      let found = try await client.run("claim tasks") { [worker, limit, operations] connection in
        try QueueClaim.take(limit, for: worker, operations: operations, connection)
      }
      for item in found { leases.add(item.id, item.lease) }
      guard found.isEmpty else {
        return state.withLock { $0.ready = found.reversed() }
      }
      try await returnTasks()
      let isOver = try await client.run("look for tasks") { [worker] connection in
        try connection.run("SELECT NOT (\(QueueRun.hasOpenTasks))", .text(worker.run)).int(0, 0)
          == 1
      }
      if isOver {
        let levels = QueueLevels(manifest: manifest, run: worker.run)
        switch try await client.run("add tasks", { try levels.addNext($0) }) {
        case .added: return
        case .isBusy: break
        case .nothing: return state.withLock { $0.isExhausted = true }
        }
      }
    }
    // NOTIFY would take a lock of the whole server at each commit.
    try await clock.sleep(for: .milliseconds(Int.random(in: 190...310)))
  }

  /// Returns the tasks whose leases this worker has and does not keep: those that it did not send, and those of a claim
  /// whose answer was lost with the connection.
  ///
  /// Claims wait for each other, and the lease of a task that ended is forgotten only after the database has the end, so
  /// that no task that runs is among them.
  private func returnTasks() async throws {
    let kept = leases.all()
    try await client.run("return tasks") { [worker] connection in
      try QueueClaim.release(allBut: kept, of: worker, connection)
    }
  }

  // MARK: Ends

  func giveBack(_ item: TaskItem) { state.withLock { $0.returned.append((item.id, item.lease)) } }

  func commit(_ outcomes: [Outcome]) async throws {
    let found = try await stage.commit(outcomes)
    state.withLock { $0.refused = found.refused }
    progress.change { $0.repeated += found.repeated }
    for outcome in outcomes
    where outcome.update.state == .done
      && found.refused[outcome.update.id]?.lease == outcome.update.lease
    {
      progress.refuse()
    }
  }

  func refusal(of item: TaskItem) -> String? {
    let refusal = state.withLock { $0.refused[item.id] }
    return refusal?.lease == item.lease ? refusal?.message : nil
  }

  // MARK: The run

  func open() async throws { try await stage.open() }

  func finish(_ end: RunEnd) async throws {
    if end.reason == nil, manifest.operations.contains(where: { $0.tables?.since != nil }) {
      try await client.run("keep what the next run starts from") { [manifest, worker] connection in
        try QueueSince.save(manifest, run: worker.run, connection)
      }
    }
    try await leave()
    await stage.close()
  }

  func abandon() async {
    try? await leave()
    await stage.close()
  }

  /// Returns the tasks of this worker that did not end.
  private func leave() async throws {
    try await client.run("end the work") { [worker] connection in
      try QueueClaim.release(allBut: [], of: worker, connection)
      try connection.run(
        "UPDATE gq_worker SET ended_at = now() WHERE id = $1::uuid", .text(worker.id))
      return
    }
    await client.close()
  }
}

/// The statements that claim and return tasks.
enum QueueClaim {
  /// Claims the next tasks that are due; tasks that another worker claims at the moment are skipped.
  ///
  /// - Parameters:
  ///   - limit: The largest number of tasks.
  ///   - worker: The worker.
  ///   - operations: The index of each operation, by id.
  ///   - connection: The connection.
  /// - Throws: ``JournalError`` if a task has another operation.
  static func take(
    _ limit: Int, for worker: QueueWorker, operations: [String: Int],
    _ connection: PostgresConnection
  ) throws -> [TaskItem] {
    let rows = try connection.run(
      """
      WITH next AS MATERIALIZED (
        SELECT id FROM gq_task WHERE run = $1::uuid AND state = 'queued' AND run_at <= now()
          AND EXISTS (SELECT FROM gq_run WHERE id = $1::uuid AND state = 'open')
        ORDER BY run_at, id LIMIT $3 FOR UPDATE SKIP LOCKED)
      UPDATE gq_task t SET state = 'leased', attempt = attempt + 1, lease = nextval('gq_lease'),
        worker = $2::uuid
      FROM next WHERE t.run = $1::uuid AND t.id = next.id
      RETURNING \(TaskUpdate.columns("t.cursor")), variables, lease, coalesce(uploads, ''),
        coalesce(row_values, '{}')
      """, .text(worker.run), .text(worker.id), .int(limit))
    let cursors = try cursors(
      of: (0..<rows.count).filter { rows.isNull($0, 11) && rows.int($0, 5) > 0 }.map {
        TaskID(rows.bytes($0, 0))
      }, worker, connection)
    return try (0..<rows.count).map { row in
      let id = rows.text(row, 1)
      guard let operation = operations[id] else {
        throw JournalError("the queue has a task of the unknown operation `\(id)`")
      }
      // The progress of earlier workers.
      var record = TaskUpdate(rows, row: row, operation: operation)
      record.cursor = record.cursor ?? cursors[record.id]
      return TaskItem(
        id: record.id, operation: operation, key: record.key,
        variables: try JSONValue(parsing: rows.text(row, 13)).objectValue ?? JSONObject(),
        uploads: try TaskUpload.list(parsing: rows.text(row, 15)),
        rowValues: try JSONValue(parsing: rows.text(row, 16)).objectValue ?? JSONObject(),
        scope: Scope(operation: id, key: record.key),
        record: record.page + record.attempts > 0 ? record : nil, lease: rows.int(row, 14))
    }
  }

  /// The cursors in parts of tasks that the worker has claimed.
  ///
  /// The statement of the claim locks the newest row of a task, but reads other tables as they were when it began: an
  /// earlier worker may have recorded its last page and returned the task meanwhile. A statement after it sees all parts of
  /// the row, and no other worker adds any while this one holds the task.
  private static func cursors(
    of ids: [TaskID], _ worker: QueueWorker, _ connection: PostgresConnection
  ) throws -> [TaskID: String] {
    guard !ids.isEmpty else { return [:] }
    let rows = try connection.run(
      """
      SELECT id, string_agg(text, '' ORDER BY part) FROM gq_cursor
      WHERE run = $1::uuid AND id = ANY ($2::bytea[]) GROUP BY id
      """, .text(worker.run), .byteStrings(ids.map(\.bytes)))
    return Dictionary(
      uniqueKeysWithValues: (0..<rows.count).map { (TaskID(rows.bytes($0, 0)), rows.text($0, 1)) })
  }

  /// Returns all tasks of the worker but those with the given leases. After a cancellation, they are skipped.
  static func release(
    allBut leases: [Int], of worker: QueueWorker, _ connection: PostgresConnection
  ) throws {
    try connection.run(
      """
      UPDATE gq_task t SET lease = NULL, worker = NULL, attempt = attempt - 1,
        state = CASE r.state WHEN 'open' THEN 'queued' ELSE 'skipped' END,
        error = CASE r.state WHEN 'open' THEN NULL ELSE '\(QueueRun.cancelled)' END
      FROM gq_run r WHERE r.id = $1::uuid AND t.run = $1::uuid AND t.worker = $2::uuid
        AND t.state = 'leased' AND t.lease <> ALL ($3::bigint[])
      """, .text(worker.run), .text(worker.id), .ints(leases))
  }
}

extension PostgresRows {
  /// A number of pages, requests, bytes or records, within the limits of those of a journal.
  func amount(_ row: Int, _ column: Int) -> Int { GRDB.Row.limited(int(row, column)) }

  /// A time in seconds or milliseconds, within the limits of those of a journal.
  func time(_ row: Int, _ column: Int) -> Double { GRDB.Row.limited(double(row, column)) }
}

extension TaskUpdate {
  /// The columns of a task `t` that ``init(_:row:operation:)`` reads.
  ///
  /// - Parameter cursor: The expression of the cursor. The default joins the parts, which a SELECT reads as they were when
  ///   the row was.
  static func columns(_ cursor: String = joinedCursor) -> String {
    """
    t.id, t.op, t.key, t.state, t.page, t.requests, t.http, t.ended, t.ms, t.bytes, t.records, \(cursor), t.error
    """
  }

  private static let joinedCursor = """
    coalesce(t.cursor, (SELECT string_agg(c.text, '' ORDER BY c.part) FROM gq_cursor c
      WHERE c.run = t.run AND c.id = t.id))
    """

  /// Reads the record of a task in the queue.
  init(_ rows: PostgresRows, row: Int, operation: Int) {
    func text(_ column: Int) -> String? {
      rows.isNull(row, column) ? nil : rows.text(row, column)
    }
    self.init(
      id: TaskID(rows.bytes(row, 0)), operation: operation, key: rows.text(row, 2),
      // A worker has the other tasks.
      state: TaskState.allCases.first { $0.name == rows.text(row, 3) } ?? .running,
      page: rows.amount(row, 4), attempts: rows.amount(row, 5),
      http: rows.isNull(row, 6) ? nil : rows.int(row, 6), ended: rows.time(row, 7),
      milliseconds: rows.time(row, 8), bytes: rows.amount(row, 9), records: rows.amount(row, 10),
      cursor: text(11), error: text(12))
  }
}
