import Foundation
import GQLRunJSON
import GRDB

/// What a journal says, for people and scripts.
public struct RunInspection {
  private let journal: Journal
  private let manifest: Manifest

  /// Opens a journal, even while a run uses it.
  ///
  /// - Parameters:
  ///   - manifest: The manifest of the run.
  ///   - path: The path of the journal; `nil` for the newest one of the manifest.
  public init(_ manifest: Manifest, journal path: String? = nil) throws {
    guard let path = path ?? JournalFolder(manifest).newest() else {
      throw JournalError(
        "there is no journal of \(manifest.file) in \(manifest.settings.journalFolder); start a run first"
      )
    }
    guard FileManager.default.fileExists(atPath: path) else {
      throw JournalError("there is no journal \(path)")
    }
    journal = try Journal(path: path, isReadOnly: true)
    self.manifest = manifest
  }

  public var path: String { journal.path }

  /// How the run stands, as lines.
  public func status() throws -> String {
    let counts = try journal.counts()
    let stop = try journal.meta("stop") ?? ""
    let ended = try journal.meta("ended") ?? ""
    let total = try journal.meta("total").flatMap { Int($0) }
    var lines = ["journal    \(journal.path)"]
    let state =
      !ended.isEmpty
      ? stop.isEmpty ? "ended" : "stopped: \(stop); --resume continues it"
      : "under way, or ended by force; --resume continues it"
    lines.append("state      \(state)")
    if let total { lines.append("tasks      \(total)") }
    for state in TaskState.allCases where counts[state] > 0 {
      lines.append(Self.padded(state.name) + "\(counts[state])")
    }
    for output in try outputs() {
      let size = output.bytes.map { ", \($0) bytes" } ?? ""
      lines.append(
        "sink       \(output.name): \(output.records.map { "\($0) records" } ?? "kept by the pipeline")\(size)"
      )
    }
    return lines.joined(separator: "\n") + "\n"
  }

  /// Every output of the run, with what the journal recorded of it.
  private func outputs() throws -> [(name: String, records: Int?, bytes: Int?)] {
    let base = OutputPath(folder: manifest.folder)
    let sinks = try journal.sinks()
    let outputs = try journal.outputs()
    guard !outputs.isEmpty else {
      // A journal of an older version.
      return sinks.values.sorted { $0.path < $1.path }.map { ($0.path, $0.records, $0.position) }
    }
    return outputs.map { output in
      if output.format == "cache" { return ("the cache", nil, nil) }
      let path = output.path == "-" ? "standard output" : base.shown(output.path)
      guard output.name.isEmpty else {
        return ("\(path), table \(output.name)", output.records, nil)
      }
      let position = sinks[output.path]
      return (path, position?.records ?? 0, position?.position ?? 0)
    }
  }

  /// The same as JSON.
  public func statusJSON() throws -> String {
    let counts = try journal.counts()
    var object: JSONObject = ["journal": .string(journal.path)]
    object["ended"] = .boolean(!(try journal.meta("ended") ?? "").isEmpty)
    object["stop"] = .string(try journal.meta("stop") ?? "")
    for state in TaskState.allCases {
      object[state.name] = .number(JSONNumber(counts[state]))
    }
    object["outputs"] = .array(
      try outputs().map { output in
        var entry: JSONObject = ["name": .string(output.name)]
        if let records = output.records { entry["records"] = .number(JSONNumber(records)) }
        if let bytes = output.bytes { entry["bytes"] = .number(JSONNumber(bytes)) }
        return .object(entry)
      })
    return JSONValue.object(object).jsonText() + "\n"
  }

  /// Writes the reports that the manifest names.
  ///
  /// - Parameter overwrites: Replaces files that are not earlier reports, too.
  /// - Throws: ``OutputProblems`` when a file that is there is not an earlier output.
  public func writeReports(overwrites: Bool = false) throws -> [String] {
    var ledger = try OutputLedger(manifest)
    if !overwrites {
      let problems = try OutputCheck(manifest, try SinkPlan(manifest))
        .foreignFiles(ledger, includingSinks: false)
      guard problems.isEmpty else { throw OutputProblems(problems: problems) }
    }
    try ReportWriter(journal, manifest: manifest).write(&ledger)
    let report = manifest.report
    return [report.junit, report.html, report.json].compactMap { $0 }
  }

