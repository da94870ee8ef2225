import GQLRunJSON
import GQLRunPostgres
import GQLRunSupport

/// Makes outcomes durable in the queue: the states of tasks, their rows, and the lengths of files, in one transaction.
///
/// ```
/// begin ─▶ tasks where lease = ours ─▶ records of these tasks to segments, fdatasync
///       ─▶ rows to tables ─▶ lengths of segments, step of the worker ─▶ commit
/// ```
///
/// A task whose lease was taken meanwhile changes nothing, and its records are not written: neither by another worker,
/// nor by this one, which may claim its own tasks again after it counted as lost. If the answer to
/// the commit is lost, the step of the worker shows whether it took effect.
actor QueueStage {
  private let executor = FileExecutor()
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  private let manifest: Manifest
  private let worker: QueueWorker
  private let plan: SinkPlan
  private let base: OutputPath
  private let writer: SinkWriter
  private let leases: LeaseTable
  private let connection: QueueConnection
  /// The acknowledged positions of the files.
  private var positions: [String: SinkPosition] = [:]
  private var tables: [Int: QueueTable] = [:]
  private var step = 0
  /// What the transactions of this worker changed in the tables of operations, and what the last one does.
  private var rows = QueueRows()
  private var nextRows = QueueRows()

  init(
    _ manifest: Manifest, database: QueueDatabase, worker: QueueWorker, plan: SinkPlan,
    leases: LeaseTable
  ) {
    self.manifest = manifest
    self.worker = worker
    self.plan = plan
    self.leases = leases
    base = OutputPath(folder: manifest.folder)
    writer = SinkWriter(plan, base: base, worker: worker)
    connection = QueueConnection(database)
  }

  /// Reads the types of the tables, so that errors are found before the first request.
  ///
  /// Tables of operations that do not exist are created, unless the run has written rows into them.
  func open() async throws {
    tables = try await connection.run("open the tables") {
      [manifest, plan, worker] connection in
      let begun = try connection.run(
        "SELECT begun FROM gq_run WHERE id = $1::uuid", .text(worker.run)
      ).int(0, 0)
      var tables: [Int: QueueTable] = [:]
      for (index, entry) in plan.entries.enumerated() where entry.isTable {
        if entry.relation != nil {
          try QueueTable.requireWritten(entry, by: worker.run, of: manifest, connection)
          try QueueTable.create(entry, connection)
        }
        tables[index] = try QueueTable(entry, connection, begun: begun)
      }
      return tables
    }
  }

  /// Makes the outcomes durable, in this order.
  ///
  /// A task with a row that a table refuses fails with its last outcome, and continues from what it had before if it is
  /// repeated.
  @discardableResult
  func commit(_ outcomes: [Outcome]) async throws -> SinkChange {
    let before = rows.repeated
    // Set if the answer to a commit was lost.
    var isUncertain = false
    try await connection.run("record results") { connection in
      if isUncertain, try hasCommitted(connection) { return }
      isUncertain = true
      try transaction(outcomes, connection)
    }
    step += 1
    rows = nextRows
    leases.remove(outcomes.map(\.update).filter(\.isFinal).map { ($0.id, $0.lease) })
    positions = writer.publishedPositions()
    return SinkChange(refused: rows.refused, repeated: rows.repeated - before)
  }

  /// Whether the last transaction took effect; otherwise, removes what it appended to the files.
  ///
  /// Locking the row waits for the end of that transaction, which its server may still execute.
  private func hasCommitted(_ connection: PostgresConnection) throws -> Bool {
    let rows = try connection.run(
      "SELECT step FROM gq_worker WHERE id = $1::uuid FOR UPDATE", .text(worker.id))
    if rows.count == 1, rows.int(0, 0) == step + 1 { return true }
    try writer.rollBack(to: positions)
    return false
  }

  private func transaction(_ outcomes: [Outcome], _ connection: PostgresConnection) throws {
    try connection.transaction {
      // A worker that vanishes in the middle must not keep its locks.
      try connection.run("SET LOCAL idle_in_transaction_session_timeout = '30s'")
      // Of two executions of a task, only the one with the newer lease counts.
      let held = outcomes.filter { leases.holds($0.update.id, $0.update.lease) }
      nextRows = rows
      let accepted = try nextRows.accept(
        held, plan: plan, tables: tables, of: worker, connection)
      let kept = try update(accepted, connection)
      let written = accepted.filter { kept.contains($0.update.id) }
      for outcome in written { try writer.write(outcome) }
      for (index, rows) in writer.takeRows() { try tables[index]?.write(rows, connection) }
      try nextRows.keep(written.flatMap(\.bookmarks), of: worker, connection)
      for position in try writer.syncFiles() {
        try connection.run(
          """
          INSERT INTO gq_segment (worker, path, position, records, checksum)
          VALUES ($1::uuid, $2, $3, $4, $5) ON CONFLICT (worker, path) DO UPDATE
          SET position = excluded.position, records = excluded.records, checksum = excluded.checksum
          """, .text(worker.id), .text(worker.entry(of: position.path)), .int(position.position),
          .int(position.records), .int(Int(position.checksum?.value ?? 0)))
      }
      try connection.run(
        "UPDATE gq_worker SET step = $2, seen_at = now() WHERE id = $1::uuid", .text(worker.id),
        .int(step + 1))
    }
  }

  /// Records the states of tasks; returns the tasks that this worker still holds.
  private func update(
    _ outcomes: [Outcome], _ connection: PostgresConnection
  ) throws -> Set<TaskID> {
    // Of several pages of a task, the last state counts, with all parts of its cursor.
    var last: [TaskID: TaskUpdate] = [:]
    var captured: [TaskID: [UInt8]] = [:]
    for outcome in outcomes {
      if last[outcome.update.id]?.add(outcome.update) == nil {
        last[outcome.update.id] = outcome.update
      }
      if let capture = outcome.capture {
        captured[outcome.update.id] = JSONValue.object(capture).jsonBytes()
      }
    }
    let updates = Array(last.values)
    let found = try connection.run(
      """
      UPDATE gq_task t SET state = u.state, page = u.page, requests = u.requests,
        http = nullif(u.http, 0), ended = u.ended, ms = u.ms, bytes = u.bytes, records = u.records,
        cursor = u.cursor, error = u.error, captured = coalesce(u.captured, t.captured)
      FROM unnest($2::bytea[], $3::bigint[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[],
        $8::float8[], $9::float8[], $10::bigint[], $11::bigint[], $12::text[], $13::text[],
        $15::text[])
        AS u(id, lease, state, page, requests, http, ended, ms, bytes, records, cursor, error,
          captured)
      WHERE t.run = $1::uuid AND t.id = u.id AND t.lease = u.lease AND t.worker = $14::uuid
        AND t.state IN ('leased', 'sent')
      RETURNING t.id
      """,
      .text(worker.run), .byteStrings(updates.map(\.id.bytes)),
      .ints(updates.map(\.lease)),
      .texts(updates.map { Array($0.stateInQueue.utf8) }), .ints(updates.map(\.page)),
      .ints(updates.map(\.attempts)), .ints(updates.map { $0.http ?? 0 }),
      .doubles(updates.map(\.ended)), .doubles(updates.map(\.milliseconds)),
      .ints(updates.map(\.bytes)), .ints(updates.map(\.records)),
      .texts(updates.map { $0.part == nil ? $0.cursor.map { Array($0.utf8) } : nil }),
      .texts(updates.map { $0.error.map { Self.storable($0) } }), .text(worker.id),
      .texts(updates.map { captured[$0.id] }))
    let kept = Set((0..<found.count).map { TaskID(found.bytes($0, 0)) })
    leases.remove(updates.filter { !kept.contains($0.id) }.map { ($0.id, $0.lease) })
    try recordParts(updates.filter { kept.contains($0.id) && $0.part != nil }, connection)
    return kept
  }

  private func recordParts(_ updates: [TaskUpdate], _ connection: PostgresConnection) throws {
    guard !updates.isEmpty else { return }
    let ids = PostgresValue.byteStrings(updates.map(\.id.bytes))
    let parts = PostgresValue.ints(updates.map { $0.part ?? 0 })
    try connection.run(
      """
      DELETE FROM gq_cursor c USING unnest($2::bytea[], $3::bigint[]) AS u(id, part)
      WHERE c.run = $1::uuid AND c.id = u.id AND c.part >= u.part
      """, .text(worker.run), ids, parts)
    try connection.run(
      """
      INSERT INTO gq_cursor (run, id, part, text)
      SELECT $1::uuid, id, part, text FROM unnest($2::bytea[], $3::bigint[], $4::text[])
        AS u(id, part, text)
      WHERE text IS NOT NULL
      """, .text(worker.run), ids, parts,
      .texts(updates.map { $0.cursor.map { Array($0.utf8) } }))
  }

  /// PostgreSQL stores no NUL characters.
  private static func storable(_ text: String) -> [UInt8] { text.utf8.filter { $0 != 0 } }

  /// The rows of this worker in the tables of operations, in the order of the manifest.
  func tableCounts() -> [TableSink.Counts] {
    plan.entries.enumerated().filter { $0.element.relation != nil }.map { index, entry in
      entry.isTable
        ? rows.counts[index] ?? TableSink.Counts()
        : TableSink.Counts(records: positions[entry.path]?.records ?? 0)
    }
  }

  /// The segments of this worker, with the records that the queue has acknowledged.
  func outputs() -> [RunOutput] {
    positions.values.sorted { $0.path < $1.path }.map {
      RunOutput(
        name: base.shown($0.path), records: $0.records, bytes: $0.position, isUnfinished: true)
    }
  }

  /// Closes the files and the connection.
  func close() {
    writer.abandon()
    connection.drop()
  }
}

