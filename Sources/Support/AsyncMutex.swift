/// Mutual exclusion for asynchronous code: one task holds the mutex, the others wait in first-in,
/// first-out order.
///
/// Unlike ``Locked`` it may be held across an `await`. Cancelling a waiting task ends its wait.
package final class AsyncMutex: Sendable {
  private struct Waiter {
    var id: UInt64
    var continuation: CheckedContinuation<Bool, Never>
  }

  private struct State {
    var isHeld = false
    var lastID: UInt64 = 0
    var waiters: [Waiter] = []
  }

  private let state = Locked(State())

  /// Creates a mutex that is not held.
  package init() {}

  /// The number of waiting tasks.
  package var waiterCount: Int { state.withLock { $0.waiters.count } }

  /// Suspends until this task holds the mutex.
  ///
  /// Each successful call needs one call of ``release()``.
  ///
  /// - Throws: `CancellationError` if the task is cancelled before or while it waits. The mutex is
  ///   not held then.
  package func acquire() async throws(CancellationError) {
    if Task.isCancelled { throw CancellationError() }
    let id: UInt64? = state.withLock { state in
      guard state.isHeld else {
        state.isHeld = true
        return nil
      }
      state.lastID += 1
      return state.lastID
    }
    guard let id else { return }
    let isHolder = await withTaskCancellationHandler {
      await withCheckedContinuation { wait(Waiter(id: id, continuation: $0)) }
    } onCancel: {
      cancel(id)
    }
    if !isHolder { throw CancellationError() }
  }

  /// Acquires the mutex if no task holds it; returns whether it did.
  package func tryAcquire() -> Bool {
    state.withLock { state in
      defer { state.isHeld = true }
      return !state.isHeld
    }
  }

  /// Releases the mutex; the task that has waited longest acquires it.
  package func release() {
    let next: Waiter? = state.withLock { state in
      precondition(state.isHeld, "released a mutex that is not held")
      if state.waiters.isEmpty {
        state.isHeld = false
        return nil
      }
      return state.waiters.removeFirst()
    }
    next?.continuation.resume(returning: true)
  }

  private func wait(_ waiter: Waiter) {
    let answer: Bool? = state.withLock { state in
      // The cancellation handler may have run before there was anything to remove.
      if Task.isCancelled { return false }
      // The mutex may have been released meanwhile.
      guard state.isHeld else {
        state.isHeld = true
        return true
      }
      state.waiters.append(waiter)
      return nil
    }
    if let answer { waiter.continuation.resume(returning: answer) }
  }

  private func cancel(_ id: UInt64) {
    let cancelled: Waiter? = state.withLock { state in
      state.waiters.firstIndex { $0.id == id }.map { state.waiters.remove(at: $0) }
    }
    cancelled?.continuation.resume(returning: false)
  }
}
