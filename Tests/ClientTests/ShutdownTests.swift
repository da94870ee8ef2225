import Foundation
import GQLRun
import ServiceLifecycle
import Testing

@Suite("PipelineClient: shutting down", .timeLimit(.minutes(10)))
struct ShutdownTests {
  private func client(_ transport: (any HTTPTransport)? = nil) async throws -> PipelineClient {
    let folder = try Folder()
    var configuration = PipelineClient.Configuration()
    configuration.transport = transport
    return try await PipelineClient(
      file: folder.pipeline("http://localhost/graphql"), configuration: configuration)
  }

  @Test("operations after it fail, and it can be repeated")
  func afterwards() async throws {
    let client = try await client(FixedAnswer(body: #"{"data":{"country":null}}"#))
    let stream = client.execute(
      GraphQLRequest(try client.prepare(Documents.country, variables: ["code": "FR"])))
    try await client.shutdown()
    try await client.shutdown()
    for operation: @Sendable () async throws -> Void in [
      { _ = try await client.fetch(Documents.country, variables: ["code": "FR"]) },
      { _ = try await client.perform(Documents.like, variables: ["id": "P_1"]) },
      { for try await _ in client.results(Documents.country, variables: ["code": "FR"]) {} },
      { for try await _ in stream {} },
      { try await client.clear() },
      { try await client.transaction { _ in } },
      { try await client.logOut() },
    ] {
      let error = await #expect(throws: ChainError.self) { try await operation() }
      #expect(error?.code == .clientShutDown)
    }
    for try await update in client.watch(Documents.country, variables: ["code": "FR"]) {
      Issue.record("an update after the shutdown: \(update)")
    }
  }

  @Test("running operations are cancelled, and it waits for their end")
  func running() async throws {
    let (asked, continuation) = AsyncStream.makeStream(of: Void.self)
    let client = try await client(Silence(asked: continuation))
    let fetched = Task { try await client.fetch(Documents.country, variables: ["code": "FR"]) }
    _ = await asked.first { _ in true }
    try await client.shutdown()
    let error = await #expect(throws: ChainError.self) { try await fetched.value }
    #expect(error?.code == .clientShutDown)
  }

  /// Renews a token once it may.
  private struct Renewal: HTTPTransport {
    let asked: AsyncStream<Void>.Continuation
    let mayAnswer: AsyncStream<Void>

    func send(
      _ request: HTTPRequestMessage, limits: HTTPLimits
    ) async throws -> HTTPResponseMessage {
      asked.yield()
      for await _ in mayAnswer {}
      return try await FixedAnswer(
        body: #"{"access_token":"a","refresh_token":"next","expires_in":3600}"#
      ).send(request, limits: limits)
    }
  }

  @Test("a renewal of a refresh token is waited for")
  func renewal() async throws {
    let (asked, asking) = AsyncStream.makeStream(of: Void.self)
    let (mayAnswer, answering) = AsyncStream.makeStream(of: Void.self)
    let folder = try Folder()
    let first = try folder.write("first", to: "first")
    let oauth2 =
      "token_url: https://login.example/token, client_id: c, grant: refresh-token, "
      + "refresh_token: '${file:\(first)}', store: \(folder.path)/tokens/token.json"
    var configuration = PipelineClient.Configuration()
    configuration.transport = Renewal(asked: asking, mayAnswer: mayAnswer)
    let client = try await PipelineClient(
      file: folder.pipeline(
        "http://localhost/graphql",
        chain: "[max-retry, token-refresh: { oauth2: { \(oauth2) } }, fetch, response-code, parse]"),
      configuration: configuration)
    let fetched = Task { try await client.fetch(Documents.country, variables: ["code": "FR"]) }
    _ = await asked.first { _ in true }
    async let end: Void = client.shutdown()
    let error = await #expect(throws: ChainError.self) { try await fetched.value }
    #expect(error?.code == .clientShutDown)
    answering.finish()
    try await end
    let kept = try String(contentsOfFile: "\(folder.path)/tokens/token.json", encoding: .utf8)
    #expect(kept.contains("next"))
  }

  @Test("cancelling the caller's task ends its operation only")
  func cancellation() async throws {
    let (asked, continuation) = AsyncStream.makeStream(of: Void.self)
    let client = try await client(Silence(asked: continuation))
    let task = Task { try await client.fetch(Documents.country, variables: ["code": "FR"]) }
    _ = await asked.first { _ in true }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    await #expect(throws: GraphQLSyntaxError.self) { try await client.fetch("{") }
    try await client.shutdown()
  }

  @Test("a watch ends")
  func watching() async throws {
    let client = try await client(FixedAnswer(body: #"{"data":{"country":null}}"#))
    var updates = client.watch(Documents.country, variables: ["code": "FR"]).makeAsyncIterator()
    #expect(try await updates.next()?.result?.source == .server)
    async let next = updates.next()
    try await client.shutdown()
    #expect(try await next == nil)
  }

  @Test("a store that the program supplied stays open")
  func ownership() async throws {
    let folder = try Folder()
    let store = try CacheStore.sqlite(path: folder.path + "/own.db")
    var configuration = PipelineClient.Configuration()
    configuration.store = store
    configuration.transport = FixedAnswer(body: #"{"data":{"country":null}}"#)
    let client = try await PipelineClient(
      file: folder.pipeline("http://localhost/graphql"), configuration: configuration)
    _ = try await client.fetch(Documents.country, variables: ["code": "FR"])
    try await client.shutdown()
    #expect(try await store.statistics().records == 1)
    try store.close()
  }

  @Test("a service group runs a client and shuts it down")
  func service() async throws {
    let client = try await client(FixedAnswer(body: #"{"data":{"country":null}}"#))
    let group = ServiceGroup(
      configuration: .init(
        services: [.init(service: client)],
        logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }))
    async let running: Void = group.run()
    _ = try await client.fetch(Documents.country, variables: ["code": "FR"])
    await group.triggerGracefulShutdown()
    try await running
    let error = await #expect(throws: ChainError.self) { try await client.fetch("{ a }") }
    #expect(error?.code == .clientShutDown)
  }
}
