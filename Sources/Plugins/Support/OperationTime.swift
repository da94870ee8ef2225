import GQLRunPipeline
import GQLRunSupport

/// How long an operation may take in all its attempts, as far as its plugins know.
///
/// The first plugin that needs it puts it into the request, and retries carry it along. The one that
/// bounds the operation may stand below the one that waits between attempts, so it is shared.
final class OperationTime: Sendable {
  private enum Key: RequestContextKey {
    typealias Value = OperationTime
  }

  private let start: Duration
  private let end = Locked<Duration?>(nil)

  /// When the operation must have ended, on the services' clock.
  var deadline: Duration? { end.withLock { $0 } }

  private init(start: Duration) { self.start = start }

  /// Bounds the operation, counted from its start. The earliest bound holds.
  func bound(_ total: Duration) -> Duration {
    end.withLock { deadline in
      let end = min(deadline ?? start + total, start + total)
      deadline = end
      return end
    }
  }

  /// The time of a request's operation, which begins now if nobody asked before.
  static func of(_ request: inout GraphQLRequest, _ clock: ServiceClock) -> OperationTime {
    if let time = request.context[Key.self] { return time }
    let time = OperationTime(start: clock.now())
    request.context[Key.self] = time
    return time
  }
}
