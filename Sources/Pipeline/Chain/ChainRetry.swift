/// Restarts the chain at its first interceptor, with the given request.
///
/// An interceptor of any stage may throw it, before or after the network.
/// ``ResponseStream/mapErrors(_:)`` does not receive it.
public struct ChainRetry: Error, Sendable {
  /// The request of the next attempt.
  public var request: GraphQLRequest
  /// The reason; the interceptors of the next attempt find it in ``ChainContext/retryCause``.
  public var cause: (any Error)?

  /// Creates a retry.
  ///
  /// - Parameters:
  ///   - request: The request of the next attempt.
  ///   - cause: The error that makes the retry necessary.
  public init(_ request: GraphQLRequest, cause: (any Error)? = nil) {
    self.request = request
    self.cause = cause
  }
}
