import Foundation
import GQLRunJSON
package import GQLRunPipeline
import GQLRunPostgres
import GRDB

/// A run of an ``Extraction``: with a journal on this machine, or for tables in a PostgreSQL database through the queue in
/// it, with one worker in this process.
package struct ExtractionRun: Sendable {
  /// What a run did.
  package struct Summary: Sendable {
    /// What was requested and written.
    package var tables: TablesSummary
    package var end: RunEnd
    /// Warnings, such as pages that `allow_partial` accepts not to have.
    package var warnings: [String]
    /// The path of the journal; `nil` in a queue.
    package var journal: String?
    /// Why the tables are not complete; `nil` if they are, or the run stopped early.
    package var failures: FailureReasons?
  }

  private let manifest: Manifest
  private var options = RunOptions()
  /// Whether the newest run was to be continued, and is one of another document or of other variables, so that a new one
  /// begins.
  package private(set) var isOfOther = false

  /// Begins a run, or finds the one to continue. Blocks.
  ///
  /// - Parameters:
  ///   - manifest: The manifest of the extraction.
  ///   - resumes: Whether to continue the newest run: where it stopped, or with the pages that failed. Without a run, one
  ///     begins.
  ///   - overwrites: Whether to replace files, and write into tables, that no earlier run created.
  package init(_ manifest: Manifest, resumes: Bool, overwrites: Bool) throws {
    self.manifest = manifest
    options.overwrites = overwrites
    if manifest.queueURL != nil {
      isOfOther = try BatchQueue(manifest).beginExtraction(resumes: resumes)
    } else if resumes, let newest = try manifest.newestExtraction() {
      isOfOther = newest.isOfOther
      options.resumes = !newest.isOfOther
      options.onlyFailed = newest.state == .failed
    }
  }

  /// Requests everything.
  package func run(_ services: Services, _ control: RunControl) async throws -> Summary {
    guard manifest.queueURL == nil else {
      let found = try await BatchWorker(manifest, services: services).run(control)
      let end = RunEnd(
        reason: found.stop, detail: found.stopDetail, outage: found.outage, seconds: found.seconds)
      var summary = Summary(
        tables: found.tables ?? TablesSummary(), end: end, warnings: found.warnings)
      let queue = try BatchQueue(manifest)
      let counts = try queue.status().taskCounts
      if found.stop == nil, counts[.failed] + counts[.unknown] + counts[.skipped] > 0 {
        summary.failures = try queue.inspect { try $0.failureReasons() }
      }
      return summary
    }
    let found = try await BatchRun(manifest, options: options, services: services).run(control)
    let end = RunEnd(
      reason: found.stop, detail: found.stopDetail, outage: found.outage, seconds: found.seconds)
    return Summary(
      tables: found.tables ?? TablesSummary(), end: end, warnings: found.warnings,
      journal: found.journal,
      failures: found.stop == nil && found.hasFailures
        ? try RunInspection(manifest).failureReasons() : nil)
  }
}

extension Manifest {
  /// The only task of an extraction.
  ///
  /// - Parameter values: Those that its run starts from; see ``sinceValues(_:)``.
  func extractionTask(since values: JSONObject = [:]) throws -> TaskItem {
    try TaskMaker(starting(from: values).operations[0], state: [:]).item(nil) { _ in [:] }
  }

  /// The newest run of an extraction with a journal; `nil` if there is none.
  ///
  /// - Returns: The state of its task, if the journal has it, or whether the journal has the one of another document or of
  ///   other variables.
  fileprivate func newestExtraction() throws -> (state: TaskState?, isOfOther: Bool)? {
    guard let path = JournalFolder(self).newest() else { return nil }
    let journal = try Journal(path: path, isReadOnly: true)
    defer { journal.close() }
    let task = try extractionTask(since: BatchRun.since(of: journal))
    return try journal.read { db in
      let states = try Int.fetchAll(
        db, sql: "SELECT state FROM tasks WHERE id = ?", arguments: [Data(task.id.bytes)])
      let count = try Int.fetchOne(db, sql: "SELECT count(*) FROM tasks") ?? 0
      return (states.first.flatMap { TaskState(rawValue: $0) }, states.isEmpty && count > 0)
    }
  }
}

extension BatchQueue {
  /// Begins a run of an extraction, unless the newest one is continued.
  ///
  /// - Returns: Whether the newest run was to be continued, and is one of another document or of other variables.
  fileprivate func beginExtraction(resumes: Bool) throws -> Bool {
    var isOfOther = false
    let hasBegun = try initialize { connection in
      let runs = try connection.run(
        "SELECT id::text FROM gq_run WHERE name = $1 ORDER BY started_at DESC LIMIT 1",
        .text(manifest.name))
      guard resumes, runs.count == 1 else { return false }
      let run = runs.text(0, 0)
      let task = try manifest.extractionTask(since: QueueSince.values(ofRun: run, connection))
      let tasks = try connection.run(
        "SELECT count(*), count(*) FILTER (WHERE id = $2) FROM gq_task WHERE run = $1::uuid",
        .text(run), .bytes(task.id.bytes))
      isOfOther = tasks.int(0, 0) > 0 && tasks.int(0, 1) == 0
      return !isOfOther
    }
    if !hasBegun { _ = try TaskResolution(.retry, of: .failed).apply(to: manifest) }
    _ = try enqueue()
    return isOfOther
  }
}
