import GQLRunJSON
import GQLRunPipeline
import GQLRunSupport

/// The rows of a manifest with the journal of a run on one machine.
///
/// Claims create tasks from rows, in the order of the manifest, unless the journal has their outcomes. Rows are read on
/// demand, in constant memory. Behind a lock rather than an actor, because every task enters several times and rarely
/// waits.
final class JournalStore: TaskStore {
  private struct Progress {
    var rows: TaskRows
    var openNeeds: Set<Int>
    var open = 0
    var isDone = false
    var succeeded = 0
    /// Whether a task is done without some pages, so that `since` must not begin after them.
    var lacksPages = false
    /// Whether `--only failed` leaves out a task that no part of the run has ended.
    var leavesTasks = false
    var ended = 0
    /// A needed operation of which no task succeeded.
    var missing: String?
  }

  private struct State {
    var operations: [Progress]
    var seen: SeenTasks
    /// The tasks that count as those of earlier parts of the run. A wrong answer takes one of them for a duplicate.
    var earlier = SeenTasks()
    /// Whether there are tasks that earlier parts of the run could not send.
    let hasUnsent: Bool
    var open: Set<TaskID> = []
    var doneCount = 0
    /// The tasks with rows that a table has refused.
    var refused: [TaskID: TaskRefusal] = [:]
    var firstOpen = 0
    var turn = 0
  }

  /// The result of looking for the next task.
  private enum Step {
    case claim(TaskClaim)
    /// The journal must look up the task, and has no index yet.
    case unindexed(TaskItem)
    case again
  }

  let numbers: [Int]
  let plan: SinkPlan
  let progress: RunProgress
  private let manifest: Manifest
  private let journal: Journal
  private let stage: SinkStage
  private let shard: Shard?
  private let onlyFailed: Bool
  private let dependents: [[Int]]
  /// Tasks whose end time is later than this, in seconds since 1970, finished in this run. Never
  /// earlier than the end times of earlier runs, even if the time of day was set back since.
  let started: Double
  private let stop: RunStop
  private let state: Locked<State>
  /// The number of times that something happened for which callers of ``wait(_:)`` claim again.
  private let wakes = Monitor(0)

  init(
    _ manifest: Manifest, state: JSONObject, journal: Journal, stage: SinkStage, plan: SinkPlan,
    options: RunOptions, services: Services, stop: RunStop = RunStop()
  ) throws {
    self.stop = stop
    self.manifest = manifest
    self.journal = journal
    self.stage = stage
    self.plan = plan
    numbers = try journal.register(manifest.operations.map(\.id))
    shard = options.shard
    onlyFailed = options.onlyFailed
    dependents = manifest.dependents()
    var seen = SeenTasks()
    var last = 0.0
    try journal.forEachTask { id, ended in
      seen.insert(id)
      last = max(last, ended)
    }
    progress = RunProgress(manifest, services, after: last, stop: stop)
    started = progress.now()
    let context = RowContext(manifest: manifest, journal: journal, numbers: numbers)
    let operations = manifest.operations.map {
      Progress(
        rows: TaskRows(TaskMaker($0, state: state), context), openNeeds: Set($0.needs))
    }
    let hasUnsent = try journal.hasUnsentTasks()
    self.state = Locked(State(operations: operations, seen: seen, hasUnsent: hasUnsent))
    stop.onStop { [weak self] in self?.wake() }
  }

  // MARK: Claims

  func claim() async throws -> TaskClaim {
    while true {
      switch try change({ try step(&$0) }) {
      case .claim(let claim): return claim
      case .again: continue
      case .unindexed(let item):
        // Takes about a second per million tasks, so neither under the lock nor on an event loop.
        try await journal.index()
        let next = try change { state in
          state.operations[item.operation].open -= 1
          return try take(&state, item)
        }
        if case .claim(let claim) = next { return claim }
      }
    }
  }

  func wait(_ ticket: Int) async throws {
    // A claim that overlaps the stop may return the ticket of after it, and no other one follows.
    try await wakes.wait { [stop] in $0 != ticket || stop.reason != nil }
  }

