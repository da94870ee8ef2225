import Foundation
import GQLRunJSON
import GQLRunPostgres
import GQLRunSupport

/// The queue of a manifest whose journal is a PostgreSQL database: its tables, its tasks and their states.
///
/// ``BatchWorker`` runs the tasks. Calls block.
public struct BatchQueue {
  let manifest: Manifest
  private let connection: QueueConnection

  /// Creates a queue; connects on first use.
  ///
  /// - Throws: ``JournalError`` if the journal of the manifest is a folder.
  public init(_ manifest: Manifest) throws {
    self.manifest = manifest
    connection = QueueConnection(QueueDatabase(url: try manifest.requiredQueueURL()))
  }

  func use<Value>(_ action: String, _ body: (PostgresConnection) throws -> Value) throws -> Value {
    do {
      return try body(connection.opened())
    } catch {
      throw connection.describe(error, action)
    }
  }

  /// Creates or migrates the tables, and begins a run unless there is one.
  ///
  /// - Parameter beginsNew: Whether to begin another run if there is one.
  /// - Returns: Whether a run began.
  /// - Throws: ``JournalError`` if the tables are those of a newer version.
  public func initialize(beginsNew: Bool = false) throws -> Bool {
    try initialize { try !beginsNew && QueueRun.newest(manifest, $0) != nil }
  }

  /// - Parameter isContinued: Whether no run is to begin; called first, and again while no other process begins one.
  func initialize(_ isContinued: (PostgresConnection) throws -> Bool) throws -> Bool {
    try use("create the tables") { connection in
      try QueueSchema.migrate(connection)
      let tables = try SinkPlan(manifest).entries.filter(\.isTable)
      // A new table would lack what a run that is continued has written.
      if try isContinued(connection), let run = try QueueRun.newest(manifest, connection) {
        for table in tables {
          try QueueTable.requireWritten(table, by: run.id, of: manifest, connection)
        }
      }
      for table in tables { try QueueTable.create(table, connection) }
      return try connection.transaction {
        // Two processes must not begin two runs.
        try connection.run("LOCK TABLE gq_run IN SHARE ROW EXCLUSIVE MODE")
        if try isContinued(connection) { return false }
        try QueueRun.begin(manifest, connection)
        return true
      }
    }
  }

  /// What ``enqueue()`` added.
  public struct Enqueued: Sendable {
    /// The number of tasks that were added.
    public var added = 0
    /// The number of tasks of operations without `needs` that the run has already.
    public var known = 0
    /// The number of added tasks whose rows do not fit; they count as failed.
    public var failed = 0
    /// The number of operations with `needs` whose tasks are added later, by workers.
    public var waiting = 0
  }

  /// Adds the tasks of all rows to the newest run. Tasks that it has already are left as they are.
  ///
  /// Workers add the tasks of operations with `needs` when the tasks before them have ended, also those of new rows.
  ///
  /// - Throws: ``InputProblem`` if rows cannot be read, ``JournalError`` if there is no open run.
  public func enqueue() throws -> Enqueued {
    try use("add tasks") { connection in
      let run = try QueueRun.current(manifest, connection)
      guard run.state == "open" else {
        throw Self.cancelled(manifest)
      }
      let levels = QueueLevels(manifest: manifest, run: run.id)
      let later = manifest.operations.filter { !$0.needs.isEmpty }.map { Array($0.id.utf8) }
      // They may have new rows, as those that new tasks capture. Before these, for a call that is interrupted.
      try addAgain(later, of: run, connection: connection)
      var total = try levels.addFirst(connection)
      // Workers may have added them meanwhile.
      if total.added > 0 { try addAgain(later, of: run, connection: connection) }
      // The operations before may have ended already.
      while case .added(let next) = try levels.addNext(connection) {
        total.added += next.added
        total.failed += next.failed
      }
      total.waiting = try levels.waiting(connection)
      return total
    }
  }

