import GQLRunJSON
import GQLRunPostgres

/// What a worker has changed in the tables of operations. A transaction changes a copy, which counts when it commits.
struct QueueRows: Sendable {
  /// The tasks with rows that a table has refused.
  private(set) var refused: [TaskID: TaskRefusal] = [:]
  /// The rows, by index of the entry.
  private(set) var counts: [Int: TableSink.Counts] = [:]
  /// The highest values in the rows of this worker, by name.
  private var since: [String: JSONValue] = [:]

  /// The number of rows that the run had already.
  var repeated: Int { counts.values.reduce(0) { $0 + $1.repeated } }

  /// Finds rows of second parents.
  ///
  /// - Returns: The outcomes to record. Of a task with such a row, only the last one is among them, as a failure.
  mutating func accept(
    _ outcomes: [Outcome], plan: SinkPlan, tables: [Int: QueueTable], of worker: QueueWorker,
    _ connection: PostgresConnection
  ) throws -> [Outcome] {
    var known = try known(outcomes, plan: plan, tables: tables, connection)
    var accepted: [Outcome] = []
    for outcome in outcomes {
      let id = outcome.update.id
      if let earlier = refused[id], earlier.lease != outcome.update.lease { refused[id] = nil }
      if refused[id] == nil,
        let message = add(outcome, plan, to: &known)
      {
        let earlier = accepted.last { $0.update.id == id }?.update
        refused[id] = TaskRefusal(
          message: message, lease: outcome.update.lease,
          recorded: try earlier ?? recorded(outcome.update, of: worker, connection))
      }
      guard let refusal = refused[id] else {
        accepted.append(outcome)
        continue
      }
      guard outcome.update.isFinal else { continue }
      accepted.append(
        Outcome(
          update: refusal.failure(of: outcome.update), operation: outcome.operation,
          pieces: plan.formats[outcome.operation].map { _ in [] }))
    }
    return accepted
  }

  /// The parents of objects in the tables, by index of the entry.
  private typealias Known = [Int: [SQLValue: Set<SQLValue>]]

  /// The rows of outcomes for tables in the database of the queue, by index of the entry.
  private static func rows(
    _ outcome: Outcome, _ plan: SinkPlan
  ) -> [(entry: Int, rows: [QueueTable.Identity])] {
    zip(plan.formats[outcome.operation], outcome.pieces ?? []).compactMap { use, pieces in
      let entry = plan.entries[use.entry]
      guard entry.relation != nil, entry.isInQueue else { return nil }
      return (
        use.entry,
        pieces.compactMap { if case .row(let row) = $0 { QueueTable.Identity(row) } else { nil } }
      )
    }
  }

  private func known(
    _ outcomes: [Outcome], plan: SinkPlan, tables: [Int: QueueTable],
    _ connection: PostgresConnection
  ) throws -> Known {
    var rows: [Int: [QueueTable.Identity]] = [:]
    for outcome in outcomes {
      for (entry, found) in Self.rows(outcome, plan) { rows[entry, default: []] += found }
    }
    var known: Known = [:]
    for (entry, rows) in rows {
      for row in try tables[entry]?.known(rows, connection) ?? [] {
        known[entry, default: [:]][row.key, default: []].insert(row.parent)
      }
    }
    return known
  }

  /// Adds the rows of an outcome. Returns the reason if a table refuses one of them; nothing is then added.
  private mutating func add(
    _ outcome: Outcome, _ plan: SinkPlan, to known: inout Known
  ) -> String? {
    var added: [(entry: Int, row: QueueTable.Identity)] = []
    var next = counts
    for (entry, rows) in Self.rows(outcome, plan) {
      guard let relation = plan.entries[entry].relation else { continue }
      for row in rows {
        let parents = known[entry]?[row.key] ?? []
        if parents.contains(row.parent) {
          next[entry, default: TableSink.Counts()].repeated += 1
        } else if let first = parents.first, !relation.isShared {
          for (entry, row) in added { known[entry]?[row.key]?.remove(row.parent) }
          return relation.secondParent(
            row.key.text ?? "", first: first.text, second: row.parent.text)
        } else {
          known[entry, default: [:]][row.key, default: []].insert(row.parent)
          added.append((entry, row))
          next[entry, default: TableSink.Counts()].records += 1
        }
      }
    }
    counts = next
    return nil
  }

