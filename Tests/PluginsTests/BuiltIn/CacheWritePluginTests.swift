import GQLRunCache
import GQLRunDemoServer
import GQLRunPipeline
import Testing

@Suite(.timeLimit(.minutes(10))) struct CacheWritePluginTests {
  private func withBench<Result: Sendable>(
    _ entry: String = "cache-write", store: Bench.StoreKind = .memory, body: String,
    above interceptor: (any GraphQLInterceptor)? = nil,
    _ work: @Sendable (Bench) async throws -> Result
  ) async throws -> Result {
    var setup = Bench.Setup(store: store, transport: FakeNetwork(.body(body)))
    if let interceptor {
      setup.change = {
        $0.entries.insert(PipelineEntry(id: "test", .graphQL(interceptor)), at: 0)
      }
    }
    let chain = Bench.plain.replacing("- cache-write", with: "- \(entry)")
    return try await Bench.with(chain, setup: setup, body: work)
  }

  private static let partial =
    #"{"data":{"user":{"__typename":"User","id":"1","name":null}},"#
    + #""errors":[{"message":"no name","path":["user","name"]}]}"#
  private static let old = #"{"key":"User:1","fields":{"__typename":"User","id":"1","name":"Old"}}"#

  @Test(
    arguments: Bench.StoreKind.allCases,
    [
      ("skip-errored", #""name":"Old""#), ("discard", #""name":"Old""#), ("keep", #""name":null"#),
    ]) func `nulls of errors are skipped, discarded or kept`(
      _ store: Bench.StoreKind, _ it: (policy: String, name: String)
    ) async throws
  {
    try await withBench(
      "cache-write: { on_errors: \(it.policy) }", store: store, body: Self.partial
    ) {
      try await $0.prime()
      let outcome = await $0.run()
      #expect(outcome.results.first?.errors.map(\.message) == ["no name"])
      #expect(outcome.texts.first?.contains(#""name":null"#) == true)
      #expect(await $0.dump().contains(it.name))
    }
  }

  @Test func `discard writes nothing of a response with errors, skip-errored the rest`()
    async throws
  {
    for (policy, isWritten) in [("discard", false), ("skip-errored", true), ("keep", true)] {
      try await withBench("cache-write: { on_errors: \(policy) }", body: Self.partial) {
        _ = await $0.run()
        #expect(await $0.dump().contains("User:1") == isWritten)
      }
    }
  }

  @Test(arguments: Bench.StoreKind.allCases)
  func `without write_roots the objects are kept, and no operation finds them`(
    _ store: Bench.StoreKind
  ) async throws {
    try await withBench("cache-write: { write_roots: false }", store: store, body: HTTPText.user) {
      #expect(await $0.run().sources == [.server])
      #expect(await $0.dump() == Self.old.replacing("Old", with: "Ada") + "\n")
    }
  }

  @Test func `data that is null writes nothing`() async throws {
    try await withBench(body: #"{"data":null,"errors":[{"message":"no"}]}"#) {
      #expect(await $0.run().results.first?.errors.count == 1)
      #expect(await $0.dump() == "")
    }
  }

  @Test func `errors and extensions reach the caller as the server sent them`() async throws {
    let errors =
      #"[{"message":"no","locations":[{"line":1,"column":2}],"path":["user",0],"#
      + #""extensions":{"code":"X","n":12345678901234567890}}]"#
    let body = #"{"data":null,"errors":\#(errors),"extensions":{"cost":{"actual":1.50}}}"#
    try await withBench(body: body) {
      let outcome = await $0.run()
      #expect(outcome.texts == [body])
      #expect(outcome.results.first?.errors.first?.code == "X")
    }
  }

  // MARK: When

  /// Looks at the store while a result passes.
  private struct Check: GraphQLInterceptor {
    let check: @Sendable () async throws -> Void

    func intercept(
      _ request: GraphQLRequest, context: ChainContext, next: NextGraphQL
    ) async throws -> ResponseStream {
      await next(request).map { response in
        try await check()
        return response
      }
    }
  }

  private struct Objection: Error {}

  @Test(arguments: Bench.StoreKind.allCases)
  func `records are written after all interceptors saw the result`(
    _ store: Bench.StoreKind
  ) async throws {
    let box = Box()
    let check = Check { await box.note() }
    try await withBench(store: store, body: HTTPText.user, above: check) { bench in
      await box.set(bench)
      #expect(await bench.run().sources == [.server])
      #expect(await box.seen == [""])
      #expect(await bench.dump().contains("User:1"))
    }
  }

  private actor Box {
    private var bench: Bench?
    private(set) var seen: [String] = []

    func set(_ bench: Bench) { self.bench = bench }
    func note() async { if let bench { seen.append(await bench.dump()) } }
  }

  @Test(arguments: Bench.StoreKind.allCases)
  func `an interceptor that objects to a result keeps it out of the store`(
    _ store: Bench.StoreKind
  ) async throws {
    try await withBench(store: store, body: HTTPText.user, above: Check { throw Objection() }) {
      bench in
      #expect(await bench.run().error is Objection)
      #expect(await bench.dump() == "")
      try await bench.prime()
      #expect(await bench.dump().contains("Old"), "the store is free for others")
    }
  }

  // MARK: Large responses

  private static let feed = #"""
    query Feed { feed(first: 3000) { edges { node { id title body author { id login } } } } }
    """#

  @Test func `a large response is streamed into a file, and read from there`() async throws {
    let chain = "- cache-read\n" + Bench.bare
    try await Bench.withDemoServer(chain, setup: .init(store: .sqlite)) { bench, server in
      let first = await bench.run(Self.feed)
      #expect(first.sources == [.server], "\(first.message)")
      let second = await bench.run(Self.feed)
      #expect(second.sources == [.cache])
      #expect(first.texts == second.texts)
      let statistics = try await bench.store?.statistics()
      #expect(statistics?.types["Post"]?.records == 3000)
      #expect(server.requestCount == 1)
      #expect(server.log.largestChunk < 1 << 20)
    }
  }

  @Test(arguments: Bench.StoreKind.allCases, [100, 300_000, 1_000_000])
  func `a large response that breaks off leaves the store as it was`(
    _ store: Bench.StoreKind, _ bytes: Int
  ) async throws {
    try await Bench.withDemoServer(setup: .init(store: store)) { bench, server in
      try await bench.prime()
      let before = await bench.dump()
      var wish = Misbehaviour()
      wish.truncate = bytes
      server.misbehave(wish)
      let outcome = await bench.run(Self.feed)
      #expect(outcome.code == .truncatedResponse, "\(outcome.message)")
      #expect(outcome.results.isEmpty)
      #expect(await bench.dump() == before)
      server.misbehave(nil)
      #expect(await bench.run(Self.feed).sources == [.server], "the store is free again")
    }
  }
}