  /// The JSON report as text.
  public func report() throws -> String {
    JSONReport(try ReportData(journal, manifest: manifest), manifest.thresholds).value
      .jsonText(pretty: true) + "\n"
  }

  private static func padded(_ text: String) -> String {
    text + String(repeating: " ", count: max(1, 11 - text.count))
  }
}

extension JournalFolder {
  /// The newest journal of any shard.
  func newest() -> String? {
    let own = all()
    if let last = own.last { return last }
    return ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [])
      .filter { $0.hasPrefix(name + "-") && $0.hasSuffix(".journal") }.sorted().last
      .map { "\(folder)/\($0)" }
  }
}

/// What differs between two runs.
public struct RunDiff {
  public struct Change: Sendable {
    public var operation: String
    public var key: String
    public var before: String
    public var after: String
    public var error: String?
  }

  public private(set) var changes: [Change] = []
  public private(set) var added = 0
  public private(set) var removed = 0
  public private(set) var fixed = 0
  public private(set) var broken = 0
  public private(set) var same = 0
  public private(set) var latencies: [(name: String, before: Double, after: Double)] = []
  private static let mostChanges = 1_000

  /// Compares the journals at two paths; the last two runs of a manifest when they are `nil`.
  public init(_ manifest: Manifest, from old: String? = nil, to new: String? = nil) throws {
    let all = JournalFolder(manifest).all()
    guard let new = new ?? all.last,
      let old = old ?? all.last(where: { $0 < new })
    else {
      throw JournalError(
        "there are no two runs of \(manifest.file) to compare in \(manifest.settings.journalFolder)"
      )
    }
    let before = try Journal(path: old, isReadOnly: true)
    let after = try Journal(path: new, isReadOnly: true)
    defer {
      before.close()
      after.close()
    }
    try after.read { db in
      try db.execute(sql: "ATTACH DATABASE ? AS old", arguments: [old])
      let rows = try GRDB.Row.fetchCursor(
        db,
        sql: """
          SELECT operations.id, tasks.key, previous.state, tasks.state, tasks.error FROM tasks
          JOIN operations ON operations.number = tasks.op
          LEFT JOIN old.tasks AS previous ON previous.id = tasks.id
          """)
      while let row = try rows.next() {
        let state = TaskState(rawValue: row[3]) ?? .queued
        guard let number: Int = row[2], let earlier = TaskState(rawValue: number) else {
          added += 1
          continue
        }
        guard earlier != state else {
          same += 1
          continue
        }
        if state == .done { fixed += 1 } else if earlier == .done { broken += 1 }
        if changes.count < Self.mostChanges {
          changes.append(
            Change(
              operation: row[0], key: row[1], before: earlier.name, after: state.name,
              error: row[4]))
        }
      }
      removed =
        try Int.fetchOne(
          db, sql: "SELECT count(*) FROM old.tasks WHERE id NOT IN (SELECT id FROM tasks)") ?? 0
    }
    let first = try ReportData(before, manifest: manifest).latency
    let second = try ReportData(after, manifest: manifest).latency
    latencies = [("p50", 0.5), ("p95", 0.95), ("p99", 0.99)].map {
      ($0.0, first.quantile($0.1), second.quantile($0.1))
    }
  }

  public var text: String {
    var lines = [
      "\(same) as before, \(fixed) mended, \(broken) broken, \(added) new, \(removed) gone"
    ]
    for latency in latencies {
      lines.append(
        String(
          format: "%@ %.1f ms before, %.1f ms now", latency.name, latency.before, latency.after))
    }
    for change in changes {
      lines.append(
        "\(change.operation) \(change.key): \(change.before) → \(change.after)"
          + (change.error.map { ": \($0.prefix(200))" } ?? ""))
    }
    return lines.joined(separator: "\n") + "\n"
  }
}
