import GQLRunJSON
import GQLRunReport
import GQLRunSupport
import GRDB

extension Journal {
  /// Writes the reports of the run that the manifest names, and records them as outputs.
  func writeReports(of manifest: Manifest, _ ledger: inout OutputLedger) throws {
    let report = manifest.report
    let paths = report.paths
    guard !paths.isEmpty else { return }
    try ledger.willReplace(paths)
    let data = try ReportData(self, manifest: manifest)
    let base = OutputPath(folder: manifest.folder)
    if let path = report.json {
      try AtomicFile.write(
        data.json(manifest.thresholds).jsonBytes(pretty: true) + [0x0A], to: base.target(path))
    }
    if let path = report.html {
      try AtomicFile.write(Array(data.page(manifest).utf8), to: base.target(path))
    }
    if let path = report.junit { try data.writeJUnit(to: base.target(path)) }
    try ledger.end(paths)
  }
}

extension ReportData {
  /// The figures of the run as JSON.
  func json(_ thresholds: [BatchCondition]) -> JSONValue {
    var report = JSONObject()
    report["name"] = .string(name)
    report["manifest"] = .string(file)
    report["seconds"] = .thousandths(seconds)
    report["tasks"] = Self.json(counts)
    if incomplete > 0 { report["incomplete"] = .number(JSONNumber(incomplete)) }
    report["records"] = .number(JSONNumber(records))
    report["bytes"] = .number(JSONNumber(bytes))
    report["latency_ms"] = Self.json(latency)
    var operations = JSONObject()
    for operation in byOperation {
      var entry = JSONObject()
      entry["tasks"] = Self.json(operation.counts)
      entry["latency_ms"] = Self.json(operation.latency)
      operations[operation.id] = .object(entry)
    }
    report["operations"] = .object(operations)
    report["missed_thresholds"] = .array(missed(thresholds).map { .string($0) })
    report["slowest"] = .array(slowest.prefix(20).map { Self.json($0) })
    report["failed"] = .array(failed.map { Self.json($0) })
    for (name, tasks) in [("resolved", resolved), ("partial", partial)] where !tasks.isEmpty {
      report[name] = .array(tasks.map { Self.json($0) })
    }
    if gaps.count > 0 {
      report["gap_count"] = .number(JSONNumber(gaps.count))
      report["gaps"] = .array(gaps.first.map { Self.json($1, of: $0) })
    }
    return .object(report)
  }

  private static func json(_ counts: TaskCounts) -> JSONValue {
    var object = JSONObject()
    object["total"] = .number(JSONNumber(counts.total))
    for state in TaskState.allCases where counts[state] > 0 {
      object[state.name] = .number(JSONNumber(counts[state]))
    }
    return .object(object)
  }

  private static func json(_ histogram: LatencyHistogram) -> JSONValue {
    var object = JSONObject()
    object["mean"] = .thousandths(histogram.mean)
    for (name, share) in [("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99)] {
      object[name] = .thousandths(histogram.quantile(share))
    }
    object["max"] = .thousandths(histogram.maximum)
    return .object(object)
  }

  private static func json(_ gap: EventGap, of operation: String) -> JSONValue {
    [
      "op": .string(operation), "key": .string(gap.key),
      "events": .number(JSONNumber(gap.events)), "since": .thousandths(gap.since),
      "until": .thousandths(gap.until), "cause": gap.cause.map { .string($0) } ?? .null,
    ]
  }

  private static func json(_ task: ReportedTask) -> JSONValue {
    var object = JSONObject()
    object["task"] = .string(task.id.text)
    object["op"] = .string(task.operation)
    object["key"] = .string(task.key)
    object["state"] = .string(task.state.name)
    object["ms"] = .thousandths(task.milliseconds)
    if let error = task.error { object["error"] = .string(error) }
    return .object(object)
  }
}

extension ReportData {
  /// Writes a JUnit XML report with a suite for each operation and a case for each task.
  ///
  /// Written task by task, in constant memory.
  func writeJUnit(to path: String) throws {
    try FileSink.makeFolder(of: path)
    do {
      var file = try AtomicFile(path, permissions: 0o666)
      var held: [UInt8] = []
      try writeSuites { text in
        held += text.utf8
        guard held.count > 256 << 10 else { return }
        try file.write(held)
        held = []
      }
      try file.write(held)
      try file.finish()
    } catch let error as SystemError {
      throw StoppedByStorage(message: "\(error)")
    }
  }

  private func writeSuites(_ put: (String) throws -> Void) throws {
    try put(JUnit.start(name, Self.suite(counts), seconds: seconds))
    let byID = Dictionary(byOperation.map { ($0.id, $0.counts) }) { first, _ in first }
    var suite: String?
    try Self.forEachTask(journal, where: "1 ORDER BY tasks.op") { task in
      if task.operation != suite {
        if suite != nil { try put(JUnit.endSuite) }
        suite = task.operation
        try put(
          JUnit.startSuite(
            task.operation, Self.suite(byID[task.operation] ?? TaskCounts())))
      }
      try put(Self.testCase(task))
    }
    if suite != nil { try put(JUnit.endSuite) }
    try put(JUnit.end)
  }

