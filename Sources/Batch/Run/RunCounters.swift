import GQLRunPipeline
import GQLRunSupport

/// Why a run stopped before all tasks finished.
public enum StopReason: String, Sendable {
  /// ``RunControl/stop()`` was called.
  case interrupted
  /// The manifest's deadline has passed.
  case deadline
  /// The limit of failures was exceeded.
  case tooManyFailures
  /// The server refused every request for longer than the manifest's patience.
  case throttled
  /// The server was unreachable for longer than the manifest's patience, or for 5 seconds without
  /// having answered before.
  case unreachable
  /// The server rejected the credentials.
  case unauthorized
  /// The run was cancelled in its queue.
  case cancelled
  /// The run had ended, and a user queued some of its tasks again (see ``TaskResolution``), or it left tasks out.
  case repetition

  /// The reason in words, for messages.
  public var text: String {
    switch self {
    case .interrupted: "interrupted"
    case .deadline: "deadline reached"
    case .tooManyFailures: "too many failures"
    case .throttled: "server refused requests"
    case .unreachable: "server unreachable"
    case .unauthorized: "credentials rejected"
    case .cancelled: "cancelled"
    case .repetition: "tasks are left"
    }
  }
}

/// The counters of a run.
public struct RunCounters: Sendable {
  /// The total number of tasks; `nil` while it is unknown.
  public var total: Int?
  /// The number of tasks that were started.
  public var started = 0
  /// The number of tasks that succeeded.
  public var done = 0
  /// The number of tasks that failed.
  public var failed = 0
  /// The number of mutations that were sent without receiving a response.
  public var unknown = 0
  /// The number of tasks that were skipped because something they need is missing.
  public var skipped = 0
  /// The tasks of earlier parts of the run that are not repeated, by state.
  public var earlier = TaskCounts()
  /// The number of rows whose task equals that of an earlier row.
  public var duplicates = 0
  /// The number of bytes received.
  public var bytes = 0
  /// The number of records written.
  public var records = 0
  /// The number of rows that the tables of operations had already.
  public var repeated = 0
  /// The number of gaps in the events of subscriptions.
  public var gaps = 0
  /// The number of objects that a bulk operation has read so far; 0 if none runs.
  public var bulkObjects = 0
  /// What tasks with tables requested and received; `nil` if none has started.
  var tables: TableCounters?
  /// The number of tasks that finished in this part of the run.
  public var ended: Int { done + failed + unknown + skipped }
  /// The number of tasks that finished in an earlier part of the run, whether or not they failed.
  public var alreadyDone: Int { earlier.ended }
  /// Whether a task of this part of the run did not succeed.
  public var hasFailures: Bool { failed + unknown + skipped > 0 }

  /// Creates the counters of a run that has not started.
  public init() {}
}

/// The counters of the operations with `tables` in a run.
struct TableCounters: Sendable, Equatable {
  /// The number of requests, including repeated ones.
  var requests = 0
  /// The least number of requests that could have returned the same pages: with packs that are always full.
  var leastRequests = 0
  /// The number of rows that were received, by name of the table.
  var rows: [String: Int] = [:]
  /// The number of tasks that lack pages, which `allow_partial` accepts.
  private(set) var partialTasks = 0
  /// The first of these tasks, and what it lacks.
  private var firstPartial: String?

  /// The warning about tasks that lack pages; `nil` if there are none.
  var warning: String? {
    firstPartial.map { first in
      let others =
        partialTasks > 1 ? "; and \(Quantity.count(partialTasks - 1, "further task"))" : ""
      return "pages are missing, as `allow_partial` accepts: \(first)\(others)"
    }
  }

  /// Counts a task that lacks pages.
  ///
  /// - Parameter problem: The message with which it would have failed.
  mutating func addPartial(task: String, _ problem: String) {
    partialTasks += 1
    firstPartial = firstPartial ?? "\(task) is \(problem)"
  }
}

extension RunCounters {
  /// Counts the rows of all tables of a plan from now on.
  mutating func begin(_ plan: TablePlan) {
    var counters = tables ?? TableCounters()
    for table in plan.tables { counters.rows[table.name] = counters.rows[table.name] ?? 0 }
    tables = counters
  }
}

