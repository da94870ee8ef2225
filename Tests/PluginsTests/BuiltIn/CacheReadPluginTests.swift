import GQLRunCache
import GQLRunDemoServer
import GQLRunJSON
import GQLRunLanguage
import GQLRunPipeline
import Testing

@Suite(.timeLimit(.minutes(10))) struct CacheReadPluginTests {
  @Test(
    arguments: CachePolicy.names.map { ("cache-read: { policy: \($0) }", String?.none) } + [
      ("cache-read: { policy: cache_first }", "did you mean `cache-first`?")
    ]) func `both vocabularies are understood`(_ entry: String, _ refusal: String?)
  {
    expectEntry(entry, refusedWith: refusal)
  }

  enum Server: String, Sendable, CaseIterable {
    case ok, failing, offline, unauthorized, errors

    /// What an operation ends with that asks this server alone.
    var end: String {
      switch self {
      case .ok, .errors: "server"
      case .failing: "http 503"
      case .offline: "connection_failed"
      case .unauthorized: "http 401"
      }
    }
  }

  struct Case: Sendable, CustomTestStringConvertible {
    var policy: CachePolicy
    var isCached: Bool
    var server: Server
    var store: Bench.StoreKind

    static let all: [Case] = CachePolicy.allCases.flatMap { policy in
      Server.allCases.flatMap { server in
        Bench.StoreKind.allCases.flatMap { store in
          [true, false].map {
            Case(policy: policy, isCached: $0, server: server, store: store)
          }
        }
      }
    }

    /// Results and error, in order.
    var outcome: [String] {
      switch policy {
      case .networkOnly, .noCache: [server.end]
      case .cacheFirst: [isCached ? "cache" : server.end]
      case .cacheOnly: [isCached ? "cache" : "cache_miss"]
      case .cacheAndNetwork: (isCached ? ["cache"] : []) + [server.end]
      case .networkFirst:
        [isCached && [.failing, .offline].contains(server) ? "cache" : server.end]
      }
    }

    var requests: Int {
      if server == .offline || policy == .cacheOnly { return 0 }
      return policy == .cacheFirst && isCached ? 0 : 1
    }

    /// Of an answer with errors, what is no error.
    var isWritten: Bool {
      [.ok, .errors].contains(server) && requests == 1 && policy != .noCache
    }

    var testDescription: String {
      "\(policy), \(isCached ? "hit" : "miss"), \(server.rawValue), \(store)"
    }
  }

  private static let query = #"query User { user(id: "U_1") { id login name } }"#

  private func chain(_ policy: CachePolicy) -> String {
    "- cache-read: { policy: \(policy) }\n" + Bench.bare
  }

  private func summary(_ outcome: Outcome) -> [String] {
    outcome.sources.map(\.rawValue)
      + (outcome.failure.map { [$0.http.map { "http \($0.status)" } ?? $0.code.rawValue] } ?? [])
  }

  @Test(arguments: Case.all) func `a policy asks whom it says`(_ it: Case) async throws {
    try await DemoServer.withServer { server in
      let url = it.server == .offline ? "http://127.0.0.1:1/graphql" : server.url
      let good = server.url
      try await Bench.with(chain(it.policy), url: url, setup: .init(store: it.store)) { bench in
        if it.isCached {
          // The store is filled by a server that is well.
          let filler = try bench.using(chain(.networkOnly), url: good)
          #expect(await filler.run(Self.query).sources == [.server])
        }
        let before = await bench.dump()
        let count = server.requestCount
        server.misbehave(it.server.misbehaviour)
        let outcome = await bench.run(Self.query)
        #expect(summary(outcome) == it.outcome, "\(outcome.message)")
        #expect(server.requestCount - count == it.requests)
        let after = await bench.dump()
        if !it.isWritten || it.isCached { #expect(after == before) }
        if it.isWritten {
          let dump = await bench.dump()
          #expect(dump.contains(#""key":"User:U_1""#), "\(dump)")
        }
        if it.server == .errors, it.requests == 1 {
          #expect(outcome.results.last?.errors.isEmpty == false)
        }
      }
    }
  }

  @Test(arguments: CachePolicy.allCases, Bench.StoreKind.allCases)
  func `a mutation is always sent, never read, and written`(
    _ policy: CachePolicy, _ store: Bench.StoreKind
  ) async throws {
    let mutation = #"mutation Like { likePost(id: "P_1") { id likeCount } }"#
    try await Bench.withDemoServer(chain(policy), setup: .init(store: store)) { bench, server in
      let outcomes = [await bench.run(mutation), await bench.run(mutation)]
      if policy == .cacheOnly {
        #expect(outcomes.map(\.code) == [.invalidRequest, .invalidRequest])
        #expect(server.requestCount == 0)
      } else {
        #expect(outcomes.map(\.sources) == [[.server], [.server]])
        #expect(server.requestCount == 2)
        #expect(outcomes[0].texts != outcomes[1].texts)
        let isWritten = await bench.dump().contains(#""key":"Post:P_1""#)
        #expect(isWritten == (policy != .noCache))
        #expect(await !bench.dump().contains("MUTATION_ROOT"))
      }
    }
  }

  @Test(arguments: Bench.StoreKind.allCases)
  func `a miss of cache-only names the first field that is missing`(
    _ store: Bench.StoreKind
  ) async throws {
    try await Bench.withDemoServer(chain(.cacheOnly), setup: .init(store: store)) { bench, server in
      let nothing = await bench.run(Self.query)
      #expect(nothing.failure?.layer == .cache)
      #expect(nothing.code == .cacheMiss)
      #expect(nothing.failure?.entry == "cache-read")
      #expect(
        nothing.message
          == "cache-read: `user` of User is not in the cache, and the policy cache-only does "
          + "not use the network")
      #expect(server.requestCount == 0)
      #expect(await bench.run(Self.query, policy: .networkOnly).sources == [.server])
      #expect(await bench.run(Self.query).sources == [.cache])
      let more = #"query User { user(id: "U_1") { id login bio followers } }"#
      let miss = await bench.run(more)
      #expect(miss.message.contains("`user.bio` of User is not in the cache"))
      #expect(server.requestCount == 1)
    }
  }

  @Test(arguments: ErrorReadPolicy.allCases, Bench.StoreKind.allCases)
  func `a field that failed is read as the option says, without secrets`(
    _ policy: ErrorReadPolicy, _ store: Bench.StoreKind
  ) async throws {
    let query = #"{ trouble { ok error(message: "no \#(Bench.canary)") } }"#
    let chain = "- cache-read: { errors: \(policy.rawValue) }\n" + Bench.bare
    try await Bench.withDemoServer(chain, setup: .init(store: store)) { bench, _ in
      let outcomes = [await bench.run(query), await bench.run(query)]
      #expect(outcomes[0].sources == [.server])
      #expect(outcomes[1].sources == [policy == .refuse ? .server : .cache])
      let errors = outcomes.map { $0.results.flatMap(\.errors).map(\.description) }
      #expect(errors[0] == ["trouble.error: no ••• [DEMO_ERROR]"])
      #expect(errors[1] == (policy == .keep ? [] : errors[0]))
      let operation = try PreparedOperation(document: Document(parsing: query))
      let stored = try await bench.store?.read(operation, options: ReadOptions(errors: .replay))
      #expect(stored?.errors.map { $0["message"]?.stringValue } == ["no •••"])
    }
  }

  @Test func `a token is not renewed for the stored error of an earlier one`() async throws {
    let query = #"{ trouble { error(code: "UNAUTHENTICATED") } }"#
    let chain =
      "- max-retry\n- token-refresh: { env: CANARY }\n- cache-read: { errors: replay }\n"
      + Bench.bare
    let setup = Bench.Setup(variables: ["CANARY": Bench.canary])
    try await Bench.withDemoServer(chain, setup: setup) { bench, server in
      _ = try await bench.using(Bench.plain, url: server.url).run(query)
      let outcome = await bench.run(query)
      #expect(outcome.sources == [.cache], "\(outcome.message)")
      #expect(outcome.results.last?.errors.map(\.code) == ["UNAUTHENTICATED"])
    }
  }

  @Test func `without a store everything is a miss`() async throws {
    try await Bench.withDemoServer(chain(.cacheFirst), setup: .init(store: nil)) { bench, server in
      for _ in 0..<2 { #expect(await bench.run(Self.query).sources == [.server]) }
      #expect(await bench.run(Self.query, policy: .cacheOnly).code == .cacheMiss)
      #expect(server.requestCount == 2)
    }
  }

  @Test func `the policy of a request overrides the option`() async throws {
    try await Bench.withDemoServer(chain(.networkOnly)) { bench, server in
      _ = await bench.run(Self.query)
      #expect(await bench.run(Self.query, policy: .cacheAndNetwork).sources == [.cache, .server])
      #expect(await bench.run(Self.query, policy: .cacheOnly).sources == [.cache])
      #expect(server.requestCount == 2)
    }
  }
}

extension CacheReadPluginTests.Server {
  var misbehaviour: Misbehaviour {
    var wish = Misbehaviour()
    switch self {
    case .ok, .offline: break
    case .failing: wish.status = 503
    case .unauthorized: wish.auth = "another token"
    case .errors: wish.errors = true
    }
    return wish
  }
}
