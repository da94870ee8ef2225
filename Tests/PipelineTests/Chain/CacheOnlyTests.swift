import GQLRunLanguage
import GQLRunPipeline
import Testing

@Suite("The policy cache-only")
struct CacheOnlyTests {
  @Test(
    "refuses what the cache cannot answer before any interceptor runs",
    arguments: [OperationType.mutation, .subscription], [true, false])
  func refused(type: OperationType, hasCacheRead: Bool) async throws {
    let journal = Journal()
    let server = Server(.ok)
    let cache = FakeCache(store: FakeStore(["Q": "old"]))
    var entries = [PipelineEntry(id: "a", .graphQL(Tracer(name: "a", journal: journal)))]
    if hasCacheRead { entries.append(PipelineEntry(id: "cache-read", .cacheRead(cache))) }
    entries += [
      PipelineEntry(id: "fetch", .fetch(FakeFetch(server: server))),
      PipelineEntry(id: "parse", .parsing(FakeParser())),
    ]
    let runner = PipelineRunner(
      Pipeline(endpoint: testEndpoint, entries: entries), services: Services())
    let error = try #require(
      await outcome(of: runner.execute(.test("Q", type, policy: .cacheOnly))).error as? ChainError)
    #expect(error.code == .invalidRequest)
    #expect(error.message.contains("use another policy than cache-only"))
    #expect(await journal.events == [])
    #expect(await server.count == 0)
  }
}
