public import GQLRunPipeline
import GQLRunSupport
import Logging

/// Outputs that must not be written; thrown before the first request.
public struct OutputProblems: Error, Sendable, CustomStringConvertible {
  /// The outputs.
  public var problems: [OutputProblem]

  /// One problem per line.
  public var description: String { problems.map(\.description).joined(separator: "\n") }
}

/// Rows that cannot be turned into requests; thrown before the first request.
public struct RowProblems: Error, Sendable, CustomStringConvertible {
  /// The errors, each with its file and line; at most 50.
  public var problems: [String]

  /// One problem per line.
  public var description: String { problems.joined(separator: "\n") }
}

/// Runs the tasks of a manifest on this machine: a `RunEngine` over its rows, its journal and its sinks.
public struct BatchRun: Sendable {
  let manifest: Manifest
  let options: RunOptions
  let services: Services

  /// The time limit for validating rows before the first request.
  static let checkTime = Duration.milliseconds(800)

  /// Creates a run.
  ///
  /// - Parameters:
  ///   - manifest: The manifest.
  ///   - options: The options of the run.
  ///   - services: The transport, store and clocks that the pipeline uses.
  public init(_ manifest: Manifest, options: RunOptions, services: Services) {
    self.manifest = manifest
    self.options = options
    self.services = services
  }

  /// Runs the tasks until all have finished or the run stops early.
  ///
  /// - Parameter control: Stops the run and reports its progress.
  /// - Throws: ``RowProblems`` or ``OutputProblems`` before the first request, ``JournalError`` if
  ///   the journal is unusable or, with ``RunOptions/onlyFailed``, missing, ``StoppedByStorage`` if an
  ///   output cannot be written.
  public func run(_ control: RunControl = RunControl()) async throws -> RunSummary {
    try requireFolder()
    try requireAllTasks()
    let start = try start()
    let run = BatchRun(manifest.starting(from: start.since), options: options, services: services)
    return try await run.run(control, from: start)
  }

  /// The values that the tasks start from.
  private func start() throws -> RunStart {
    guard let newest = try resumedJournal() else { return try RunStart(manifest) }
    // For writing, as the run will open it: a run that was killed at once has left a file without tables.
    return try RunStart(manifest, of: Journal(path: newest))
  }

  /// The journal of the run that is resumed; `nil` for a new run.
  private func resumedJournal() throws -> String? {
    guard options.resumes || options.onlyFailed else { return nil }
    let newest = try JournalFolder(manifest, shard: options.shard).all().last
    if newest == nil, options.onlyFailed {
      let shard = options.shard.map { " for shard \($0.number)/\($0.count)" } ?? ""
      throw JournalError(
        "there is no earlier run of \(manifest.file)\(shard), so that no tasks have failed; leave out --only to run all "
          + "tasks")
    }
    return newest
  }

  private func run(_ control: RunControl, from start: RunStart) async throws -> RunSummary {
    let check = RowCheck(manifest, state: start.state)
    let isChecked = await check.advance(for: options.checksAllRows ? nil : Self.checkTime)
    let problems = await check.problems
    guard problems.isEmpty else { throw RowProblems(problems: problems) }

    let plan = try SinkPlan(manifest, suffix: options.shard?.label ?? "")
    let folder = JournalFolder(manifest, shard: options.shard)
    let resumes = try resumedJournal() != nil
    let ledger = try OutputLedger(manifest, shard: options.shard)
    let journal = try openJournal(folder, plan: plan, ledger: ledger, resumes: resumes)
    defer { journal.close() }
    let stop = RunStop()
    let stage = try SinkStage(
      manifest, journal: journal, plan: plan, ledger: ledger, shard: options.shard,
      cache: manifest.keepsInCache ? services.store : nil)
    let store = try JournalStore(
      manifest, state: start.state, journal: journal, stage: stage, plan: plan, options: options,
      services: services, stop: stop)
    var runnable = manifest
    runnable.settings.concurrency = concurrency(plan)
    // Otherwise the first row that an earlier run knows would create it while the others wait.
    if manifest.settings.order == .output, resumes { try await journal.index() }
    let engine = RunEngine(
      runnable, store: store, governor: Governor(runnable, services: services),
      options: options, services: services, stop: stop)
    if isChecked, await check.isExact { store.progress.setTotal(await check.count) }
    try journal.set(["name": manifest.name, "manifest": manifest.file, "ended": ""])
    // That of an earlier version has none until it is continued, and this part may save others in the state file.
    if try journal.meta("state") == nil { try journal.set(start.recorded) }
    if try journal.meta("started") == nil {
      try journal.set(["started": "\(store.progress.now())"])
    }
    let helper = { @Sendable [logger = services.logger] in
      _ = await check.advance(for: nil)
      for problem in await check.problems { logger.warning("\(problem)") }
      if await check.isDone, await check.isExact { store.progress.setTotal(await check.count) }
    }
    do {
      let end = try await engine.run(control, beside: isChecked ? [] : [helper])
      return try await summary(end, journal: journal, store: store, stage: stage)
    } catch let error as StoppedByStorage where error.isInUse && !resumes {
      // The newest journal stays that of the run that writes the output. One of many outputs is opened when it is
      // written, after tasks have ended.
      if (try? journal.counts().total) == 0 { journal.remove() }
      throw error
    }
  }

