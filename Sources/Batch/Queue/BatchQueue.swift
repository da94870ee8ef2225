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
    try use("create the queue") { connection in
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
  }

  /// Adds the tasks of all rows to the newest run. Tasks that it has already are left as they are.
  ///
  /// - Throws: ``InputProblem`` if rows cannot be read, ``JournalError`` if there is no open run.
  public func enqueue() throws -> Enqueued {
    let state = try StateFile.read(manifest.stateFile)
    return try use("add tasks") { connection in
      let run = try QueueRun.current(manifest, connection)
      guard run.state == "open" else {
        throw JournalError(
          "the run of `\(manifest.name)` was cancelled; begin another one with `gqlrun batch init \(manifest.file) "
            + "--new`")
      }
      var group = TaskGroup(run: run.id)
      var total = Enqueued()
      for operation in manifest.operations {
        let maker = TaskMaker(operation, state: state)
        if let source = operation.source {
          let rows = try source.open(manifest)
          while let row = try rows?.next() {
            try group.add(maker.item(row) { _ in [:] }, operation.id)
            if group.isFull { try group.insert(connection, &total) }
          }
        } else {
          try group.add(maker.item(nil) { _ in [:] }, operation.id)
        }
        // The time of a transaction orders the operations.
        try group.insert(connection, &total)
      }
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

/// Tasks that are added in one statement.
private struct TaskGroup {
  private let run: String
  private var ids: [[UInt8]] = []
  private var operations: [[UInt8]?] = []
  private var keys: [[UInt8]?] = []
  private var variables: [[UInt8]?] = []
  private var errors: [[UInt8]?] = []
  private var bytes = 0

  init(run: String) { self.run = run }

  var isFull: Bool { ids.count >= 10_000 || bytes >= 8 << 20 }

  mutating func add(_ item: TaskItem, _ operation: String) throws {
    let text = JSONValue.object(item.variables).jsonBytes()
    // PostgreSQL stores no NUL characters; in JSON they are escaped.
    let key = item.key.utf8.filter { $0 != 0 }
    ids.append(item.id.bytes)
    operations.append(Array(operation.utf8))
    keys.append(key)
    variables.append(text)
    errors.append(item.problem.map { $0.utf8.filter { $0 != 0 } })
    bytes += text.count + key.count
  }

  mutating func insert(
    _ connection: PostgresConnection, _ total: inout BatchQueue.Enqueued
  ) throws {
    guard !ids.isEmpty else { return }
    let rows = try connection.run(
      """
      WITH added AS (
        INSERT INTO gq_task (run, id, op, key, variables, state, error, ended)
        SELECT $1::uuid, id, op, key, variables,
          CASE WHEN error IS NULL THEN 'queued' ELSE 'failed' END, error,
          CASE WHEN error IS NULL THEN 0 ELSE extract(epoch FROM clock_timestamp()) END
        FROM unnest($2::bytea[], $3::text[], $4::text[], $5::text[], $6::text[])
          AS u(id, op, key, variables, error)
        ON CONFLICT DO NOTHING RETURNING state)
      SELECT count(*), count(*) FILTER (WHERE state = 'failed') FROM added
      """, .text(run), .byteStrings(ids), .texts(operations), .texts(keys), .texts(variables),
      .texts(errors))
    total.added += rows.int(0, 0)
    total.known += ids.count - rows.int(0, 0)
    total.failed += rows.int(0, 1)
    self = TaskGroup(run: run)
  }
}
