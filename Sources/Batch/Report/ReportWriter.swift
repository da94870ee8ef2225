import Foundation
import GQLRunJSON
import GQLRunSupport

/// Writes the reports of a run.
struct ReportWriter {
  let journal: Journal
  let manifest: Manifest

  init(_ journal: Journal, manifest: Manifest) {
    self.journal = journal
    self.manifest = manifest
  }

  /// Writes the reports that the manifest names, and records them as outputs.
  func write(_ ledger: inout OutputLedger) throws {
    let report = manifest.report
    let paths = [report.junit, report.html, report.json].compactMap { $0 }
    guard !paths.isEmpty else { return }
    try ledger.willReplace(paths)
    let data = try ReportData(journal, manifest: manifest)
    if let path = report.json {
      try AtomicFile.write(
        JSONReport(data, manifest.thresholds).value.jsonBytes(pretty: true) + [0x0A], to: path)
    }
    if let path = report.html {
      try AtomicFile.write(Array(HTMLReport(data, manifest.thresholds).text.utf8), to: path)
    }
    if let path = report.junit { try JUnitReport(data).write(to: path) }
    try ledger.end(paths)
  }
}

/// The figures of a run as JSON.
struct JSONReport {
  let value: JSONValue

  init(_ data: ReportData, _ thresholds: [BatchCondition]) {
    var report = JSONObject()
    report["name"] = .string(data.name)
    report["manifest"] = .string(data.file)
    report["seconds"] = Self.number(data.seconds)
    report["tasks"] = Self.counts(data.counts)
    report["records"] = .number(JSONNumber(data.records))
    report["bytes"] = .number(JSONNumber(data.bytes))
    report["latency_ms"] = Self.latency(data.latency)
    var operations = JSONObject()
    for operation in data.byOperation {
      var entry = JSONObject()
      entry["tasks"] = Self.counts(operation.counts)
      entry["latency_ms"] = Self.latency(operation.latency)
      operations[operation.id] = .object(entry)
    }
    report["operations"] = .object(operations)
    report["missed_thresholds"] = .array(data.missed(thresholds).map { .string($0) })
    report["slowest"] = .array(data.slowest.prefix(20).map { Self.task($0) })
    report["failed"] = .array(data.failed.map { Self.task($0) })
    if !data.resolved.isEmpty {
      report["resolved"] = .array(data.resolved.map { Self.task($0) })
    }
    if data.gaps.count > 0 {
      report["gap_count"] = .number(JSONNumber(data.gaps.count))
      report["gaps"] = .array(data.gaps.first.map { Self.gap($1, of: $0) })
    }
    value = .object(report)
  }

  static func number(_ value: Double) -> JSONValue {
    JSONNumber((value * 1000).rounded() / 1000).map { .number($0) } ?? .null
  }

  private static func counts(_ counts: TaskCounts) -> JSONValue {
    var object = JSONObject()
    object["total"] = .number(JSONNumber(counts.total))
    for state in TaskState.allCases where counts[state] > 0 {
      object[state.name] = .number(JSONNumber(counts[state]))
    }
    return .object(object)
  }

  private static func latency(_ histogram: LatencyHistogram) -> JSONValue {
    var object = JSONObject()
    object["mean"] = number(histogram.mean)
    for (name, share) in [("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99)] {
      object[name] = number(histogram.quantile(share))
    }
    object["max"] = number(histogram.maximum)
    return .object(object)
  }

  private static func gap(_ gap: EventGap, of operation: String) -> JSONValue {
    [
      "op": .string(operation), "key": .string(gap.key),
      "events": .number(JSONNumber(gap.events)), "since": number(gap.since),
      "until": number(gap.until), "cause": gap.cause.map { .string($0) } ?? .null,
    ]
  }

  private static func task(_ task: ReportedTask) -> JSONValue {
    var object = JSONObject()
    object["task"] = .string(task.id)
    object["op"] = .string(task.operation)
    object["key"] = .string(task.key)
    object["state"] = .string(task.state.name)
    object["ms"] = number(task.milliseconds)
    if let error = task.error { object["error"] = .string(error) }
    return .object(object)
  }
}

/// A JUnit XML report with a suite for each operation and a case for each task.
///
/// Written task by task, in constant memory.
struct JUnitReport {
  let data: ReportData

  init(_ data: ReportData) { self.data = data }

  func write(to path: String) throws {
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
    try put("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n")
    try put(
      "<testsuites name=\"\(Self.escaped(data.name))\" tests=\"\(data.counts.total)\" "
        + "failures=\"\(data.counts[.failed])\" errors=\"\(data.counts[.unknown])\" "
        + "skipped=\"\(Self.skipped(data.counts))\" time=\"\(Self.seconds(data.seconds))\">\n")
    let counts = Dictionary(data.byOperation.map { ($0.id, $0.counts) }) { first, _ in first }
    var suite: String?
    try ReportData.forEachTask(data.journal, order: "ORDER BY tasks.op") { task in
      if task.operation != suite {
        if suite != nil { try put(" </testsuite>\n") }
        suite = task.operation
        let counts = counts[task.operation] ?? TaskCounts()
        try put(
          " <testsuite name=\"\(Self.escaped(task.operation))\" tests=\"\(counts.total)\" "
            + "failures=\"\(counts[.failed])\" errors=\"\(counts[.unknown])\" "
            + "skipped=\"\(Self.skipped(counts))\">\n")
      }
      try put(Self.testCase(task))
    }
    if suite != nil { try put(" </testsuite>\n") }
    try put("</testsuites>\n")
  }

  /// JUnit has no other element for tasks that have not ended.
  private static func skipped(_ counts: TaskCounts) -> Int {
    counts[.skipped] + counts[.queued] + counts[.running]
  }

  private static func testCase(_ task: ReportedTask) -> String {
    let head =
      "  <testcase classname=\"\(escaped(task.operation))\" "
      + "name=\"\(escaped(task.key.isEmpty ? task.operation : task.key))\" "
      + "time=\"\(seconds(task.milliseconds / 1000))\""
    let message = escaped(String((task.error ?? "").prefix(2_000)))
    switch task.state {
    case .done: return head + "/>\n"
    case .failed: return head + "><failure message=\"\(message)\"/></testcase>\n"
    case .unknown: return head + "><error message=\"\(message)\"/></testcase>\n"
    case .skipped: return head + "><skipped message=\"\(message)\"/></testcase>\n"
    case .queued, .running: return head + "><skipped message=\"not ended\"/></testcase>\n"
    }
  }

  private static func seconds(_ value: Double) -> String { String(format: "%.3f", value) }

  /// Escapes text for XML, and replaces characters that XML 1.0 does not allow.
  static func escaped(_ text: String) -> String {
    QuotedText.markup(text, keepsLineBreaks: false)
  }
}
