import GQLRunPipeline
import Testing

@Suite(.timeLimit(.minutes(10))) struct ErrorTapPluginTests {
  private func run(
    _ options: String, _ network: FakeNetwork.Answer, policy: CachePolicy? = .networkOnly,
    document: String = Bench.user
  ) async throws -> (outcome: Outcome, log: [String], store: String) {
    let chain =
      "- error-tap\(options.isEmpty ? "" : ": { \(options) }")\n- cache-read\n" + Bench.bare
    return try await Bench.with(chain, setup: .init(transport: FakeNetwork(network))) { bench in
      let outcome = await bench.run(document, policy: policy)
      let log = bench.log.leveledLines.filter { $0.contains("_error operation=") }
      return (outcome, log, await bench.dump())
    }
  }

  @Test(arguments: [
    (
      FakeNetwork.Answer.failure(.connectionFailed, .notSent), CachePolicy.networkOnly,
      #"error: transport_error operation=User code=connection_failed path=— message="no luck""#
    ),
    (
      .ok, .cacheOnly,
      "error: cache_error operation=User code=cache_miss path=— message=\"cache-read: `user` of User is not in the cache, and the policy cache-only does not use the network\""
    ),
    (
      .body(
        "{\"data\":{\"user\":null},\"errors\":[{\"message\":\"a \\\"b\\\"\\nc\",\"path\":[\"user\",0,\"name\"],\"extensions\":{\"code\":\"FORBIDDEN\"}}]}"
      ),
      .networkOnly,
      #"error: graphql_error operation=User code=FORBIDDEN path=user.0.name message="a \"b\"\nc""#
    ),
    (
      .body(#"{"data":null,"errors":[{"message":"no"}]}"#), .networkOnly,
      #"error: graphql_error operation=User code=UNKNOWN path=— message="no""#
    ),
  ]) func `an error is one line: operation, code, path and message`(
    _ answer: FakeNetwork.Answer, _ policy: CachePolicy, _ line: String
  ) async throws {
    let result = try await run("", answer, policy: policy)
    #expect(result.log == [line])
  }

  @Test func `log false and level are heeded`() async throws {
    #expect(try await run("log: false", .response(500)).log == [])
    #expect(
      try await run("level: notice", .response(500)).log.first?.hasPrefix("notice:") == true)
  }

  static let busy = FakeNetwork.Answer.response(503)

  @Test func `rethrow: the caller sees the same error`() async throws {
    let result = try await run(
      "rules: [{ statuses: [503], then: rethrow }, { then: suppress }]", Self.busy)
    #expect(result.outcome.failure?.http?.status == 503)
  }

  @Test func `replace: the caller sees another error, and the first as its cause`() async throws {
    let result = try await run(
      "rules: [{ codes: [http_status], then: replace, message: try later, code: busy }]", Self.busy)
    #expect(result.outcome.code?.rawValue == "busy")
    #expect(result.outcome.failure?.message == "try later")
    #expect((result.outcome.failure?.cause as? ChainError)?.code == .httpStatus)
  }

  @Test func `recover: the caller gets a result`() async throws {
    let result = try await run(
      "rules: [{ layers: [transport], then: recover, data: '{\"user\": null}' }]", Self.busy)
    #expect(result.outcome.texts == [#"{"data":{"user":null}}"#])
    #expect(result.outcome.error == nil && result.store == "")
  }

  @Test func `suppress: the operation ends without a result`() async throws {
    let result = try await run("rules: [{ operations: [User], then: suppress }]", Self.busy)
    #expect(result.outcome.results.isEmpty && result.outcome.error == nil)
  }

  @Test(arguments: [
    "codes: [cache_miss]", "layers: [cache]", "statuses: [500]", "operations: [Other]",
    "statuses: [503], operations: [Other]",
  ]) func `a rule that does not fit is passed over`(_ condition: String) async throws {
    let result = try await run("rules: [{ \(condition), then: suppress }]", Self.busy)
    #expect(result.outcome.failure?.http?.status == 503)
  }

  @Test func `cancellation is no error to log or to recover from`() async throws {
    let chain = "- error-tap: { rules: [{ then: suppress }] }\n- fetch\n- response-code\n- parse"
    try await Bench.with(chain, setup: .init(transport: FakeNetwork(.silence))) { bench in
      let task = Task { await bench.run() }
      task.cancel()
      #expect(await task.value.error is CancellationError)
      #expect(!bench.log.everything.contains("_error operation="))
    }
  }
}
