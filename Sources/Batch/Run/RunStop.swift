import GQLRunSupport

/// The single owner of a run's end: stores the reason and resumes all suspended callers.
///
/// Workers suspend in ``TaskFeed`` and ``Governor``. Both register a handler with ``onStop(_:)``,
/// so that ``stop(_:_:_:)`` works for all of them.
final class RunStop: Sendable {
  private typealias Handlers = [@Sendable () -> Void]
  private typealias Waiters = [Int: CheckedContinuation<Void, Never>]

  private struct State {
    var reason: StopReason?
    var detail: String?
    var outage: Outage?
    var handlers: Handlers = []
    var waiters: Waiters = [:]
    var waiterCount = 0
  }

  private let state = Locked(State())

  /// Why the run stops; `nil` while it is running.
  var reason: StopReason? { state.withLock { $0.reason } }
  /// What the server or the network reported when the run stopped.
  var detail: String? { state.withLock { $0.detail } }
  /// The outage that the run no longer waits for.
  var outage: Outage? { state.withLock { $0.outage } }

  /// Stops the run: no further task starts, and all suspended callers resume.
  ///
  /// Only the first reason is stored. The handlers run outside of the lock.
  func stop(_ reason: StopReason, _ detail: String? = nil, _ outage: Outage? = nil) {
    let (handlers, waiters) = state.withLock { state -> (Handlers, Waiters) in
      guard state.reason == nil else { return ([], [:]) }
      state.reason = reason
      state.detail = detail
      state.outage = outage
      defer { state.waiters = [:] }
      return (state.handlers, state.waiters)
    }
    for handler in handlers { handler() }
    for waiter in waiters.values { waiter.resume() }
  }

  /// Registers a handler that resumes suspended callers; calls it at once if the run has stopped.
  func onStop(_ handler: @escaping @Sendable () -> Void) {
    let hasStopped = state.withLock { state in
      if state.reason == nil { state.handlers.append(handler) }
      return state.reason != nil
    }
    if hasStopped { handler() }
  }

  /// Suspends until the run stops, or the task is cancelled.
  func wait() async {
    let number = state.withLock { state in
      state.waiterCount += 1
      return state.waiterCount
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let mustWait = state.withLock { state in
          guard state.reason == nil, !Task.isCancelled else { return false }
          state.waiters[number] = continuation
          return true
        }
        if !mustWait { continuation.resume() }
      }
    } onCancel: {
      state.withLock { $0.waiters.removeValue(forKey: number) }?.resume()
    }
  }
}
