import GQLRunLanguage
import GQLRunSupport
import Logging

/// Executes requests with a pipeline. A value without state: any number of requests may run
/// concurrently.
public struct PipelineRunner: Sendable {
  /// The pipeline of the requests.
  public var pipeline: Pipeline { shared.value }
  /// A reference: every task that executes a request has a copy of the runner.
  private let shared: Shareable<Pipeline>
  /// The services that its plugins use: store, transport, clock, logger.
  public let services: Services
  private let routes: Routes
  private let wrap: (@Sendable (ResponseStream) -> ResponseStream)?
  /// The observation of the services; `nil` without one.
  package let observation: (any ChainObservation)?

  /// Creates a runner. It opens nothing: `services` provides the store and the transport.
  ///
  /// Adds the pipeline's secrets to ``Services/secrets``, and hides known secrets in the services'
  /// log.
  public init(_ pipeline: Pipeline, services: Services) {
    self.init(pipeline, services: services, wrap: nil)
  }

  /// - Parameter wrap: Wraps the results of every operation before the caller receives them.
  package init(
    _ pipeline: Pipeline, services: Services,
    wrap: (@Sendable (ResponseStream) -> ResponseStream)?
  ) {
    shared = Shareable(pipeline)
    var services = services
    services.secrets.insert(of: pipeline)
    if !(services.logger.handler is SecretHidingLog) {
      services.logger.handler = SecretHidingLog(
        base: services.logger.handler, secrets: services.secrets)
    }
    self.services = services
    self.wrap = wrap
    observation = services[ChainObservationKey.self]
    routes = Routes(observation?.observing(pipeline) ?? pipeline, services)
  }

  /// The most attempts of one request, however many retries interceptors throw.
  public static let maxAttempts = 25

  /// The cache policy of a request: its own, or that of the chain's cache read.
  package func policy(of request: GraphQLRequest) -> CachePolicy {
    routes.route(for: request).policy(of: request)
  }

  /// Executes a request.
  ///
  /// The request starts when the first result is read, in the task that reads it and with that
  /// task's local values. Cancelling the task cancels the request.
  ///
  /// Known secrets are hidden in errors and in `extensions`; `data` is as the server sent it.
  ///
  /// - Parameter request: The request; its policy overrides that of the chain.
  /// - Returns: The results, read once.
  public func execute(_ request: GraphQLRequest) -> ResponseStream {
    let execution = Execution(request, routes: routes)
    let secrets = services.secrets
    let stream = ResponseStream(pull: {
      do {
        guard let response = try await execution.next() else { return nil }
        guard !response.errors.isEmpty || response.extensions != nil || response.gap != nil else {
          return response
        }
        return secrets.hiding.response(response)
      } catch {
        throw secrets.hiding.error(error)
      }
    })
    let results = wrap?(stream) ?? stream
    guard let observation else { return buffered(results, request) }
    let observed = observation.observing(
      ObservedOperation(
        request: request, results: results, attempts: { execution.attempts },
        readsCacheFirst: routes.route(for: request).readsCacheFirst(request)))
    return buffered(observed, request)
  }

  /// The events of a subscription, read ahead if the pipeline asks for it.
  private func buffered(_ stream: ResponseStream, _ request: GraphQLRequest) -> ResponseStream {
    guard request.operationType == .subscription, pipeline.subscriptions.overflow != .block else {
      return stream
    }
    let buffer = EventBuffer(
      stream, label: request.label, pipeline.subscriptions,
      secondsSince1970: services.secondsSince1970)
    let owned = Owned(buffer) { $0.cancel() }
    return ResponseStream(pull: { try await owned.value.next() })
  }

  /// Executes a request and collects all its results.
  ///
  /// - Throws: The error that ends the results.
  public func results(of request: GraphQLRequest) async throws -> [GraphQLResponse] {
    var results: [GraphQLResponse] = []
    for try await result in execute(request) { results.append(result) }
    return results
  }
}

/// Observes the operations of all runners that have the same services, and the steps of their chains.
package protocol ChainObservation: Sendable {
  /// The pipeline, with observed interceptors.
  func observing(_ pipeline: Pipeline) -> Pipeline
  /// The results of an operation, which are observed as they are read.
  func observing(_ operation: ObservedOperation) -> ResponseStream
  /// Runs a task of a batch, whose requests belong to it.
  ///
  /// - Parameter operation: The identifier of its operation in the manifest.
  func observing(taskOf operation: String, _ body: () async throws -> Void) async throws
}

/// The observation of runners; not set by default.
package enum ChainObservationKey: ServiceKey {
  package typealias Value = any ChainObservation
}

/// An operation, as a ``ChainObservation`` receives it.
package struct ObservedOperation: Sendable {
  /// The request, before any interceptor has changed it.
  package let request: GraphQLRequest
  /// Its results.
  package let results: ResponseStream
  /// The number of attempts so far.
  package let attempts: @Sendable () -> Int
  /// Whether the cache is read before the network is used.
  package let readsCacheFirst: Bool
}
