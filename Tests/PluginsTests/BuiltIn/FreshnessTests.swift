import GQLRunCache
import GQLRunDemoServer
import GQLRunPipeline
import GQLRunPlugins
import GQLRunSupport
import Testing

@Suite("How old a chain's answers are", .timeLimit(.minutes(10)))
struct FreshnessTests {
  private static let query = #"query User { user(id: "U_1") { id login name } }"#

  private static func chain(_ options: String) -> String {
    "- cache-read: { \(options) }\n" + Bench.bare
  }

  /// What a chain answers after the first answer has grown old.
  struct Case: Sendable, CustomTestStringConvertible {
    var options: String
    var age: Double
    /// The sources of the answers, and of the one that is stale.
    var outcome: [String]
    var isStale = false
    var isOffline = false
    var rules = AgeRules()

    var testDescription: String { "\(options) after \(age) s\(isOffline ? ", offline" : "")" }
  }

  static let cases: [Case] = [
    Case(options: "policy: cache-first", age: 1e7, outcome: ["cache"]),
    Case(options: "max_age: 5m", age: 299, outcome: ["cache"]),
    Case(options: "max_age: 5m", age: 300, outcome: ["server"]),
    Case(options: "max_age: 0s", age: 0, outcome: ["server"]),
    Case(options: "max_age: 5m, max_stale: 1m", age: 359, outcome: ["cache"], isStale: true),
    Case(options: "max_age: 5m, max_stale: 1m", age: 360, outcome: ["server"]),
    Case(options: "max_age: 5m, policy: cache-only", age: 300, outcome: ["cache_miss"]),
    Case(
      options: "max_age: 5m, max_stale: 1h, policy: cache-only", age: 300, outcome: ["cache"],
      isStale: true),
    Case(
      options: "max_age: 5m, policy: cache-and-network", age: 299, outcome: ["cache", "server"]),
    Case(options: "max_age: 5m, policy: cache-and-network", age: 300, outcome: ["server"]),
    Case(
      options: "max_age: 5m, max_stale: 1h, policy: cache-and-network", age: 300,
      outcome: ["cache", "server"], isStale: true),
    Case(
      options: "max_age: 5m, policy: network-first", age: 1e6, outcome: ["cache"], isStale: true,
      isOffline: true),
    Case(
      options: "max_age: 5m, max_stale: 1m, policy: network-first", age: 359, outcome: ["cache"],
      isStale: true, isOffline: true),
    Case(
      options: "max_age: 5m, max_stale: 1m, policy: network-first", age: 360,
      outcome: ["connection_failed"], isOffline: true),
    Case(
      options: "policy: cache-first", age: 60, outcome: ["server"],
      rules: AgeRules(types: ["User": .seconds(60)])),
    Case(
      options: "policy: cache-first", age: 60, outcome: ["server"],
      rules: AgeRules(fields: ["Query": ["user": .seconds(60)]])),
    Case(
      options: "max_age: 1s", age: 60, outcome: ["cache"],
      rules: AgeRules(types: ["User": .seconds(61), "Query": .seconds(61)])),
  ]

  @Test("data are used as long as they are fresh", arguments: Bench.StoreKind.allCases, cases)
  func ages(kind: Bench.StoreKind, it: Case) async throws {
    try await DemoServer.withServer { server in
      let time = Locked(1_700_000_000.0)
      let setup = Bench.Setup(
        store: kind, secondsSince1970: { time.withLock { $0 } }, change: { $0.ages = it.rules })
      let url = server.url
      let options = it.isOffline ? "http://127.0.0.1:1/graphql" : url
      try await Bench.with(Self.chain(it.options), url: options, setup: setup) { bench in
        let filler = try bench.using(Self.chain("policy: network-only"), url: url)
        #expect(await filler.run(Self.query).sources == [.server])
        time.withLock { $0 += it.age }
        let outcome = await bench.run(Self.query)
        let ends = outcome.failure.map { [$0.code.rawValue] } ?? []
        #expect(outcome.sources.map(\.rawValue) + ends == it.outcome, "\(outcome.message)")
        let staleness = outcome.results.first?.staleness
        #expect((staleness != nil) == it.isStale)
        if it.isStale { #expect(staleness?.age == Int(it.age) && staleness?.maxAge == 300) }
      }
    }
  }

  @Test("an answer of the server makes data fresh again, changed or not")
  func renewal() async throws {
    let time = Locked(1_700_000_000.0)
    let setup = Bench.Setup(secondsSince1970: { time.withLock { $0 } })
    try await Bench.withDemoServer(Self.chain("max_age: 5m"), setup: setup) { bench, _ in
      #expect(await bench.run(Self.query).sources == [.server])
      time.withLock { $0 += 300 }
      #expect(await bench.run(Self.query).sources == [.server])
      time.withLock { $0 += 299 }
      #expect(await bench.run(Self.query).sources == [.cache])
    }
  }

  @Test("a miss of cache-only says how old the field is")
  func reason() async throws {
    let time = Locked(1_700_000_000.0)
    let setup = Bench.Setup(secondsSince1970: { time.withLock { $0 } })
    let chain = Self.chain("policy: cache-only, max_age: 5m")
    try await Bench.withDemoServer(chain, setup: setup) { bench, _ in
      #expect(await bench.run(Self.query, policy: .networkOnly).sources == [.server])
      time.withLock { $0 += 420 }
      let miss = await bench.run(Self.query)
      #expect(
        miss.message
          == "cache-read: `user` of User is stale in the cache (received 7 min ago, max_age 5 min), "
          + "and the policy cache-only does not use the network")
    }
  }

  @Test("other readers of the store, such as gqlrun cache read, have the options of the chain")
  func optionsOfTheChain() throws {
    let options = "max_age: 5m, max_stale: 1h, errors: replay"
    let pipeline = try Bench.pipeline(Self.chain(options), url: "http://localhost/")
    #expect(pipeline.allAges.maxAge == .seconds(300))
    #expect(pipeline.maxStale == .seconds(3600))
    #expect(pipeline.readErrors == .replay)
  }

  @Test("max_stale without any max_age is noticed")
  func uselessMaxStale() throws {
    let yaml = """
      version: 1
      endpoint: { url: "http://localhost/" }
      store: { kind: memory }
      %@
      chain: [ cache-read: { max_stale: 1h }, fetch, parse, cache-write ]
      """
    func warnings(_ settings: String) throws -> [String] {
      try PipelineFile.load(
        Array(yaml.replacing("%@", with: settings).utf8), file: "x.pipeline.yaml",
        registry: .builtIn, environment: PipelineFileEnvironment(variable: { _ in nil })
      ).warnings.warnings.map(\.message)
    }
    #expect(try warnings("name: x").contains { $0.contains("has no effect") })
    #expect(try warnings("types: { User: { max_age: 1h } }").isEmpty)
  }

  @Test("a duration needs its unit")
  func units() {
    expectEntry("cache-read: { max_age: 300 }", refusedWith: "write `300s` or `300ms`")
    expectEntry("cache-read: { max_age: 5m, max_stale: 1h }", refusedWith: nil)
    expectEntry("cache-read: { maxage: 5m }", refusedWith: "did you mean `max_age`?")
  }
}
