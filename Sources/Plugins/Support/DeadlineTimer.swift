import GQLRunPipeline
import GQLRunSupport

/// A timer that checks any number of time limits with one sleeping task.
///
/// The task sleeps until the next limit is due. It exists while there are limits, and outlives most
/// of them: limits that come and go in time neither start nor end it.
final class DeadlineTimer: Sendable {
  /// Checks a limit, and ends what has exceeded it. Returns the time until the next check; `nil` if
  /// no further check is needed.
  typealias Check = @Sendable () -> Duration?

  private struct State {
    var checks: [Int: Check] = [:]
    var number = 0
    var task: Task<Void, Never>?
    /// The time of the next check.
    var nextCheck = Duration.zero
  }

  private let clock: ServiceClock
  private let state = Locked(State())

  init(_ clock: ServiceClock) { self.clock = clock }

  deinit { state.withLock { $0.task }?.cancel() }

  /// Adds a limit; returns its number.
  func add(_ check: @escaping Check) -> Int {
    let due = clock.now() + (check() ?? .zero)
    return state.withLock { state in
      state.number += 1
      state.checks[state.number] = check
      if state.task == nil || due < state.nextCheck {
        state.task?.cancel()
        state.nextCheck = due
        state.task = begin()
      }
      return state.number
    }
  }

  /// Checks again within `rest`, because a limit became shorter since the last check.
  func check(within rest: Duration) {
    let due = clock.now() + rest
    state.withLock { state in
      guard state.task != nil, due < state.nextCheck else { return }
      state.task?.cancel()
      state.nextCheck = due
      state.task = begin(after: rest)
    }
  }

  func remove(_ number: Int) {
    // Destroyed after the lock is released: its deinitializer may use this timer, too.
    _ = state.withLock { $0.checks.removeValue(forKey: number) }
  }

  private func begin(after first: Duration? = nil) -> Task<Void, Never> {
    Task { [weak self, clock] in
      if let first {
        do { try await clock.sleep(for: first) } catch { return }
      }
      while let delay = self?.check() {
        do { try await clock.sleep(for: delay) } catch { return }
      }
    }
  }

  private enum Outcome {
    case sleep(Duration)
    case again
    case over
  }

  private func check() -> Duration? {
    while true {
      let (checks, number) = state.withLock { ($0.checks, $0.number) }
      var delay: Duration?
      for (id, check) in checks {
        if let rest = check() {
          delay = min(delay ?? rest, rest)
        } else {
          remove(id)
        }
      }
      let outcome = state.withLock { state -> Outcome in
        // Another task has replaced this one.
        if Task.isCancelled { return .over }
        // Limits that were added meanwhile depend on this task.
        if state.number != number { return .again }
        guard let delay else {
          state.task = nil
          return .over
        }
        state.nextCheck = clock.now() + delay
        return .sleep(delay)
      }
      switch outcome {
      case .sleep(let delay): return delay
      case .again: continue
      case .over: return nil
      }
    }
  }
}
