import Foundation
import GQLRunJSON
import GQLRunPipeline
import GQLRunSupport

/// Produces tasks in the order of the manifest, and counts their outcomes.
///
/// Rows are read on demand, in constant memory. Behind a lock rather than an actor, because every
/// task enters several times and rarely waits.
final class TaskFeed: TaskSupply {
  private struct Progress {
    var openNeeds: Set<Int>
    var source: (any RowSource)?
    var isExhausted = false
    var open = 0
    var isDone = false
    var succeeded = 0
    var ended = 0
    /// A needed operation of which no task succeeded.
    var missing: String?
  }

  private struct State {
    var operations: [Progress]
    var seen: SeenTasks
    var open: Set<TaskID> = []
    var doneCount = 0
    var firstOpen = 0
    var turn = 0
    var waiters: [CheckedContinuation<Void, Never>] = []
    /// The number of times that waiting callers were resumed.
    var wakes = 0
    var counters = RunCounters()
  }

  /// The result of looking for the next task.
  private enum Step {
    case task(TaskItem)
    /// The journal must look up the task, and has no index yet.
    case unindexed(TaskItem)
    /// An operation has no further rows and no open tasks.
    case completed(Int)
    case again
    case wait(wakes: Int)
    case end
  }

  private let manifest: Manifest
  private let makers: [TaskMaker]
  private let numbers: [Int]
  private let journal: Journal
  private let shard: Shard?
  private let onlyFailed: Bool
  private let dependents: [[Int]]
  /// Tasks whose end time is later than this, in seconds since 1970, finished in this run. Never
  /// earlier than the end times of earlier runs, even if the time of day was set back since.
  let started: Double
  /// The clock of the run, starting at `started`.
  let time: RunTime
  private let stop: RunStop
  private let state: Locked<State>

  init(
    _ manifest: Manifest, state: JSONObject, numbers: [Int], journal: Journal, options: RunOptions,
    services: Services, stop: RunStop = RunStop()
  ) throws {
    self.stop = stop
    self.manifest = manifest
    self.numbers = numbers
    self.journal = journal
    shard = options.shard
    onlyFailed = options.onlyFailed
    makers = manifest.operations.map { TaskMaker($0, state: state) }
    var dependents: [[Int]] = Array(repeating: [], count: manifest.operations.count)
    for operation in manifest.operations {
      for need in operation.needs { dependents[need].append(operation.index) }
    }
    self.dependents = dependents
    var seen = SeenTasks()
    var last = 0.0
    try journal.forEachTask { id, ended in
      seen.insert(id)
      last = max(last, ended)
    }
    time = RunTime(services, after: last)
    started = time.now()
    self.state = Locked(
      State(
        operations: manifest.operations.map { Progress(openNeeds: Set($0.needs)) }, seen: seen))
    stop.onStop { [weak self] in self?.wake() }
  }

  var counters: RunCounters { state.withLock { $0.counters } }

  func setTotal(_ total: Int?) { state.withLock { $0.counters.total = total } }

  /// The next task; `nil` if there are no more. Suspends while all remaining tasks wait for others.
  func next(_ barrier: @Sendable () async throws -> Void) async throws -> TaskItem? {
    while true {
      switch try await nextStep() {
      case .task(let item): return item
      case .completed(let operation): try await complete(operation, barrier)
      case .again, .unindexed: continue
      case .end: return nil
      case .wait(let wakes):
        await withCheckedContinuation { continuation in
          let mustWait = state.withLock { state in
            // The state may have changed since.
            guard state.wakes == wakes else { return false }
            state.waiters.append(continuation)
            return true
          }
          if !mustWait { continuation.resume() }
        }
      }
    }
  }

  private func nextStep() async throws -> Step {
    let next = try state.withLock { try step(&$0) }
    guard case .unindexed(let item) = next else { return next }
    // Takes about a second per million tasks, so neither under the lock nor on an event loop.
    try await journal.index()
    return try state.withLock { state in
      state.operations[item.operation].open -= 1
      return try take(&state, item)
    }
  }

  private func step(_ state: inout State) throws -> Step {
    if stop.reason != nil { return .end }
    guard let position = pick(&state) else {
      return state.doneCount == state.operations.count ? .end : .wait(wakes: state.wakes)
    }
    guard let item = try produce(&state, position) else {
      state.operations[position].isExhausted = true
      return state.operations[position].open == 0 ? .completed(position) : .again
    }
    return try take(&state, item)
  }

  private func take(_ state: inout State, _ item: TaskItem) throws -> Step {
    let position = item.operation
    let isSeen = state.seen.mayContain(item.id)
    // With `order: output`, no row may overtake this one, so the journal creates its index at once.
    if isSeen, manifest.settings.order != .output, !journal.isIndexed, isOurs(item),
      !state.open.contains(item.id)
    {
      // Keeps the operation open in the meantime.
      state.operations[position].open += 1
      return .unindexed(item)
    }
    if var ready = try admit(&state, item, isSeen: isSeen) {
      if let missing = state.operations[position].missing {
        ready.skip(missing: missing)
      }
      return .task(ready)
    }
    // An operation without rows has one task, which is already done.
    let isOver = state.operations[position].isExhausted && state.operations[position].open == 0
    return isOver ? .completed(position) : .again
  }

  private func isOurs(_ item: TaskItem) -> Bool { shard.map { item.id.belongs(to: $0) } ?? true }

