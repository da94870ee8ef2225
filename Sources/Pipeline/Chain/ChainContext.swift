public import GQLRunCache
public import GQLRunLanguage
import Logging

/// The context of one call of an interceptor: services, endpoint, rules, and facts about the
/// request.
///
/// Every interceptor gets its own. The values that are the same for the whole attempt are created
/// once and shared until a copy is changed.
public struct ChainContext: Sendable {
  /// The values that all contexts of an attempt share.
  struct Shared: Sendable {
    var services: Services
    var endpoint: Endpoint?
    var keys = KeyRules()
    var ages = AgeRules()
    var isAfterFailure = false
    var retryCause: (any Error)?
    /// The error taps that receive reported errors.
    var taps: [Route.Step<any ErrorTap>] = []
  }

  private var shared: Shareable<Shared>
  private let request: GraphQLRequest
  /// The identifier of the entry that is called; empty outside of an entry.
  public var entryID: String

  /// The services of the run: transport, store, clock, logger.
  public var services: Services {
    get { shared.value.services }
    set { shared.value.services = newValue }
  }
  /// The endpoint of the pipeline; `nil` if it has none.
  public var endpoint: Endpoint? {
    get { shared.value.endpoint }
    set { shared.value.endpoint = newValue }
  }
  /// The rules that name the key fields of each type.
  public var keys: KeyRules {
    get { shared.value.keys }
    set { shared.value.keys = newValue }
  }
  /// The max ages of types and fields.
  public var ages: AgeRules {
    get { shared.value.ages }
    set { shared.value.ages = newValue }
  }
  /// Whether the cache is read because the network has failed (`network-first`).
  public var isAfterFailure: Bool {
    get { shared.value.isAfterFailure }
    set { shared.value.isAfterFailure = newValue }
  }
  /// The reason for the retry; `nil` in the first attempt.
  public var retryCause: (any Error)? {
    get { shared.value.retryCause }
    set { shared.value.retryCause = newValue }
  }
  /// The name of the operation; `nil` for an anonymous one.
  public var operationName: String? { request.operationName }
  /// The type of the operation.
  public var operationType: OperationType { request.operationType }
  /// The number of the attempt, from 1.
  public var attempt: Int { request.attempt }
  /// The values of the request, as set by the interceptors above.
  public var values: RequestContext { request.context }

  /// Creates a context, for tests of interceptors.
  ///
  /// - Parameters:
  ///   - services: The services that the interceptor uses.
  ///   - endpoint: The endpoint of the pipeline.
  ///   - keys: The rules that name the key fields of each type.
  ///   - ages: The max ages of types and fields.
  ///   - entryID: The identifier of the entry that is called.
  ///   - request: The request of the attempt.
  ///   - retryCause: The reason for the retry; `nil` for a first attempt.
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

  /// Reports an error that does not end the request: the error taps of the chain receive it, the
  /// caller does not.
  ///
  /// The outcome that a tap returns is ignored.
  public func report(_ error: any Error) async {
    for tap in shared.value.taps {
      var context = self
      context.entryID = tap.id
      _ = await tap.interceptor.tap(error, request: request, context: context)
    }
  }

  /// The operation in log messages: its name, or "the anonymous query".
  public var operationLabel: String { request.label }
}
