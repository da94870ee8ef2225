/// Where the tasks of a run come from: the rows of its manifest, or a queue.
protocol TaskSupply: Sendable {
  /// The time of the run.
  var time: RunTime { get }
  var counters: RunCounters { get }

  /// The next task; `nil` if there are no more. Suspends while all remaining tasks wait for others.
  func next(_ barrier: @Sendable () async throws -> Void) async throws -> TaskItem?
  /// Counts a finished task after it was submitted to the recorder.
  func finished(
    _ item: TaskItem, _ end: TaskState, _ barrier: @Sendable () async throws -> Void
  ) async throws
  /// Counts the bytes and records of a page that was submitted to the recorder.
  func note(bytes: Int, records: Int)
  /// Returns a task that did not finish.
  func putBack(_ item: TaskItem)
  /// Counts a gap in the events of a subscription.
  func noteGap()
  /// Whether the task is still this run's.
  func holds(_ item: TaskItem) -> Bool
  /// Whether requests may be sent now.
  var maySend: Bool { get }
}

extension TaskSupply {
  func holds(_ item: TaskItem) -> Bool { true }
  var maySend: Bool { true }
}

/// Makes outcomes durable.
protocol OutcomeStage: Sendable {
  /// Makes the outcomes durable, in this order. Calls do not overlap.
  func commit(_ outcomes: [Outcome]) async throws
}

extension SinkStage: OutcomeStage {}