/// The identity of a worker in a run.
struct QueueWorker: Sendable {
  var id: String
  var run: String

  /// The path of the worker's segment of an output, without `.part`.
  func segment(of path: String) -> String { "\(path).\(id)" }

  /// The output of a segment.
  func entry(of segment: String) -> String { String(segment.dropLast(id.count + 1)) }
}

extension TaskUpdate {
  /// The state as the queue records it.
  fileprivate var stateInQueue: String {
    switch state {
    // Not sent after all; the lease is returned afterwards.
    case .queued, .running: "leased"
    case .unknown where !isFinal: "sent"
    default: state.name
    }
  }
}

/// The tasks that this worker holds, with the fences of their leases.
final class LeaseTable: Sendable {
  private let leases = Locked<[TaskID: Int]>([:])

  func add(_ id: TaskID, _ lease: Int) { leases.withLock { $0[id] = lease } }

  /// Whether this worker holds a task with this lease. A worker that counted as lost may claim its own task again:
  /// then only the newer lease counts.
  func holds(_ id: TaskID, _ lease: Int) -> Bool { leases.withLock { $0[id] == lease } }

  /// Forgets the leases of tasks: they ended, were returned, or belong to another worker. Newer leases stay.
  func remove(_ ended: some Sequence<(id: TaskID, lease: Int)>) {
    leases.withLock { leases in
      for (id, lease) in ended where leases[id] == lease { leases[id] = nil }
    }
  }

  /// The leases of all tasks.
  func all() -> [Int] { leases.withLock { Array($0.values) } }
}