  /// Cancels the newest run: tasks that were not sent are skipped.
  ///
  /// Workers notice it with their next heartbeat.
  ///
  /// - Returns: The number of tasks that no worker had claimed.
  public func cancel() throws -> Int {
    try use("cancel the run") { connection in
      let run = try QueueRun.current(manifest, connection)
      return try connection.transaction {
        try connection.run(
          "UPDATE gq_run SET state = 'cancelled' WHERE id = $1::uuid", .text(run.id))
        return try connection.run(
          """
          WITH skipped AS (
            UPDATE gq_task SET state = 'skipped', error = '\(QueueRun.cancelled)'
            WHERE run = $1::uuid AND state = 'queued' RETURNING 1)
          SELECT count(*) FROM skipped
          """, .text(run.id)
        ).int(0, 0)
      }
    }
  }

  /// Applies a decision of the user to tasks of the newest run, in one transaction.
  ///
  /// Operations that need a resolved one are added again: with their skipped tasks, and with rows for what the repeated
  /// tasks capture.
  func apply(_ resolution: TaskResolution) throws -> TaskResolution.Resolved {
    try use("resolve tasks") { connection in
      let run = try QueueRun.current(manifest, connection)
      let isRetry = resolution.decision == .retry
      guard run.state == "open" || !isRetry else { throw Self.cancelled(manifest) }
      return try connection.transaction {
        // Workers add levels while they hold this row.
        try connection.run("SELECT FROM gq_run WHERE id = $1::uuid FOR UPDATE", .text(run.id))
        let filter = """
          run = $1::uuid AND ($2 = '' OR op = $2)
          AND (cardinality($3::text[]) = 0 OR CASE key WHEN '' THEN op ELSE key END = ANY ($3::text[]))
          """
        // Pages that `allow_partial` has accepted not to have are missing without it.
        let state = """
          CASE WHEN state = 'done' AND starts_with(error, '\(CompletenessCheck.prefix)') AND op = ANY ($4::text[])
            THEN 'failed' ELSE state END
          """
        let strict = PostgresValue.texts(
          manifest.operations.filter { $0.tables?.settings.allowPartial == false }
            .map { Array($0.id.utf8) })
        let keys = PostgresValue.texts(resolution.keys.map { Array($0.utf8) })
        let operation = PostgresValue.text(resolution.operation ?? "")
        if !resolution.keys.isEmpty {
          let rows = try connection.run(
            "SELECT op, key, \(state) FROM gq_task WHERE \(filter)", .text(run.id), operation, keys,
            strict)
          try resolution.check(
            (0..<rows.count).map { (rows.text($0, 0), rows.text($0, 1), rows.text($0, 2)) },
            manifest)
        }
        // A task that no worker ever had failed because of its row, and has no variables.
        let changed = try connection.run(
          """
          WITH changed AS (
            UPDATE gq_task SET state = $6, error = $7 || coalesce(error, 'failed'), lease = NULL,
              worker = NULL, attempt = 0, run_at = now()
            WHERE \(filter) AND \(state) = $5 AND (state <> 'failed' OR attempt > 0) RETURNING op)
          SELECT op, count(*) FROM changed GROUP BY op
          """, .text(run.id), operation, keys, strict, .text(resolution.state.name),
          .text(isRetry ? "queued" : "done"), .text(resolution.note))
        var result = TaskResolution.Resolved()
        result.count = (0..<changed.count).reduce(0) { $0 + changed.int($1, 1) }
        result.unfit = try connection.run(
          "SELECT count(*) FROM gq_task WHERE \(filter) AND state = $4 AND state = 'failed' AND attempt = 0",
          .text(run.id), operation, keys, .text(resolution.state.name)
        ).int(0, 0)
        guard run.state == "open" else { return result }
        result.released = try release(
          manifest.dependents(of: Set((0..<changed.count).map { changed.text($0, 0) })),
          of: run, all: isRetry, connection)
        return result
      }
    }
  }

