import GQLRunLanguage
import GQLRunPipeline
import Testing

@Suite("The cache in a chain")
struct CacheTests {
  // MARK: Policies

  struct Case: Sendable {
    var policy: CachePolicy
    var isCached: Bool
    var answer: Answer
    /// Results, then what the error is about.
    var expected: [String]
    var requests: Int
    var isKept: Bool

    init(
      _ policy: CachePolicy, cached: Bool, _ answer: Answer, _ expected: [String], requests: Int,
      kept: Bool = false
    ) {
      self.policy = policy
      self.isCached = cached
      self.answer = answer
      self.expected = expected
      self.requests = requests
      self.isKept = kept
    }
  }

  static let cases: [Case] = [
    Case(.cacheFirst, cached: true, .ok, ["cache:old"], requests: 0),
    Case(.cacheFirst, cached: true, .offline, ["cache:old"], requests: 0),
    Case(.cacheFirst, cached: false, .ok, ["server:server"], requests: 1, kept: true),
    Case(.cacheFirst, cached: false, .offline, ["connection_failed"], requests: 1),
    Case(.cacheFirst, cached: false, .status(401), ["401"], requests: 1),
    Case(.cacheFirst, cached: false, .graphQLError, ["server:error"], requests: 1, kept: true),
    Case(.networkOnly, cached: true, .ok, ["server:server"], requests: 1, kept: true),
    Case(.networkOnly, cached: true, .offline, ["connection_failed"], requests: 1),
    Case(.networkOnly, cached: true, .status(401), ["401"], requests: 1),
    Case(.networkOnly, cached: false, .graphQLError, ["server:error"], requests: 1, kept: true),
    Case(.noCache, cached: true, .ok, ["server:server"], requests: 1),
    Case(.noCache, cached: false, .ok, ["server:server"], requests: 1),
    Case(.noCache, cached: true, .offline, ["connection_failed"], requests: 1),
    Case(.noCache, cached: true, .graphQLError, ["server:error"], requests: 1),
    Case(.cacheOnly, cached: true, .ok, ["cache:old"], requests: 0),
    Case(.cacheOnly, cached: false, .ok, ["cache_miss"], requests: 0),
    Case(
      .cacheAndNetwork, cached: true, .ok, ["cache:old", "server:server"], requests: 1, kept: true),
    Case(.cacheAndNetwork, cached: false, .ok, ["server:server"], requests: 1, kept: true),
    Case(
      .cacheAndNetwork, cached: true, .offline, ["cache:old", "connection_failed"], requests: 1),
    Case(.cacheAndNetwork, cached: true, .status(401), ["cache:old", "401"], requests: 1),
    Case(.cacheAndNetwork, cached: false, .offline, ["connection_failed"], requests: 1),
    Case(
      .cacheAndNetwork, cached: true, .graphQLError, ["cache:old", "server:error"], requests: 1,
      kept: true),
    Case(.networkFirst, cached: true, .ok, ["server:server"], requests: 1, kept: true),
    Case(.networkFirst, cached: false, .ok, ["server:server"], requests: 1, kept: true),
    Case(.networkFirst, cached: true, .offline, ["cache:old"], requests: 1),
    Case(.networkFirst, cached: false, .offline, ["connection_failed"], requests: 1),
    Case(.networkFirst, cached: true, .status(503), ["cache:old"], requests: 1),
    Case(.networkFirst, cached: true, .truncated, ["cache:old"], requests: 1),
    Case(.networkFirst, cached: false, .status(503), ["503"], requests: 1),
    Case(.networkFirst, cached: true, .status(401), ["401"], requests: 1),
    Case(.networkFirst, cached: true, .status(403), ["403"], requests: 1),
    Case(.networkFirst, cached: true, .graphQLError, ["server:error"], requests: 1, kept: true),
  ]

