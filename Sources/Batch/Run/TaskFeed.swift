import Foundation
import JSONStream
import Pipeline

/// Hands out tasks in the order of the manifest, and knows how the run stands.
///
/// Rows are read as tasks are asked for, so a million of them take no room.
actor TaskFeed {
  private struct Progress {
    var openNeeds: Set<Int>
    var source: (any RowSource)?
    var isExhausted = false
    var open = 0
    var isDone = false
    var succeeded = 0
    var ended = 0
    /// A needed operation of which nothing succeeded.
    var missing: String?
  }

  private let manifest: Manifest
  private let makers: [TaskMaker]
  private let numbers: [Int]
  private let journal: Journal
  private let shard: Shard?
  private let onlyFailed: Bool
  private var states: [Progress]
  private var seen: SeenFilter
  private var open: Set<TaskID> = []
  private let dependents: [[Int]]
  private var doneCount = 0
  private var firstOpen = 0
  private var turn = 0
  private var waiters: [CheckedContinuation<Void, Never>] = []
  private(set) var counters = RunCounters()
  private var stopReason: StopReason?
  /// What the server or the network said when it came to that.
  private(set) var stopDetail: String?
  /// What ended later, in seconds since 1970, ended in this run. Never before what ended in an earlier
  /// one, although the time of day may have been set back since.
  private let started: Double
  /// Goes on from `started`.
  nonisolated let time: RunTime

  init(
    _ manifest: Manifest, state: JSONObject, numbers: [Int], journal: Journal, options: RunOptions,
    services: Services
  ) throws {
    self.manifest = manifest
    self.numbers = numbers
    self.journal = journal
    shard = options.shard
    onlyFailed = options.onlyFailed
    makers = manifest.operations.map { TaskMaker($0, state: state) }
    states = manifest.operations.map { Progress(openNeeds: Set($0.needs)) }
    var dependents: [[Int]] = Array(repeating: [], count: manifest.operations.count)
    for operation in manifest.operations {
      for need in operation.needs { dependents[need].append(operation.index) }
    }
    self.dependents = dependents
    var seen = SeenFilter()
    var last = 0.0
    try journal.forEachTask { id, ended in
      seen.insert(id)
      last = max(last, ended)
    }
    self.seen = seen
    time = RunTime(services, after: last)
    started = time.now()
  }

  var reason: StopReason? { stopReason }

  /// Hands out no further task.
  func stop(_ reason: StopReason, _ detail: String? = nil) {
    if stopReason == nil {
      stopReason = reason
      stopDetail = detail
    }
    wake()
  }

  func setTotal(_ total: Int?) { counters.total = total }

  /// The next task, or `nil` when there is none and none will come.
  func next(_ barrier: @Sendable () async throws -> Void) async throws -> TaskItem? {
    while stopReason == nil {
      if let operation = pick() {
        guard let item = try produce(operation) else {
          states[operation].isExhausted = true
          if states[operation].open == 0 { try await complete(operation, barrier) }
          continue
        }
        if var ready = try admit(item) {
          if let missing = states[operation].missing {
            ready.problem = "nothing of `\(missing)` succeeded, which it needs"
            ready.isSkipped = true
          }
          return ready
        }
        // An operation of one task, which is done already.
        if states[operation].isExhausted, states[operation].open == 0 {
          try await complete(operation, barrier)
        }
        continue
      }
      if doneCount == states.count { return nil }
      await withCheckedContinuation { waiters.append($0) }
    }
    return nil
  }

  /// An operation with rows left that may run.
  private func pick() -> Int? {
    while firstOpen < states.count, states[firstOpen].isExhausted { firstOpen += 1 }
    guard firstOpen < states.count else { return nil }
    switch manifest.settings.order {
    case .declared:
      return states.indices[firstOpen...].first {
        !states[$0].isExhausted && states[$0].openNeeds.isEmpty
      }
    case .interleaved:
      for step in 0..<states.count {
        let place = (turn + step) % states.count
        if !states[place].isExhausted, states[place].openNeeds.isEmpty {
          turn = place + 1
          return place
        }
      }
      return nil
    }
  }

  private func produce(_ place: Int) throws -> TaskItem? {
    let operation = manifest.operations[place]
    let captured: (String) throws -> [String: JSONObject] = { [self] key in
      var result: [String: JSONObject] = [:]
      for need in operation.needs where !manifest.operations[need].capture.isEmpty {
        result[manifest.operations[need].id] =
          try journal.captures(operation: numbers[need], key: key)
          ?? journal.captures(operation: numbers[need], key: "")
      }
      return result
    }
    guard let settings = operation.source else {
      // One task, and no more.
      states[place].isExhausted = true
      return try makers[place].item(nil, captured: captured)
    }
    if states[place].source == nil {
      states[place].source = try Self.source(settings, manifest, journal, numbers)
    }
    guard let row = try states[place].source?.next() else {
      states[place].source = nil
      return nil
    }
    return try makers[place].item(row, captured: captured)
  }

  /// The task when it is to be run; notes what is done already.
  private func admit(_ item: TaskItem) throws -> TaskItem? {
    if let shard, !item.id.belongs(to: shard) { return nil }
    var item = item
    if seen.mayContain(item.id) {
      if open.contains(item.id) {
        counters.duplicates += 1
        return nil
      }
      if let record = try journal.task(item.id) {
        let isRerun =
          switch record.state {
          case .queued, .running: !onlyFailed
          case .failed: onlyFailed
          // Sent again only where that is safe.
          case .unknown: manifest.operations[item.operation].mayRepeat
          case .done, .skipped: false
          }
        guard isRerun else {
          if record.ended > started {
            counters.duplicates += 1
          } else {
            counters.alreadyDone += 1
            if record.state == .failed { counters.failedBefore += 1 }
            states[item.operation].ended += 1
            if record.state == .done { states[item.operation].succeeded += 1 }
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
    seen.insert(item.id)
    open.insert(item.id)
    states[item.operation].open += 1
    counters.started += 1
    return item
  }

  /// A task has ended and was handed to the recorder.
  func finished(
    _ item: TaskItem, _ state: TaskState, bytes: Int, records: Int, milliseconds: Double,
    _ barrier: @Sendable () async throws -> Void
  ) async throws {
    let place = item.operation
    counters.note(state, bytes: bytes, records: records, milliseconds: milliseconds)
    states[place].ended += 1
    if state == .done { states[place].succeeded += 1 }
    checkFailures()
    states[place].open -= 1
    if states[place].open == 0, states[place].isExhausted { try await complete(place, barrier) }
  }

  /// A task was put back without an end.
  func putBack(_ item: TaskItem) {
    states[item.operation].open -= 1
    open.remove(item.id)
  }

  private func checkFailures() {
    guard let limit = manifest.settings.failureLimit else { return }
    let failures = counters.failed + counters.unknown
    let tooMany =
      switch limit {
      case .count(let most): failures > most
      case .share(let share):
        counters.ended >= 100 && Double(failures) > share * Double(counters.ended)
      }
    if tooMany { stop(.tooManyFailures) }
  }

  private func complete(_ place: Int, _ barrier: @Sendable () async throws -> Void) async throws {
    guard !states[place].isDone else { return }
    // What needs this operation reads what its sinks have.
    if !dependents[place].isEmpty { try await barrier() }
    guard !states[place].isDone else { return }
    states[place].isDone = true
    doneCount += 1
    for index in dependents[place] {
      states[index].openNeeds.remove(place)
      if states[place].ended > 0, states[place].succeeded == 0 {
        states[index].missing = manifest.operations[place].id
      }
    }
    wake()
  }

  /// Outcomes of these tasks are durable: the journal answers for them now.
  func settle(_ ids: [TaskID]) { for id in ids { open.remove(id) } }

  /// The operations that ended without a failure, whose bookmarks may be kept.
  func operationsWithoutFailure() -> Set<Int> {
    Set(states.indices.filter { states[$0].isDone && states[$0].succeeded == states[$0].ended })
  }

  private func wake() {
    let waiting = waiters
    waiters = []
    for continuation in waiting { continuation.resume() }
  }

  static func source(
    _ settings: InputSettings, _ manifest: Manifest, _ journal: Journal?, _ numbers: [Int]
  ) throws -> (any RowSource)? {
    switch settings.kind {
    case .csv(let path, let delimiter):
      return try CSVSource(
        path.map { try ByteReader(path: $0) } ?? ByteReader(standardInput: ()),
        delimiter: delimiter)
    case .jsonl(let path):
      return JSONLinesSource(
        try path.map { try ByteReader(path: $0) } ?? ByteReader(standardInput: ()))
    case .sqlite(let path, let query): return try QuerySource(path: path, query: query)
    case .inline(let rows): return InlineSource(rows)
    case .captured(let other):
      return journal.map { CapturedSource($0, operation: numbers[other]) }
    }
  }
}

/// What an operation captured, a row per task.
final class CapturedSource: RowSource {
  private let journal: Journal
  private let operation: Int
  private var held: ArraySlice<JSONObject> = []
  private var lastKey: String?
  private var number = 0

  init(_ journal: Journal, operation: Int) {
    self.journal = journal
    self.operation = operation
  }

  func next() throws -> Row? {
    if held.isEmpty {
      held = try journal.captures(operation: operation, after: lastKey, limit: 500)[...]
      lastKey = held.last?["key"]?.stringValue ?? lastKey
    }
    guard let object = held.popFirst() else { return nil }
    number += 1
    return Row(number: number, content: .values(object))
  }
}

/// Why a run ends before all tasks have.
public enum StopReason: Sendable, Equatable {
  case interrupted
  case deadline
  case tooManyFailures
  case throttled
  case unreachable
  case unauthorized
}

/// How a run stands.
public struct RunCounters: Sendable {
  /// How many tasks there are, when that is known.
  public var total: Int?
  public var started = 0
  public var done = 0
  public var failed = 0
  public var unknown = 0
  public var skipped = 0
  /// Ended in an earlier part of the run.
  public var alreadyDone = 0
  public var failedBefore = 0
  /// Rows that ask for the same as an earlier one.
  public var duplicates = 0
  public var bytes = 0
  public var records = 0
  public var ended: Int { done + failed + unknown + skipped }

  mutating func note(_ state: TaskState, bytes: Int, records: Int, milliseconds: Double) {
    switch state {
    case .done: done += 1
    case .failed: failed += 1
    case .unknown: unknown += 1
    case .skipped: skipped += 1
    case .queued, .running: break
    }
    self.bytes += bytes
    self.records += records
  }
}
