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
  private let keys: RowKeys
  /// The journal's numbers of the operations.
  private let numbers: [Int]
  /// The tasks with rows that a table has refused.
  private var refused: [TaskID: TaskRefusal] = [:]
  /// The rows of tables that earlier parts of the run have written.
  private var rowsBefore: [TableSink.Counts] = []
  /// The numbers of repeated rows that the journal has, of tables in databases.
  private var repeated: [OutputID: Int] = [:]
  /// The list of outputs, which records files before they are written or renamed.
  private var ledger: OutputLedger
  /// The cache, if it is a sink; the pipeline has already written the results to it.
  private let cache: CacheStore?
  private let isShard: Bool
  private var isClosed = false
  private var bookmarks: [String: (operation: Int, value: JSONValue)] = [:]
  /// The time spent on journal and files, reported beside the duration of the run.
  private(set) var journalTime = Duration.zero
  private(set) var fileTime = Duration.zero

  init(
    _ manifest: Manifest, journal: Journal, plan: SinkPlan, ledger: OutputLedger,
    shard: Shard? = nil, cache: CacheStore? = nil
  ) throws {
    self.cache = cache
    isShard = shard != nil
    self.manifest = manifest
    self.journal = journal
    self.plan = plan
    self.ledger = ledger
    base = OutputPath(folder: manifest.folder)
    let ids = manifest.operations.map(\.id)
    numbers = try journal.register(ids)
    keys = RowKeys(
      journal, numbers: Dictionary(zip(ids, numbers), uniquingKeysWith: { first, _ in first }))
    let owner = TableMarker.Owner(
      name: manifest.name + (shard.map { " \($0.label)" } ?? ""), journal: try journal.identity())
    writer = SinkWriter(
      plan, base: base, owner: owner, keys: keys, recorded: try journal.sinks())
    bookmarks = try journal.bookmarks()
  }

  /// Opens the sinks, so that errors are found before the first request.
  ///
  /// - Throws: ``StoppedByStorage`` if an output cannot be written or differs from what the journal
  ///   recorded.
  func open() async throws {
    // Before the files are created: a run killed right after must not block the next one.
    try ledger.begin(plan.filePaths)
    try await ResumeCheck(
      journal: journal, base: base, cache: cache, wanted: plan.outputs(base, cache: cache)
    ).run()
    let outputs = try journal.outputs()
    for output in outputs { repeated[output.id] = output.counts.repeated }
    rowsBefore = try plan.tableCounts(journal, base)
    try writer.open(outputs)
    try ledger.begin(plan.filePaths, inodes: writer.inodes)
  }

  /// Makes the outcomes durable, in this order. Steps do not overlap.
  ///
  /// A task with a row that a table refuses fails with its last outcome, and continues from what it had before if it is
  /// repeated.
  @discardableResult
  func commit(_ outcomes: [Outcome]) async throws -> SinkChange {
    // A late group must not reopen files after a failure.
    guard !isClosed else { throw CancellationError() }
    let clock = ContinuousClock()
    let start = clock.now
    var step = JournalStep()
    var changed: Set<String> = []
    for outcome in outcomes {
      guard try accept(outcome, in: step) else {
        if let refusal = refused[outcome.update.id], outcome.update.isFinal {
          step.tasks.append(refusal.failure(of: outcome.update))
        }
        continue
      }
      step.add(outcome.update)
      if let capture = outcome.capture {
        step.captures.append(
          (outcome.update.operation, outcome.update.key, JSONValue.object(capture).jsonText()))
      }
      if let gap = outcome.gap { step.gaps.append(gap) }
      for found in outcome.bookmarks {
        let value = found.fold.value(bookmarks[found.name]?.value, then: found.value)
        bookmarks[found.name] = (outcome.update.operation, value)
        changed.insert(found.name)
      }
    }
    for name in changed { step.bookmarks[name] = bookmarks[name] }
    step.sinks = try writer.syncFiles()
    step.tables = try writer.syncTables()
    (step.keys, step.repeated) = (keys.take(), writer.takeRepeated())
    do throws(CacheError) {
      try await cache?.sync()
    } catch {
      throw StoppedByStorage(message: error.message)
    }
    let written = clock.now
    try journal.record(step)
    fileTime += written - start
    journalTime += clock.now - written
    return SinkChange(refused: refused, repeated: newRepeated(step))
  }

  /// The rows of tables that this part of the run has written, in the order of the manifest.
  func newRows() throws -> [TableSink.Counts] {
    zip(try plan.tableCounts(journal, base), rowsBefore).map { now, before in
      TableSink.Counts(
        records: now.records - before.records, repeated: now.repeated - before.repeated)
    }
  }

  /// Writes an outcome to the sinks. Returns `false` for that of a task with a row that a table has refused.
  private func accept(_ outcome: Outcome, in step: JournalStep) throws -> Bool {
    let id = outcome.update.id
    guard refused[id] == nil else { return false }
    do {
      try writer.write(outcome)
      return true
    } catch let row as RefusedRow {
      refused[id] = TaskRefusal(
        message: row.message, lease: outcome.update.lease,
        recorded: try step.tasks.last { $0.id == id } ?? journal.task(id))
      return false
    }
  }

  /// The number of repeated rows that a step has added.
  private func newRepeated(_ step: JournalStep) -> Int {
    let counts = step.tables.mapValues(\.counts.repeated)
    defer { repeated.merge(counts) { $1 } }
    return counts.reduce(step.repeated.values.reduce(0, +)) {
      $0 + $1.value - (repeated[$1.key] ?? 0)
    }
  }

  /// Closes the sinks, and records the end of the run. If all tasks have ended, the files get their final names, and
  /// bookmarks and reports are written.
  ///
  /// - Parameters:
  ///   - end: How the run ended.
  ///   - stop: Why tasks are left; `nil` if all have ended.
  ///   - operations: The journal's numbers of the operations whose bookmarks are saved.
  ///   - progress: The counters of the run.
  func finish(
    _ end: RunEnd, stop: StopReason?, of operations: Set<Int>, _ progress: RunProgress
  ) throws {
    let isComplete = end.reason == nil
    if isComplete {
      try writer.openAll()
      try ledger.begin(plan.filePaths, inodes: writer.inodes)
      _ = try writer.syncFiles()
      try journal.record(JournalStep(sinks: Array(writer.publishedPositions().values)))
    }
    try writer.finish(isComplete: isComplete)
    isClosed = true
    if isComplete { try ledger.end(plan.filePaths) }
    // Bookmarks are saved only once all results they cover are in the sinks: those of shards after their merge, because
    // the shards that run later have to start from the same ones.
    if isComplete, !isShard {
      let names = Set(manifest.operations.compactMap { $0.tables?.since?.bookmark })
      let kept = bookmarks.filter { name, bookmark in
        !names.contains(name) && operations.contains(bookmark.operation)
      }
      try ledger.save(kept.mapValues(\.value), of: manifest)
      try saveSince(of: operations)
    }
    try journal.set([
      "ended": "\(progress.now())", "stop": stop?.rawValue ?? "",
      "total": progress.counters.total.map { "\($0)" } ?? "",
    ])
    if isComplete { try journal.writeReports(of: manifest, &ledger) }
  }

  /// Keeps the values that the next run starts from with the tables, if the journal has no task that lacks anything.
  ///
  /// With another document or other rows than before, this part of the run may know none of the tasks that failed.
  private func saveSince(of operations: Set<Int>) throws {
    for (operation, number) in zip(manifest.operations, numbers) {
      guard operations.contains(number), let tables = operation.tables, let since = tables.since,
        let name = operation.sinceName, let value = bookmarks[since.bookmark]?.value,
        try journal.isComplete(operation: number)
      else { continue }
      try SinceStore(tables.target, base: base)?.save(value, as: name)
    }
  }

  /// Closes all files as they are, after a failure.
  func abandon() {
    writer.abandon()
    isClosed = true
  }
}

/// What a step has changed, apart from the states of its outcomes.
struct SinkChange: Sendable {
  /// The tasks of the run with rows that a table has refused.
  var refused: [TaskID: TaskRefusal] = [:]
  /// The number of rows of the step that tables had already.
  var repeated = 0
}

/// A task with a row that a table has refused.
struct TaskRefusal: Sendable {
  var message: String
  /// The lease under which the task had the row: a task of a queue that is repeated begins without a refusal.
  var lease: Int
  /// The state of the task before; `nil` if nothing was recorded.
  var recorded: TaskUpdate?

  /// The end of the task, which continues from what was recorded if it is repeated.
  func failure(of update: TaskUpdate) -> TaskUpdate {
    var failure = update
    failure.state = .failed
    failure.error = message
    failure.page = recorded?.page ?? 0
    failure.records = recorded?.records ?? 0
    // Nothing is added to the parts that this run has recorded; others are recorded again.
    failure.part = update.part.map { _ in recorded?.part.map { $0 + 1 } ?? 0 }
    failure.cursor = recorded?.part == nil ? recorded?.cursor : nil
    return failure
  }
}
