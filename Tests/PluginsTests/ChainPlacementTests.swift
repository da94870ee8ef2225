import GQLRunPipeline
import GQLRunPlugins
import Testing

/// The placements that the built-in plugins declare.
@Suite("The order of a chain of built-in plugins")
struct ChainPlacementTests {
  private static let registry = {
    var registry = PluginRegistry.builtIn
    registry.register(Picky.self)
    return registry
  }()

  /// Takes part in the stage that its option names.
  struct Picky: Plugin {
    static let summary = "Takes part in one stage"
    static let documentation = PluginDocumentation(
      use: "Tests.", position: "Anywhere.", example: "picky", narration: "Nothing happens.")
    enum Stage: String, CaseIterable, ExpressibleByOption { case graphql, http }
    @Option("The stage") var stage = Stage.http
    var placement: Placement { .wrap(.graphQL, .http) }
    func parts(_ environment: PluginEnvironment) -> [ChainPart] {
      [stage == .http ? .http(Pass()) : .graphQL(Pass())]
    }
  }

  struct Pass: GraphQLInterceptor, HTTPInterceptor {
    func intercept(
      _ request: GraphQLRequest, context: ChainContext, next: NextGraphQL
    ) async throws -> ResponseStream { await next(request) }
    func intercept(
      _ request: HTTPRequestMessage, context: ChainContext, next: NextHTTP
    ) async throws -> HTTPResponseMessage { try await next(request) }
  }

  private func check(_ yaml: String) -> PipelineDiagnostics {
    PipelineFile.check(
      Array(yaml.utf8), file: "x.pipeline.yaml", registry: Self.registry,
      environment: PipelineFileEnvironment())
  }

  /// Code, line (of the chain, from 1), severity and message of everything found, with the remedy.
  ///
  /// - Parameter entries: Those of the chain, with ` | ` between them.
  private func findings(_ entries: String, store: String = "{ kind: memory }") -> [String] {
    let yaml = """
      version: 1
      endpoint: { url: "https://api.example.com/graphql" }
      store: \(store)
      chain:
      \(entries.split(separator: " | ").map { "  - \($0)\n" }.joined())
      """
    return check(yaml).all.map {
      let mark = $0.severity == .warning ? "?" : ""
      return "\($0.code.rawValue)\(mark) \($0.location.line - 4): \($0.message) → \($0.hint ?? "")"
    }
  }

  @Test("is right in the chains that people write", arguments: right)
  func accepted(entries: String) {
    #expect(findings(entries) == [])
  }

  @Test("is explained where it is wrong", arguments: wrong)
  func refused(entries: String, expected: String) {
    #expect(findings(entries) == [expected])
  }