  /// Throws for a shard of a batch whose operations use captured values or rows of other operations: it has only those
  /// of its own tasks.
  private func requireAllTasks() throws {
    guard let shard = options.shard, shard.count > 1 else { return }
    let operations = manifest.operations
    for operation in operations
    where operations.contains(where: { $0.usesCaptures(of: operation) }) {
      throw JournalError(
        "`\(operation.id)` captures values that other operations need, and a shard has only those of its own tasks; run "
          + "\(manifest.file) without --shard")
    }
    if let reader = OutputCheck(manifest, try SinkPlan(manifest)).readerOfOutput {
      throw JournalError(
        "the rows of `\(reader.id)` are in a database that the batch writes, and a shard writes only those of its own "
          + "tasks, to a database of its own; run \(manifest.file) without --shard")
    }
  }

  /// Throws if the journal of the manifest is a queue, whose tasks workers run.
  private func requireFolder() throws(JournalError) {
    guard manifest.queueURL != nil else { return }
    if options.onlyFailed {
      throw JournalError(
        "the journal of \(manifest.file) is a queue: `gqlrun batch retry \(manifest.shellPath) --failed` queues its failed "
          + "tasks again, and `gqlrun batch worker \(manifest.shellPath)` runs them")
    }
    throw JournalError(
      "the journal of \(manifest.file) is a queue: create it with `gqlrun batch init`, add the tasks with `gqlrun "
        + "batch enqueue`, and run them with `gqlrun batch worker` on any number of machines")
  }

  /// Opens the journal. A refused run leaves none.
  private func openJournal(
    _ folder: JournalFolder, plan: SinkPlan, ledger: OutputLedger, resumes: Bool
  ) throws -> Journal {
    let check = OutputCheck(manifest, plan)
    if !resumes { try check.require(ledger, overwrites: options.overwrites) }
    let journal = try folder.open(resumes: resumes, at: services.secondsSince1970())
    if resumes {
      try journal.require(manifest)
      try check.require(ledger, overwrites: options.overwrites, resuming: journal)
    }
    return journal
  }

  /// Summarizes a run that was recorded.
  private func summary(
    _ end: RunEnd, journal: Journal, store: JournalStore, stage: SinkStage
  ) async throws -> RunSummary {
    let counters = store.progress.counters
    let isComplete = end.reason == nil
    let left = isComplete ? store.warning : nil
    let missed =
      // Reading the whole journal again is slow, so only when there are thresholds.
      isComplete && !manifest.thresholds.isEmpty
      ? try ReportData(journal, manifest: manifest).missed(
        manifest.thresholds, runSeconds: end.seconds) : []
    return RunSummary(
      counters: counters, counts: try journal.counts(), stop: end.reason, stopDetail: end.detail,
      outage: end.outage,
      failures: counters.hasFailures
        ? try FailureReasons(journal, manifest, since: store.started) : nil,
      seconds: end.seconds, journal: journal.path,
      missedThresholds: missed,
      warnings: store.plan.warnings(manifest) + [counters.tables?.warning, left].compactMap { $0 },
      leavesTasks: left != nil,
      outputs: isComplete ? [] : try RunOutput.all(journal, manifest),
      tables: manifest.tableNames.isEmpty
        ? nil : TablesSummary(manifest.tableNames, counters, written: try await stage.newRows()),
      journalSeconds: await stage.journalTime.seconds,
      sinkSeconds: await stage.fileTime.seconds)
  }

  /// The concurrency, lowered to the number of connections that fit the limit of open files. A connection that fails
  /// because no file descriptor is free would look like an unreachable server.
  private func concurrency(_ plan: SinkPlan) -> Int {
    OpenFiles.raiseLimit()
    // Created on first use; its descriptors must be counted.
    _ = services.transport?.executors
    let concurrency = OpenFiles.requests(
      manifest.settings.concurrency, left: OpenFiles.left(), others: filesBesideConnections(plan))
    if concurrency < manifest.settings.concurrency {
      services.logger.warning(
        """
        \(concurrency) of \(manifest.settings.concurrency) requests at a time: the system \
        allows no more open files (ulimit -n raises that)
        """)
    }
    return concurrency
  }

  /// The maximum number of files that the run opens, apart from its connections.
  func filesBesideConnections(_ plan: SinkPlan) -> Int {
    let tables = plan.entries.filter(\.isTable)
    let files = plan.entries.count - tables.count
    let inputs = manifest.operations.count { $0.source != nil }
    // The validation of rows beside the run is another reader.
    let readers = manifest.settings.order == .interleaved ? inputs + 1 : min(inputs, 1) + 1
    // A database has three files; reports and bookmarks are written one after another.
    return files + 3 * (Set(tables.map(\.path)).count + readers) + 8
  }
}

