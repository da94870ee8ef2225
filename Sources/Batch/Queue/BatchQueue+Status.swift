import Foundation
import GQLRunJSON
import GQLRunPostgres
import GQLRunSupport

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
      for state in [TaskState.done, .failed, .unknown, .skipped] {
        result.byState[state] = counts[state.name]
      }
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
        SELECT state, count(*), sum(records)::bigint FROM gq_task WHERE run = $1::uuid GROUP BY state
        """, .text(run.id))
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
        records: (0..<rows.count).reduce(0) { $0 + rows.int($1, 2) },
        waiting: try QueueLevels.waiting(of: manifest, run: run.id, connection),
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
    try Journal.withTemporaryPath { path in
      try export(to: path)
      return try body(RunInspection(manifest, journal: path))
    }
  }

  private func export(to path: String) throws {
    let journal = try Journal(path: path)
    defer { journal.close() }
    let numbers = Dictionary(
      zip(manifest.operations.map(\.id), try journal.register(manifest.operations.map(\.id))),
      uniquingKeysWith: { first, _ in first })
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
          SELECT id, op, key, state, page, requests, http, ended, ms, bytes, records, cursor, error
          FROM gq_task WHERE run = $1::uuid AND id > $2 ORDER BY id LIMIT 10000
          """, .text(run.id), .bytes(last))
        guard rows.count > 0 else { break }
        try journal.record(
          JournalStep(tasks: (0..<rows.count).map { Self.update(rows, $0, numbers) }))
        last = Array(rows.bytes(rows.count - 1, 0))
      }
      try journal.set([
        "name": manifest.name, "manifest": manifest.file,
        "ended": "\(Date().timeIntervalSince1970)",
        "stop": run.state == "open" ? "" : StopReason.cancelled.rawValue, "started": "\(started)",
      ])
    }
  }

  private static func update(
    _ rows: PostgresRows, _ row: Int, _ numbers: [String: Int]
  ) -> TaskUpdate {
    let state: TaskState =
      switch rows.text(row, 3) {
      case "done": .done
      case "failed": .failed
      case "unknown": .unknown
      case "skipped": .skipped
      case "queued": .queued
      default: .running
      }
    var update = TaskUpdate(
      id: TaskID(rows.bytes(row, 0)), operation: numbers[rows.text(row, 1)] ?? 0,
      key: rows.text(row, 2), state: state)
    update.page = rows.int(row, 4)
    update.attempts = rows.int(row, 5)
    update.http = rows.isNull(row, 6) ? nil : rows.int(row, 6)
    update.ended = rows.double(row, 7)
    update.milliseconds = rows.double(row, 8)
    update.bytes = rows.int(row, 9)
    update.records = rows.int(row, 10)
    update.cursor = rows.isNull(row, 11) ? nil : rows.text(row, 11)
    update.error = rows.isNull(row, 12) ? nil : rows.text(row, 12)
    return update
  }
}

extension BatchQueue.Status {
  /// The status as text, with one fact per line.
  public var text: String {
    var lines = ["run        \(run)", "state      \(stateName)", "tasks      \(total)"]
    for state in Self.states {
      guard let count = counts[state], count > 0 else { continue }
      lines.append(state.padding(toLength: 11, withPad: " ", startingAt: 0) + "\(count)")
    }
    lines.append("records    \(records)")
    if waiting > 0 { lines.append("waiting    \(Quantity.count(waiting, "operation"))") }
    for worker in workers {
      lines.append(
        "worker     \(worker.host) \(worker.id): \(worker.state), "
          + "\(Quantity.count(worker.tasks, "task")), heartbeat "
          + String(format: "%.0f s ago", max(worker.age, 0)))
    }
    return lines.joined(separator: "\n") + "\n"
  }

  /// The status as JSON, in one line.
  public var json: String {
    var object: JSONObject = [
      "run": .string(run), "state": .string(stateName), "total": .number(JSONNumber(total)),
    ]
    for state in Self.states { object[state] = .number(JSONNumber(counts[state] ?? 0)) }
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
