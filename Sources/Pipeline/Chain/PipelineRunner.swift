/// Runs requests through a pipeline. A value without state: any number of requests may run at a
/// time.
public struct PipelineRunner: Sendable {
  public let pipeline: Pipeline
  public let services: Services
  private let routes: Routes

  public init(_ pipeline: Pipeline, services: Services) {
    self.pipeline = pipeline
    self.services = services
    routes = Routes(pipeline, services)
  }

  /// The most attempts of one request, whatever the interceptors of its chain ask for.
  public static var maximumAttempts: Int { Execution.maximumAttempts }

  /// The results of a request. The request begins when the first one is read, in the task that
  /// reads it, with that task's local values; cancelling the task ends it.
  public func execute(_ request: GraphQLRequest) -> ResponseStream {
    let execution = Execution(request, routes: routes)
    return ResponseStream(pull: { try await execution.next() })
  }

  /// All results of a request.
  public func results(of request: GraphQLRequest) async throws -> [GraphQLResponse] {
    var results: [GraphQLResponse] = []
    for try await result in execute(request) { results.append(result) }
    return results
  }
}
