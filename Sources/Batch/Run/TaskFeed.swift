/// The tasks of a run, from their claim to their end.
///
/// Claims tasks from the store, and submits their outcomes to the recorder: as they arrive, or in the order of the rows
/// for `order: output`.
final class TaskFeed: Sendable {
  let progress: RunProgress
  private let store: any TaskStore
  private let recorder: Recorder
  /// The order of the results; `nil` if they are submitted as they arrive.
  private let order: OutputOrder?

  init(_ store: any TaskStore, recorder: Recorder, settings: RunSettings) {
    self.store = store
    self.recorder = recorder
    progress = store.progress
    order = settings.order == .output ? OutputOrder(concurrency: settings.concurrency) : nil
  }

  /// The number of workers: with an order, some wait for their turn.
  func workers(_ concurrency: Int) -> Int {
    order == nil ? concurrency : OutputOrder.window(concurrency)
  }

  /// The next task; `nil` if there are no more. Suspends while all remaining tasks wait for others.
  func next() async throws -> TaskItem? {
    await order?.start()
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
    TaskResults(of: item, store: store, recorder: recorder, order: order)
  }

  /// Whether requests may be sent now.
  var maySend: Bool { store.maySend }
}

/// The results of one task, and its end: one of ``end(_:)`` and ``withdraw()``.
struct TaskResults: Sendable {
  private let item: TaskItem
  private let store: any TaskStore
  private let recorder: Recorder
  private let order: OutputOrder?
  /// The results that wait for the task's turn.
  private var kept: [Outcome] = []
  /// The sums of the task that the run has counted, or that an earlier run has recorded.
  private var bytes = 0
  private var records = 0

  fileprivate init(
    of item: TaskItem, store: any TaskStore, recorder: Recorder, order: OutputOrder?
  ) {
    self.item = item
    self.store = store
    self.recorder = recorder
    self.order = order
    if let record = item.record, record.page > 0 {
      bytes = record.bytes
      records = record.records
    }
  }

  /// Suspends until the results of the task would be submitted at once. Returns `false` if they would be discarded.
  func turn() async -> Bool { await order?.turn(of: item.position) ?? true }

  /// Makes a state of the task durable before it continues. Returns `false` if the task is not this run's any more.
  func begin(_ outcome: Outcome) async throws -> Bool {
    try await recorder.durably(outcome)
    return store.holds(item)
  }

  /// Submits the result of one page. Returns `false` if it is discarded, because an earlier task was
  /// withdrawn.
  mutating func submit(_ outcome: Outcome) async throws -> Bool {
    if let order, order.keeps(outcome.size, at: item.position) {
      kept.append(outcome)
      return true
    }
    return try await record(outcome)
  }

  /// Submits the last result, with which the task ends. Returns `false` if it is discarded.
  mutating func end(_ outcome: Outcome) async throws -> Bool {
    guard try await record(outcome) else { return false }
    store.progress.end(outcome.update.state)
    order?.end(item.position)
    return true
  }

  /// Ends a task that the run does not complete; its results that wait are discarded.
  func withdraw() {
    store.giveBack(item)
    order?.withdraw(item.position)
  }

  /// Submits the waiting results and another one as soon as the task has the turn.
  private mutating func record(_ outcome: Outcome) async throws -> Bool {
    if let order {
      guard await order.turn(of: item.position, bytes: outcome.size) else { return false }
    }
    for earlier in kept { try await count(earlier) }
    kept = []
    try await count(outcome)
    return true
  }

  /// Submits a result, and counts what it adds to those of its task.
  private mutating func count(_ outcome: Outcome) async throws {
    try await recorder.submit(outcome)
    let update = outcome.update
    store.progress.note(bytes: update.bytes - bytes, records: update.records - records)
    bytes = update.bytes
    records = update.records
  }
}
