import GQLRunPipeline
import GQLRunPlugins
import GQLRunTestSupport
import HTTPTypes
import Testing

@Suite(.timeLimit(.minutes(10))) struct CorrelationIDPluginTests {
  private static func chain(_ options: String = "") -> String {
    "- correlation-id\(options)\n- logging\n- max-retry: { mutations: unsent, backoff: { base: 0s } }\n"
      + "- fetch\n- response-code\n- parse"
  }

  private static func ids(
    _ network: FakeNetwork, _ field: String = "X-Correlation-ID"
  ) async -> [String?] {
    await network.requests.map { request in
      HTTPField.Name(field).flatMap { request.head.headerFields[$0] }
    }
  }

  private func bench<Result: Sendable>(
    _ options: String = "", _ network: FakeNetwork,
    body: @Sendable (Bench) async throws -> Result
  ) async throws -> Result {
    let setup = Bench.Setup(
      clock: ServiceClock(TestClock.jumping()), random: { Double.random(in: 0..<1) },
      transport: network)
    return try await Bench.with(
      Self.chain(options), setup: setup, body: body)
  }

  @Test func `one id is in all requests of an operation, its log lines and its results`()
    async throws
  {
    let network = FakeNetwork(.response(503), .ok)
    try await bench("", network) { bench in
      var id: String?
      for try await result in bench.runner.execute(try Bench.request()) {
        id = result.context.named[CorrelationID.contextName]
      }
      let text = try #require(id)
      #expect(await Self.ids(network) == [text, text])
      let marked = bench.log.lines.filter { $0.contains("User") }
      #expect(marked.count == 4)
      #expect(marked.allSatisfy { $0.contains("correlation_id=\(text)") }, "\(marked)")
      let form = /[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/
      #expect(text.wholeMatch(of: form) != nil)
    }
  }

  @Test func `each operation has its own id`() async throws {
    let network = FakeNetwork(.ok)
    try await bench("", network) { bench in
      await withTaskGroup(of: Void.self) { group in
        for _ in 0..<50 { group.addTask { _ = await bench.run() } }
      }
      #expect(Set(await Self.ids(network).compactMap { $0 }).count == 50)
    }
  }

  @Test func `an id may be given with the request, or around it`() async throws {
    let network = FakeNetwork(.ok)
    try await bench(": { header: X-Request-ID }", network) { bench in
      _ = await bench.run { $0.context.named[CorrelationID.contextName] = "mine" }
      _ = await CorrelationID.$current.withValue("around") { await bench.run() }
      #expect(await Self.ids(network, "X-Request-ID") == ["mine", "around"])
    }
  }

  @Test func `an id with line ends is refused before the network`() async throws {
    let network = FakeNetwork(.ok)
    try await bench("", network) { bench in
      let outcome = await bench.run { $0.context.named[CorrelationID.contextName] = "a\nb: c" }
      #expect(outcome.code == .invalidRequest)
      #expect(await network.count == 0)
    }
  }

  @Test func `mutations carry it as their idempotency key, the same in every attempt`() async throws
  {
    let network = FakeNetwork(
      .failure(.connectionFailed, .notSent), .body(#"{"data":{"rename":null}}"#))
    try await bench(": { idempotency_key: true }", network) { bench in
      #expect(await bench.run(Bench.rename).error == nil)
      let keys = await Self.ids(network, "Idempotency-Key")
      #expect(keys.count == 2 && keys[0] != nil && keys[0] == keys[1])
      _ = await bench.run()
      #expect(await Self.ids(network, "Idempotency-Key").last == .some(nil))
    }
  }
}
