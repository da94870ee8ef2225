import Foundation
import GQLRunCache
import GQLRunCrypto
import GQLRunJSON
public import GQLRunPipeline
import GQLRunPlugins
import GQLRunPostgres

/// Runs tasks of a manifest whose journal is a queue, beside other workers on any number of machines.
///
/// A worker is a run whose store is shared: a `RunEngine` over a `QueueStore`.
public struct BatchWorker: Sendable {
  private let manifest: Manifest
  private let services: Services
  private let database: QueueDatabase

  /// Creates a worker.
  ///
  /// - Parameters:
  ///   - manifest: The manifest, the same for all workers.
  ///   - services: The transport, store and clocks that the pipeline uses.
  /// - Throws: ``JournalError`` if the journal of the manifest is a folder.
  public init(_ manifest: Manifest, services: Services) throws {
    self.manifest = manifest
    self.services = services
    database = QueueDatabase(
      url: try manifest.requiredQueueURL(), clock: services.clock,
      patience: manifest.settings.patience)
  }

  /// What a worker did.
  public struct Summary: Sendable {
    /// The counters of this worker.
    public var counters: RunCounters
    /// Why the worker stopped early; `nil` if no tasks are left.
    public var stop: StopReason?
    /// The error of the server or the network that stopped the worker.
    public var stopDetail: String?
    /// The outage that stopped the worker; `nil` if it stopped for another reason.
    public var outage: Outage?
    /// The duration in seconds.
    public var seconds: Double
    /// The files that this worker wrote, with their records.
    public var outputs: [RunOutput] = []
    /// The tables of the manifest's operations, with what this worker has written; `nil` if no operation has `tables`.
    public var tables: TablesSummary?
    /// Warnings, such as pages that `allow_partial` accepts not to have.
    public var warnings: [String] = []
  }

  /// Runs tasks until none are left or the worker is stopped.
  ///
  /// - Parameter control: Stops the worker and reports its progress.
  /// - Throws: ``JournalError`` if there is no queue, ``StoppedByStorage`` if it cannot be reached or a file cannot be
  ///   written.
  public func run(_ control: RunControl = RunControl()) async throws -> Summary {
    // A URL that is wrong is reported soon.
    let worker = try await register(QueueClient(database.waiting(atMost: .seconds(10))))
    let stop = RunStop()
    OpenFiles.raiseLimit()
    let limits = limits(of: worker)
    var services = services
    services[SharedTokensKey.self] = QueueTokens(database)
    let governor = Governor(manifest, services: services, shared: limits)
    let store = try QueueStore(
      manifest, database: database, worker: worker, limits: limits, governor: governor,
      services: services, stop: stop)
    let engine = RunEngine(
      manifest, store: store, governor: governor, services: services, stop: stop)
    let end = try await engine.run(control, beside: [{ await store.pulse.run() }])
    let counters = store.progress.counters
    return Summary(
      counters: counters, stop: end.reason, stopDetail: end.detail, outage: end.outage,
      seconds: end.seconds, outputs: await store.stage.outputs(),
      tables: manifest.tableNames.isEmpty
        ? nil
        : TablesSummary(manifest.tableNames, counters, written: await store.stage.tableCounts()),
      warnings: [counters.tables?.warning].compactMap { $0 })
  }

  private func limits(of worker: QueueWorker) -> QueueLimits {
    let client = QueueClient(database)
    let endpoint = manifest.pipeline.endpoint
    let rate = manifest.rate
    let points =
      rate?.adapter == nil
      ? nil
      : QueuePoints(
        client, worker: worker.id, clock: services.clock, credential: endpoint?.origin ?? "",
        reserve: rate?.reserve.fraction ?? 0, budget: Governor.budget(endpoint, services))
    var bound: (perSecond: Double, burst: Int)?
    if let rate, let number = rate.perSecond { bound = (number, rate.burst) }
    return QueueLimits(
      client, clock: services.clock, credential: endpoint?.origin ?? "", rate: bound,
      points: points)
  }

  private func register(_ client: QueueClient) async throws -> QueueWorker {
    try await client.run("begin to work") { [manifest] connection in
      let run = try QueueRun.current(manifest, connection)
      let worker = QueueWorker(id: UUID().uuidString.lowercased(), run: run.id)
      try connection.run(
        "INSERT INTO gq_worker (id, run, host) VALUES ($1::uuid, $2::uuid, $3)", .text(worker.id),
        .text(run.id),
        .text("\(ProcessInfo.processInfo.hostName):\(ProcessInfo.processInfo.processIdentifier)"))
      return worker
    }
  }
}

/// A run in a queue.
struct QueueRun: Sendable {
  var id: String
  /// `open` or `cancelled`.
  var state: String

  /// The error of tasks that a cancelled run did not send.
  static let cancelled = "the run was cancelled"

  /// The newest run of a manifest; `nil` if there is none.
  static func newest(_ manifest: Manifest, _ connection: PostgresConnection) throws -> QueueRun? {
    try QueueSchema.check(connection)
    let rows = try connection.run(
      """
      SELECT id::text, state, sha FROM gq_run WHERE name = $1 ORDER BY started_at DESC LIMIT 1
      """, .text(manifest.name))
    guard rows.count > 0 else { return nil }
    let digest = Array(rows.bytes(0, 2))
    guard try digest == manifest.digest() || digest == manifest.digest(hasValues: false) else {
      throw JournalError(
        "the run of `\(manifest.name)` in \(connection.database) began with other operations, `variables`, `expect` or "
          + "sinks than \(manifest.file) has now; use those that it began with, or begin a new run with \(manifest.beginning)"
      )
    }
    return QueueRun(id: rows.text(0, 0), state: rows.text(0, 1))
  }

