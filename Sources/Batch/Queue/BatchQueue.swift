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
        throw JournalError(
          "the run of `\(manifest.name)` was cancelled; begin another one with `gqlrun batch init \(manifest.file) "
            + "--new`")
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
}
