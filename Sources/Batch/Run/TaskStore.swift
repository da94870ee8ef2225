/// The tasks of a run and their outcomes: the rows of a manifest with a journal on this machine, or a queue in a
/// database that many workers share.
///
/// A task is claimed once and ends once: ``commit(_:)`` makes its last outcome durable, or ``giveBack(_:)`` returns it.
protocol TaskStore: Sendable {
  /// The counters and the clock of the run.
  var progress: RunProgress { get }
  /// The store's number of each operation, by index in the manifest.
  var numbers: [Int] { get }
  /// The sinks of the outcomes.
  var plan: SinkPlan { get }

  /// Opens the sinks, so that errors are found before the first request.
  func open() async throws
  /// Claims the next task.
  func claim() async throws -> TaskClaim
  /// Suspends until there may be a task after ``TaskClaim/later(_:)``.
  func wait(_ ticket: Int) async throws
  /// Returns a claimed task that did not end.
  func giveBack(_ item: TaskItem)
  /// Whether the task is still this run's.
  func holds(_ item: TaskItem) -> Bool
  /// Why the results of a task are refused, so that it ends as failed: a table has a row of it under another parent;
  /// `nil` if none was refused so far.
  func refusal(of item: TaskItem) -> String?
  /// Whether requests may be sent now.
  var maySend: Bool { get }
  /// Makes outcomes durable, in this order: first in the sinks, so that an outcome that counts has its results. Calls do
  /// not overlap.
  func commit(_ outcomes: [Outcome]) async throws
  /// Records the end of the run, and closes the sinks.
  func finish(_ end: RunEnd) async throws
  /// Closes the sinks as they are, after a failure.
  func abandon() async
}

extension TaskStore {
  func wait(_ ticket: Int) async throws {}
  func holds(_ item: TaskItem) -> Bool { true }
  func refusal(of item: TaskItem) -> String? { nil }
  var maySend: Bool { true }
}

/// The result of claiming a task.
enum TaskClaim: Sendable {
  case task(TaskItem)
  /// All remaining tasks wait for the outcomes of others.
  case later(Int)
  /// No tasks are left, or the run stops.
  case none
}
