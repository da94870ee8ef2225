import Foundation
import GQLRunCache
import GQLRunJSON
public import GQLRunPipeline
import GQLRunSupport
import Logging

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
  /// The duration of the run, in seconds.
  public var seconds: Double
  /// The path of the journal.
  public var journal: String
  /// The thresholds that were not met, with the measured values; empty for a run that stopped
  /// early.
  public var missedThresholds: [String]
  /// Warnings, such as columns of a sink that no record had.
  public var warnings: [String] = []
  /// Time spent writing the journal, in seconds.
  public var journalSeconds: Double
  /// Time spent writing the sinks, in seconds.
  public var sinkSeconds: Double

  /// Whether `--resume` can continue the run: it stopped early.
  public var isResumable: Bool { stop != nil }
  /// Whether a task failed, was skipped or ended in an unknown state, or a threshold was not met.
  public var hasFailures: Bool {
    counts[.failed] + counts[.unknown] + counts[.skipped] > 0 || !missedThresholds.isEmpty
  }
}

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

/// Runs the tasks of a manifest.
///
/// ```
/// rows ─▶ TaskFeed ─▶ TaskRunner × concurrency ─▶ Recorder ─▶ SinkStage ─▶ files, then journal
///                        │      ▲                    (groups)
///                        ▼      │ when, how many
///                     pipeline  Governor
/// ```
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
  ///   the journal is unusable, ``StoppedByStorage`` if an output cannot be written.
  public func run(_ control: RunControl = RunControl()) async throws -> RunSummary {
    let state = try StateFile.read(manifest.stateFile)
    let check = RowCheck(manifest, state: state)
    let isChecked = await check.advance(for: options.checksAllRows ? nil : Self.checkTime)
    let problems = await check.problems
    guard problems.isEmpty else { throw RowProblems(problems: problems) }

    let plan = try SinkPlan(manifest, suffix: options.shard?.label ?? "")
    let folder = JournalFolder(manifest, shard: options.shard)
    let resumes = (options.resumes || options.onlyFailed) && folder.all().last != nil
    var ledger = try OutputLedger(manifest, shard: options.shard)
    // A refused run must not leave a journal.
    if !resumes { try checkOutputs(plan, ledger, nil) }
    let journal = try folder.open(resumes: resumes, at: services.secondsSince1970())
    if resumes {
      do {
        try checkOutputs(plan, ledger, journal)
      } catch {
        journal.close()
        throw error
      }
    }
    let numbers = try journal.register(manifest.operations.map(\.id))
    let stop = RunStop()
    let feed = try TaskFeed(
      manifest, state: state, numbers: numbers, journal: journal, options: options,
      services: services, stop: stop)
    let settings = runnable(plan)
    let governor = Governor(
      settings, limits: manifest.rate, endpoint: manifest.pipeline.endpoint,
      services: services)
    stop.onStop { governor.wakeAll() }
    let stage = try SinkStage(
      manifest, journal: journal, plan: plan, shard: options.shard,
      cache: manifest.keepsInCache ? services.store : nil)
    let (failures, report) = AsyncStream.makeStream(of: (any Error).self)
    let recorder = Recorder(stage, settled: { feed.settle($0) }, failed: { report.yield($0) })
    let runner = TaskRunner(
      manifest: manifest, runner: PipelineRunner(manifest.pipeline, services: services),
      governor: governor, recorder: recorder, feed: feed, stop: stop, plan: plan,
      numbers: numbers, options: options)
    if isChecked, await check.isExact { feed.setTotal(await check.count) }
    try journal.set(["name": manifest.name, "manifest": manifest.file, "ended": ""])
    if try journal.meta("started") == nil {
      try journal.set(["started": "\(feed.time.now())"])
    }
    await control.begin(stop, feed, governor)

    let clock = ContinuousClock()
    let start = clock.now
    do {
      let files = plan.entries.filter { !$0.isTable && $0.path != "-" }.map(\.path)
      // Before the files are created: a run killed right after must not block the next one.
      try ledger.begin(files)
      try await stage.open()
      try ledger.begin(files, inodes: await stage.inodes())
      try await work(runner, settings, check, isChecked, failures)
      try await recorder.barrier()
      let seconds = (clock.now - start).seconds
      let (stop, detail) = (stop.reason, stop.detail)
      let keeps = stop == nil ? feed.operationsWithoutFailure() : []
      ledger = try await stage.finish(isComplete: stop == nil, files, ledger)
      // Bookmarks are saved only once all results they cover are in the sinks.
      if let file = manifest.stateFile, stop == nil {
        try ledger.willReplace([file])
        try StateFile.save(
          await stage.currentBookmarks(), of: Set(keeps.map { numbers[$0] }), over: state, to: file)
        try ledger.end([file])
      }
      let counters = feed.counters
      let counts = try journal.counts()
      let missed =
        // Reading the whole journal again is slow, so only when there are thresholds.
        stop == nil && !manifest.thresholds.isEmpty
        ? try ReportData(journal, manifest: manifest).missed(
          manifest.thresholds, runSeconds: seconds) : []
      try journal.set([
        "ended": "\(feed.time.now())", "stop": stop.map { "\($0)" } ?? "",
        "total": counters.total.map { "\($0)" } ?? "",
      ])
      if stop == nil { try ReportWriter(journal, manifest: manifest).write(&ledger) }
      let summary = RunSummary(
        counters: counters, counts: counts, stop: stop, stopDetail: detail,
        seconds: seconds, journal: journal.path,
        missedThresholds: missed, warnings: plan.warnings(manifest),
        journalSeconds: await stage.journalTime.seconds,
        sinkSeconds: await stage.fileTime.seconds)
      await stage.close()
      return summary
    } catch {
      // Records what finished before the failure, unless the outputs themselves failed.
      try? await recorder.barrier()
      await stage.abandon()
      await stage.close()
      throw error
    }
  }

  /// Throws ``OutputProblems`` for outputs that would overwrite an input or a foreign file.
  ///
  /// - Parameter journal: The journal of a resumed run, whose outputs are compared when the sinks
  ///   open.
  private func checkOutputs(_ plan: SinkPlan, _ ledger: OutputLedger, _ journal: Journal?) throws {
    let check = OutputCheck(manifest, plan)
    var problems = check.conflicts()
    if problems.isEmpty, !options.overwrites {
      problems = try check.foreignFiles(ledger, resuming: journal)
    }
    guard problems.isEmpty else { throw OutputProblems(problems: problems) }
  }

  /// The settings with the concurrency lowered to the number of connections that fit the limit of
  /// open files. A connection that fails because no file descriptor is free would look like an unreachable
  /// server.
  private func runnable(_ plan: SinkPlan) -> RunSettings {
    OpenFiles.raiseLimit()
    // Created on first use; its descriptors must be counted.
    _ = services.transport?.executors
    var settings = manifest.settings
    settings.concurrency = OpenFiles.requests(
      settings.concurrency, left: OpenFiles.left(), others: filesBesideConnections(plan))
    if settings.concurrency < manifest.settings.concurrency {
      services.logger.warning(
        """
        \(settings.concurrency) of \(manifest.settings.concurrency) requests at a time: the system \
        allows no more open files (ulimit -n raises that)
        """)
    }
    return settings
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

  private enum Child {
    case worker
    case helper
  }

  /// Runs tasks until none are left or the run stops.
  ///
  /// Throws the first error at once: a group that waits for all children would wait for workers
  /// that the failed child would have resumed. `failures` reports outputs that cannot be written,
  /// so the run ends even if every worker is waiting for the server.
  private func work(
    _ runner: TaskRunner, _ settings: RunSettings, _ check: RowCheck, _ isChecked: Bool,
    _ failures: AsyncStream<any Error>
  ) async throws {
    let (feed, stop) = (runner.feed, runner.stop)
    try await withThrowingTaskGroup(of: Child.self) { group in
      group.addTask {
        for await failure in failures { throw failure }
        return .helper
      }
      if let deadline = settings.deadline {
        group.addTask { [clock = services.clock] in
          do { try await clock.sleep(for: deadline) } catch { return .helper }
          stop.stop(.deadline)
          return .helper
        }
      }
      if !isChecked {
        group.addTask { [logger = services.logger] in
          _ = await check.advance(for: nil)
          for problem in await check.problems { logger.warning("\(problem)") }
          if await check.isDone, await check.isExact { feed.setTotal(await check.count) }
          return .helper
        }
      }
      let executors = services.transport?.executors ?? []
      for number in 0..<settings.concurrency {
        group.addTask(
          executorPreference: executors.isEmpty ? nil : executors[number % executors.count]
        ) {
          while let item = try await feed.next({ try await runner.recorder.barrier() }) {
            try await runner.run(item)
          }
          return .worker
        }
      }
      var workers = settings.concurrency
      do {
        while workers > 0, let child = try await group.next() {
          if child == .worker { workers -= 1 }
        }
      } catch {
        stop.stop(.interrupted)
        group.cancelAll()
        throw error
      }
      group.cancelAll()
    }
  }
}

