import Foundation
import GQLRunJSON
import GQLRunSupport
import GRDB

/// Reads the journal of a run: its status, and the reports created from it.
public struct RunInspection {
  private let journal: Journal
  private let manifest: Manifest

  /// Opens a journal read-only, even while a run writes it.
  ///
  /// - Parameters:
  ///   - manifest: The manifest of the run.
  ///   - path: The path of the journal; `nil` for the newest one of the manifest.
  /// - Throws: ``JournalError`` if there is no journal, the newest one is that of another batch, or it cannot be read.
  public init(_ manifest: Manifest, journal path: String? = nil) throws {
    journal = try Journal(path: Self.journal(of: manifest, path), isReadOnly: true)
    self.manifest = manifest
    if path == nil { try journal.require(manifest) }
  }

  /// The path of an existing journal.
  ///
  /// - Parameter path: The path; `nil` for the newest journal of the manifest.
  static func journal(of manifest: Manifest, _ path: String?) throws -> String {
    guard let path = try path ?? JournalFolder(manifest).newest() else {
      throw JournalError(
        "there is no journal of \(manifest.file) in \(manifest.settings.journalFolder); start a run first"
      )
    }
    guard FileManager.default.fileExists(atPath: path) else {
      throw JournalError("there is no journal \(path)")
    }
    return path
  }

  /// The path of the journal.
  public var path: String { journal.path }

  /// The status of the run as text, with one fact per line.
  public func status() throws -> String {
    let counts = try journal.counts()
    let hasEnded = try hasEnded()
    let total = try journal.meta("total").flatMap { Int($0) }
    var facts = TextTable(minWidths: [9])
    facts.add("journal", journal.path)
    facts.add(
      "state", try journal.runState() + (journal.hasFinished() ? "" : "; --resume continues it"))
    if let total { facts.add("tasks", "\(total)") }
    for state in TaskState.allCases where counts[state] > 0 {
      let isOpen = state == .unknown && !hasEnded
      facts.add(state.name, "\(counts[state])\(isOpen ? ", or in flight" : "")")
    }
    let incomplete = try ReportData.incompleteTasks(journal)
    if incomplete > 0 { facts.add("incomplete", "\(incomplete) of those that failed") }
    let gaps = try journal.gaps(limit: Self.shownGaps)
    if gaps.count > 0 { facts.add("gaps", "\(gaps.count)") }
    for (operation, gap) in gaps.first {
      facts.add("gap", "\(gap.task(of: operation)): \(gap.text)")
    }
    for output in try outputs() {
      let size = output.bytes.map { ", \(Quantity.count($0, "byte"))" } ?? ""
      let records = output.records.map { Quantity.count($0, "record") } ?? "written by the pipeline"
      facts.add("sink", "\(output.name): \(records)\(size)")
    }
    return facts.text
  }

  private func outputs() throws -> [RunOutput] { try RunOutput.all(journal, manifest) }

  /// The status of the run as JSON.
  public func statusJSON() throws -> String {
    let counts = try journal.counts()
    var object: JSONObject = ["journal": .string(journal.path)]
    object["ended"] = .boolean(try hasEnded())
    object["stop"] = .string(try journal.meta("stop") ?? "")
    for state in TaskState.allCases {
      object[state.name] = .number(JSONNumber(counts[state]))
    }
    object["incomplete"] = .number(JSONNumber(try ReportData.incompleteTasks(journal)))
    object["gaps"] = .number(JSONNumber(try journal.gaps(limit: 0).count))
    object["outputs"] = .array(
      try outputs().map { output in
        var entry: JSONObject = ["name": .string(output.name)]
        if let records = output.records { entry["records"] = .number(JSONNumber(records)) }
        if let bytes = output.bytes { entry["bytes"] = .number(JSONNumber(bytes)) }
        return .object(entry)
      })
    return JSONValue.object(object).jsonText() + "\n"
  }

  /// Writes the reports that the manifest names, and returns their paths.
  ///
  /// - Parameter overwrites: Whether files that are not earlier reports may be overwritten.
  /// - Throws: ``OutputProblems`` if an existing file is not an earlier report.
  public func writeReports(overwrites: Bool = false) throws -> [String] {
    var ledger = try OutputLedger(manifest)
    if !overwrites {
      let problems = try OutputCheck(manifest, try SinkPlan(manifest))
        .foreignFiles(ledger, includingSinks: false)
      guard problems.isEmpty else { throw OutputProblems(problems: problems) }
    }
    try journal.writeReports(of: manifest, &ledger)
    return manifest.report.paths
  }

  /// The JSON report as text.
  public func report() throws -> String {
    try ReportData(journal, manifest: manifest).json(manifest.thresholds)
      .jsonText(pretty: true) + "\n"
  }

  /// The distinct reasons of the tasks that failed, were skipped or ended in an unknown state.
  public func failureReasons() throws -> FailureReasons {
    try FailureReasons(journal, manifest)
  }

  /// Whether the run has ended or stopped. Otherwise it is in progress or was killed, and the tasks of mutations in flight
  /// are in an unknown state.
  public func hasEnded() throws -> Bool { try journal.hasEnded() }

  /// The number of tasks in an unknown state.
  public func unknownTasks() throws -> Int { try journal.counts()[.unknown] }

  /// How many gaps the status and reports describe.
  static let shownGaps = 50
}

