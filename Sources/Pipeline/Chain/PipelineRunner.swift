import Logging

/// Runs requests through a pipeline. A value without state: any number of requests may run at a
/// time.
public struct PipelineRunner: Sendable {
  /// The pipeline that requests pass.
  public let pipeline: Pipeline
  /// What the plugins of the pipeline use: store, transport, clock, log.
  public let services: Services
  private let routes: Routes
  private let observer: (@Sendable (ObservedOperation) -> ResponseStream)?

  /// A runner that opens nothing: `services` has the store and the transport.
  ///
  /// Adds the pipeline's secrets to ``Services/secrets``; the log of the services hides them from then on.
  public init(_ pipeline: Pipeline, services: Services) {
    self.init(pipeline, services: services, observer: nil)
  }

  /// - Parameter observer: Returns the results of every operation, as the caller receives them.
  package init(
    _ pipeline: Pipeline, services: Services,
    observer: (@Sendable (ObservedOperation) -> ResponseStream)?
  ) {
    self.pipeline = pipeline
    var services = services
    services.secrets.insert(contentsOf: pipeline.secrets)
    if let endpoint = pipeline.endpoint {
      services.secrets.insert(contentsOf: endpoint.headers.secrets)
      services.secrets.insert(contentsOf: SecretNames.secrets(inURL: endpoint.path))
    }
    if !(services.logger.handler is SecretHidingLog) {
      services.logger.handler = SecretHidingLog(services.logger.handler, services.secrets)
    }
    self.services = services
    self.observer = observer
    routes = Routes(pipeline, services)
  }

  /// The most attempts of one request, whatever the interceptors of its chain ask for.
  public static var maximumAttempts: Int { Execution.maximumAttempts }

  /// The results of a request. The request begins when the first one is read, in the task that
  /// reads it, with that task's local values; cancelling the task ends it.
  ///
  /// Known secrets are hidden in errors and in `extensions`; `data` are as the server sent them.
  public func execute(_ request: GraphQLRequest) -> ResponseStream {
    let execution = Execution(request, routes: routes)
    let secrets = services.secrets
    let stream = ResponseStream(pull: {
      do {
        guard let response = try await execution.next() else { return nil }
        guard !response.errors.isEmpty || response.extensions != nil else { return response }
        return secrets.hiding.response(response)
      } catch {
        throw secrets.hiding.error(error)
      }
    })
    guard let observer else { return stream }
    return observer(
      ObservedOperation(
        request: request, results: stream, attempts: { execution.attempts },
        readsCacheFirst: routes.route(for: request).readsCacheFirst(request)))
  }

  /// All results of a request.
  public func results(of request: GraphQLRequest) async throws -> [GraphQLResponse] {
    var results: [GraphQLResponse] = []
    for try await result in execute(request) { results.append(result) }
    return results
  }
}

/// An operation that the observer of a ``PipelineRunner`` sees.
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