  /// Removes the skipped tasks of operations, and lets workers add these operations again. Returns the number of the tasks.
  ///
  /// - Parameter all: Whether also to add operations without skipped tasks.
  private func release(
    _ operations: Set<String>, of run: QueueRun, all: Bool, _ connection: PostgresConnection
  ) throws -> Int {
    guard !operations.isEmpty else { return 0 }
    let ids = operations.map { Array($0.utf8) }
    let rows = try connection.run(
      """
      WITH removed AS (
        DELETE FROM gq_task WHERE run = $1::uuid AND state = 'skipped' AND op = ANY ($2::text[]) RETURNING op)
      SELECT op, count(*) FROM removed GROUP BY op
      """, .text(run.id), .texts(ids))
    let skipped = (0..<rows.count).map { Array(rows.text($0, 0).utf8) }
    try addAgain(all ? ids : skipped, of: run, connection: connection)
    return (0..<rows.count).reduce(0) { $0 + rows.int($1, 1) }
  }

  /// Lets workers add the tasks of operations again, when all tasks before them have ended.
  private func addAgain(
    _ operations: [[UInt8]], of run: QueueRun, connection: PostgresConnection
  ) throws {
    guard !operations.isEmpty else { return }
    try connection.runInTransaction(
      """
      UPDATE gq_run SET added = ARRAY(SELECT op FROM unnest(added) AS op WHERE op <> ALL ($2::text[]))
      WHERE id = $1::uuid
      """, [.text(run.id), .texts(operations)])
  }

  private static func cancelled(_ manifest: Manifest) -> JournalError {
    JournalError(
      "the run of `\(manifest.name)` was cancelled; begin another one with \(manifest.beginning)")
  }
}

extension BatchQueue {
  /// The state of a run and its workers.
  public struct Status: Sendable {
    /// A worker of the run.
    public struct Worker: Sendable {
      /// The identity of the worker.
      public var id: String
      /// The host that it runs on.
      public var host: String
      /// The time since its last heartbeat, in seconds, by the database's clock.
      public var age: Double
      /// `working`, `lost` or `ended`.
      public var state: String
      /// The number of tasks that it holds.
      public var tasks: Int
    }

    /// The identity of the run.
    public var run: String
    /// `open` or `cancelled`.
    public var state: String
    /// The number of tasks by state: queued, leased, sent, done, failed, unknown, skipped.
    public var counts: [String: Int]
    /// The number of failed tasks with a connection that has more pages than were requested.
    public var incomplete: Int
    /// The number of records of tasks that ended.
    public var records: Int
    /// The number of operations with `needs` whose tasks are not added yet.
    public var waiting: Int
    /// The workers that hold tasks or have not ended.
    public var workers: [Worker]

    /// The names of the states of tasks, in the order in which tasks pass through them.
    public static let states = [
      "queued", "leased", "sent", "done", "failed", "unknown", "skipped",
    ]
    /// The number of all tasks.
    public var total: Int { counts.values.reduce(0, +) }
    /// The number of tasks that have not ended.
    public var open: Int { ["queued", "leased", "sent"].reduce(0) { $0 + (counts[$1] ?? 0) } }
    /// The number of tasks that ended, by state.
    public var taskCounts: TaskCounts {
      var result = TaskCounts()
      for state in TaskState.ended { result.byState[state] = counts[state.name] }
      return result
    }
    /// Whether all tasks have ended, also those that are still to be added, or the run was cancelled and will end.
    public var isEnded: Bool { open == 0 && (waiting == 0 || total == 0 || state != "open") }
  }