  /// JUnit has no other element than `skipped` for tasks that have not ended.
  private static func suite(_ counts: TaskCounts) -> JUnit.Counts {
    JUnit.Counts(
      tests: counts.total, failures: counts[.failed], errors: counts[.unknown],
      skipped: counts[.skipped] + counts[.queued] + counts[.running])
  }

  private static func testCase(_ task: ReportedTask) -> String {
    let message = task.error ?? ""
    let result: JUnit.Result =
      switch task.state {
      case .done: .passed
      case .failed: .failure(message, type: task.isIncomplete ? "incomplete" : nil)
      case .unknown: .error(message)
      case .skipped: .skipped(message)
      case .queued, .running: .skipped("not ended")
      }
    return JUnit.testCase(
      task.key.isEmpty ? task.operation : task.key, suite: task.operation,
      seconds: task.milliseconds / 1000, result: result)
  }
}

/// A task in a report: what the journal has of it, without the cursor.
@dynamicMemberLookup
struct ReportedTask: Sendable {
  /// The id of the operation.
  let operation: String
  fileprivate let update: TaskUpdate

  subscript<Value>(dynamicMember path: KeyPath<TaskUpdate, Value>) -> Value {
    update[keyPath: path]
  }
}

/// The figures of a run, computed from its journal; a resumed run gives the same as an
/// uninterrupted one.
struct ReportData {
  private(set) var name: String
  private(set) var file: String
  private(set) var journal: Journal
  private(set) var counts = TaskCounts()
  /// The number of failed tasks with a connection that has more pages than were requested.
  private(set) var incomplete = 0
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
  /// The tasks that are done without some pages, which `allow_partial` accepts.
  private(set) var partial: [ReportedTask] = []
  /// The number of gaps in the events of subscriptions, and the first ones with their operations.
  private(set) var gaps: (count: Int, first: [(operation: String, gap: EventGap)]) = (0, [])
  /// The number of intervals: one per 10 ms, within the width of a page.
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
      return (
        try row?.decode(Double?.self, atIndex: 0) ?? .infinity,
        GRDB.Row.limited(try row?.decode(Double?.self, atIndex: 1) ?? 0)
      )
    }
    // The first task finished later than the run started.
    if let started = try journal.meta("started").flatMap({ Double($0) }) {
      first = min(first, GRDB.Row.limited(started))
    }
    // Without a task that has ended, this is not finite.
    let span = last - first > 0.001 ? last - first : 0.001
    parts = max(Int(min(span * 100, 60)), 1)
    throughput = Array(repeating: (0, 0), count: parts)
    var locations: [String: Int] = [:]
    var found = self
    for id in names {
      locations[id] = found.byOperation.count
      found.byOperation.append((id, TaskCounts(), LatencyHistogram()))
    }
    try Self.forEachTask(journal) { task in
      found.counts.byState[task.state, default: 0] += 1
      if task.isIncomplete { found.incomplete += 1 }
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
      let position = (task.ended - found.first) / span * Double(found.parts)
      if position >= 0 {
        let part = Int(min(position, Double(found.parts - 1)))
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
    let noted = "state = 2 AND error IS NOT NULL AND"
    let order = "ORDER BY op, key LIMIT \(Self.shown * 4)"
    resolved = try Self.tasks(journal, "\(noted) NOT \(Self.isIncomplete) \(order)")
    partial = try Self.tasks(journal, "\(noted) \(Self.isIncomplete) \(order)")
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
    for state in TaskState.ended { set(state.name, Double(counts[state])) }
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

  /// Whether a connection of the task has more pages than were requested, in SQL.
  private static let isIncomplete =
    "substr(error, 1, \(CompletenessCheck.prefix.count)) = '\(CompletenessCheck.prefix)'"

  /// The number of tasks that failed because a connection has more pages than were requested.
  static func incompleteTasks(_ journal: Journal) throws -> Int {
    try journal.read {
      try Int.fetchOne(
        $0, sql: "SELECT count(*) FROM tasks WHERE state = 3 AND \(isIncomplete)") ?? 0
    }
  }

  static func forEachTask(
    _ journal: Journal, where filter: String = "1", _ body: (ReportedTask) throws -> Void
  ) throws {
    try journal.read { db in
      let rows = try GRDB.Row.fetchCursor(
        db,
        sql: """
          SELECT \(TaskUpdate.journalColumns), operations.id
          FROM tasks JOIN operations ON operations.number = tasks.op WHERE \(filter)
          """)
      while let row = try rows.next() {
        try body(ReportedTask(operation: row.decode(atIndex: 12), update: TaskUpdate(row)))
      }
    }
  }

  static func tasks(_ journal: Journal, _ filter: String) throws -> [ReportedTask] {
    var tasks: [ReportedTask] = []
    try forEachTask(journal, where: filter) { tasks.append($0) }
    return tasks
  }
}
