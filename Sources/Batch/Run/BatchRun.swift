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
  /// Time spent on journal and sinks.
  public var journalSeconds: Double
  public var sinkSeconds: Double

  public var isResumable: Bool { stop != nil }
  public var hasFailures: Bool {
    counts[.failed] + counts[.unknown] + counts[.skipped] > 0 || !missedThresholds.isEmpty
  }
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
    let journal = try JournalFolder(manifest, shard: options.shard).open(
      resumes: options.resumes || options.onlyFailed, at: services.secondsSince1970())
    let numbers = try journal.register(manifest.operations.map(\.id))
    let feed = try TaskFeed(
      manifest, state: state, numbers: numbers, journal: journal, options: options,
      services: services)
    let settings = runnable(plan)
    let governor = Governor(
      settings, limits: manifest.rate, endpoint: manifest.pipeline.endpoint,
      services: services)
    let stage = try SinkStage(
      manifest, journal: journal, plan: plan,
      cache: manifest.keepsInCache ? services.store : nil)
    let recorder = Recorder(stage) { feed.settle($0) }
    let runner = TaskRunner(
      manifest: manifest, runner: PipelineRunner(manifest.pipeline, services: services),
      governor: governor, recorder: recorder, feed: feed, plan: plan, numbers: numbers,
      options: options)
    if isChecked, await check.isExact { feed.setTotal(await check.count) }
    try journal.set(["name": manifest.name, "manifest": manifest.file, "ended": ""])
    if try journal.meta("started") == nil {
      try journal.set(["started": "\(feed.time.now())"])
    }
    await control.begin(feed, governor)

    let clock = ContinuousClock()
    let start = clock.now
    do {
      try await stage.open()
      try await work(runner, settings, check, isChecked)
      try await recorder.barrier()
      let seconds = (clock.now - start).seconds
      let stop = feed.reason
      let keeps = stop == nil ? feed.operationsWithoutFailure() : []
      try await stage.finish(isComplete: stop == nil)
      // Bookmarks only when everything they stand for is in the sinks.
      if let file = manifest.stateFile, stop == nil {
        try StateFile.save(
          await stage.currentBookmarks(), of: Set(keeps.map { numbers[$0] }), over: state, to: file)
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
      if stop == nil { try ReportWriter(journal, manifest: manifest).write() }
      let summary = RunSummary(
        counters: counters, counts: counts, stop: stop, stopDetail: feed.stopDetail,
        seconds: seconds, journal: journal.path,
        missedThresholds: missed, journalSeconds: await stage.journalTime.seconds,
        sinkSeconds: await stage.fileTime.seconds)
      await stage.close()
      return summary
    } catch {
      await stage.abandon()
      await stage.close()
      throw error
    }
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

  /// Runs tasks until there are no more, or the run stops.
  private func work(
    _ runner: TaskRunner, _ settings: RunSettings, _ check: RowCheck, _ isChecked: Bool
  ) async throws {
    let feed = runner.feed
    try await withThrowingTaskGroup(of: Void.self) { group in
      if let deadline = settings.deadline {
        group.addTask { [clock = services.clock] in
          do { try await clock.sleep(for: deadline) } catch { return }
          feed.stop(.deadline)
          runner.governor.wakeAll()
        }
      }
      if !isChecked {
        group.addTask { [logger = services.logger] in
          _ = await check.advance(for: nil)
          for problem in await check.problems { logger.warning("\(problem)") }
          if await check.isDone, await check.isExact { feed.setTotal(await check.count) }
        }
      }
      try await withThrowingTaskGroup(of: Void.self) { workers in
        let executors = services.transport?.executors ?? []
        for number in 0..<settings.concurrency {
          workers.addTask(
            executorPreference: executors.isEmpty ? nil : executors[number % executors.count]
          ) {
            while let item = try await feed.next({ try await runner.recorder.barrier() }) {
              try await runner.run(item)
            }
          }
        }
        do {
          try await workers.waitForAll()
        } catch {
          // The others must not wait for what will not come.
          feed.stop(.interrupted)
          runner.governor.wakeAll()
          workers.cancelAll()
          throw error
        }
      }
      group.cancelAll()
    }
  }
}

/// Stops a run, and tells how it stands.
public actor RunControl {
  private var feed: TaskFeed?
  private var governor: Governor?
  private var isStopped = false

  public init() {}

  func begin(_ feed: TaskFeed, _ governor: Governor) async {
    self.feed = feed
    self.governor = governor
    if isStopped { feed.stop(.interrupted) }
  }

  /// Begins no further task; those in flight end, and everything is written.
  public func stop() async {
    isStopped = true
    feed?.stop(.interrupted)
    governor?.wakeAll()
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