  /// The newest run of a manifest, which must exist.
  static func current(_ manifest: Manifest, _ connection: PostgresConnection) throws -> QueueRun {
    guard let run = try newest(manifest, connection) else {
      throw JournalError(
        "there is no run of `\(manifest.name)` in \(connection.database); begin one with `gqlrun batch init "
          + "\(manifest.shellPath)`")
    }
    return run
  }

  /// Begins a run, which is the newest one also if the clock of the database was set back since the last one began.
  static func begin(_ manifest: Manifest, _ connection: PostgresConnection) throws {
    try connection.run(
      """
      INSERT INTO gq_run (id, name, manifest, sha, begun, since, started_at)
      SELECT $1::uuid, $2, $3, $4, txid_current(), $5,
        greatest(clock_timestamp(), max(started_at) + interval '1 microsecond')
      FROM gq_run WHERE name = $2
      """,
      .text(UUID().uuidString.lowercased()), .text(manifest.name), .text(manifest.file),
      .bytes(try manifest.digest()),
      .text(JSONValue.object(try QueueSince.values(manifest, connection)).jsonText()))
  }

  /// The condition of a statement for tasks that are not finished.
  ///
  /// Two partial indexes answer it, whatever the number of tasks.
  static let hasOpenTasks = """
    EXISTS (SELECT FROM gq_task WHERE run = $1::uuid AND state = 'queued')
    OR EXISTS (SELECT FROM gq_worker w JOIN gq_task t ON t.worker = w.id AND t.state IN ('leased', 'sent')
      WHERE w.run = $1::uuid)
    """
}

extension Manifest {
  /// Identifies what workers of one run must have in common: operations, documents, variables, conditions and sinks.
  ///
  /// - Parameter hasValues: `false` leaves out variables and conditions, as older versions did.
  func digest(hasValues: Bool = true) throws -> [UInt8] {
    var hash = Hash()
    func add(_ text: String) { hash.updateDelimited(text) }
    for operation in operations {
      add(operation.id)
      add(operation.template.document)
      add(operation.emit?.description ?? "")
      add(operation.idempotency ?? "")
      for need in operation.needs { add("needs \(self.operations[need].id)") }
      for capture in operation.capture {
        add("capture \(capture.name) \(capture.path.description)")
      }
      guard hasValues else { continue }
      // The identity of the task of an extraction has them, with their defaults.
      for variable in operation.variables.sorted(by: { $0.name < $1.name }) where !isMade {
        add("variable \(variable.name) \(variable.value)")
      }
      for condition in operation.expect.texts { add("expect \(condition)") }
    }
    let base = OutputPath(folder: folder)
    for entry in try SinkPlan(self).entries {
      for text in [base.relative(entry.path), entry.table, entry.format.name] { add(text) }
      for text in entry.columns + entry.key { add(text) }
      for take in entry.takes.sorted(by: { $0.key < $1.key }) { add("\(take.key) \(take.value)") }
    }
    return hash.finalize()
  }

  /// The URL of the queue.
  ///
  /// - Throws: ``JournalError`` if the journal of the manifest is a folder.
  func requiredQueueURL() throws -> String {
    guard let url = queueURL else {
      throw JournalError(
        "the journal of \(file) is a folder; workers need a database: `run: { journal: \"postgres://\" }`, or use "
          + "`gqlrun batch run`")
    }
    return url
  }
}

/// Tasks that are added in one statement.
struct QueueTaskGroup {
  /// The texts of a task: operation, key, variables, error, files, state and values for columns.
  private typealias Texts = [[UInt8]?]

  private let run: String
  private var ids: [[UInt8]] = []
  private var texts: [Texts] = []
  private var bytes = 0

  init(run: String) { self.run = run }

  var isFull: Bool { ids.count >= 10_000 || bytes >= 8 << 20 }

  mutating func add(_ item: TaskItem, _ operation: String) throws {
    let state: TaskState =
      item.problem == nil ? .queued : item.isSkipped ? .skipped : .failed
    let task: Texts = [
      Array(operation.utf8),
      // PostgreSQL stores no NUL characters; in JSON they are escaped.
      item.key.utf8.filter { $0 != 0 }, JSONValue.object(item.variables).jsonBytes(),
      item.problem.map { $0.utf8.filter { $0 != 0 } }, TaskUpload.text(of: item.uploads),
      Array(state.name.utf8),
      item.rowValues.isEmpty ? nil : JSONValue.object(item.rowValues).jsonBytes(),
    ]
    ids.append(item.id.bytes)
    texts.append(task)
    bytes += task.reduce(0) { $0 + ($1?.count ?? 0) }
  }

  mutating func insert(
    _ connection: PostgresConnection, _ total: inout BatchQueue.Enqueued
  ) throws {
    guard !ids.isEmpty else { return }
    let columns = texts[0].indices.map { column in PostgresValue.texts(texts.map { $0[column] }) }
    let rows = try connection.runInTransaction(
      """
      WITH added AS (
        INSERT INTO gq_task (run, id, op, key, variables, uploads, state, row_values, error, ended)
        SELECT $1::uuid, id, op, key, variables, uploads, state, row_values, error,
          CASE WHEN error IS NULL THEN 0 ELSE extract(epoch FROM clock_timestamp()) END
        FROM unnest($2::bytea[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[],
          $8::text[], $9::text[])
          AS u(id, op, key, variables, error, uploads, state, row_values)
        ON CONFLICT DO NOTHING RETURNING state)
      SELECT count(*), count(*) FILTER (WHERE state = 'failed') FROM added
      """, [.text(run), .byteStrings(ids)] + columns)
    total.added += rows.int(0, 0)
    total.known += ids.count - rows.int(0, 0)
    total.failed += rows.int(0, 1)
    self = QueueTaskGroup(run: run)
  }
}