  @Test("needs a store for what reads and writes one", arguments: ["{ kind: none }", "\nname: x"])
  func store(store: String) {
    let found = check(
      "version: 1\nendpoint: { url: 'http://x' }\n"
        + (store.hasPrefix("{") ? "store: \(store)\n" : "")
        + "chain: [cache-read, fetch, parse, cache-write]\n")
    #expect(found.all.map(\.code) == [.cacheRead, .cacheWrite])
    #expect(
      found.all.map(\.hint)
        == Array(repeating: "add `store: { kind: memory }` to the file", count: 2))
  }

  @Test("may read an SQLite store that another program fills")
  func sqlite() {
    #expect(findings("cache-read | fetch | parse", store: "{ kind: sqlite, path: x.db }") == [])
  }

  static let right = [
    "fetch | parse",
    "logging | max-retry | cache-read | token-refresh | apq | headers | fetch | response-code | parse | cache-write",
    "max-retry | apq | fetch | parse | cache-write",
    "max-retry: { mutations: always } | headers: { default: { Idempotency-Key: \"${context:id}\" } } | fetch | parse",
    "record-replay: { file: r, mode: auto } | fetch | response-code | parse",
    "cache-read: { policy: cache-only } | cache-write",
    "cache-read: { policy: returnCacheDataDontFetch } | cache-write",
    "record-replay: { file: r } | parse",
    "record-replay: { file: r } | fetch | response-code | parse",
    "max-retry | headers | logging: { headers: true } | fetch | parse",
    "max-retry | logging: { headers: true } | token-refresh | fetch | parse",
    "logging | headers | fetch | parse",
    "apq: { persisted_only: true } | fetch | parse",
    "correlation-id: { idempotency_key: true } | max-retry: { mutations: always } | fetch | parse",
    "max-retry | correlation-id: { idempotency_key: true } | fetch | parse",
    "cache-read: { max_age: 1h, max_stale: 1h } | fetch | parse | cache-write",
    "cache-read: { policy: cache-only } | record-replay: { file: r, mode: record } | parse | cache-write",
    "headers | picky: { stage: http } | fetch | parse",
    "picky: { stage: http } | cache-read | fetch | parse | cache-write",
  ]

  static let wrong: [String: String] = [
    "parse":
      "P010 0: no plugin of this chain sends requests → add `- fetch`, and `- parse` below it",
    "cache-read | parse | cache-write":
      "P010 0: no plugin of this chain sends requests → add `- fetch`, and `- parse` below it",
    "fetch | fetch | parse":
      "P010 2: a chain fetches once, and `fetch` (line 5) already does → remove one of them",
    "fetch":
      "P011 0: nothing parses the responses of `fetch` (line 5) → add `- parse` below `fetch`",
    "record-replay: { file: r }":
      "P011 0: nothing parses the responses of `record-replay` (line 5) → add `- parse` below `record-replay`",
    "fetch | parse | parse":
      "P011 3: a chain parses once, and `parse` (line 6) already does → remove one of them",
    "parse | fetch":
      "P011 1: `parse` is above `fetch` (line 6), which receives what it parses → move it below `fetch`",
    "cache-write | fetch | parse":
      "P012 1: `cache-write` is above `parse` (line 7), before there is anything to write → move it below `parse`",
    "fetch | parse | cache-write | cache-write":
      "P012 4: a chain writes the cache once, and `cache-write` (line 7) already does → remove one of them",
    "fetch | cache-read | parse | cache-write":
      "P013 2: `cache-read` is below `fetch` (line 5), so every request would go to the network → move it above `fetch`",
    "cache-read | fetch | parse":
      "P013? 1: no plugin fills the store that `cache-read` reads → add `- cache-write` below the parser",
    "cache-read | cache-read | fetch | parse | cache-write":
      "P013 2: a chain reads the cache once, and `cache-read` (line 5) already does → remove one of them",
    "record-replay: { file: r, mode: record } | parse":
      "P010 0: no plugin of this chain sends the requests that `record-replay` (line 5) records → add `- fetch` below it, or answer from the recording alone: `mode: replay`",
    "apq | fetch | parse":
      "P015 1: `apq` may restart the chain, and no plugin bounds the number of restarts → add `- max-retry` above it",
    "apq | max-retry | fetch | parse":
      "P015 1: `apq` may restart the chain, and `max-retry` (line 6) is below it → move `max-retry` above `apq`",
    "token-refresh | fetch | parse":
      "P015 1: `token-refresh` may restart the chain, and no plugin bounds the number of restarts → add `- max-retry` above it",
    "token-refresh | max-retry | fetch | parse":
      "P017 1: `token-refresh` is above `max-retry` (line 6), so its retry would be counted as one of the bounded ones → move it below `max-retry`",
    "max-retry | fetch | response-code | token-refresh | parse":
      "P017 4: `token-refresh` is below `response-code` (line 7), where a 401 would never reach it → move it above `fetch`",
    "max-retry | fetch | token-refresh | response-code | parse":
      "P017 3: `token-refresh` is below `fetch` (line 6), too late to send anything → move it above `fetch`",
    "max-retry | headers | token-refresh | fetch | parse":
      "P017 3: `token-refresh` works in the GraphQL stage and belongs above `headers` (line 6) → move it above `headers`",
    "max-retry: { mutations: always } | fetch | parse":
      "P020 1: `max-retry` retries mutations, and the server cannot recognize a repeated one → add `- correlation-id: { idempotency_key: true }` above it, or leave out `mutations`",
    "max-retry: { mutations: always } | correlation-id: { idempotency_key: true } | fetch | parse":
      "P020 2: `correlation-id` is below `max-retry` (line 5), so every attempt of a mutation would have another key → move it above `max-retry`",
    "max-retry: { mutations: always } | headers: { default: { Idempotency-Key: k } } | fetch | parse":
      "P020 1: `max-retry` retries mutations, and the server cannot recognize a repeated one → add `- correlation-id: { idempotency_key: true }` above it, or leave out `mutations`",
    "max-retry | apq | cache-read | fetch | parse | cache-write":
      "P014 2: `apq` is above `cache-read` (line 7), where its second attempt would read the cache again → move it below `cache-read`",
    "max-retry | fetch | apq | parse":
      "P014 3: `apq` is below `fetch` (line 6), too late to change what is sent → move it above `fetch`",
    "max-retry | fetch | parse | apq":
      "P014 4: `apq` is below `parse` (line 7), its position in Apollo iOS 1.x; here it surrounds the network → move it above `fetch`",
    "response-code | fetch | parse":
      "P016 1: `response-code` is above `fetch` (line 6), before there is a response → move it below `fetch`",
    "fetch | parse | response-code":
      "P016 3: `response-code` is below `parse` (line 6), when the response has already been parsed → move it above `parse`",
    "logging: { headers: true } | headers | fetch | parse":
      "P018? 1: `logging` is above `headers` (line 6), which changes the headers that it shows → add another `logging` below `headers`",
    "headers | max-retry | fetch | parse":
      "P009 2: `max-retry` works in the GraphQL stage and belongs above `headers` (line 5) → move it above `headers`",
    "fetch | max-retry | parse":
      "P009 2: `max-retry` works in the GraphQL stage and belongs above `fetch` (line 5) → move it above `fetch`",
    "fetch | headers | parse":
      "P009 2: `headers` works in the HTTP stage and belongs above `fetch` (line 5) → move it above `fetch`",
    "headers | cache-read | fetch | parse | cache-write":
      "P009 1: `headers` works in the HTTP stage and belongs below `cache-read` (line 6) → move it below `cache-read`",
    "fetch | parse | logging":
      "P009 3: `logging` works in the GraphQL stage and belongs above `fetch` (line 5) → move it above `fetch`",
    "headers | picky: { stage: graphql } | fetch | parse":
      "P009 2: `picky`, with these options, works in the GraphQL stage → move it above `headers` (line 5)",
    "cache-read: { max_stale: 1h } | fetch | parse | cache-write":
      "P013? 1: `max_stale` of `cache-read` has no effect: no rule sets a `max_age` → add `max_age` to `cache-read`, or to `types` or `fields`",
    "fetch | pars": "P001 2: unknown plugin `pars` → did you mean `parse`?",
  ]
}