  /// The state of the newest run.
  public func status() throws -> Status {
    try use("read the status") { connection in
      let run = try QueueRun.current(manifest, connection)
      let rows = try connection.run(
        """
        SELECT state, count(*), sum(records)::bigint,
          count(*) FILTER (WHERE state = 'failed' AND starts_with(error, $2))
        FROM gq_task WHERE run = $1::uuid GROUP BY state
        """, .text(run.id), .text(CompletenessCheck.prefix))
      var counts: [String: Int] = [:]
      for row in 0..<rows.count { counts[rows.text(row, 0)] = rows.int(row, 1) }
      let workers = try connection.run(
        """
        SELECT w.id::text, w.host, extract(epoch FROM now() - w.seen_at)::float8,
          CASE WHEN w.ended_at IS NOT NULL THEN 'ended'
            WHEN w.seen_at < now() - make_interval(secs => $2) THEN 'lost' ELSE 'working' END,
          (SELECT count(*) FROM gq_task t WHERE t.worker = w.id AND t.state IN ('leased', 'sent'))
        FROM gq_worker w WHERE w.run = $1::uuid AND w.ended_at IS NULL
        ORDER BY w.seen_at DESC, w.id LIMIT 1000
        """, .text(run.id), .double(Double(QueueReaper.longestAge)))
      return Status(
        run: run.id, state: run.state, counts: counts,
        incomplete: (0..<rows.count).reduce(0) { $0 + rows.int($1, 3) },
        records: (0..<rows.count).reduce(0) { $0 + rows.amount($1, 2) },
        waiting: try QueueLevels(manifest: manifest, run: run.id).waiting(connection),
        workers: (0..<workers.count).map {
          Status.Worker(
            id: workers.text($0, 0), host: workers.text($0, 1), age: workers.double($0, 2),
            state: workers.text($0, 3), tasks: workers.int($0, 4))
        }.filter { $0.state == "working" || $0.tasks > 0 })
    }
  }

  /// The newest run as a journal in a temporary folder, from which reports are made.
  ///
  /// - Parameter body: Receives the journal, which exists until it returns.
  public func inspect<Value>(_ body: (RunInspection) throws -> Value) throws -> Value {
    try Journal.withTemporary { journal in
      try export(to: journal)
      journal.close()
      return try body(RunInspection(manifest, journal: journal.path))
    }
  }

  private func export(to journal: Journal) throws {
    let ids = manifest.operations.map(\.id)
    let numbers = Dictionary(
      zip(ids, try journal.register(ids)), uniquingKeysWith: { first, _ in first })
    try use("read the tasks") { connection in
      let run = try QueueRun.current(manifest, connection)
      let started = try connection.run(
        "SELECT extract(epoch FROM started_at)::float8 FROM gq_run WHERE id = $1::uuid",
        .text(run.id)
      ).double(0, 0)
      var last: [UInt8] = []
      while true {
        let rows = try connection.run(
          """
          SELECT \(TaskUpdate.columns())
          FROM gq_task t WHERE t.run = $1::uuid AND t.id > $2 ORDER BY t.id LIMIT 10000
          """, .text(run.id), .bytes(last))
        guard rows.count > 0 else { break }
        try journal.record(
          JournalStep(
            tasks: (0..<rows.count).map {
              TaskUpdate(rows, row: $0, operation: numbers[rows.text($0, 1)] ?? 0)
            }))
        last = Array(rows.bytes(rows.count - 1, 0))
      }
      try journal.set(["started": "\(started)"])
      try journal.setEnded(
        manifest, at: Date().timeIntervalSince1970, stop: run.state == "open" ? nil : .cancelled)
    }
  }
}

extension BatchQueue.Status {
  /// The status as text, with one fact per line.
  public var text: String {
    var facts = TextTable(minWidths: [9])
    facts.add("run", run)
    facts.add("state", stateName)
    facts.add("tasks", "\(total)")
    for state in Self.states {
      guard let count = counts[state], count > 0 else { continue }
      facts.add(state, "\(count)")
    }
    if incomplete > 0 { facts.add("incomplete", "\(incomplete) of those that failed") }
    facts.add("records", "\(records)")
    if waiting > 0 { facts.add("waiting", Quantity.count(waiting, "operation")) }
    for worker in workers {
      facts.add(
        "worker",
        "\(worker.host) \(worker.id): \(worker.state), "
          + "\(Quantity.count(worker.tasks, "task")), heartbeat "
          + String(format: "%.0f s ago", max(worker.age, 0)))
    }
    return facts.text
  }