  /// An operation with rows left whose needs are met.
  private func pick(_ state: inout State) -> Int? {
    let operations = state.operations.indices
    func mayRun(_ position: Int, _ state: State) -> Bool {
      !state.operations[position].isExhausted && state.operations[position].openNeeds.isEmpty
    }
    while state.firstOpen < operations.count, state.operations[state.firstOpen].isExhausted {
      state.firstOpen += 1
    }
    guard state.firstOpen < operations.count else { return nil }
    switch manifest.settings.order {
    case .declared, .output:
      return operations[state.firstOpen...].first { mayRun($0, state) }
    case .interleaved:
      for step in 0..<operations.count {
        let position = (state.turn + step) % operations.count
        if mayRun(position, state) {
          state.turn = position + 1
          return position
        }
      }
      return nil
    }
  }

  private func produce(_ state: inout State, _ position: Int) throws -> TaskItem? {
    // Operations are large; nothing here copies one per task.
    let captured: (String) throws -> [String: JSONObject] = { [self] key in
      try journal.captures(
        of: manifest.operations[position].needs, in: manifest, numbers, key: key)
    }
    guard manifest.operations[position].source != nil else {
      // An operation without rows has a single task.
      state.operations[position].isExhausted = true
      return try makers[position].item(nil, captured: captured)
    }
    if state.operations[position].source == nil, let settings = manifest.operations[position].source
    {
      state.operations[position].source = try settings.open(
        manifest, journal: journal, numbers: numbers)
    }
    guard let row = try state.operations[position].source?.next() else {
      state.operations[position].source = nil
      return nil
    }
    return try makers[position].item(row, captured: captured)
  }

  /// The task if it must run; counts tasks that are already done.
  private func admit(_ state: inout State, _ item: TaskItem, isSeen: Bool) throws -> TaskItem? {
    guard isOurs(item) else { return nil }
    var item = item
    if isSeen {
      if state.open.contains(item.id) {
        state.counters.duplicates += 1
        return nil
      }
      if let record = try journal.task(item.id) {
        let isOfThisRun = record.ended > started
        let isRerun =
          switch record.state {
          case _ where isOfThisRun: false
          case .queued, .running: !onlyFailed
          case .failed: onlyFailed
          // Repeated only if that is safe.
          case .unknown: manifest.operations[item.operation].mayRepeat
          case .done, .skipped: false
          }
        guard isRerun else {
          if isOfThisRun {
            state.counters.duplicates += 1
          } else {
            state.counters.earlier.byState[record.state, default: 0] += 1
            state.operations[item.operation].ended += 1
            if record.state == .done { state.operations[item.operation].succeeded += 1 }
          }
          return nil
        }
        item.record = record
      } else if onlyFailed {
        return nil
      }
    } else if onlyFailed {
      return nil
    }
    if !isSeen { state.seen.insert(item.id) }
    state.open.insert(item.id)
    state.operations[item.operation].open += 1
    item.position = state.counters.started
    state.counters.started += 1
    return item
  }

  /// Counts a finished task after it was submitted to the recorder.
  func finished(
    _ item: TaskItem, end: TaskState, barrier: @Sendable () async throws -> Void
  ) async throws {
    let position = item.operation
    let (isLast, hasStopped) = state.withLock { state in
      state.counters.note(end)
      state.operations[position].ended += 1
      if end == .done { state.operations[position].succeeded += 1 }
      let hasStopped = hasTooManyFailures(state.counters)
      state.operations[position].open -= 1
      return (
        state.operations[position].open == 0 && state.operations[position].isExhausted, hasStopped
      )
    }
    if hasStopped { stop.stop(.tooManyFailures) }
    if isLast { try await complete(position, barrier) }
  }

  func note(bytes: Int, records: Int) {
    state.withLock { $0.counters.note(bytes: bytes, records: records) }
  }

  /// Counts a gap in the events of a subscription.
  func noteGap() { state.withLock { $0.counters.gaps += 1 } }

  /// Returns a task that did not finish.
  func putBack(_ item: TaskItem) {
    state.withLock { state in
      state.operations[item.operation].open -= 1
      state.open.remove(item.id)
    }
  }

  private func hasTooManyFailures(_ counters: RunCounters) -> Bool {
    manifest.settings.failureLimit?.isExceeded(by: counters) ?? false
  }

  private func complete(_ position: Int, _ barrier: @Sendable () async throws -> Void) async throws
  {
    guard !state.withLock({ $0.operations[position].isDone }) else { return }
    // Dependent operations read the sinks of this one.
    if !dependents[position].isEmpty { try await barrier() }
    state.withLock { state in
      guard !state.operations[position].isDone else { return }
      state.operations[position].isDone = true
      state.doneCount += 1
      for index in dependents[position] {
        state.operations[index].openNeeds.remove(position)
        if state.operations[position].ended > 0, state.operations[position].succeeded == 0 {
          state.operations[index].missing = manifest.operations[position].id
        }
      }
    }
    wake()
  }

  /// Forgets tasks whose outcomes are durable: the journal has their state from now on.
  func settle(_ ids: [TaskID]) {
    state.withLock { state in for id in ids { state.open.remove(id) } }
  }

  /// The operations that finished without a failure, whose bookmarks are saved.
  func operationsWithoutFailure() -> Set<Int> {
    state.withLock { state in
      let operations = state.operations
      return Set(
        operations.indices.filter {
          operations[$0].isDone && operations[$0].succeeded == operations[$0].ended
        })
    }
  }

  private func wake() {
    let waiting = state.withLock { state in
      state.wakes += 1
      defer { state.waiters = [] }
      return state.waiters
    }
    for continuation in waiting { continuation.resume() }
  }
}
