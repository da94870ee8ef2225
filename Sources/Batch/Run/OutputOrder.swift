import GQLRunSupport

/// Submits results in the order in which their tasks started, for `order: output`.
///
/// Each task has a position. Only the first unfinished task has the turn and submits its results; those of later tasks are
/// kept. A task that ends before its turn leaves its results here, and the task that ends before it submits them. The
/// limits are:
///
/// - A task starts only while fewer than ``window(_:)`` tasks have started whose results are not submitted, and while less
///   than ``maxBytes`` of results are kept.
/// - A task whose results have no room waits for its turn.
///
/// The journal therefore contains a prefix of the tasks at any time, and `--resume` continues after
/// it. If a task is withdrawn because the run stops, the results of later tasks are discarded, and
/// a resumed run requests them again.
final class OutputOrder: Sendable {
  private struct State: Sendable {
    /// The maximum number of tasks that have started and whose results are not submitted.
    let window: Int
    /// The position of the task that has the turn.
    var turn = 0
    /// The number of tasks that have started and whose results are not submitted.
    var open = 0
    /// The sizes of the kept results, by position, and their sum.
    var kept: [Int: Int] = [:]
    var keptBytes = 0
    /// The results of tasks that have ended before their turn, by position.
    var ended: [Int: TaskResults] = [:]
    /// The first withdrawn position; this task and the later ones do not get the turn.
    var end = Int.max

    /// Whether another task may start. After a withdrawal, all workers have to find that the run has stopped.
    var hasRoom: Bool { end < .max || open < window && keptBytes < maxBytes }

    mutating func keep(_ bytes: Int, at position: Int) {
      kept[position, default: 0] += bytes
      keptBytes += bytes
    }

    mutating func release(_ position: Int) { keptBytes -= kept.removeValue(forKey: position) ?? 0 }
  }

  private let state: Monitor<State>
  /// The maximum size of the kept results, in bytes, apart from those of tasks that run already.
  static let maxBytes = 64 << 20

  /// The maximum number of tasks that have started and whose results are not submitted.
  static func window(_ concurrency: Int) -> Int { 8 * concurrency }

  /// - Parameter window: The maximum number of tasks that have started and whose results are not submitted.
  init(window: Int) { state = Monitor(State(window: window)) }

  // MARK: Starting

  /// Suspends until another task may start. Each call needs one of ``skip()``, ``end(_:)`` and
  /// ``withdraw(_:)``.
  func start() async throws {
    try await state.wait { state in
      guard state.hasRoom else { return false }
      state.open += 1
      return true
    }
  }

  /// Whether ``start()`` returns at once.
  var hasRoom: Bool { state.withLock { $0.hasRoom } }

  /// Ends a start for which there was no task.
  func skip() { state.update { $0.open -= 1 } }

  // MARK: Turns

  /// Whether a task keeps results instead of submitting them: it does not have the turn, and there
  /// is room.
  ///
  /// - Parameter results: All results of the task, if it ends with these. They are submitted with its turn.
  func keeps(_ bytes: Int, at position: Int, ending results: TaskResults? = nil) -> Bool {
    state.withLock { state in
      guard position > state.turn, position < state.end,
        state.keptBytes + bytes <= Self.maxBytes
      else { return false }
      state.keep(bytes, at: position)
      state.ended[position] = results
      return true
    }
  }

  /// Suspends until the task has the turn. Returns `false` if it never will, because an earlier
  /// task was withdrawn.
  ///
  /// A task that is cancelled waits, too, so that what it has received is not lost: an event of a subscription whose time
  /// is up. It resumes, because all tasks before it end or are withdrawn.
  ///
  /// - Parameter bytes: The size of the results that the task has in addition to those that it
  ///   ``keeps(_:at:ending:)``.
  func turn(of position: Int, bytes: Int = 0) async throws -> Bool {
    let take = { @Sendable (state: inout State) -> Bool? in
      guard position <= state.turn || position >= state.end else { return nil }
      state.release(position)
      return position < state.end
    }
    let hasTurn = state.update { state in
      if position > state.turn { state.keep(bytes, at: position) }
      return take(&state)
    }
    if let hasTurn { return hasTurn }
    return try await Task { [state] in try await state.take(take) }.value
  }

  /// Ends the task that has the turn; the next one gets it. Returns the results of the next one if it has ended, too: the
  /// caller submits them, and ends it.
  func end(_ position: Int) -> TaskResults? {
    state.update { state in
      assert(position == state.turn, "the task does not have the turn")
      state.open -= 1
      state.release(position)
      state.turn = position + 1
      return state.ended.removeValue(forKey: state.turn)
    }
  }

  /// Ends a task without results. Tasks after it do not get the turn; those before it do.
  func withdraw(_ position: Int) {
    state.update { state in
      state.open -= 1
      state.release(position)
      state.end = min(state.end, position)
      // They refer to this order by their feed, and would keep both in memory.
      state.ended = state.ended.filter { [end = state.end] in $0.key < end }
    }
  }
}