  /// Not inlined, as ``take(_:_:)``: the frame of ``claim()`` would have the tasks that are passed between them.
  @inline(never)
  private func step(_ state: inout State) throws -> Step {
    if stop.reason != nil { return .claim(.none) }
    guard let position = pick(&state) else {
      let isOver = state.doneCount == state.operations.count
      return .claim(isOver ? .none : .later(wakes.withLock { $0 }))
    }
    guard let item = try state.operations[position].rows.next() else {
      complete(position, &state)
      return .again
    }
    return try take(&state, item)
  }

  @inline(never)
  private func take(_ state: inout State, _ item: TaskItem) throws -> Step {
    let position = item.operation
    let isSeen = state.seen.mayContain(item.id)
    // With `order: output`, no row may overtake this one, so the journal creates its index at once.
    if isSeen || unsentID(of: item, state) != nil, manifest.settings.order != .output,
      !journal.isIndexed, isOurs(item), !state.open.contains(item.id)
    {
      // Keeps the operation open in the meantime.
      state.operations[position].open += 1
      return .unindexed(item)
    }
    if var ready = try admit(&state, item, isSeen: isSeen) {
      if let missing = state.operations[position].missing {
        ready.skip(missing: missing)
      }
      return .claim(.task(ready))
    }
    // An operation without rows has one task, which is already done.
    complete(position, &state)
    return .again
  }

  private func isOurs(_ item: TaskItem) -> Bool { shard.map { item.id.belongs(to: $0) } ?? true }

