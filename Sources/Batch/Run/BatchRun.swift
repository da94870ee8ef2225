import Foundation
import GQLRunCache
import GQLRunJSON
public import GQLRunPipeline
import GQLRunSupport
import Logging

/// How one run goes about a manifest.
public struct RunOptions: Sendable {
  /// Continues the newest journal.
  public var resumes = false
  /// Runs again what failed, and nothing else.
  public var onlyFailed = false
  public var shard: Shard?
  public var updatesSnapshots = false
  /// Checks every row before the first request, however long that takes.
  public var checksAllRows = false
  /// Replaces files that are not earlier outputs of the manifest, and writes into tables that no batch made.
  public var overwrites = false

  public init() {}
}

/// What came of a run.
public struct RunSummary: Sendable {
  public var counters: RunCounters
  public var counts: TaskCounts
  public var stop: StopReason?
  /// What the server or the network said when it came to that.
  public var stopDetail: String?
  public var seconds: Double
  public var journal: String
  /// The thresholds that were not kept.
  public var missedThresholds: [String]
  /// What the manifest asks for and no result had, such as a column.
  public var warnings: [String] = []
  /// Time spent on journal and sinks.
  public var journalSeconds: Double
  public var sinkSeconds: Double

  public var isResumable: Bool { stop != nil }
  public var hasFailures: Bool {
    counts[.failed] + counts[.unknown] + counts[.skipped] > 0 || !missedThresholds.isEmpty
  }
}

/// Outputs that must not be written, found before anything was sent.
public struct OutputProblems: Error, Sendable, CustomStringConvertible {
  public var problems: [OutputProblem]

  public var description: String { problems.map(\.description).joined(separator: "\n") }
}

/// Rows that do not fit, found before anything was sent.
public struct RowProblems: Error, Sendable, CustomStringConvertible {
  public var problems: [String]

  public var description: String { problems.joined(separator: "\n") }
}

/// One run of a manifest.
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

  /// How long rows are checked before the first request.
  static let checkTime = Duration.milliseconds(800)

  public init(_ manifest: Manifest, options: RunOptions, services: Services) {
    self.manifest = manifest
    self.options = options
    self.services = services
  }

  /// Runs everything there is to run.
  ///
  /// - Parameter control: Stops the run, and tells how it stands.
  /// - Throws: ``RowProblems`` before anything was sent, ``JournalError``, ``StoppedByStorage``.
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
    // A run that is refused leaves no journal.
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
      // Before the files are made: a run that is killed at once leaves nothing that the next one refuses.
      try ledger.begin(files)
      try await stage.open()
      try ledger.begin(files, inodes: await stage.inodes())
      try await work(runner, settings, check, isChecked, failures)
      try await recorder.barrier()
      let seconds = (clock.now - start).seconds
      let (stop, detail) = (stop.reason, stop.detail)
      let keeps = stop == nil ? feed.operationsWithoutFailure() : []
      ledger = try await stage.finish(isComplete: stop == nil, files, ledger)
      // Bookmarks only when everything they stand for is in the sinks.
      if let file = manifest.stateFile, stop == nil {
        try ledger.willReplace([file])
        try StateFile.save(
          await stage.currentBookmarks(), of: Set(keeps.map { numbers[$0] }), over: state, to: file)
        try ledger.end([file])
      }
      let counters = feed.counters
      let counts = try journal.counts()
      let missed =
        // To read the whole journal again takes its time.
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
      // What ended before the failure is kept, unless the outputs are what failed.
      try? await recorder.barrier()
      await stage.abandon()
      await stage.close()
      throw error
    }
  }

  /// Refuses outputs that would replace an input, or a file that is not an earlier output.
  ///
  /// - Parameter journal: That of a run that goes on; what it recorded is compared when the sinks are opened.
  private func checkOutputs(_ plan: SinkPlan, _ ledger: OutputLedger, _ journal: Journal?) throws {
    let check = OutputCheck(manifest, plan)
    var problems = check.conflicts()
    if problems.isEmpty, !options.overwrites {
      problems = try check.foreignFiles(ledger, resuming: journal)
    }
    guard problems.isEmpty else { throw OutputProblems(problems: problems) }
  }

  /// The settings, with no more requests at a time than there can be connections: one that cannot be
  /// made for want of a descriptor would look like a server that is not there.
  private func runnable(_ plan: SinkPlan) -> RunSettings {
    OpenFiles.raiseLimit()
    // Made with the first use, and counted with what is open.
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

  /// How many files the run opens, at most, apart from its connections.
  func filesBesideConnections(_ plan: SinkPlan) -> Int {
    let tables = plan.entries.filter(\.isTable)
    let files = plan.entries.count - tables.count
    let inputs = manifest.operations.count { $0.source != nil }
    // Rows that are checked beside the run are another reader.
    let readers = manifest.settings.order == .interleaved ? inputs + 1 : min(inputs, 1) + 1
    // A database has three files; reports and bookmarks come one by one.
    return files + 3 * (Set(tables.map(\.path)).count + readers) + 8
  }

  private enum Child {
    case worker
    case helper
  }

  /// Runs tasks until there are no more, or the run stops.
  ///
  /// Ends with the first error: a group that waits for all of its children would wait for workers that are
  /// suspended until the failed one brings work. `failures` reports outputs that cannot be written, so the
  /// run ends even while every worker waits for the server.
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

/// Stops a run, and tells how it stands.
public actor RunControl {
  private var runStop: RunStop?
  private var feed: TaskFeed?
  private var governor: Governor?
  private var isStopped = false

  public init() {}

  func begin(_ stop: RunStop, _ feed: TaskFeed, _ governor: Governor) async {
    runStop = stop
    self.feed = feed
    self.governor = governor
    if isStopped { stop.stop(.interrupted) }
  }

  /// Begins no further task; those in flight end, and everything is written.
  public func stop() async {
    isStopped = true
    runStop?.stop(.interrupted)
  }

  /// `nil` before the first task.
  public func standing() async -> RunStanding? {
    guard let feed, let governor else { return nil }
    return RunStanding(
      counters: feed.counters, inFlight: governor.inFlight,
      limit: governor.currentLimit, budget: governor.budgetLeft)
  }
}

/// How a run stands at one moment.
public struct RunStanding: Sendable {
  public var counters: RunCounters
  /// Requests under way, and how many may be.
  public var inFlight: Int
  public var limit: Int
  /// What the server says is left of its budget, and how much there is; `nil` when it does not say.
  public var budget: (left: Double, all: Double?)?

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
