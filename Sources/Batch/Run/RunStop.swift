import GQLRunSupport

/// The single owner of a run's end: stores the reason and resumes all suspended callers.
///
/// Workers suspend in ``TaskFeed`` and ``Governor``. Both register a handler with ``onStop(_:)``,
/// so that ``stop(_:_:_:)`` works for all of them.
final class RunStop: Sendable {
  private struct State {
    var reason: StopReason?
    var detail: String?
    var outage: Outage?
    var handlers: [@Sendable () -> Void] = []
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
    let handlers = state.withLock { state -> [@Sendable () -> Void] in
      guard state.reason == nil else { return [] }
      state.reason = reason
      state.detail = detail
      state.outage = outage
      return state.handlers
    }
    for handler in handlers { handler() }
  }

  /// Registers a handler that resumes suspended callers; calls it at once if the run has stopped.
  func onStop(_ handler: @escaping @Sendable () -> Void) {
    let hasStopped = state.withLock { state in
      if state.reason == nil { state.handlers.append(handler) }
      return state.reason != nil
    }
    if hasStopped { handler() }
  }
}
