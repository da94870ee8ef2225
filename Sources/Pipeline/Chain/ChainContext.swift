public import Cache
public import GraphQL

/// What an interceptor may know beside its request.
public struct ChainContext: Sendable {
  public var services: Services
  public var endpoint: Endpoint?
  /// Which fields identify the objects of a type in this pipeline.
  public var keys: KeyRules
  /// The identifier of the entry that is being called; empty outside of one.
  public var entryID: String
  public var operationName: String?
  public var operationType: OperationType
  /// The attempt, from 1.
  public var attempt: Int
  /// Why the chain was started again; `nil` in the first attempt.
  public var retryCause: (any Error)?
  /// The values of the request, as the interceptors above left them.
  public var values: RequestContext
  /// Who hears of errors that do not end the request.
  var listeners: [Route.Stop<any ErrorTap>] = []
  private let request: GraphQLRequest

  public init(
    services: Services, endpoint: Endpoint? = nil, keys: KeyRules = KeyRules(),
    entryID: String = "", request: GraphQLRequest, retryCause: (any Error)? = nil
  ) {
    self.services = services
    self.endpoint = endpoint
    self.keys = keys
    self.entryID = entryID
    self.operationName = request.operationName
    self.operationType = request.operationType
    self.attempt = request.attempt
    self.retryCause = retryCause
    self.values = request.context
    self.request = request
  }

  /// Reports an error and goes on: the error taps of the chain see it, the caller does not.
  ///
  /// What a tap wants done with the error has no effect.
  public func report(_ error: any Error) async {
    for tap in listeners {
      var context = self
      context.entryID = tap.id
      _ = await tap.interceptor.tap(error, request: request, context: context)
    }
  }

  /// What the operation is called in logs: its name, or "anonymous query".
  public var operationLabel: String {
    operationName ?? "anonymous \(operationType.rawValue)"
  }
}