  /// An operation with rows left whose needs are met.
  private func pick(_ state: inout State) -> Int? {
    let operations = state.operations.indices
    func mayRun(_ position: Int, _ state: State) -> Bool {
      !state.operations[position].rows.isOver && state.operations[position].openNeeds.isEmpty
    }
    while state.firstOpen < operations.count, state.operations[state.firstOpen].rows.isOver {
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

  /// The task if it must run; counts tasks that are already done.
  private func admit(_ state: inout State, _ item: TaskItem, isSeen: Bool) throws -> TaskItem? {
    guard isOurs(item) else { return nil }
    var item = item
    if isSeen {
      if state.open.contains(item.id) {
        progress.change { $0.duplicates += 1 }
        return nil
      }
      if var record = try journal.task(item.id) {
        let isOfThisRun = record.ended > started
        let isRerun =
          switch record.state {
          case _ where isOfThisRun: false
          case .queued, .running: !onlyFailed
          case .failed: onlyFailed
          // Repeated only if that is safe.
          case .unknown: manifest.operations[item.operation].mayRepeat
          case .skipped: onlyFailed && state.operations[item.operation].missing == nil
          // Pages that `allow_partial` has accepted not to have are missing without it.
          case .done:
            record.isPartial
              && manifest.operations[item.operation].tables?.settings.allowPartial == false
          }
        guard isRerun else {
          if isOfThisRun || state.earlier.mayContain(item.id) {
            progress.change { $0.duplicates += 1 }
          } else {
            state.earlier.insert(item.id)
            progress.change { $0.earlier.byState[record.state, default: 0] += 1 }
            state.operations[item.operation].ended += 1
            if record.state == .done { state.operations[item.operation].succeeded += 1 }
            if record.isPartial { state.operations[item.operation].lacksPages = true }
            if [.queued, .running].contains(record.state) {
              state.operations[item.operation].leavesTasks = true
            }
          }
          return nil
        }
        // An earlier version did not record where the pages continue: the task begins again.
        if record.isPartial, record.cursor == nil { record.page = 0 }
        item.record = record
      }
    }
    if item.record == nil { try continueUnsent(state, &item) }
    if onlyFailed, item.record == nil {
      // An earlier part of the run stopped before it.
      state.operations[item.operation].leavesTasks = true
      return nil
    }
    if !isSeen { state.seen.insert(item.id) }
    state.open.insert(item.id)
    state.operations[item.operation].open += 1
    item.position = progress.start()
    return item
  }

  /// Continues the record of a row that an earlier part of the run could not send, and that fits now.
  ///
  /// The variables of the row are new, and so is the id of its task.
  private func continueUnsent(_ state: State, _ item: inout TaskItem) throws {
    // With another key, it is another row that has this number now.
    guard let id = unsentID(of: item, state), let record = try journal.task(id),
      [.queued, .failed, .skipped].contains(record.state),
      record.key == item.key || record.key == TaskMaker.label(item.scope.row)
    else { return }
    try journal.requeue(id, as: item, keepsState: onlyFailed)
    item.record = try journal.task(item.id)
  }

  /// The id that a task had if an earlier part of the run could not send it; `nil` if none had it.
  private func unsentID(of item: TaskItem, _ state: State) -> TaskID? {
    guard state.hasUnsent, item.problem == nil else { return nil }
    let id = state.operations[item.operation].rows.problemID(of: item)
    return state.seen.mayContain(id) ? id : nil
  }

  // MARK: Ends

  func giveBack(_ item: TaskItem) {
    state.withLock { state in
      state.operations[item.operation].open -= 1
      state.open.remove(item.id)
    }
  }

  func commit(_ outcomes: [Outcome]) async throws {
    let found = try await stage.commit(outcomes)
    // The journal has the states of these tasks from now on.
    let failures = change { state in
      state.refused = found.refused
      var failures = 0
      for outcome in outcomes where outcome.update.isFinal {
        state.open.remove(outcome.update.id)
        state.operations[outcome.operation].open -= 1
        state.operations[outcome.operation].ended += 1
        if outcome.update.state == .done {
          let isRefused = found.refused[outcome.update.id] != nil
          if isRefused { failures += 1 } else { state.operations[outcome.operation].succeeded += 1 }
        }
        if outcome.update.isPartial { state.operations[outcome.operation].lacksPages = true }
        complete(outcome.operation, &state)
      }
      return failures
    }
    progress.change { $0.repeated += found.repeated }
    for _ in 0..<failures { progress.refuse() }
  }

  func refusal(of item: TaskItem) -> String? { state.withLock { $0.refused[item.id]?.message } }

  /// Ends an operation that has no further rows and no open tasks. Its results are durable, so that dependent operations
  /// can read them.
  private func complete(_ position: Int, _ state: inout State) {
    guard state.operations[position].rows.isOver, state.operations[position].open == 0,
      !state.operations[position].isDone
    else { return }
    let hasFailed =
      state.operations[position].ended > 0 && state.operations[position].succeeded == 0
    state.operations[position].isDone = true
    state.doneCount += 1
    for index in dependents[position] {
      state.operations[index].openNeeds.remove(position)
      if hasFailed { state.operations[index].missing = manifest.operations[position].id }
    }
  }

  /// Changes the state. Callers that wait claim again if an operation ended meanwhile.
  private func change<Result: Sendable>(
    _ body: (inout sending State) throws -> Result
  ) rethrows -> Result {
    let (result, hasCompleted) = try state.withLock { state in
      let before = state.doneCount
      return (try body(&state), state.doneCount > before)
    }
    if hasCompleted { wake() }
    return result
  }

  private func wake() { wakes.update { $0 += 1 } }

  // MARK: The run

  func open() async throws { try await stage.open() }

  func finish(_ end: RunEnd) async throws {
    let stop = end.reason ?? (warning == nil ? nil : .repetition)
    try await stage.finish(end, stop: stop, of: operationsWithoutFailure(), progress)
  }

  func abandon() async { await stage.abandon() }

  /// The warning about tasks that `--only failed` leaves out, and that no part of the run has ended; `nil` without any.
  var warning: String? {
    let left = state.withLock { state in
      zip(manifest.operations, state.operations).filter(\.1.leavesTasks).map { "`\($0.0.id)`" }
    }
    return left.isEmpty
      ? nil
      : "tasks of \(left.joined(separator: ", ")) are left that no part of the run has ended: --only failed leaves "
        + "them out, and --resume runs them"
  }

  /// The journal's numbers of the operations that finished without a failure, and without pages that their tables lack:
  /// their bookmarks are saved.
  private func operationsWithoutFailure() -> Set<Int> {
    state.withLock { state in
      let operations = state.operations
      return Set(
        operations.indices.filter {
          operations[$0].isDone && operations[$0].succeeded == operations[$0].ended
            && !operations[$0].lacksPages && !operations[$0].leavesTasks
        }.map { numbers[$0] })
    }
  }
}
