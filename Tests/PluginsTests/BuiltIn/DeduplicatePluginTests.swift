import GQLRunJSON
import GQLRunPipeline
import GQLRunPlugins
import GQLRunTestSupport
import HTTPTypes
import Testing

@Suite(.timeLimit(.minutes(10))) struct DeduplicatePluginTests {
  private static let chain =
    "- max-retry: { backoff: { base: 0s } }\n- deduplicate\n- cache-read: { policy: network-only }\n"
    + Bench.plain

  private static let names = [Bench.user, #"query User { user(id: "2") { id name } }"#]

  /// Runs a body against a network that answers on request.
  private func bench(
    _ answers: FakeNetwork.Answer..., chain: String = chain,
    body: @Sendable (Bench, FakeNetwork, Gate) async throws -> Void
  ) async throws {
    let gate = Gate()
    let network = FakeNetwork(answers, before: { await gate.pass() })
    let setup = Bench.Setup(clock: ServiceClock(TestClock.jumping()), transport: network)
    try await Bench.with(chain, setup: setup) {
      try await body($0, network, gate)
    }
  }

  /// Waits until this number of operations wait for one in flight.
  private func waiting(_ count: Int, _ bench: Bench) async {
    await bench.log.lines(count, with: "waits for an identical query")
  }

  @Test func `identical queries share one request, and all get its answer`() async throws {
    try await bench(.ok) { bench, network, gate in
      let tasks = (0..<100).map { _ in Task { await bench.run() } }
      await waiting(99, bench)
      await gate.open()
      for task in tasks { #expect(await task.value.texts == [Bench.answered]) }
      #expect(await network.count == 1)
      #expect(await bench.dump().contains(#"{"key":"User:1""#))
      // Nothing is in flight any more, so the next one uses the network.
      _ = await bench.run()
      #expect(await network.count == 2)
    }
  }

  @Test func `an error goes to all of them`() async throws {
    try await bench(.response(500), chain: "- deduplicate\n" + Bench.plain) {
      bench, network, gate in
      let tasks = (0..<10).map { _ in Task { await bench.run() } }
      await waiting(9, bench)
      await gate.open()
      for task in tasks { #expect(await task.value.failure?.http?.status == 500) }
      #expect(await network.count == 1)
    }
  }

  @Test func `a cancelled caller leaves, and the others get the response`() async throws {
    try await bench(.ok) { bench, network, gate in
      let first = Task { await bench.run() }
      await gate.arrival(1)
      let others = (0..<5).map { _ in Task { await bench.run() } }
      await waiting(5, bench)
      first.cancel()
      others[0].cancel()
      #expect(await first.value.error is CancellationError)
      #expect(await others[0].value.error is CancellationError)
      await gate.open()
      for task in others.dropFirst() { #expect(await task.value.error == nil) }
      #expect(await network.count == 1)
      #expect(await bench.dump().contains(#"{"key":"User:1""#))
    }
  }

  @Test func `when all callers are cancelled, so is the request, and the next is sent`()
    async throws
  {
    try await bench(.silence, .ok) { bench, network, gate in
      await gate.open()
      let tasks = (0..<3).map { _ in Task { await bench.run() } }
      await waiting(2, bench)
      await gate.arrival(1)
      for task in tasks { task.cancel() }
      for task in tasks { #expect(await task.value.error is CancellationError) }
      #expect(await bench.run().error == nil)
      #expect(await network.count == 2)
    }
  }

  @Test func `what differs is sent on its own`() async throws {
    let tenant = HTTPField.Name("X-Tenant") ?? .accept
    let changes: [@Sendable (inout GraphQLRequest) -> Void] = [
      { _ in }, { $0.additionalHeaders[tenant] = "a" }, { $0.context.named = ["user": "ada"] },
      { $0.cachePolicy = .noCache }, { $0.extensions["x"] = 1 },
      { $0.variables["unused"] = 1 }, { $0.onError = .halt },
      // One letter, as one code point and as two.
      { $0.variables["id"] = "\u{e9}" }, { $0.variables["id"] = "e\u{301}" },
    ]
    try await bench(.ok) { bench, network, gate in
      var tasks = changes.map { change in Task { await bench.run(change: change) } }
      tasks.append(Task { await bench.run(Self.names[1]) })
      await gate.arrival(10)
      await gate.open()
      for task in tasks { _ = await task.value }
      #expect(await network.count == 10)
    }
  }

  @Test func `mutations are never shared`() async throws {
    try await bench(.body(#"{"data":{"rename":null}}"#)) { bench, network, gate in
      let tasks = (0..<3).map { _ in Task { await bench.run(Bench.rename) } }
      await gate.arrival(3)
      await gate.open()
      for task in tasks { #expect(await task.value.error == nil) }
    }
  }

  @Test func `correlation ids differ, and the answer is shared all the same`() async throws {
    try await bench(.ok, chain: "- correlation-id\n" + Self.chain) { bench, network, gate in
      let tasks = (0..<5).map { number in
        Task { () -> String? in
          var request = try Bench.request()
          request.context.named[CorrelationID.contextName] = "id-\(number)"
          return try await bench.runner.results(of: request).first?
            .context.named[CorrelationID.contextName]
        }
      }
      await waiting(4, bench)
      await gate.open()
      var ids: [String?] = []
      for task in tasks { ids.append(try await task.value) }
      #expect(ids == (0..<5).map { "id-\($0)" })
      #expect(await network.count == 1)
    }
  }

  @Test func `a retry below is asked for by each with its own request`() async throws {
    let chain = """
      - max-retry: { max_retries: 0, backoff: { base: 0s } }
      - deduplicate
      - token-refresh: { oauth2: { token_url: "https://login.example.com/token", client_id: c } }
      - fetch
      - response-code
      - parse
      """
    let server = TokenServer(.token(), accepts: { token, _ in token == "token-2" })
    try await Bench.with(chain, url: "http://localhost/graphql", setup: .init(transport: server)) {
      bench in
      let outcomes = await withTaskGroup(of: Outcome.self) { group in
        for _ in 0..<20 { group.addTask { await bench.run() } }
        return await group.reduce(into: [Outcome]()) { $0.append($1) }
      }
      #expect(outcomes.allSatisfy { $0.error == nil }, "\(outcomes.map(\.message))")
      #expect(await server.renewals.count == 2)
    }
  }
}
