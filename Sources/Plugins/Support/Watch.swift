import GQLRunPipeline
import GQLRunSupport

/// Looks after what must not take too long: one sleeping task for all of it.
///
/// The task sleeps until the next limit is due. It is there while something is looked after, and mostly
/// outlasts it: whatever comes and goes in time neither starts nor ends it.
final class Watch: Sendable {
  /// Ends something if it is over its time. Returns how long there is nothing to do; `nil` when there
  /// will be nothing any more.
  typealias Look = @Sendable () -> Duration?

  private struct State {
    var looks: [Int: Look] = [:]
    var number = 0
    var task: Task<Void, Never>?
    /// When the task looks the next time.
    var nextLook = Duration.zero
  }

  private let clock: ServiceClock
  private let state = Locked(State())

  init(_ clock: ServiceClock) { self.clock = clock }

  deinit { state.withLock { $0.task }?.cancel() }

  /// Looks after something until it is removed.
  func add(_ look: @escaping Look) -> Int {
    let due = clock.now() + (look() ?? .zero)
    return state.withLock { state in
      state.number += 1
      state.looks[state.number] = look
      if state.task == nil || due < state.nextLook {
        state.task?.cancel()
        state.nextLook = due
        state.task = begin()
      }
      return state.number
    }
  }

  /// Looks again within `rest` at the latest: a limit has become shorter than it was at the last look.
  func look(within rest: Duration) {
    let due = clock.now() + rest
    state.withLock { state in
      guard state.task != nil, due < state.nextLook else { return }
      state.task?.cancel()
      state.nextLook = due
      state.task = begin(after: rest)
    }
  }

  func remove(_ number: Int) {
    // Destroyed outside of the lock: whatever it holds may come here, too.
    _ = state.withLock { $0.looks.removeValue(forKey: number) }
  }

  private func begin(after first: Duration? = nil) -> Task<Void, Never> {
    Task { [weak self, clock] in
      if let first {
        do { try await clock.sleep(for: first) } catch { return }
      }
      while let pause = self?.look() {
        do { try await clock.sleep(for: pause) } catch { return }
      }
    }
  }

  private enum Outcome {
    case sleep(Duration)
    case again
    case over
  }

  private func look() -> Duration? {
    while true {
      let (looks, number) = state.withLock { ($0.looks, $0.number) }
      var pause: Duration?
      for (id, look) in looks {
        if let rest = look() {
          pause = min(pause ?? rest, rest)
        } else {
          remove(id)
        }
      }
      let outcome = state.withLock { state -> Outcome in
        // Another task took the place of this one.
        if Task.isCancelled { return .over }
        // Whatever came in the meantime counts on this task.
        if state.number != number { return .again }
        guard let pause else {
          state.task = nil
          return .over
        }
        state.nextLook = clock.now() + pause
        return .sleep(pause)
      }
      switch outcome {
      case .sleep(let pause): return pause
      case .again: continue
      case .over: return nil
      }
    }
  }
}
