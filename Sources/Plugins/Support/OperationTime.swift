import GQLRunPipeline
import GQLRunSupport

/// The time limit of an operation over all its attempts.
///
/// The first plugin that needs it adds it to the request, and retries keep it. The plugin that sets
/// the limit may be below the one that delays retries, so the value is shared.
final class OperationTime: Sendable {
  private enum Key: RequestContextKey {
    typealias Value = OperationTime
  }

  private let start: Duration
  private let end = Locked<Duration?>(nil)

  /// The deadline of the operation, on the services' clock; `nil` without one.
  var deadline: Duration? { end.withLock { $0 } }

  private init(start: Duration) { self.start = start }

  /// Limits the operation, counted from its start. The earliest deadline applies.
  func bound(_ total: Duration) -> Duration {
    end.withLock { deadline in
      let end = min(deadline ?? start + total, start + total)
      deadline = end
      return end
    }
  }

  /// Ends the limit, because it only concerns what has happened by now.
  func meet() { end.withLock { $0 = nil } }

  /// The time limit of a request's operation; the operation starts now if it has none yet, or if the
  /// connection of a subscription was lost since then.
  static func of(_ request: inout GraphQLRequest, _ clock: ServiceClock) -> OperationTime {
    if let time = request.context[Key.self],
      request.context[LostConnection.self].map({ $0 <= time.start }) ?? true
    {
      return time
    }
    let time = OperationTime(start: clock.now())
    request.context[Key.self] = time
    return time
  }
}
