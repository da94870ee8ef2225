import Dispatch
import Foundation
import GQLRunCache
import GQLRunJSON

/// Runs an actor's jobs on a dedicated queue, because file operations block.
///
/// `Sendable` because the queue is.
final class FileExecutor: SerialExecutor {
  private let queue = DispatchQueue(label: "gqlrun.batch.files")

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let executor = asUnownedSerialExecutor()
    queue.async { job.runSynchronously(on: executor) }
  }
}

/// Writes results to all sinks and then to the journal, in durable steps.
///
/// A step writes the records of some pages, syncs the files, and then records task states and file
/// positions in the journal in one transaction. After a crash, files are truncated to the recorded
/// positions, and tasks that were not recorded run again.
actor SinkStage {
  private let executor = FileExecutor()
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  private let manifest: Manifest
  private let journal: Journal
  private let plan: SinkPlan
  private let base: OutputPath
  private let writer: SinkWriter
  /// The list of outputs, which records files before they are written or renamed.
  private var ledger: OutputLedger
  /// The values of the state file at the start of the run.
  private let state: JSONObject
  /// The cache, if it is a sink; the pipeline has already written the results to it.
  private let cache: CacheStore?
  private var isClosed = false
  private var bookmarks: [String: (operation: Int, value: JSONValue)] = [:]
  /// The time spent on journal and files, reported beside the duration of the run.
  private(set) var journalTime = Duration.zero
  private(set) var fileTime = Duration.zero

  init(
    _ manifest: Manifest, journal: Journal, plan: SinkPlan, ledger: OutputLedger,
    state: JSONObject = [:], shard: Shard? = nil, cache: CacheStore? = nil
  ) throws {
    self.cache = cache
    self.manifest = manifest
    self.journal = journal
    self.plan = plan
    self.ledger = ledger
    self.state = state
    base = OutputPath(folder: manifest.folder)
    writer = SinkWriter(
      plan, base: base, owner: try TableMarker.Owner(manifest, shard: shard, journal: journal),
      recorded: try journal.sinks())
    for (name, bookmark) in try journal.bookmarks() { bookmarks[name] = bookmark }
  }

  /// The paths of the files.
  private var paths: [String] {
    plan.entries.filter { !$0.isTable && $0.path != "-" }.map(\.path)
  }

  /// Opens the sinks, so that errors are found before the first request.
  ///
  /// - Throws: ``StoppedByStorage`` if an output cannot be written or differs from what the journal
  ///   recorded.
  func open() async throws {
    // Before the files are created: a run killed right after must not block the next one.
    try ledger.begin(paths)
    try await ResumeCheck(journal, plan: plan, base: base, cache: cache).run()
    try writer.open(journal.outputs())
    try ledger.begin(paths, inodes: writer.inodes)
  }

  /// Makes the outcomes durable, in this order. Steps do not overlap.
  func commit(_ outcomes: [Outcome]) async throws {
    // A late group must not reopen files after a failure.
    guard !isClosed else { throw CancellationError() }
    let clock = ContinuousClock()
    let start = clock.now
    var step = JournalStep()
    var changed: Set<String> = []
    for outcome in outcomes {
      try writer.write(outcome)
      step.tasks.append(outcome.update)
      if let capture = outcome.capture {
        step.captures.append(
          (outcome.update.operation, outcome.update.key, JSONValue.object(capture).jsonText()))
      }
      if let gap = outcome.gap { step.gaps.append(gap) }
      for found in outcome.bookmarks {
        let old = bookmarks[found.name]?.value
        let value = old.map { Self.folded(found.fold, old: $0, new: found.value) } ?? found.value
        bookmarks[found.name] = (outcome.update.operation, value)
        changed.insert(found.name)
      }
    }
    for name in changed { step.bookmarks[name] = bookmarks[name] }
    step.sinks = try writer.syncFiles()
    step.tables = try writer.syncTables()
    do throws(CacheError) {
      try await cache?.sync()
    } catch {
      throw StoppedByStorage(message: error.message)
    }
    let written = clock.now
    try journal.record(step)
    fileTime += written - start
    journalTime += clock.now - written
  }

  /// Closes the sinks, and records the end of the run. If all tasks have ended, the files get their final names, and
  /// bookmarks and reports are written.
  ///
  /// - Parameters:
  ///   - end: How the run ended.
  ///   - operations: The journal's numbers of the operations whose bookmarks are saved.
  ///   - progress: The counters of the run.
  func finish(_ end: RunEnd, of operations: Set<Int>, _ progress: RunProgress) throws {
    let isComplete = end.reason == nil
    if isComplete {
      try writer.openAll()
      try ledger.begin(paths, inodes: writer.inodes)
      var step = JournalStep()
      _ = try writer.syncFiles()
      step.sinks = Array(writer.publishedPositions().values)
      try journal.record(step)
    }
    try writer.finish(isComplete: isComplete)
    isClosed = true
    if isComplete { try ledger.end(paths) }
    // Bookmarks are saved only once all results they cover are in the sinks.
    if isComplete, let file = manifest.stateFile {
      try ledger.willReplace([file])
      try StateFile.save(bookmarks, of: operations, over: state, to: file)
      try ledger.end([file])
    }
    try journal.set([
      "ended": "\(progress.now())", "stop": end.reason?.rawValue ?? "",
      "total": progress.counters.total.map { "\($0)" } ?? "",
    ])
    if isComplete { try ReportWriter(journal, manifest: manifest).write(&ledger) }
  }

  /// Closes all files as they are, after a failure.
  func abandon() {
    writer.abandon()
    isClosed = true
  }

  static func folded(_ fold: Bookmark.Fold, old: JSONValue, new: JSONValue) -> JSONValue {
    switch fold {
    case .last: return new
    case .max, .min:
      let isGreater =
        if let old = old.doubleValue, let new = new.doubleValue {
          new > old
        } else {
          old.stringValue.map { old in
            Array((new.stringValue ?? "").utf8).lexicographicallyPrecedes(Array(old.utf8)) == false
          } ?? true
        }
      return isGreater == (fold == .max) ? new : old
    }
  }
}