  /// The status as JSON, in one line.
  public var json: String {
    var object: JSONObject = [
      "run": .string(run), "state": .string(stateName), "total": .number(JSONNumber(total)),
    ]
    for state in Self.states { object[state] = .number(JSONNumber(counts[state] ?? 0)) }
    object["incomplete"] = .number(JSONNumber(incomplete))
    object["records"] = .number(JSONNumber(records))
    object["waiting_operations"] = .number(JSONNumber(waiting))
    object["workers"] = .array(
      workers.map { worker in
        [
          "id": .string(worker.id), "host": .string(worker.host), "state": .string(worker.state),
          "tasks": .number(JSONNumber(worker.tasks)),
          "heartbeat_seconds": JSONNumber((max(worker.age, 0) * 10).rounded() / 10)
            .map { .number($0) } ?? .null,
        ]
      })
    return JSONValue.object(object).jsonText() + "\n"
  }

  private var stateName: String {
    state == "open" && total > 0 && isEnded ? "ended" : state
  }
}

extension BatchQueue {
  /// Joins the segments that workers wrote to the files of the manifest, up to their acknowledged lengths.
  ///
  /// The segments remain.
  ///
  /// - Parameter overwrites: Whether files that are not earlier outputs of the manifest may be overwritten.
  /// - Returns: The paths of the files, in the manifest's order.
  /// - Throws: ``JournalError`` if tasks are left or a segment is missing, ``StoppedByStorage`` if a segment differs from
  ///   what its worker recorded, ``OutputProblems`` if a file must not be overwritten.
  public func merge(overwrites: Bool = false) throws -> [String] {
    let segments = try endedSegments()
    var merge = try OutputMerge(manifest, overwrites: overwrites)
    let base = merge.base
    let entries = merge.plan.entries.filter { !$0.isTable }
    let parts = segments.map { worker, position in
      OutputMerge.Part(
        path: worker.segment(of: base.shown(position.path)) + ".part", recorded: position,
        end: position.position)
    }
    // Verify all segments before writing anything.
    for part in parts {
      try merge.verify(
        part,
        missing:
          "the segment \(part.path) of a worker is missing; bring the segments of all workers into the folder"
      )
    }
    try merge.replaceFiles { [merge] in
      for entry in entries {
        _ = try merge.join(
          parts.filter { $0.recorded.map { base.shown($0.path) } == entry.path }, into: entry)
      }
    }
    return entries.map(\.path)
  }

  /// The workers of the ended run, each with the position of a file, whose path is that of the output.
  private func endedSegments() throws -> [(worker: QueueWorker, position: SinkPosition)] {
    try use("read the segments") { connection in
      let run = try QueueRun.current(manifest, connection)
      let levels = QueueLevels(manifest: manifest, run: run.id)
      let waiting = run.state == "open" ? try levels.waiting(connection) : 0
      if try waiting > 0
        || connection.run("SELECT \(QueueRun.hasOpenTasks)", .text(run.id)).int(0, 0) == 1
      {
        throw JournalError(
          "the run of `\(manifest.name)` has tasks that have not ended; run `gqlrun batch worker \(manifest.shellPath)` "
            + "until none are left, or cancel it with `gqlrun batch cancel \(manifest.shellPath)`")
      }
      let rows = try connection.run(
        """
        SELECT s.worker::text, s.path, s.position, s.records, s.checksum
        FROM gq_segment s JOIN gq_worker w ON w.id = s.worker WHERE w.run = $1::uuid
        ORDER BY w.started_at, w.id, s.path
        """, .text(run.id))
      return (0..<rows.count).map { row in
        (
          QueueWorker(id: rows.text(row, 0), run: run.id),
          SinkPosition(
            path: rows.text(row, 1), position: rows.int(row, 2), records: rows.amount(row, 3),
            checksum: Checksum(UInt32(truncatingIfNeeded: rows.int(row, 4))))
        )
      }
    }
  }
}