/// The options of one run of a manifest.
public struct RunOptions: Sendable {
  /// Whether to resume the newest journal; if there is none, a new run starts.
  public var resumes = false
  /// Whether to run only tasks that failed in the newest journal.
  public var onlyFailed = false
  /// The shard to run; `nil`, the default, runs all tasks.
  public var shard: Shard?
  /// Whether to replace snapshots that differ from the data, instead of failing the task.
  public var updatesSnapshots = false
  /// Whether to validate all rows before the first request, however long that takes.
  public var checksAllRows = false
  /// Whether to overwrite files that are not earlier outputs of the manifest, and to write into
  /// tables that no batch created.
  public var overwrites = false

  /// The default options: a new run of all tasks.
  public init() {}
}

/// The result of a run.
public struct RunSummary: Sendable {
  /// The counters of this run.
  public var counters: RunCounters
  /// The tasks of the journal by state, including earlier parts of a resumed run.
  public var counts: TaskCounts
  /// Why the run stopped early; `nil` if all tasks finished.
  public var stop: StopReason?
  /// The error of the server or the network that stopped the run.
  public var stopDetail: String?
  /// The outage that stopped the run; `nil` if it stopped for another reason.
  public var outage: Outage?
  /// The reasons of the tasks that failed in this run; `nil` if none failed.
  public var failures: FailureReasons?
  /// The duration of the run, in seconds.
  public var seconds: Double
  /// The path of the journal.
  public var journal: String
  /// The thresholds that were not met, with the measured values; empty for a run that stopped
  /// early.
  public var missedThresholds: [String]
  /// Warnings, such as columns of a sink that no record had.
  public var warnings: [String] = []
  /// Whether the run left out tasks that no part of it has ended.
  var leavesTasks = false
  /// The outputs with their records, if the run stopped early; empty for a run that has ended.
  public var outputs: [RunOutput] = []
  /// The tables of the manifest's operations, with what this part of the run has written; `nil` if no operation has
  /// `tables`.
  public var tables: TablesSummary?
  /// Time spent writing the journal, in seconds.
  public var journalSeconds: Double
  /// Time spent writing the sinks, in seconds.
  public var sinkSeconds: Double

  /// The tasks that ended in earlier parts of the run, by state.
  public var earlier: TaskCounts {
    var earlier = counts
    let own: [(TaskState, Int)] = [
      (.done, counters.done), (.failed, counters.failed), (.unknown, counters.unknown),
      (.skipped, counters.skipped),
    ]
    for (state, count) in own { earlier.byState[state] = max(counts[state] - count, 0) }
    return earlier
  }
  /// Whether a task failed, was skipped, ended in an unknown state or was left out, or a threshold was not met.
  public var hasFailures: Bool {
    counts[.failed] + counts[.unknown] + counts[.skipped] > 0 || leavesTasks
      || !missedThresholds.isEmpty
  }
}

/// How a run ended.
package struct RunEnd: Sendable {
  /// Why the run stopped early; `nil` if all tasks have ended.
  package var reason: StopReason?
  /// What the server or the network reported when the run stopped.
  package var detail: String?
  /// The outage that the run no longer waited for.
  package var outage: Outage?
  /// The duration of the run, in seconds.
  package var seconds = 0.0
}

/// The single owner of a run's end: stores the reason or the error, and resumes all suspended callers.
///
/// Workers suspend in ``TaskStore`` and ``Governor``. Both register a handler with ``onStop(_:)``,
/// so that ``stop(_:detail:outage:)`` works for all of them.
final class RunStop: Sendable {
  private struct State {
    var end = RunEnd()
    var failure: (any Error)?
    var handlers: [@Sendable () -> Void] = []
  }

  private let state = Monitor(State())

  /// Why the run stops; `nil` while it is running.
  var reason: StopReason? { end.reason }
  /// Why the run stops, so far.
  var end: RunEnd { state.withLock { $0.end } }

  /// Stops the run: no further task starts, and all suspended callers resume.
  ///
  /// Only the first reason is stored. The handlers run outside of the lock.
  func stop(_ reason: StopReason, detail: String? = nil, outage: Outage? = nil) {
    let handlers = state.update { state in
      guard state.end.reason == nil else { return [@Sendable () -> Void]() }
      state.end = RunEnd(reason: reason, detail: detail, outage: outage)
      return state.handlers
    }
    for handler in handlers { handler() }
  }

  /// Ends the run with an error, which ``waitForFailure()`` throws. Only the first one is stored.
  func fail(_ error: any Error) {
    state.update { $0.failure = $0.failure ?? error }
    stop(.interrupted)
  }

  /// Registers a handler that resumes suspended callers; calls it at once if the run has stopped.
  func onStop(_ handler: @escaping @Sendable () -> Void) {
    let hasStopped = state.withLock { state in
      if state.end.reason == nil { state.handlers.append(handler) }
      return state.end.reason != nil
    }
    if hasStopped { handler() }
  }

  /// Suspends until the run stops, or the task is cancelled.
  func wait() async { try? await state.wait { $0.end.reason != nil } }

  /// Suspends until the run has failed, and throws its error. Returns if the task is cancelled.
  func waitForFailure() async throws {
    if let failure = try? await state.take({ $0.failure }) { throw failure }
  }
}