/// Stops a run and reports its progress.
public actor RunControl {
  private var runStop: RunStop?
  private var feed: TaskFeed?
  private var governor: Governor?
  private var isStopped = false

  /// Creates a control for one run.
  public init() {}

  func begin(_ stop: RunStop, _ feed: TaskFeed, _ governor: Governor) async {
    runStop = stop
    self.feed = feed
    self.governor = governor
    if isStopped { stop.stop(.interrupted) }
  }

  /// Starts no further tasks; returns at once, and the run ends after the tasks in flight.
  public func stop() async {
    isStopped = true
    runStop?.stop(.interrupted)
  }

  /// The progress of the run; `nil` before the first task.
  public func standing() async -> RunStanding? {
    guard let feed, let governor else { return nil }
    return RunStanding(
      counters: feed.counters, inFlight: governor.inFlight,
      limit: governor.currentLimit, budget: governor.budgetLeft)
  }
}

/// The progress of a run at one moment.
public struct RunStanding: Sendable {
  /// The counters of the run.
  public var counters: RunCounters
  /// The number of requests in flight.
  public var inFlight: Int
  /// The current concurrency limit.
  public var limit: Int
  /// The server's remaining and total budget; `nil` if the server does not report it.
  public var budget: (left: Double, all: Double?)?

