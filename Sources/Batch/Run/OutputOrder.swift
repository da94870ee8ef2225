import Foundation
import GQLRunSupport

/// Makes results durable in the order in which their tasks started, for `order: output`.
///
/// Each task has a position. Only the first unfinished task has the turn and submits its results;
/// a worker with a later task keeps its results until it has the turn. The limits are:
///
/// - The run has ``window(_:)`` workers, and each keeps the results of one task.
/// - A task starts only while fewer than `concurrency` other tasks run, apart from those that wait
///   for their turn, and while less than ``maxBytes`` of results are kept.
///
/// The journal therefore contains a prefix of the tasks at any time, and `--resume` continues after
/// it. If a task is withdrawn because the run stops, the results of later tasks are discarded, and
/// a resumed run requests them again.
final class OutputOrder: Sendable {
  private struct State {
    /// The position of the task that has the turn.
    var turn = 0
    /// The number of tasks that have started and do not wait for their turn.
    var running = 0
    /// The sizes of the kept results, by position, and their sum.
    var kept: [Int: Int] = [:]
    var keptBytes = 0
    /// The first withdrawn position; this task and the later ones do not get the turn.
    var end = Int.max
    var turnWaiters: [Int: CheckedContinuation<Bool, Never>] = [:]
    var startWaiters: [CheckedContinuation<Void, Never>] = []

    mutating func keep(_ bytes: Int, at position: Int) {
      kept[position, default: 0] += bytes
      keptBytes += bytes
    }

    mutating func release(_ position: Int) { keptBytes -= kept.removeValue(forKey: position) ?? 0 }
  }

  private let concurrency: Int
  private let state = Locked(State())
  /// The maximum size of the kept results, in bytes, apart from those of tasks that run already.
  static let maxBytes = 64 << 20

  /// The maximum number of tasks that have started and not ended.
  static func window(_ concurrency: Int) -> Int { 8 * concurrency }

  /// - Parameter concurrency: The maximum number of tasks that run at the same time.
  init(concurrency: Int) { self.concurrency = concurrency }

  // MARK: Starting

  /// Suspends until another task may start. Each call needs one of ``skip()``, ``end(_:)`` and
  /// ``withdraw(_:)``.
  func start() async {
    while !state.withLock({ mayStart(&$0) }) {
      await withCheckedContinuation { continuation in
        let mustWait = state.withLock { state in
          guard !hasRoom(state) else { return false }
          state.startWaiters.append(continuation)
          return true
        }
        if !mustWait { continuation.resume() }
      }
    }
  }

  private func mayStart(_ state: inout State) -> Bool {
    guard hasRoom(state) else { return false }
    state.running += 1
    return true
  }

  private func hasRoom(_ state: State) -> Bool {
    // After a withdrawal, all workers have to find that the run has stopped.
    state.end < .max || state.running < concurrency && state.keptBytes < Self.maxBytes
  }

  /// Whether ``start()`` returns at once.
  var hasRoom: Bool { state.withLock { hasRoom($0) } }

  /// Ends a start for which there was no task.
  func skip() {
    change { state in state.running -= 1 }
  }

  // MARK: Turns

  /// Whether a task keeps results instead of submitting them: it does not have the turn, and there
  /// is room.
  func keeps(_ bytes: Int, at position: Int) -> Bool {
    state.withLock { state in
      guard position > state.turn, state.keptBytes + bytes <= Self.maxBytes else { return false }
      state.keep(bytes, at: position)
      return true
    }
  }

  /// Suspends until the task has the turn. Returns `false` if it never will, because an earlier
  /// task was withdrawn.
  ///
  /// - Parameter bytes: The size of the results that the task has in addition to those that it
  ///   ``keeps(_:at:)``.
  func turn(of position: Int, bytes: Int = 0) async -> Bool {
    await withCheckedContinuation { continuation in
      change { state in
        if position > state.turn, position < state.end {
          state.keep(bytes, at: position)
          state.running -= 1
          state.turnWaiters[position] = continuation
        } else {
          state.release(position)
          continuation.resume(returning: position < state.end)
        }
      }
    }
  }

  /// Ends the task that has the turn; the next one gets it.
  func end(_ position: Int) {
    change { state in
      assert(position == state.turn, "the task does not have the turn")
      state.running -= 1
      state.turn = position + 1
    }
  }

  /// Ends a task without results. Tasks after it do not get the turn; those before it do.
  func withdraw(_ position: Int) {
    change { state in
      state.running -= 1
      state.release(position)
      state.end = min(state.end, position)
    }
  }

  /// Changes the state, and then resumes the callers that may proceed.
  private func change(_ body: (inout State) -> Void) {
    let (turns, starts) = state.withLock { state in
      body(&state)
      return (takeTurns(&state), takeStarts(&state))
    }
    for (continuation, hasTurn) in turns { continuation.resume(returning: hasTurn) }
    for continuation in starts { continuation.resume() }
  }

  private func takeTurns(_ state: inout State) -> [(CheckedContinuation<Bool, Never>, Bool)] {
    guard !state.turnWaiters.isEmpty else { return [] }
    let ready =
      state.end < .max
      ? state.turnWaiters.keys.filter { [turn = state.turn, end = state.end] in
        $0 == turn || $0 >= end
      } : [state.turn]
    return ready.compactMap { position in
      guard let continuation = state.turnWaiters.removeValue(forKey: position) else { return nil }
      state.release(position)
      state.running += 1
      return (continuation, position < state.end)
    }
  }

  private func takeStarts(_ state: inout State) -> [CheckedContinuation<Void, Never>] {
    guard hasRoom(state), !state.startWaiters.isEmpty else { return [] }
    let free = state.end < .max ? .max : concurrency - state.running
    let count = min(free, state.startWaiters.count)
    defer { state.startWaiters.removeFirst(count) }
    return Array(state.startWaiters.prefix(count))
  }
}

/// The limit of open files and connections of this process.
public enum OpenFiles {
  /// Raises the soft limit of open files to the hard limit.
  public static func raiseLimit() {
    var limit = rlimit()
    guard getrlimit(resource, &limit) == 0, limit.rlim_cur < limit.rlim_max else { return }
    limit.rlim_cur = limit.rlim_max
    setrlimit(resource, &limit)
  }

  /// The number of files that can still be opened; `nil` if the system does not report it.
  public static func left() -> Int? {
    var limit = rlimit()
    guard getrlimit(resource, &limit) == 0, let folder = opendir("/proc/self/fd") else {
      return nil
    }
    defer { closedir(folder) }
    // Besides the open files, there are the folder itself, its parent, and the descriptor of the listing.
    var open = -3
    while readdir(folder) != nil { open += 1 }
    return Int(clamping: limit.rlim_cur) - open
  }

  /// The number of requests that may be in flight so that each can have a connection.
  ///
  /// - Parameters:
  ///   - wanted: The wanted number.
  ///   - left: See ``left()``.
  ///   - others: The number of files that the run opens besides its connections.
  static func requests(_ wanted: Int, left: Int?, others: Int) -> Int {
    guard let left else { return wanted }
    return max(1, min(wanted, left - others))
  }

  private static var resource: __rlimit_resource_t { __rlimit_resource_t(RLIMIT_NOFILE.rawValue) }
}
