import GQLRun
import GQLRunTesting
import Testing

/// A plugin of the HTTP stage that refuses responses; docs/guide-own-plugins.md shows its interceptor.
private struct FreshPlugin: Plugin {
  static let summary = "Refuses responses that an HTTP cache has kept too long"
  static let documentation = PluginDocumentation(
    use: "Tests.", position: "Above fetch.", example: "fresh: { max_age: 1m }",
    narration: "A response whose field Age is 61 fails.")

  @Option("Longest time that a response may have been in an HTTP cache")
  var maxAge = Duration.seconds(60)

  var placement: Placement { .wrap(.http) }

  func parts(_ environment: PluginEnvironment) -> [ChainPart] {
    [.http(FreshInterceptor(maxAge: maxAge))]
  }
}

private struct FreshInterceptor: HTTPInterceptor {
  let maxAge: Duration

  func intercept(
    _ request: HTTPRequestMessage, context: ChainContext, next: NextHTTP
  ) async throws -> HTTPResponseMessage {
    let response = try await next(request)
    let head = response.head
    guard let age = head.headerFields[.age].flatMap(Int.init), .seconds(age) > maxAge else {
      return response
    }
    throw ChainError(
      .transport, code: .staleResponse,
      message: "the response was in an HTTP cache for \(age) s; send Cache-Control: no-cache",
      entry: context.entryID,
      http: ChainError.HTTPFailure(status: head.status.code, headers: head.headerFields),
      delivery: .answered)
  }
}

extension ChainError.Code {
  /// An HTTP cache has kept the response too long.
  fileprivate static let staleResponse = ChainError.Code(rawValue: "stale_response")
}

/// A server that answers with a field `Age`.
private struct AgingTransport: HTTPTransport {
  let age: String?

  func send(
    _ request: HTTPRequestMessage, limits: HTTPLimits
  ) async throws -> HTTPResponseMessage {
    var head = HTTPResponse(status: .ok)
    head.headerFields[.contentType] = "application/json"
    head.headerFields[.age] = age
    return HTTPResponseMessage(head: head, body: HTTPBody([Array(#"{"data":{"a":1}}"#.utf8)]))
  }
}

@Suite("A plugin of the HTTP stage of one's own")
struct OwnHTTPPluginTests {
  @Test("keeps the contract of plugins")
  func contract() async throws {
    try await PluginContract(FreshPlugin.self).check()
  }

  @Test(
    "refuses a response by its head, with a code of its own",
    arguments: [("61", true), ("60", false), (nil, false)])
  func responses(age: String?, isRefused: Bool) async throws {
    var registry = PluginRegistry.builtIn
    registry.register(FreshPlugin.self)
    let yaml = """
      version: 1
      endpoint: { url: "http://localhost/" }
      store: { kind: none }
      chain: [fresh, fetch, response-code, parse]
      """
    let pipeline = try PipelineFile.load(
      Array(yaml.utf8), file: "x.pipeline.yaml", registry: registry,
      environment: PipelineFileEnvironment()
    ).pipeline
    let runner = PipelineRunner(
      pipeline, services: Services(transport: AgingTransport(age: age)))
    let request = GraphQLRequest(
      try PreparedOperation(document: Document(parsing: "{ a }")))
    var count = 0
    var found: ChainError?
    do {
      for try await _ in runner.execute(request) { count += 1 }
    } catch let error as ChainError {
      found = error
    }
    #expect(count == (isRefused ? 0 : 1))
    #expect(found?.code.rawValue == (isRefused ? "stale_response" : nil))
    #expect(found?.http?.status == (isRefused ? 200 : nil))
  }
}