  /// Creates a progress value.
  ///
  /// - Parameters:
  ///   - counters: The counters of the run.
  ///   - inFlight: The number of requests in flight.
  ///   - limit: The current concurrency limit.
  ///   - budget: The server's remaining and total budget; `nil` if unknown.
  public init(
    counters: RunCounters, inFlight: Int, limit: Int, budget: (left: Double, all: Double?)? = nil
  ) {
    self.counters = counters
    self.inFlight = inFlight
    self.limit = limit
    self.budget = budget
  }
}

/// The file with the bookmarks of earlier runs.
enum StateFile {
  static func read(_ path: String?) throws -> JSONObject {
    guard let path, let data = FileManager.default.contents(atPath: path) else {
      return JSONObject()
    }
    guard let state = try? JSONValue(parsing: [UInt8](data)).objectValue else {
      throw JournalError("the state file \(path) is no JSON object; mend it or move it away")
    }
    return state
  }

  static func save(
    _ bookmarks: [String: (operation: Int, value: JSONValue)], of operations: Set<Int>,
    over state: JSONObject, to path: String
  ) throws {
    let before = state
    var state = state
    for (name, bookmark) in bookmarks.sorted(by: { $0.key < $1.key })
    where operations.contains(bookmark.operation) {
      state[name] = bookmark.value
    }
    guard state != before else { return }
    try AtomicFile.write(JSONValue.object(state).jsonBytes(pretty: true) + [0x0A], to: path)
  }
}
