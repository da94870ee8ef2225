/// Starts the chain again at its first interceptor, with the request it carries.
///
/// Thrown by an interceptor of any stage, before or after the network. `mapErrors` of interceptors
/// above does not see it.
public struct ChainRetry: Error, Sendable {
  public var request: GraphQLRequest
  /// Why; interceptors of the next attempt find it in ``ChainContext/retryCause``.
  public var cause: (any Error)?

  public init(_ request: GraphQLRequest, cause: (any Error)? = nil) {
    self.request = request
    self.cause = cause
  }
}
