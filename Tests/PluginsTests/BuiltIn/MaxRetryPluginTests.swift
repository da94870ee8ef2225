import GQLRunPipeline
import GQLRunTestSupport
import Testing

@Suite(.timeLimit(.minutes(10))) struct MaxRetryPluginTests {
  private static func chain(_ options: String = "") -> String {
    (options.contains("always") ? "- correlation-id: { idempotency_key: true }\n" : "")
      + "- max-retry\(options.isEmpty ? "" : ": { \(options) }")\n" + Bench.plain
  }

  private static let noWait = "backoff: { base: 0s }"

  /// Runs one operation against a network; tells what came of it, the requests, and the naps.
  private func run(
    _ options: String, _ network: FakeNetwork, document: String = Bench.user,
    random: Double = 0.5, change: @Sendable (inout GraphQLRequest) -> Void = { _ in }
  ) async throws -> (outcome: Outcome, requests: Int, naps: [Duration], log: [String]) {
    let clock = TestClock.jumping()
    let setup = Bench.Setup(clock: ServiceClock(clock), random: { random }, transport: network)
    return try await Bench.with(Self.chain(options), setup: setup) {
      let outcome = await $0.run(document, change: change)
      return (outcome, await network.count, clock.slept, $0.log.lines)
    }
  }

  // MARK: Attempts and delays

  @Test(arguments: [0, 1, 3, 24])
  func `so many retries follow the first attempt, and no more`(_ retries: Int) async throws {
    let result = try await run(
      "max_retries: \(retries), budget: 100%, \(Self.noWait)", FakeNetwork(.response(503)))
    // One operation has ten retries for free.
    #expect(result.requests == min(retries, 10) + 1)
    #expect(result.outcome.code == .httpStatus)
    #expect(result.outcome.failure?.http?.status == 503)
  }

  @Test func `an operation that succeeds at last is delivered, and says with which attempt`()
    async throws
  {
    let result = try await run(
      Self.noWait, FakeNetwork(.response(503), .failure(.connectionFailed, .notSent), .ok))
    #expect(result.outcome.texts == [Bench.answered])
    #expect(result.outcome.results.map(\.attempt) == [3])
    #expect(result.requests == 3)
    #expect(result.log.filter { $0.hasPrefix("↻") }.count == 2)
    #expect(
      result.log.contains("↻ User: retry 1 of 3 in 0.0 ms cause=http_status status=503"),
      "\(result.log)")
  }

  @Test(arguments: [
    (503, #"{"errors":[{"message":"busy"}]}"#, Bench.user, 4),
    (429, #"{"data":null,"errors":[{"message":"busy"}]}"#, Bench.user, 4),
    (503, #"{"errors":[{"message":"busy"}]}"#, "subscription { ticks }", 4),
    (503, #"{"errors":[{"message":"busy"}]}"#, Bench.rename, 1),
    (503, #"{"data":null,"errors":[{"message":"busy","path":["user"]}]}"#, Bench.user, 1),
    (503, #"{"data":{"user":null},"errors":[{"message":"busy"}]}"#, Bench.user, 1),
    (500, #"{"errors":[{"message":"busy"}]}"#, Bench.user, 1),
  ]) func `a refusal whose body is a GraphQL response is retried, too, and is the result at last`(
    _ status: Int, _ body: String, _ document: String, _ count: Int
  ) async throws {
    let answer = FakeNetwork.Answer.body(
      body, status: status, type: "application/graphql-response+json",
      headers: ["Retry-After": "9"])
    let result = try await run("", FakeNetwork(answer), document: document)
    #expect(result.requests == count)
    #expect(result.naps == Array(repeating: .seconds(9), count: count - 1))
    #expect(result.outcome.error == nil)
    #expect(result.outcome.results.map { $0.errors.map(\.message) } == [["busy"]])
  }

  /// Options, a random number, and the milliseconds of the delays.
  @Test(
    arguments: [
      ("jitter: none", 0.5, [300, 600, 1200]),
      ("base: 100ms, factor: 3, max: 500ms, jitter: none", 0.5, [100, 300, 500]),
      ("base: 1s, factor: 1, jitter: none", 0.5, [1000, 1000, 1000]),
      ("base: 2s, max: 1s, jitter: none", 0.5, [1000, 1000, 1000]),
      ("jitter: full", 0.25, [75, 150, 300]), ("jitter: full", 0, [0, 0, 0]),
      ("jitter: equal", 0, [150, 300, 600]), ("jitter: equal", 0.5, [225, 450, 900]),
      ("", 0.5, [225, 450, 900]),
    ] as [(String, Double, [Int])])
  func `delays grow as the formula says, with their jitter`(
    _ options: String, _ random: Double, _ delays: [Int]
  ) async throws {
    let result = try await run(
      "backoff: { \(options) }", FakeNetwork(.response(503)), random: random)
    #expect(result.naps == delays.map { .milliseconds($0) })
  }

  // MARK: Retry-After

  /// The clock of these tests says Sun, 06 Nov 1994 08:49:37 GMT.
  @Test(arguments: [
    ("7", [Duration.seconds(7)]), (" 7 ", [.seconds(7)]), ("0", [.milliseconds(300)]),
    ("60", [.seconds(60)]), ("61", []), ("99999999999999999999999999", []),
    ("-5", [.milliseconds(300)]), ("1.5", [.milliseconds(300)]), ("soon", [.milliseconds(300)]),
    ("", [.milliseconds(300)]),
    ("Sun, 06 Nov 1994 08:49:47 GMT", [.seconds(10)]),
    ("Sunday, 06-Nov-94 08:49:47 GMT", [.seconds(10)]),
    ("Sun Nov  6 08:49:47 1994", [.seconds(10)]),
    ("Sun, 06 Nov 1994 08:00:00 GMT", [.milliseconds(300)]),
    ("Sun, 06 Nov 2044 08:00:00 GMT", []),
  ]) func `Retry-After is waited for when it is longer, up to its limit`(
    _ value: String, _ naps: [Duration]
  ) async throws {
    let answer = FakeNetwork.Answer.response(503, headers: ["Retry-After": value])
    let result = try await run("backoff: { jitter: none }", FakeNetwork(answer, .ok))
    #expect(result.naps == naps)
    #expect(result.requests == naps.count + 1)
    if naps.isEmpty { #expect(result.outcome.message.contains("retry_after_max")) }
  }

  /// The clock of the server is an hour ahead, or behind.
  @Test(arguments: [
    ("Sun, 06 Nov 1994 09:49:47 GMT", "Sun, 06 Nov 1994 09:49:40 GMT"),
    ("Sun, 06 Nov 1994 07:49:47 GMT", "Sun, 06 Nov 1994 07:49:40 GMT"),
    ("7", "Sun, 06 Nov 1994 07:49:40 GMT"),
  ]) func `a date of Retry-After is one of the server's clock`(
    _ value: String, _ date: String
  ) async throws {
    let answer = FakeNetwork.Answer.response(
      503, headers: ["Retry-After": value, "Date": date])
    let result = try await run("backoff: { jitter: none }", FakeNetwork(answer, .ok))
    #expect(result.naps == [.seconds(7)])
    #expect(result.outcome.error == nil)
  }

  @Test func `a delay that is too long is reported in whole seconds`() async throws {
    let answer = FakeNetwork.Answer.response(
      503, headers: ["Retry-After": "Sun, 06 Nov 1994 09:49:47 GMT"])
    let setup = Bench.Setup(
      clock: ServiceClock(TestClock.jumping()), secondsSince1970: { 784_111_785.981 },
      transport: FakeNetwork(answer))
    let outcome = try await Bench.with(Self.chain(), setup: setup) { await $0.run() }
    #expect(outcome.message.contains("asked for a delay of 3602s ("), "\(outcome.message)")
  }

  @Test func `Retry-After is ignored if the option is off`() async throws {
    let answer = FakeNetwork.Answer.response(429, headers: ["Retry-After": "3600"])
    let result = try await run(
      "respect_retry_after: false, backoff: { jitter: none }", FakeNetwork(answer, .ok))
    #expect(result.naps == [.milliseconds(300)])
  }

  // MARK: What is retried

  @Test(arguments: [
    (429, true), (502, true), (503, true), (504, true), (400, false), (401, false), (403, false),
    (404, false), (408, false), (409, false), (413, false), (422, false), (500, false),
    (501, false), (301, false),
  ]) func `of statuses these are retried`(_ status: Int, _ isRetried: Bool) async throws {
    let result = try await run(Self.noWait, FakeNetwork(.response(status)))
    #expect(result.requests == (isRetried ? 4 : 1))
  }

  @Test(arguments: [
    (ChainError.Code.nameResolutionFailed, true), (.connectionFailed, true),
    (.connectionClosed, true), (.timedOut, true), (.truncatedResponse, true), (.tlsFailed, false),
    (.malformedResponse, false), (.unexpectedContentType, false), (.limitExceeded, false),
  ]) func `of transport failures these are retried`(
    _ code: ChainError.Code, _ isRetried: Bool
  ) async throws {
    let result = try await run(Self.noWait, FakeNetwork(.failure(code, .unknown)))
    #expect(result.requests == (isRetried ? 4 : 1))
    #expect(result.outcome.code == code)
  }

  @Test(arguments: [
    ("[]", 1, 1), ("[network]", 4, 1), ("[503]", 1, 4), ("[502, 504]", 1, 1),
    ("[network, 503]", 4, 4),
  ]) func `only what the file names is retried`(
    _ triggers: String, _ afterFailure: Int, _ after503: Int
  ) async throws {
    let options = "on: \(triggers), \(Self.noWait)"
    let failed = try await run(options, FakeNetwork(.failure(.connectionFailed, .notSent)))
    #expect(failed.requests == afterFailure)
    let refused = try await run(options, FakeNetwork(.response(503)))
    #expect(refused.requests == after503)
  }

  struct Mutation: Sendable {
    var answer: FakeNetwork.Answer
    var options = ""
    var isIdempotent = false
    var isRetried: Bool
  }

  @Test(arguments: [
    Mutation(answer: .failure(.connectionFailed, .notSent), isRetried: true),
    Mutation(answer: .failure(.connectionClosed, .unknown), isRetried: false),
    Mutation(answer: .failure(.timedOut, .unknown), isRetried: false),
    Mutation(answer: .failure(.truncatedResponse, .answered), isRetried: false),
    Mutation(answer: .response(503), isRetried: false),
    Mutation(answer: .response(429), isRetried: false),
    Mutation(answer: .response(503), isIdempotent: true, isRetried: true),
    Mutation(answer: .failure(.connectionClosed, .unknown), isIdempotent: true, isRetried: true),
    Mutation(answer: .response(503), options: "mutations: always, ", isRetried: true),
    Mutation(answer: .response(500), options: "mutations: always, ", isRetried: false),
  ]) func `a mutation goes out again only when that does no harm`(_ it: Mutation) async throws {
    let result = try await run(
      it.options + Self.noWait, FakeNetwork(it.answer), document: Bench.rename,
      change: { $0.isIdempotent = it.isIdempotent })
    #expect(result.requests == (it.isRetried ? 4 : 1))
  }

  // MARK: Bounds

  /// Asks for a retry of every result.
  private struct Insatiable: GraphQLInterceptor {
    func intercept(
      _ request: GraphQLRequest, context: ChainContext, next: NextGraphQL
    ) async throws -> ResponseStream {
      await next(request).map { _ in
        throw ChainRetry(
          request, cause: ChainError(.graphQL, code: .invalidRequest, message: "never content"))
      }
    }
  }

  @Test(arguments: [0, 1, 2])
  func `retries that another plugin asks for are bounded, and the cause is kept`(
    _ retries: Int
  ) async throws {
    let network = FakeNetwork(.ok)
    let setup = Bench.Setup(
      transport: network,
      change: {
        $0.entries.insert(PipelineEntry(id: "insatiable", .graphQL(Insatiable())), at: 1)
      })
    let chain = Self.chain("max_retries: \(retries)")
    try await Bench.with(chain, setup: setup) { bench in
      let outcome = await bench.run()
      #expect(await network.count == retries + 1)
      #expect(outcome.failure?.layer == .chain)
      #expect(outcome.code == .tooManyAttempts)
      let word = retries == 1 ? "retry" : "retries"
      #expect(
        outcome.message
          == "max-retry: User failed after \(retries) \(word), the maximum of the option max_retries of max-retry "
          + "(never content)")
      #expect((outcome.failure?.cause as? ChainError)?.message == "never content")
      #expect(await bench.dump() == "")
    }
  }

  @Test func `without max-retry a chain ends its retries by itself`() async throws {
    let network = FakeNetwork(.ok)
    let setup = Bench.Setup(
      transport: network,
      change: {
        $0.entries.insert(PipelineEntry(id: "insatiable", .graphQL(Insatiable())), at: 0)
      })
    try await Bench.with(setup: setup) { bench in
      let outcome = await bench.run()
      #expect(outcome.code == .tooManyAttempts)
      #expect(await network.count == PipelineRunner.maxAttempts)
    }
  }

  @Test func `a server that only answers 503 gets less than 1.1 times the load`() async throws {
    let network = FakeNetwork(.response(503))
    let setup = Bench.Setup(clock: ServiceClock(TestClock.jumping()), transport: network)
    let operations = 3_000
    try await Bench.with(Self.chain(), setup: setup) { bench in
      let request = try Bench.request()
      var last = Outcome()
      for _ in 0..<operations { last = await bench.outcome(of: request) }
      #expect(await network.count < operations * 11 / 10)
      #expect(await network.count > operations)
      #expect(last.failure?.http?.status == 503)
      #expect(last.message.contains("budget of max-retry"))
    }
  }

  @Test func `a result of the cache is not shown again when the network is retried`() async throws {
    let network = FakeNetwork(.response(503), .ok)
    let setup = Bench.Setup(clock: ServiceClock(TestClock.jumping()), transport: network)
    let chain = "- max-retry\n- cache-read: { policy: cache-and-network }\n" + Bench.bare
    try await Bench.with(chain, setup: setup) { bench in
      try await bench.prime()
      let outcome = await bench.run()
      #expect(outcome.sources == [.cache, .server])
      #expect(await network.count == 2)
    }
  }
}
