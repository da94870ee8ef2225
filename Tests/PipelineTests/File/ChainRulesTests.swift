import GQLRunLanguage
import GQLRunPipeline
import Testing

@Suite("The order of a chain")
struct ChainRulesTests {
  /// Code, line (of the chain, from 1), severity and message of everything found, with the remedy.
  private func findings(_ entries: [String], store: String = "{ kind: memory }") -> [String] {
    let yaml = """
      version: 1
      endpoint: { url: "https://api.example.com/graphql" }
      store: \(store)
      chain:
      \(entries.map { "  - \($0)\n" }.joined())
      """
    return check(yaml).all.map {
      let mark = $0.severity == .warning ? "?" : ""
      return "\($0.code.rawValue)\(mark) \($0.place.line - 4): \($0.message) → \($0.hint ?? "")"
    }
  }

  @Test("is right in the chains that people write", arguments: right)
  func accepted(entries: [String]) {
    #expect(findings(entries) == [])
  }

  @Test("is explained where it is wrong", arguments: wrong)
  func refused(_ test: Wrong) {
    #expect(findings(test.entries) == [test.expected])
  }

  struct Wrong: Sendable {
    var entries: [String]
    var expected: String

    init(_ entries: [String], _ expected: String) {
      self.entries = entries
      self.expected = expected
    }
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
    #expect(
      findings(["cache-read", "fetch", "parse"], store: "{ kind: sqlite, path: x.db }") == [])
  }

  @Test("names its entries")
  func ids() throws {
    let pipeline = try load(
      file(
        chain: """
            - logging
            - logging:
              id: second
            - logging
            - max-retry: { max_retries: 1 }
              id: logging-3
            - logging
            - fetch
            - parse
          """))
    #expect(
      pipeline.entries.map(\.id)
        == ["logging", "second", "logging-2", "logging-3", "logging-4", "fetch", "parse"])
    let twice = check(file(chain: "  - fetch\n  - parse:\n    id: fetch"))
    #expect(twice.all.map(\.message) == ["the id `fetch` is given twice"])
  }

  @Test("may depend on the operation")
  func conditions() throws {
    let pipeline = try load(
      file(
        chain: """
            - logging:
              when: { operation: [A, B], type: query }
            - logging: {}
              when: { type: mutation }
            - logging
            - fetch
            - parse
          """))
    let conditions = pipeline.entries.map(\.condition)
    func applying(_ name: String?, _ type: String) -> [Bool] {
      let request = GraphQLRequest(
        document: "", operationName: name, operationType: type == "query" ? .query : .mutation)
      return conditions.prefix(3).map { $0.holds(for: request) }
    }
    #expect(applying("A", "query") == [true, false, true])
    #expect(applying("C", "query") == [false, false, true])
    #expect(applying(nil, "query") == [false, false, true])
    #expect(applying("A", "mutation") == [false, true, true])
  }

  static let right: [[String]] = [
    ["fetch", "parse"],
    [
      "logging", "max-retry", "cache-read", "token-refresh", "apq", "headers", "fetch",
      "response-code", "parse", "cache-write",
    ],
    ["max-retry", "apq", "fetch", "parse", "cache-write"],
    [
      "max-retry: { mutations: always }",
      "headers: { default: { Idempotency-Key: \"${context:id}\" } }",
    ]
      + ["fetch", "parse"],
    ["record-replay: { mode: auto }", "fetch", "response-code", "parse"],
    ["cache-read: { policy: cache-only }", "cache-write"],
    ["cache-read: { policy: returnCacheDataDontFetch }", "cache-write"],
    ["record-replay", "parse"],
    ["record-replay", "fetch", "response-code", "parse"],
    ["max-retry", "headers", "logging", "fetch", "parse"],
    ["max-retry", "logging: { headers: true }", "token-refresh", "fetch", "parse"],
    ["logging", "headers", "fetch", "parse"],
    ["headers", "picky: { stage: http }", "fetch", "parse"],
    ["picky: { stage: http }", "cache-read", "fetch", "parse", "cache-write"],
  ]

  static let wrong: [Wrong] = [
    Wrong(
      ["parse"], "P010 0: no plugin of this chain fetches → add `- fetch`, and `- parse` below it"),
    Wrong(
      ["cache-read", "parse", "cache-write"],
      "P010 0: no plugin of this chain fetches → add `- fetch`, and `- parse` below it"),
    Wrong(
      ["fetch", "fetch", "parse"],
      "P010 2: a chain fetches once, and `fetch` (line 5) does already → remove one of them"),
    Wrong(
      ["fetch"], "P011 0: nothing parses what `fetch` (line 5) brings → add `- parse` below `fetch`"
    ),
    Wrong(
      ["record-replay"],
      "P011 0: nothing parses what `record-replay` (line 5) brings → add `- parse` below `record-replay`"
    ),
    Wrong(
      ["fetch", "parse", "parse"],
      "P011 3: a chain parses once, and `parse` (line 6) does already → remove one of them"),
    Wrong(
      ["parse", "fetch"],
      "P011 1: `parse` stands above `fetch` (line 6), which brings what it parses → move it below `fetch`"
    ),
    Wrong(
      ["cache-write", "fetch", "parse"],
      "P012 1: `cache-write` stands above `parse` (line 7), before there is anything to write → move it below `parse`"
    ),
    Wrong(
      ["fetch", "parse", "cache-write", "cache-write"],
      "P012 4: a chain writes the cache once, and `cache-write` (line 7) does already → remove one of them"
    ),
    Wrong(
      ["fetch", "cache-read", "parse", "cache-write"],
      "P013 2: `cache-read` stands below `fetch` (line 5), so every request would go to the network → move it above `fetch`"
    ),
    Wrong(
      ["cache-read", "fetch", "parse"],
      "P013? 1: nothing ever fills the store that `cache-read` reads → add `- cache-write` below the parser"
    ),
    Wrong(
      ["cache-read", "cache-read", "fetch", "parse", "cache-write"],
      "P013 2: a chain reads the cache once, and `cache-read` (line 5) does already → remove one of them"
    ),
    Wrong(
      ["record-replay: { mode: record }", "parse"],
      "P010 0: no plugin of this chain fetches what `record-replay` (line 5) is to record → add `- fetch` below it, or answer from the recording alone: `mode: replay`"
    ),
    Wrong(
      ["apq", "fetch", "parse"],
      "P015 1: `apq` may start the chain again, and nothing bounds how often → add `- max-retry` above it"
    ),
    Wrong(
      ["apq", "max-retry", "fetch", "parse"],
      "P015 1: `apq` may start the chain again, and `max-retry` (line 6) stands below it → move `max-retry` above `apq`"
    ),
    Wrong(
      ["token-refresh", "fetch", "parse"],
      "P015 1: `token-refresh` may start the chain again, and nothing bounds how often → add `- max-retry` above it"
    ),
    Wrong(
      ["token-refresh", "max-retry", "fetch", "parse"],
      "P017 1: `token-refresh` stands above `max-retry` (line 6), so that its retry would be counted as one of many → move it below `max-retry`"
    ),
    Wrong(
      ["max-retry", "fetch", "response-code", "token-refresh", "parse"],
      "P017 4: `token-refresh` stands below `response-code` (line 7), where a 401 would never reach it → move it above `fetch`"
    ),
    Wrong(
      ["max-retry", "fetch", "token-refresh", "response-code", "parse"],
      "P017 3: `token-refresh` stands below `fetch` (line 6), too late to send anything → move it above `fetch`"
    ),
    Wrong(
      ["max-retry", "headers", "token-refresh", "fetch", "parse"],
      "P017 3: `token-refresh` works in the GraphQL stage and belongs above `headers` (line 6) → move it above `headers`"
    ),
    Wrong(
      ["max-retry: { mutations: always }", "fetch", "parse"],
      "P020 1: `max-retry` sends mutations again, and no server can tell that it is the same one → add `- correlation-id: { idempotency_key: true }`, or leave out `mutations`"
    ),
    Wrong(
      ["max-retry: { mutations: always }", "headers: { default: { Idempotency-Key: k } }"]
        + ["fetch", "parse"],
      "P020 1: `max-retry` sends mutations again, and no server can tell that it is the same one → add `- correlation-id: { idempotency_key: true }`, or leave out `mutations`"
    ),
    Wrong(
      ["max-retry", "apq", "cache-read", "fetch", "parse", "cache-write"],
      "P014 2: `apq` stands above `cache-read` (line 7), where its second attempt would read the cache again → move it below `cache-read`"
    ),
    Wrong(
      ["max-retry", "fetch", "apq", "parse"],
      "P014 3: `apq` stands below `fetch` (line 6), too late to change what is sent → move it above `fetch`"
    ),
    Wrong(
      ["max-retry", "fetch", "parse", "apq"],
      "P014 4: `apq` stands below `parse` (line 7), its place in Apollo iOS 1.x; here it surrounds the network → move it above `fetch`"
    ),
    Wrong(
      ["response-code", "fetch", "parse"],
      "P016 1: `response-code` stands above `fetch` (line 6), before there is a response → move it below `fetch`"
    ),
    Wrong(
      ["fetch", "parse", "response-code"],
      "P016 3: `response-code` stands below `parse` (line 6), when the response is parsed already → move it above `parse`"
    ),
    Wrong(
      ["logging: { headers: true }", "headers", "fetch", "parse"],
      "P018? 1: `logging` shows headers before `headers` (line 6) changes them → add another `logging` below `headers`"
    ),
    Wrong(
      ["headers", "max-retry", "fetch", "parse"],
      "P009 2: `max-retry` works in the GraphQL stage and belongs above `headers` (line 5) → move it above `headers`"
    ),
    Wrong(
      ["fetch", "max-retry", "parse"],
      "P009 2: `max-retry` works in the GraphQL stage and belongs above `fetch` (line 5) → move it above `fetch`"
    ),
    Wrong(
      ["fetch", "headers", "parse"],
      "P009 2: `headers` works in the HTTP stage and belongs above `fetch` (line 5) → move it above `fetch`"
    ),
    Wrong(
      ["headers", "cache-read", "fetch", "parse", "cache-write"],
      "P009 1: `headers` works in the HTTP stage and belongs below `cache-read` (line 6) → move it below `cache-read`"
    ),
    Wrong(
      ["fetch", "parse", "logging"],
      "P009 3: `logging` works in the GraphQL stage and belongs above `fetch` (line 5) → move it above `fetch`"
    ),
    Wrong(
      ["headers", "picky: { stage: graphql }", "fetch", "parse"],
      "P009 2: `picky`, with these options, works in the GraphQL stage → move it above `headers` (line 5)"
    ),
    Wrong(["fetch", "pars"], "P001 2: there is no plugin `pars` → did you mean `parse`?"),
  ]
}
