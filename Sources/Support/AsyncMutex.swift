/// Mutual exclusion for asynchronous code: one task holds the mutex, the others wait in first-in,
/// first-out order.
///
/// Unlike ``Locked`` it may be held across an `await`. Cancelling a waiting task ends its wait.
package final class AsyncMutex: Sendable {
  private let isHeld = Monitor(false, isInOrder: true)

  /// Creates a mutex that is not held.
  package init() {}

  /// The number of waiting tasks.
  package var waiterCount: Int { isHeld.waiterCount }

  /// Suspends until this task holds the mutex.
  ///
  /// Each successful call needs one call of ``release()``.
  ///
  /// - Throws: `CancellationError` if the task is cancelled before or while it waits. The mutex is
  ///   not held then.
  package func acquire() async throws(CancellationError) {
    if Task.isCancelled { throw CancellationError() }
    if tryAcquire() { return }
    try await isHeld.wait(until: Self.acquire)
  }

  /// Acquires the mutex if no task holds it; returns whether it did.
  package func tryAcquire() -> Bool { isHeld.withLock(Self.acquire) }

  /// Releases the mutex; the task that has waited longest acquires it.
  package func release() {
    isHeld.update { isHeld in
      precondition(isHeld, "released a mutex that is not held")
      isHeld = false
    }
  }

  @Sendable private static func acquire(_ isHeld: inout Bool) -> Bool {
    defer { isHeld = true }
    return !isHeld
  }
}