  /// The state of a task in the queue.
  private func recorded(
    _ update: TaskUpdate, of worker: QueueWorker, _ connection: PostgresConnection
  ) throws -> TaskUpdate? {
    let rows = try connection.run(
      "SELECT \(TaskUpdate.columns()) FROM gq_task t WHERE t.run = $1::uuid AND t.id = $2",
      .text(worker.run), .bytes(update.id.bytes))
    return rows.count == 1 ? TaskUpdate(rows, row: 0, operation: update.operation) : nil
  }

  /// Keeps the values that the next run starts from, for the end of the run.
  mutating func keep(
    _ found: [(name: String, fold: Bookmark.Fold, value: JSONValue)], of worker: QueueWorker,
    _ connection: PostgresConnection
  ) throws {
    var changed: Set<String> = []
    for bookmark in found {
      let old = since[bookmark.name]
      let value = bookmark.fold.value(old, then: bookmark.value)
      if value != old { changed.insert(bookmark.name) }
      since[bookmark.name] = value
    }
    for name in changed.sorted() {
      try connection.run(
        """
        INSERT INTO gq_since (worker, name, value) VALUES ($1::uuid, $2, $3)
        ON CONFLICT (worker, name) DO UPDATE SET value = excluded.value
        """, .text(worker.id), .text(name), .text(since[name]?.jsonText() ?? "null"))
    }
  }
}

/// The values that the next run starts from, kept in the database of the queue.
enum QueueSince {
  /// The values that earlier runs left, by the ids of the operations that have `since`.
  static func values(_ manifest: Manifest, _ connection: PostgresConnection) throws -> JSONObject {
    var values = JSONObject()
    for operation in manifest.operations {
      guard let name = operation.sinceName else { continue }
      let rows = try connection.run(
        "SELECT value FROM gqlrun_since WHERE name = $1", .text(name))
      if rows.count == 1 { values[operation.id] = try JSONValue(parsing: rows.text(0, 0)) }
    }
    return values
  }

  /// The values that a run starts from.
  static func values(ofRun run: String, _ connection: PostgresConnection) throws -> JSONObject {
    let rows = try connection.run(
      "SELECT coalesce(since, '{}') FROM gq_run WHERE id = $1::uuid", .text(run))
    guard rows.count == 1 else { return JSONObject() }
    return try JSONValue(parsing: rows.text(0, 0)).objectValue ?? JSONObject()
  }

  /// Keeps the values of the operations whose tasks are all done, for the next run.
  static func save(
    _ manifest: Manifest, run: String, _ connection: PostgresConnection
  ) throws {
    for operation in manifest.operations {
      guard let since = operation.tables?.since, let name = operation.sinceName else { continue }
      try connection.transaction {
        let open = try connection.run(
          """
          SELECT (SELECT count(*) FROM gq_task WHERE run = $1::uuid AND op = $2
              AND (state <> 'done' OR error IS NOT NULL)),
            (SELECT count(*) FROM gq_run WHERE id = $1::uuid AND $2 = ANY (added))
          """, .text(run), .text(operation.id))
        guard open.int(0, 0) == 0, open.int(0, 1) == 1 else { return }
        let rows = try connection.run(
          """
          SELECT s.value FROM gq_since s JOIN gq_worker w ON w.id = s.worker
          WHERE w.run = $1::uuid AND s.name = $2
          """, .text(run), .text(since.bookmark))
        let values = try (0..<rows.count).map { try JSONValue(parsing: rows.text($0, 0)) }
        guard let highest = Bookmark.Fold.max.value(of: values) else { return }
        try connection.run(
          """
          INSERT INTO gqlrun_since (name, value) VALUES ($1, $2)
          ON CONFLICT (name) DO UPDATE SET value = excluded.value
          """, .text(name), .text(highest.jsonText()))
      }
    }
  }
}