/// An output of a run, with its recorded progress.
public struct RunOutput: Sendable {
  /// The name of the output in messages: the path of a file with its final name, or a table.
  public var name: String
  /// The number of records; `nil` for the cache, which the pipeline writes.
  public var records: Int?
  /// The number of bytes of a file; `nil` for other outputs.
  public var bytes: Int?
  /// Whether the file still has the name `NAME.part`.
  public var isUnfinished = false

  /// The output and the number of its records as a sentence; `nil` for the cache.
  public var text: String? {
    records.map { "\(name)\(isUnfinished ? ".part" : "") has \(Quantity.count($0, "record"))" }
  }

  /// All outputs that a journal has.
  static func all(_ journal: Journal, _ manifest: Manifest) throws -> [RunOutput] {
    let base = OutputPath(folder: manifest.folder)
    let sinks = try journal.sinks()
    let outputs = try journal.outputs()
    guard !outputs.isEmpty else {
      // The journal of an older version.
      return sinks.values.sorted { $0.path < $1.path }
        .map { RunOutput(name: $0.path, records: $0.records, bytes: $0.position) }
    }
    return outputs.map { output in
      if output.format == "cache" { return RunOutput(name: "the cache") }
      let isStandardOutput = output.path == "-"
      let path = isStandardOutput ? "standard output" : base.shown(output.path)
      guard output.name.isEmpty else {
        return RunOutput(name: "\(path), table \(output.name)", records: output.counts.records)
      }
      let position = sinks[output.path]
      return RunOutput(
        name: path, records: position?.records ?? 0, bytes: position?.position ?? 0,
        isUnfinished: !isStandardOutput && position?.isPublished != true)
    }
  }
}

extension JournalFolder {
  /// The newest journal of runs without shards and of all shards.
  func newest() throws -> String? {
    try files().filter { $0.path == $0.journal }.map(\.path).max()
  }
}

/// The differences between two runs.
public struct RunDiff {
  /// A task whose state differs between the runs.
  public struct Change: Sendable {
    /// The operation's id.
    public var operation: String
    /// The task's key.
    public var key: String
    /// The name of the state in the earlier run.
    public var before: String
    /// The name of the state in the later run.
    public var after: String
    /// The error of the later run; `nil` if the task has none.
    public var error: String?
  }

  /// The tasks whose state changed; at most 1,000.
  public private(set) var changes: [Change] = []
  /// The number of tasks that only the later run has.
  public private(set) var added = 0
  /// The number of tasks that only the earlier run has.
  public private(set) var removed = 0
  /// The number of tasks of both runs that are done in the later one only.
  public private(set) var fixed = 0
  /// The number of tasks of both runs that are done in the earlier one only.
  public private(set) var broken = 0
  /// The number of tasks with the same state in both runs.
  public private(set) var same = 0
  /// The p50, p95 and p99 latencies of both runs, in milliseconds.
  public private(set) var latencies: [(name: String, before: Double, after: Double)] = []
  private static let maxChanges = 1_000

  /// Compares the journals of two runs.
  ///
  /// - Parameters:
  ///   - manifest: The manifest of the runs.
  ///   - old: The path of the earlier journal; `nil` for the newest one before `new`.
  ///   - new: The path of the later journal; `nil` for the newest one.
  /// - Throws: ``JournalError`` if there are no two runs to compare, a newest one is that of another batch, or a journal
  ///   cannot be read.
  public init(_ manifest: Manifest, from old: String? = nil, to new: String? = nil) throws {
    let all = try JournalFolder(manifest).all()
    guard let newPath = new ?? all.last,
      let oldPath = old ?? all.last(where: { $0 < newPath })
    else {
      throw JournalError(
        "there are no two runs of \(manifest.file) to compare in \(manifest.settings.journalFolder)"
      )
    }
    let before = try Journal(path: oldPath, isReadOnly: true)
    let after = try Journal(path: newPath, isReadOnly: true)
    if old == nil { try before.require(manifest) }
    if new == nil { try after.require(manifest) }
    try after.read { db in
      try db.execute(sql: "ATTACH DATABASE ? AS old", arguments: [oldPath])
      let rows = try GRDB.Row.fetchCursor(
        db,
        sql: """
          SELECT operations.id, tasks.key, previous.state, tasks.state, tasks.error FROM tasks
          JOIN operations ON operations.number = tasks.op
          LEFT JOIN old.tasks AS previous ON previous.id = tasks.id
          """)
      while let row = try rows.next() {
        let state = TaskState(rawValue: try row.decode(atIndex: 3)) ?? .queued
        guard let number: Int = try row.decode(atIndex: 2),
          let earlier = TaskState(rawValue: number)
        else {
          added += 1
          continue
        }
        guard earlier != state else {
          same += 1
          continue
        }
        if state == .done { fixed += 1 } else if earlier == .done { broken += 1 }
        if changes.count < Self.maxChanges {
          changes.append(
            try Change(
              operation: row.decode(atIndex: 0), key: row.decode(atIndex: 1), before: earlier.name,
              after: state.name, error: row.decode(atIndex: 4)))
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

  /// The differences as text, with one fact per line.
  public var text: String {
    var lines = [
      "\(same) unchanged, \(fixed) fixed, \(broken) broken, \(added) added, \(removed) removed"
    ]
    for latency in latencies {
      lines.append(
        String(
          format: "%@ %.1f ms before, %.1f ms now", latency.name, latency.before, latency.after))
    }
    for change in changes {
      lines.append(
        "\(change.operation) \(change.key): \(change.before) → \(change.after)"
          + (change.error.map { ": \(FailureReason.excerpt(of: $0))" } ?? ""))
    }
    return lines.joined(separator: "\n") + "\n"
  }
}
