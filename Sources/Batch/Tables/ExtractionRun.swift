import Foundation
import GQLRunJSON
package import GQLRunPipeline
import GQLRunPostgres
import GQLRunSupport
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
  /// Whether the newest run was to be continued, and has only tasks of another document or of other variables, so that a new
  /// one begins.
  package private(set) var isOfOther = false

  /// Begins a run, or finds the one to continue: the newest one, if it has the task of the document and the variables.
  /// Blocks.
  ///
  /// - Parameters:
  ///   - manifest: The manifest of the extraction.
  ///   - resumes: Whether to continue the newest run: where it stopped, or with the pages that failed. Without a run, one
  ///     begins.
  ///   - requiresSame: Whether there must be a run to continue, of the same document and variables.
  ///   - overwrites: Whether to replace files, and write into tables, that no earlier run created.
  /// - Throws: ``JournalError`` without such a run, before anything is requested or written.
  package init(
    _ manifest: Manifest, resumes: Bool, requiresSame: Bool = false, overwrites: Bool
  ) throws {
    self.manifest = manifest
    options.overwrites = overwrites
    if manifest.queueURL != nil {
      isOfOther = try BatchQueue(manifest).beginExtraction(
        resumes: resumes, requiresSame: requiresSame)
    } else if resumes {
      let newest = try manifest.newestExtraction()
      isOfOther = newest?.isOfOther ?? false
      if requiresSame, newest?.state == nil { throw Self.noRun(isOfOther: isOfOther) }
      options.resumes = newest?.state != nil
      options.onlyFailed = newest?.state == .failed
    }
  }

  /// The error if there is no run to continue.
  ///
  /// - Parameter isOfOther: Whether the newest run has another document or other variables.
  fileprivate static func noRun(isOfOther: Bool) -> JournalError {
    JournalError(
      isOfOther
        ? "the newest run has another document or other variables, so that it has no failed pages of this one; give the "
          + "document and variables of that run, or leave out --only to request everything"
        : "there is no earlier run of this document into this target; leave out --only to request everything"
    )
  }

  /// Requests everything.
  package func run(_ services: Services, _ control: RunControl) async throws -> Summary {
    guard manifest.queueURL == nil else {
      let found = try await BatchWorker(manifest, services: services).run(control)
      let end = RunEnd(
        reason: found.stop, detail: found.stopDetail, outage: found.outage, seconds: found.seconds)
      var summary = Summary(
        tables: found.tables ?? TablesSummary(), end: end, warnings: found.warnings)
      if found.stop == nil { summary.failures = try await failures() }
      return summary
    }
    let found = try await BatchRun(manifest, options: options, services: services).run(control)
    let end = RunEnd(
      reason: found.stop, detail: found.stopDetail, outage: found.outage, seconds: found.seconds)
    return Summary(
      tables: found.tables ?? TablesSummary(), end: end, warnings: found.warnings,
      journal: found.journal,
      failures: found.stop == nil && found.hasFailures ? try await failures() : nil)
  }

  /// Reads why the tables are not complete; `nil` if all tasks of a queue have succeeded. Reading a database blocks its
  /// thread, which must not be one of the few that tasks share.
  private func failures() async throws -> FailureReasons? {
    try await DispatchQueue.global().run { [manifest] () throws -> FailureReasons? in
      guard manifest.queueURL != nil else { return try RunInspection(manifest).failureReasons() }
      let queue = try BatchQueue(manifest)
      let counts = try queue.status().taskCounts
      guard counts[.failed] + counts[.unknown] + counts[.skipped] > 0 else { return nil }
      return try queue.inspect { try $0.failureReasons() }
    }
  }
}

extension Manifest {
  /// The only task of an extraction.
  ///
  /// - Parameter values: Those that its run starts from; see ``sinceValues()``.
  func extractionTask(since values: JSONObject = [:]) throws -> TaskItem {
    try TaskMaker(starting(from: values).operations[0], state: [:]).item(nil) { _ in [:] }
  }

  /// The newest run of an extraction with a journal; `nil` if there is none.
  ///
  /// - Returns: The state of its task, if the journal has it, or whether the journal has the one of another document or of
  ///   other variables. A run that stopped before it recorded anything has neither: it may be of any document, and the new
  ///   run that begins lacks nothing.
  fileprivate func newestExtraction() throws -> (state: TaskState?, isOfOther: Bool)? {
    guard let path = try JournalFolder(self).newest() else { return nil }
    // For writing, as the run will open it: a run that was killed at once has left a file without tables.
    let journal = try Journal(path: path)
    let task = try extractionTask(since: RunStart(self, of: journal).since)
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
  /// - Parameter requiresSame: Whether to throw ``JournalError`` if the newest one is not continued.
  /// - Returns: Whether the newest run was to be continued, and has only tasks of another document or of other variables.
  fileprivate func beginExtraction(resumes: Bool, requiresSame: Bool) throws -> Bool {
    var isOfOther = false
    let hasBegun = try initialize { connection in
      let runs = try connection.run(
        "SELECT id::text FROM gq_run WHERE name = $1 ORDER BY started_at DESC LIMIT 1",
        .text(manifest.name))
      guard resumes, runs.count == 1 else {
        if requiresSame { throw ExtractionRun.noRun(isOfOther: false) }
        return false
      }
      let run = runs.text(0, 0)
      let task = try manifest.extractionTask(since: QueueSince.values(ofRun: run, connection))
      let tasks = try connection.run(
        "SELECT count(*), count(*) FILTER (WHERE id = $2) FROM gq_task WHERE run = $1::uuid",
        .text(run), .bytes(task.id.bytes))
      let hasTask = tasks.int(0, 1) > 0
      isOfOther = tasks.int(0, 0) > 0 && !hasTask
      if requiresSame, !hasTask { throw ExtractionRun.noRun(isOfOther: isOfOther) }
      return hasTask
    }
    if !hasBegun { _ = try TaskResolution(.retry, of: .failed).apply(to: manifest) }
    _ = try enqueue()
    return isOfOther
  }
}
