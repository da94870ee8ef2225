import Foundation
import GQLRunJSON
import GRDB

/// A task in a report.
struct ReportedTask: Sendable {
  var id: String
  var operation: String
  var key: String
  var state: TaskState
  var attempts: Int
  var page: Int
  var http: Int?
  var ended: Double
  var milliseconds: Double
  var bytes: Int
  var records: Int
  var error: String?
}

/// The figures of a run, computed from its journal; a resumed run gives the same as an
/// uninterrupted one.
struct ReportData {
  private(set) var name: String
  private(set) var file: String
  private(set) var journal: Journal
  private(set) var counts = TaskCounts()
  private(set) var byOperation: [(id: String, counts: TaskCounts, latency: LatencyHistogram)] = []
  private(set) var latency = LatencyHistogram()
  private(set) var first = Double.infinity
  private(set) var last = 0.0
  private(set) var records = 0
  private(set) var bytes = 0
  /// The numbers of tasks done and failed in equal intervals of the run's time.
  private(set) var throughput: [(done: Int, failed: Int)] = []
  private(set) var slowest: [ReportedTask] = []
  private(set) var failed: [ReportedTask] = []
  /// The tasks that a user recorded as done; they have no output.
  private(set) var resolved: [ReportedTask] = []
  /// The number of gaps in the events of subscriptions, and the first ones with their operations.
  private(set) var gaps: (count: Int, first: [(operation: String, gap: EventGap)]) = (0, [])
  /// The number of intervals: one per 100 ms, within the width of a page.
  private(set) var parts = 60
  private static let shown = 50

  init(_ journal: Journal, manifest: Manifest) throws {
    try self.init(journal, name: manifest.name, file: manifest.file)
  }

  init(_ journal: Journal, name: String, file: String) throws {
    self.journal = journal
    self.name = name
    self.file = file
    let names = try journal.operationNames()
    (first, last) = try journal.read { db in
      let row = try GRDB.Row.fetchOne(
        db, sql: "SELECT min(ended), max(ended) FROM tasks WHERE ended > 0")
      return (row?[0] ?? .infinity, row?[1] ?? 0)
    }
    // The first task finished later than the run started.
    if let started = try journal.meta("started").flatMap({ Double($0) }) {
      first = min(first, started)
    }
    let span = max(last - first, 0.001)
    parts = min(max(Int(min(span * 10, 60)), 1), 60)
    throughput = Array(repeating: (0, 0), count: parts)
    var locations: [String: Int] = [:]
    var found = self
    for number in names.keys.sorted() {
      guard let id = names[number] else { continue }
      locations[id] = found.byOperation.count
      found.byOperation.append((id, TaskCounts(), LatencyHistogram()))
    }
    try Self.forEachTask(journal) { task in
      found.counts.byState[task.state, default: 0] += 1
      found.records += task.records
      found.bytes += task.bytes
      if let location = locations[task.operation] {
        found.byOperation[location].counts.byState[task.state, default: 0] += 1
      }
      // A task that a killed run sent has no end, and one that a user resolved may have none.
      guard [.done, .failed, .unknown].contains(task.state), task.attempts > 0, task.ended > 0
      else { return }
      found.latency.add(milliseconds: task.milliseconds)
      if let location = locations[task.operation] {
        found.byOperation[location].latency.add(milliseconds: task.milliseconds)
      }
      let part = min(Int((task.ended - found.first) / span * Double(found.parts)), found.parts - 1)
      if part >= 0 {
        if task.state == .done {
          found.throughput[part].done += 1
        } else {
          found.throughput[part].failed += 1
        }
      }
    }
    self = found
    slowest = try Self.tasks(
      journal, "attempts > 0 AND ended > 0 ORDER BY ms DESC LIMIT \(Self.shown)")
    failed = try Self.tasks(
      journal, "state IN (3, 4, 5) ORDER BY op, key LIMIT \(Self.shown * 4)")
    resolved = try Self.tasks(
      journal, "state = 2 AND error IS NOT NULL ORDER BY op, key LIMIT \(Self.shown * 4)")
    gaps = try journal.gaps(limit: RunInspection.shownGaps)
  }

  var seconds: Double { first.isFinite ? max(last - first, 0) : 0 }

  /// The thresholds that were not met, with the measured values.
  func missed(_ thresholds: [BatchCondition], runSeconds: Double? = nil) -> [String] {
    guard !thresholds.isEmpty else { return [] }
    let seconds = runSeconds ?? seconds
    let ended = counts.ended
    var facts = JSONObject()
    func set(_ name: String, _ value: Double) {
      facts[name] = JSONNumber(value).map { .number($0) } ?? .null
    }
    set("total", Double(counts.total))
    set("done", Double(counts[.done]))
    set("failed", Double(counts[.failed]))
    set("unknown", Double(counts[.unknown]))
    set("skipped", Double(counts[.skipped]))
    set("seconds", seconds)
    set("rps", seconds > 0 ? Double(ended) / seconds : 0)
    set("records", Double(records))
    set("bytes", Double(bytes))
    for (name, share) in [("p50_ms", 0.5), ("p90_ms", 0.9), ("p95_ms", 0.95), ("p99_ms", 0.99)] {
      set(name, latency.quantile(share))
    }
    set("max_ms", latency.maximum)
    let object = JSONValue.object(facts)
    return thresholds.filter { !$0.holds(for: object, whole: Double(max(ended, 1))) }
      .map { "\($0) (found \($0.found(in: object)))" }
  }

  static func forEachTask(
    _ journal: Journal, order: String = "", _ body: (ReportedTask) throws -> Void
  ) throws {
    try journal.read { db in
      let rows = try GRDB.Row.fetchCursor(db, sql: query("1 \(order)"))
      while let row = try rows.next() { try body(task(row)) }
    }
  }

  static func tasks(_ journal: Journal, _ filter: String) throws -> [ReportedTask] {
    try journal.read { db in
      try GRDB.Row.fetchAll(db, sql: query(filter)).map { task($0) }
    }
  }

  private static func query(_ filter: String) -> String {
    """
    SELECT tasks.id, operations.id, key, state, attempts, page, http, ended, ms, bytes, records, error
    FROM tasks JOIN operations ON operations.number = tasks.op WHERE \(filter)
    """
  }

  private static func task(_ row: GRDB.Row) -> ReportedTask {
    let id: Data = row[0]
    return ReportedTask(
      id: TaskID(id).text, operation: row[1], key: row[2],
      state: TaskState(rawValue: row[3]) ?? .queued, attempts: row[4], page: row[5], http: row[6],
      ended: row[7], milliseconds: row[8], bytes: row[9], records: row[10], error: row[11])
  }
}
