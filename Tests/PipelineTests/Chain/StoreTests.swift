import GQLRunCache
import GQLRunJSON
import GQLRunLanguage
import GQLRunPipeline
import Testing

/// The chain with the real parser and store of the cache.
@Suite("A chain over a store")
struct StoreTests {
  struct StoreCache: CacheInterceptor {
    var errors = ErrorReadPolicy.refuse

    func read(
      _ request: GraphQLRequest, context: ChainContext
    ) async throws -> CacheReadOutcome {
      guard let store = context.services.store, let operation = request.operation else {
        return .miss(missing: nil)
      }
      let answer = try await store.read(operation, options: ReadOptions(errors: errors))
      switch answer.result {
      case .hit(let data):
        return .hit(
          GraphQLResponse(
            source: .cache, data: data, errors: answer.errors.map { GraphQLError($0) }))
      case .miss(let miss): return .miss(missing: miss.path)
      }
    }

    func prepareWrite(
      for request: GraphQLRequest, context: ChainContext
    ) async throws -> CacheWriteTarget? {
      context.services.store.map { CacheWriteTarget(store: $0) }
    }
  }

  struct StreamParser: ResponseParsingInterceptor {
    func parse(
      _ response: HTTPResponseMessage, for request: GraphQLRequest, target: CacheWriteTarget?,
      context: ChainContext
    ) async throws -> ResponseStream {
      let once = Once()
      return ResponseStream(pull: {
        guard await once.isFirst(), let operation = request.operation else { return nil }
        var options = ResponseNormalizer.Options()
        options.errorPolicy = target?.errorPolicy ?? .skipErrored
        let normalizer = try ResponseNormalizer(operation, store: target?.store, options: options)
        do {
          for try await chunk in response.body {
            try chunk.withUnsafeBytes { try normalizer.feed($0) }
            if normalizer.needsFlush { try await normalizer.flush() }
          }
        } catch {
          await normalizer.abandon()
          throw error
        }
        let result = try await normalizer.finish()
        return GraphQLResponse(
          source: .server, data: result.data, errors: result.errors.map { GraphQLError($0) },
          extensions: result.extensions, pendingWrite: result.write)
      })
    }

    private actor Once {
      private var isUsed = false

      func isFirst() -> Bool {
        defer { isUsed = true }
        return !isUsed
      }
    }
  }

  private func runner(_ bodies: String..., store: CacheStore) -> (PipelineRunner, Server) {
    let server = Server(answers: bodies.map { .results($0.map { String($0) }) })
    let pipeline = Pipeline(
      endpoint: testEndpoint,
      entries: [
        PipelineEntry(id: "cache-read", .cacheRead(StoreCache())),
        PipelineEntry(id: "fetch", .fetch(FakeFetch(server: server))),
        PipelineEntry(id: "parse", .parsing(StreamParser())),
        PipelineEntry(id: "cache-write", .cacheWrite(StoreCache())),
      ])
    return (PipelineRunner(pipeline, services: Services(store: store)), server)
  }

  private func request(_ policy: CachePolicy) throws -> GraphQLRequest {
    let document = try Document(parsing: "query Q { viewer { id login } }")
    return GraphQLRequest(try PreparedOperation(document: document), cachePolicy: policy)
  }

  private let body =
    #"{"data":{"viewer":{"__typename":"User","id":"1","login":"ada"}},"extensions":{"cost":1}}"#

  @Test("brings the server's answer once and the cache's afterwards")
  func hit() async throws {
    let store = CacheStore.memory()
    let (runner, server) = runner(body, store: store)
    let first = try await runner.results(of: request(.cacheFirst))
    #expect(first.map(\.text) == [#"server:{"viewer":{"id":"1","login":"ada"}}"#])
    #expect(first.first?.writeSummary?.newRecords == 2)
    #expect(first.first?.extensions == ["cost": 1])
    let second = try await runner.results(of: request(.cacheFirst))
    #expect(second.map(\.text) == [#"cache:{"viewer":{"id":"1","login":"ada"}}"#])
    let both = try await runner.results(of: request(.cacheAndNetwork))
    #expect(both.map(\.source) == [.cache, .server])
    #expect(both.last?.writeSummary?.unchangedRecords == 2)
    #expect(await server.count == 2)
  }

  @Test("keeps nothing of an answer that breaks off, wherever it does")
  func truncated() async throws {
    for count in 0..<body.count {
      let store = CacheStore.memory()
      let (runner, _) = runner(String(body.prefix(count)), store: store)
      await #expect(throws: (any Error).self) {
        _ = try await runner.results(of: request(.networkOnly))
      }
      #expect(try await store.statistics().records == 0)
    }
  }

  @Test("says what is missing")
  func miss() async throws {
    let (runner, server) = runner(body, store: .memory())
    let error = await outcome(of: runner.execute(try request(.cacheOnly))).error as? ChainError
    #expect(error?.code == .cacheMiss)
    #expect(error?.message.contains("`viewer`") == true)
    #expect(await server.count == 0)
  }
}