  @Test(arguments: [
    (503, true, ["cache:old"]), (503, false, ["server:"]), (429, true, ["server:"]),
  ]) func `a refusal whose body is a GraphQL response is a failure of the server by its status`(
    _ status: Int, _ isCached: Bool, _ expected: [String]
  ) async {
    let bench = Bench(
      server: Server(.refusal(status)), store: FakeStore(isCached ? ["Q": "old"] : [:]))
    let outcome = await bench.run(.test(policy: .networkFirst))
    #expect(outcome.results + describe(outcome.error) == expected)
    #expect(await bench.server.count == 1)
  }

  @Test("is used as the policy of a query says", arguments: cases)
  func policies(_ test: Case) async {
    let bench = Bench(
      server: Server(test.answer), store: FakeStore(test.isCached ? ["Q": "old"] : [:]))
    let outcome = await bench.run(.test(policy: test.policy))
    #expect(outcome.results + describe(outcome.error) == test.expected)
    #expect(await bench.server.count == test.requests)
    let kept = test.isKept ? test.expected.last.map { String($0.dropFirst("server:".count)) } : nil
    #expect(await bench.store.records["Q"] == kept ?? (test.isCached ? "old" : nil))
  }

  @Test("is never read for a mutation, and written", arguments: CachePolicy.allCases)
  func mutations(policy: CachePolicy) async {
    let bench = Bench(store: FakeStore(["M": "old"]))
    let outcome = await bench.run(.test("M", .mutation, policy: policy))
    #expect(await bench.store.reads == 0)
    if policy == .cacheOnly {
      #expect(describe(outcome.error) == ["invalid_request"])
      #expect(await bench.server.count == 0)
    } else {
      #expect(outcome.results == ["server:server"])
      #expect(await bench.store.records["M"] == (policy == .noCache ? "old" : "server"))
    }
  }

  @Test("does not replace a mutation that fails")
  func failedMutation() async {
    let bench = Bench(server: Server(.offline), store: FakeStore(["M": "old"]))
    let outcome = await bench.run(.test("M", .mutation, policy: .networkFirst))
    #expect(describe(outcome.error) == ["connection_failed"])
  }

  @Test(
    "is read for a subscription only when the request asks for both",
    arguments: CachePolicy.allCases)
  func subscriptions(policy: CachePolicy) async {
    let bench = Bench(server: Server(.results(["1", "2"])), store: FakeStore(["S": "old"]))
    let outcome = await bench.run(.test("S", .subscription, policy: policy))
    let events = ["server:1", "server:2"]
    switch policy {
    case .cacheOnly: #expect(describe(outcome.error) == ["invalid_request"])
    case .cacheAndNetwork: #expect(outcome.results == ["cache:old"] + events)
    default: #expect(outcome.results == events)
    }
  }

  @Test("is used by the policy of the chain when the request has none")
  func defaultPolicy() async {
    let store = FakeStore(["Q": "old", "S": "old"])
    var bench = Bench(store: store)
    #expect(await bench.run(.test(policy: nil)).results == ["cache:old"])
    bench.cache = FakeCache(store: store, defaultPolicy: .networkOnly)
    #expect(await bench.run(.test(policy: nil)).results == ["server:server"])
    bench.cache = FakeCache(store: store, defaultPolicy: .cacheAndNetwork)
    let outcome = await bench.run(.test("S", .subscription, policy: nil))
    #expect(outcome.results == ["server:server"])
  }

  @Test(
    "counts as empty if it cannot be read, except with cache-only",
    arguments: CachePolicy.allCases)
  func unreadable(policy: CachePolicy) async {
    let bench = Bench(
      server: Server(policy == .networkFirst ? .offline : .ok), store: FakeStore(failsToRead: true))
    let outcome = await bench.run(.test(policy: policy))
    switch policy {
    case .cacheOnly: #expect(describe(outcome.error) == ["cache_read_failed"])
    case .networkFirst: #expect(describe(outcome.error) == ["connection_failed"])
    default: #expect(outcome.results == ["server:server"])
    }
  }

