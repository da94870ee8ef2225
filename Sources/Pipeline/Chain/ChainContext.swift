public import GQLRunCache
public import GQLRunLanguage
import Logging

/// What an interceptor may know beside its request.
///
/// Each interceptor gets one of its own, so it is small: what is the same for the whole attempt is made
/// once and shared, until somebody changes a copy.
public struct ChainContext: Sendable {
  /// What all contexts of an attempt have in common.
  struct Shared: Sendable {
    var services: Services
    var endpoint: Endpoint?
    var keys = KeyRules()
    var ages = AgeRules()
    var isAfterFailure = false
    var retryCause: (any Error)?
    /// Who hears of errors that do not end the request.
    var listeners: [Route.Stop<any ErrorTap>] = []
  }

  private var shared: Shareable<Shared>
  private let request: GraphQLRequest
  /// The identifier of the entry that is being called; empty outside of one.
  public var entryID: String

  public var services: Services {
    get { shared.value.services }
    set { shared.value.services = newValue }
  }
  public var endpoint: Endpoint? {
    get { shared.value.endpoint }
    set { shared.value.endpoint = newValue }
  }
  /// Which fields identify the objects of a type in this pipeline.
  public var keys: KeyRules {
    get { shared.value.keys }
    set { shared.value.keys = newValue }
  }
  /// How long data of single types and fields are fresh in this pipeline.
  public var ages: AgeRules {
    get { shared.value.ages }
    set { shared.value.ages = newValue }
  }
  /// Whether the network has failed, and the cache is asked for want of something better.
  public var isAfterFailure: Bool {
    get { shared.value.isAfterFailure }
    set { shared.value.isAfterFailure = newValue }
  }
  /// Why the chain was started again; `nil` in the first attempt.
  public var retryCause: (any Error)? {
    get { shared.value.retryCause }
    set { shared.value.retryCause = newValue }
  }
  public var operationName: String? { request.operationName }
  public var operationType: OperationType { request.operationType }
  /// The attempt, from 1.
  public var attempt: Int { request.attempt }
  /// The values of the request, as the interceptors above left them.
  public var values: RequestContext { request.context }

  public init(
    services: Services, endpoint: Endpoint? = nil, keys: KeyRules = KeyRules(),
    ages: AgeRules = AgeRules(), entryID: String = "", request: GraphQLRequest,
    retryCause: (any Error)? = nil
  ) {
    self.init(
      Shareable(
        Shared(
          services: services, endpoint: endpoint, keys: keys, ages: ages, retryCause: retryCause)),
      request, entryID: entryID)
  }

  init(_ shared: Shareable<Shared>, _ request: GraphQLRequest, entryID: String) {
    self.shared = shared
    self.request = request
    self.entryID = entryID
    for (name, value) in request.context.logged {
      services.logger[metadataKey: name] = "\(value)"
    }
  }

  /// Reports an error and goes on: the error taps of the chain see it, the caller does not.
  ///
  /// What a tap wants done with the error has no effect.
  public func report(_ error: any Error) async {
    for tap in shared.value.listeners {
      var context = self
      context.entryID = tap.id
      _ = await tap.interceptor.tap(error, request: request, context: context)
    }
  }

  /// What the operation is called in logs: its name, or "anonymous query".
  public var operationLabel: String { request.label }
}
