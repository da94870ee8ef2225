import GQLRunSupport

/// The single owner of a run's end: it keeps the reason and resumes everything that is suspended.
///
/// Workers suspend in ``TaskFeed`` and ``Governor``. Both register a handler with ``onStop(_:)``, so no
/// caller of ``stop(_:_:)`` has to know who is suspended where.
final class RunStop: Sendable {
  private struct State {
    var reason: StopReason?
    var detail: String?
    var handlers: [@Sendable () -> Void] = []
  }

  private let state = Locked(State())

  /// Why the run stops; `nil` while it goes on.
  var reason: StopReason? { state.withLock { $0.reason } }
  /// What the server or the network reported when the run stopped.
  var detail: String? { state.withLock { $0.detail } }

  /// Stops the run: no further task begins, and everything that is suspended resumes.
  ///
  /// The first reason counts. The handlers run outside of the lock.
  func stop(_ reason: StopReason, _ detail: String? = nil) {
    let handlers = state.withLock { state -> [@Sendable () -> Void] in
      guard state.reason == nil else { return [] }
      state.reason = reason
      state.detail = detail
      return state.handlers
    }
    for handler in handlers { handler() }
  }

  /// Registers what resumes suspended callers; runs it at once when the run has stopped already.
  func onStop(_ handler: @escaping @Sendable () -> Void) {
    let hasStopped = state.withLock { state in
      if state.reason == nil { state.handlers.append(handler) }
      return state.reason != nil
    }
    if hasStopped { handler() }
  }
}