  @Test("names the first field that is missing")
  func missingField() async throws {
    let error = try #require(await Bench().run(.test(policy: .cacheOnly)).error as? ChainError)
    #expect(error.layer == .cache)
    #expect(
      "\(error)"
        == "cache-read: `viewer.login` of Q is not in the cache, and the policy cache-only does not use the network"
    )
  }

  // MARK: Writes

  @Test("is written after all interceptors and before the result is delivered")
  func commitOrder() async throws {
    var bench = Bench()
    bench.top = [Tracer(name: "a", journal: bench.journal)]
    let stream = PipelineRunner(bench.pipeline, services: Services()).execute(.test())
    let response = try #require(try await stream.next())
    #expect(await bench.journal.events.suffix(2) == ["↑a", "commit"])
    #expect(response.pendingWrite == nil)
    #expect(await bench.store.rollbacks == 0)
  }

  @Test(
    "stays as it was when an interceptor fails, suppresses or replaces the result",
    arguments: ["fail", "suppress", "replace", "drop"])
  func rollback(how: String) async {
    var bench = Bench()
    let failing = Interceptor { request, _, next in
      await next(request).map { _ in throw Refused(by: "post-flight") }
    }
    switch how {
    case "fail": bench.top = [failing]
    case "suppress":
      bench.top = [
        Interceptor { request, _, next in await next(request).mapErrors { _ in nil } }, failing,
      ]
    case "replace":
      bench.top = [
        Interceptor { request, _, next in
          await next(request).map { _ in GraphQLResponse(source: .server) }
        }
      ]
    default:
      bench.top = [
        Interceptor { request, _, next in
          _ = try await next(request).next()
          return ResponseStream()
        }
      ]
    }
    _ = await bench.run()
    #expect(await bench.store.records.isEmpty)
    #expect(await bench.store.commits == 0)
    #expect(await bench.store.rollbacks == 1)
  }

  @Test("stays as it was when the cache interceptor does not want a result")
  func veto() async {
    let store = FakeStore()
    var bench = Bench(store: store)
    bench.cache = FakeCache(store: store, vetoes: true)
    #expect(await bench.run().results == ["server:server"])
    #expect(await store.commits == 0)
    #expect(await store.rollbacks == 1)
  }

  @Test("that cannot be written is an error of its own layer")
  func unwritable() async throws {
    let bench = Bench(server: Server(.results(["unwritable"])))
    let error = try #require(await bench.run().error as? ChainError)
    #expect(error.layer == .cache)
    #expect(error.code == .cacheWriteFailed)
    #expect(error.entry == "cache-write")
    #expect(error.cause is FakeStore.Damaged)
    #expect(await bench.store.rollbacks == 1)
  }

  @Test("is not changed by a result that the policy does not store")
  func noCache() async {
    let bench = Bench()
    _ = await bench.run(.test(policy: .noCache))
    #expect(await bench.store.commits == 0)
    #expect(await bench.store.rollbacks == 0)
  }

  @Test("knows policies by all their names")
  func names() {
    #expect(CachePolicy(name: "cache-first") == .cacheFirst)
    #expect(CachePolicy(name: "returnCacheDataElseFetch") == .cacheFirst)
    #expect(CachePolicy(name: "fetchIgnoringCacheData") == .networkOnly)
    #expect(CachePolicy(name: "fetchIgnoringCacheCompletely") == .noCache)
    #expect(CachePolicy(name: "returnCacheDataDontFetch") == .cacheOnly)
    #expect(CachePolicy(name: "returnCacheDataAndFetch") == .cacheAndNetwork)
    #expect(CachePolicy(name: "networkFirst") == .networkFirst)
    #expect(CachePolicy(name: "Cache-First") == nil)
    #expect("\(CachePolicy.cacheAndNetwork)" == "cache-and-network")
    for name in CachePolicy.names { #expect(CachePolicy(name: name) != nil) }
  }

  private func describe(_ error: (any Error)?) -> [String] {
    guard let error = error as? ChainError else { return error.map { ["\($0)"] } ?? [] }
    return [error.http.map { "\($0.status)" } ?? error.code.rawValue]
  }
}