/// The counters of a run while its tasks are running, and its clock.
final class RunProgress: Sendable {
  private let clock: ServiceClock
  /// The time of day at which the run started, and that of the clock.
  private let beginning: Double
  private let startTime: Duration
  private let limit: RunSettings.FailureLimit?
  private let stop: RunStop
  private let state = Locked(RunCounters())

  /// Creates the progress of a run that starts now.
  ///
  /// - Parameters:
  ///   - manifest: The manifest, with its limit of failures.
  ///   - services: The clocks.
  ///   - earlier: The latest time in the journal, in seconds since 1970; the time of day may have been set back since.
  ///   - stop: Stops the run after too many failures.
  init(_ manifest: Manifest, _ services: Services, after earlier: Double = 0, stop: RunStop) {
    clock = services.clock
    beginning = max(services.secondsSince1970(), earlier)
    startTime = services.clock.now()
    limit = manifest.settings.failureLimit
    self.stop = stop
  }

  /// The time of the run, in seconds since 1970: the time of day at its start, advanced by a monotonic clock. Later events
  /// of a run, or of a later run with the same journal, have later times.
  func now() -> Double { beginning + (clock.now() - startTime).seconds }

  var counters: RunCounters { state.withLock { $0 } }

  /// Sets the number of all tasks.
  func setTotal(_ total: Int?) { change { $0.total = total } }

  /// Changes counters.
  func change(_ body: (inout RunCounters) -> Void) { state.withLock { body(&$0) } }

  /// Counts a task that starts, and returns the number of tasks that started before.
  func start() -> Int {
    state.withLock { counters in
      defer { counters.started += 1 }
      return counters.started
    }
  }

  /// Counts a task that has ended. Stops the run after too many failures.
  func end(_ end: TaskState) {
    let counters = state.withLock { counters in
      switch end {
      case .done: counters.done += 1
      case .failed: counters.failed += 1
      case .unknown: counters.unknown += 1
      case .skipped: counters.skipped += 1
      case .queued, .running: break
      }
      return counters
    }
    if limit?.isExceeded(by: counters) == true { stop.stop(.tooManyFailures) }
  }
}

extension RunProgress {
  /// Counts a task as failed that counted as done: a table has refused its last rows.
  func refuse() {
    change { $0.done -= 1 }
    end(.failed)
  }
}

extension RunSettings.FailureLimit {
  /// Whether there are more failures than the limit allows.
  func isExceeded(by counters: RunCounters) -> Bool {
    let failures = counters.failed + counters.unknown
    switch self {
    case .count(let most): return failures > most
    case .share(let share):
      return counters.ended >= 100 && Double(failures) > share * Double(counters.ended)
    }
  }
}

/// Stops a run and reports its progress.
public actor RunControl {
  private var run: (stop: RunStop, progress: RunProgress, governor: Governor)?
  private var isStopped = false

  /// Creates a control for one run.
  public init() {}

  func begin(_ stop: RunStop, progress: RunProgress, governor: Governor) async {
    run = (stop, progress, governor)
    if isStopped { stop.stop(.interrupted) }
  }

  /// Starts no further tasks; returns at once, and the run ends after the tasks in flight.
  public func stop() async {
    isStopped = true
    run?.stop.stop(.interrupted)
  }

  /// The progress of the run; `nil` before the first task.
  public func standing() async -> RunStanding? {
    guard let (_, progress, governor) = run else { return nil }
    return RunStanding(
      counters: progress.counters, inFlight: governor.inFlight,
      limit: governor.currentLimit, budget: governor.budgetLeft, outage: governor.outage)
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
  /// Why the run waits for the server; `nil` if the server responds.
  public var outage: Outage?

  /// Creates a progress value.
  ///
  /// - Parameters:
  ///   - counters: The counters of the run.
  ///   - inFlight: The number of requests in flight.
  ///   - limit: The current concurrency limit.
  ///   - budget: The server's remaining and total budget; `nil` if unknown.
  ///   - outage: Why the run waits for the server; `nil` if the server responds.
  public init(
    counters: RunCounters, inFlight: Int, limit: Int, budget: (left: Double, all: Double?)? = nil,
    outage: Outage? = nil
  ) {
    self.counters = counters
    self.inFlight = inFlight
    self.limit = limit
    self.budget = budget
    self.outage = outage
  }
}
