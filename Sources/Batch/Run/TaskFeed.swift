/// The tasks of a run, from their claim to their end.
///
/// Claims tasks from the store, and submits their outcomes to the recorder: as they arrive, or in the order of the rows
/// for `order: output`.
final class TaskFeed: Sendable {
  let progress: RunProgress
  let store: any TaskStore
  fileprivate let recorder: Recorder
  /// The order of the results; `nil` if they are submitted as they arrive.
  fileprivate let order: OutputOrder?

  init(_ store: any TaskStore, recorder: Recorder, settings: RunSettings) {
    self.store = store
    self.recorder = recorder
    progress = store.progress
    order =
      settings.order == .output
      ? OutputOrder(window: OutputOrder.window(settings.concurrency)) : nil
  }

  /// The next task; `nil` if there are no more. Suspends while all remaining tasks wait for others.
  func next() async throws -> TaskItem? {
    try await order?.start()
    do {
      while true {
        switch try await store.claim() {
        case .task(let item): return item
        case .none:
          order?.skip()
          return nil
        case .later(let ticket):
          // What the remaining tasks wait for may not be durable yet.
          try await recorder.barrier()
          try await store.wait(ticket)
        }
      }
    } catch {
      order?.skip()
      throw error
    }
  }

  /// The results of a claimed task.
  func results(of item: TaskItem) -> TaskResults {
    TaskResults(of: item, in: self)
  }
}

/// The results of one task, and its end: one of ``end(_:)`` and ``withdraw()``.
struct TaskResults: Sendable {
  private let item: TaskItem
  private let feed: TaskFeed
  /// The results that wait for the task's turn.
  private var kept: [Outcome] = []
  /// The sums of the task that the run has counted, or that an earlier run has recorded.
  private var bytes = 0
  private var records = 0

  fileprivate init(of item: TaskItem, in feed: TaskFeed) {
    self.item = item
    self.feed = feed
    if let record = item.record, record.page > 0 {
      bytes = record.bytes
      records = record.records
    }
  }

  /// Suspends until the results of the task would be submitted at once. Returns `false` if they would be discarded.
  func turn() async throws -> Bool {
    try await feed.order?.turn(of: item.position) ?? true
  }

  /// Whether the task is still this run's.
  var isHeld: Bool { feed.store.holds(item) }

  /// Makes a state of the task durable before it continues. Returns `false` if the task is not this run's any more.
  func begin(_ outcome: Outcome) async throws -> Bool {
    try await feed.recorder.durably(outcome)
    return feed.store.holds(item)
  }

  /// Submits the result of one page. Returns `false` if it is discarded, because an earlier task was
  /// withdrawn.
  mutating func submit(_ outcome: Outcome) async throws -> Bool {
    if let order = feed.order {
      if order.keeps(outcome.size, at: item.position) {
        kept.append(outcome)
        return true
      }
      guard try await order.turn(of: item.position, bytes: outcome.size) else { return false }
      try await submitKept()
    }
    try await count(outcome)
    return true
  }

  /// Submits the last result, with which the task ends. Returns `false` if it is discarded.
  mutating func end(_ outcome: Outcome) async throws -> Bool {
    guard let order = feed.order else {
      try await count(outcome)
      feed.progress.end(outcome.update.state)
      return true
    }
    return try await end(outcome, in: order)
  }

  /// Not inlined, because every task would have its frame.
  @inline(never)
  private mutating func end(_ outcome: Outcome, in order: OutputOrder) async throws -> Bool {
    kept.append(outcome)
    if order.keeps(outcome.size, at: item.position, ending: self) { return true }
    guard try await order.turn(of: item.position, bytes: outcome.size) else { return false }
    try await submitEnded()
    var last = item.position
    while var next = order.end(last) {
      try await next.submitEnded()
      last = next.item.position
    }
    return true
  }

  /// Ends a task that the run does not complete; its results that wait are discarded.
  func withdraw() {
    feed.store.giveBack(item)
    feed.order?.withdraw(item.position)
  }

  /// Submits the waiting results.
  private mutating func submitKept() async throws {
    for outcome in kept { try await count(outcome) }
    kept = []
  }

  /// Submits the waiting results, the last of which ends the task.
  private mutating func submitEnded() async throws {
    let end = kept.last?.update.state
    try await submitKept()
    if let end { feed.progress.end(end) }
  }

  /// Submits a result, and counts what it adds to those of its task.
  private mutating func count(_ outcome: Outcome) async throws {
    try await feed.recorder.submit(outcome)
    let update = outcome.update
    feed.progress.change {
      $0.bytes += update.bytes - bytes
      $0.records += update.records - records
    }
    bytes = update.bytes
    records = update.records
  }
}
