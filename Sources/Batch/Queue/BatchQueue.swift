import Foundation
import GQLRunJSON
import GQLRunPostgres

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
    connection = QueueConnection(try manifest.requiredQueueURL())
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
    try use("create the tables") { connection in
      try QueueSchema.migrate(connection)
      for entry in try SinkPlan(manifest).entries where entry.isTable {
        try QueueTable.create(entry, connection)
      }
      return try connection.transaction {
        // Two processes must not begin two runs.
        try connection.run("LOCK TABLE gq_run IN SHARE ROW EXCLUSIVE MODE")
        if !beginsNew, try QueueRun.newest(manifest, connection) != nil { return false }
        _ = try QueueRun.begin(manifest, connection)
        return true
      }
    }
  }

  /// What ``enqueue()`` added.
  public struct Enqueued: Sendable {
    /// The number of tasks that were added.
    public var added = 0
    /// The number of tasks that the run has already.
    public var known = 0
    /// The number of added tasks whose rows do not fit; they count as failed.
    public var failed = 0
    /// The number of operations with `needs` whose tasks are added later, by workers.
    public var waiting = 0

    static func += (total: inout Self, other: Self) {
      total.added += other.added
      total.known += other.known
      total.failed += other.failed
    }
  }

  /// Adds the tasks of all rows to the newest run. Tasks that it has already are left as they are.
  ///
  /// Workers add the tasks of operations with `needs` when the tasks before them have ended.
  ///
  /// - Throws: ``InputProblem`` if rows cannot be read, ``JournalError`` if there is no open run.
  public func enqueue() throws -> Enqueued {
    try use("add tasks") { connection in
      let run = try QueueRun.current(manifest, connection)
      guard run.state == "open" else {
        throw Self.cancelled(manifest)
      }
      let levels = QueueLevels(manifest, run: run.id)
      var total = try levels.addFirst(connection)
      // The operations before may have ended already.
      while case .added(let next) = try levels.addNext(connection) { total += next }
      total.waiting = try QueueLevels.waiting(of: manifest, run: run.id, connection)
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
        let keys = PostgresValue.texts(resolution.keys.map { Array($0.utf8) })
        let operation = PostgresValue.text(resolution.operation ?? "")
        if !resolution.keys.isEmpty {
          let rows = try connection.run(
            "SELECT op, key, state FROM gq_task WHERE \(filter)", .text(run.id), operation, keys)
          try resolution.check(
            (0..<rows.count).map { (rows.text($0, 0), rows.text($0, 1), rows.text($0, 2)) },
            manifest)
        }
        // A task that no worker ever had failed because of its row, and has no variables.
        let changed = try connection.run(
          """
          WITH changed AS (
            UPDATE gq_task SET state = $5, error = $6 || coalesce(error, 'failed'), lease = NULL,
              worker = NULL, attempt = 0, run_at = now()
            WHERE \(filter) AND state = $4 AND (state <> 'failed' OR attempt > 0) RETURNING op)
          SELECT op, count(*) FROM changed GROUP BY op
          """, .text(run.id), operation, keys, .text(resolution.state.name),
          .text(isRetry ? "queued" : "done"), .text(resolution.note))
        var result = TaskResolution.Resolved()
        result.count = (0..<changed.count).reduce(0) { $0 + changed.int($1, 1) }
        result.unfit = try connection.run(
          "SELECT count(*) FROM gq_task WHERE \(filter) AND state = $4 AND state = 'failed' AND attempt = 0",
          .text(run.id), operation, keys, .text(resolution.state.name)
        ).int(0, 0)
        guard run.state == "open" else { return result }
        result.released = try addAgain(
          manifest.dependents(of: Set((0..<changed.count).map { changed.text($0, 0) })),
          of: run, all: isRetry, connection)
        return result
      }
    }
  }

  /// Lets workers add the tasks of operations again, when all tasks before them have ended. Returns the number of their
  /// skipped tasks.
  ///
  /// - Parameter all: Whether also to add operations without skipped tasks.
  private func addAgain(
    _ operations: Set<String>, of run: QueueRun, all: Bool, _ connection: PostgresConnection
  ) throws -> Int {
    guard !operations.isEmpty else { return 0 }
    let ids = PostgresValue.texts(operations.map { Array($0.utf8) })
    let rows = try connection.run(
      """
      WITH removed AS (
        DELETE FROM gq_task WHERE run = $1::uuid AND state = 'skipped' AND op = ANY ($2::text[]) RETURNING op)
      SELECT op, count(*) FROM removed GROUP BY op
      """, .text(run.id), ids)
    let skipped = (0..<rows.count).map { Array(rows.text($0, 0).utf8) }
    try connection.run(
      """
      UPDATE gq_run SET added = ARRAY(SELECT op FROM unnest(added) AS op WHERE op <> ALL ($2::text[]))
      WHERE id = $1::uuid
      """, .text(run.id), all ? ids : .texts(skipped))
    return (0..<rows.count).reduce(0) { $0 + rows.int($1, 1) }
  }

  private static func cancelled(_ manifest: Manifest) -> JournalError {
    JournalError(
      "the run of `\(manifest.name)` was cancelled; begin another one with `gqlrun batch init \(manifest.file) "
        + "--new`")
  }
}
