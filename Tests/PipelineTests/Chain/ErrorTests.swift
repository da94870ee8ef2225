import GQLRunJSON
import GQLRunPipeline
import Testing

@Suite("Errors in a chain")
struct ErrorTests {
  private func mapping(
    _ transform: @escaping @Sendable (any Error) async throws -> GraphQLResponse?
  ) -> Interceptor {
    Interceptor { request, _, next in await next(request).mapErrors(transform) }
  }

  private func failing(_ name: String) -> Interceptor {
    Interceptor { _, _, _ in throw Refused(by: name) }
  }

  @Test("of the request itself have the delivery `notSent`, unless another is given")
  func delivery() {
    let error = ChainError(.request, code: .invalidRequest, message: "no value")
    #expect(error.delivery == .notSent)
    let other = ChainError(.request, code: .uploadFailed, message: "cut", delivery: .unknown)
    #expect(other.delivery == .unknown)
    #expect(ChainError(.chain, code: .noResult, message: "no result").delivery == nil)
  }

  @Test("are rethrown by an interceptor that wants to see them only")
  func rethrow() async {
    var bench = Bench()
    bench.top = [Tracer(name: "a", journal: bench.journal), failing("b")]
    #expect(await bench.run().error as? Refused == Refused(by: "b"))
    #expect(await bench.journal.events == ["↓a", "✗a"])
  }

  @Test("are replaced by others")
  func replace() async {
    var bench = Bench()
    bench.top = [
      Tracer(name: "a", journal: bench.journal), mapping { _ in throw Refused(by: "mapping") },
      failing("b"),
    ]
    #expect(await bench.run().error as? Refused == Refused(by: "mapping"))
  }

  @Test("are recovered from with a result, which the interceptors above receive")
  func recover() async {
    var bench = Bench()
    bench.top = [
      Tracer(name: "a", journal: bench.journal),
      mapping { _ in GraphQLResponse(source: .server, data: Array("instead".utf8)) },
      failing("b"),
    ]
    let outcome = await bench.run()
    #expect(outcome.error == nil)
    #expect(outcome.results == ["server:instead"])
    #expect(await bench.journal.events == ["↓a", "↑a"])
  }

  @Test("are suppressed, which ends without a result")
  func suppress() async {
    var bench = Bench()
    bench.top = [
      Tracer(name: "a", journal: bench.journal), mapping { _ in nil }, failing("b"),
    ]
    let outcome = await bench.run()
    #expect(outcome.error == nil)
    #expect(outcome.results.isEmpty)
    #expect(await bench.journal.events == ["↓a"])
  }

  @Test("pass over interceptors that do not map them")
  func passOver() async {
    var bench = Bench()
    let journal = bench.journal
    bench.top = [
      Tracer(name: "a", journal: journal),
      Interceptor { request, _, next in
        await next(request).map { response in
          await journal.note("mapped")
          return response
        }
      }, failing("b"),
    ]
    #expect(await bench.run().error is Refused)
    #expect(await journal.events == ["↓a", "✗a"])
  }

  @Test(
    "of every later step are seen",
    arguments: ["preflight", "http", "network", "status", "parsing", "postflight", "cached"])
  func origins(origin: String) async {
    let answers: [String: Answer] = [
      "network": .offline, "status": .status(500), "parsing": .truncated,
    ]
    var bench = Bench(
      server: Server(answers[origin] ?? .ok), store: FakeStore(["Q": "x"]))
    bench.top = [
      Tracer(name: "a", journal: bench.journal),
      Interceptor { request, _, next in
        await next(request).map { response in
          if origin == "postflight" || origin == "cached" { throw Refused(by: origin) }
          return response
        }
      },
    ]
    if origin == "preflight" { bench.bottom = [failing("b")] }
    if origin == "http" { bench.http = [HTTPWrap { _, _, _ in throw Refused(by: "http") }] }
    let outcome = await bench.run(.test(policy: origin == "cached" ? .cacheFirst : .networkOnly))
    #expect(outcome.error != nil)
    #expect(outcome.results.isEmpty)
    #expect(await bench.journal.events.last { $0 != "rollback" } == "✗a")
    #expect(await bench.store.records == ["Q": "x"])
    #expect(await bench.store.commits == 0)
  }

  @Test("after a result do not take it back")
  func later() async {
    var bench = Bench(server: Server(.results(["1", "truncated"])))
    bench.top = [Tracer(name: "a", journal: bench.journal)]
    let outcome = await bench.run()
    #expect(outcome.results == ["server:1"])
    #expect((outcome.error as? ChainError)?.code == .truncatedResponse)
    #expect(await bench.store.records == ["Q": "1"])
  }

  @Test("are tapped just before the caller sees them, wherever they come from")
  func taps() async {
    struct Tap: ErrorTap {
      let journal: Journal
      var replacement: Refused?

      func tap(
        _ error: any Error, request: GraphQLRequest, context: ChainContext
      ) async -> ErrorOutcome {
        await journal.note("tap \(context.entryID)")
        return .error(replacement ?? error)
      }
    }
    for answer in [Answer.offline, .results(["unwritable"]), .ok] {
      var bench = Bench(server: Server(answer))
      bench.taps = [
        Tap(journal: bench.journal), Tap(journal: bench.journal, replacement: Refused(by: "tap")),
      ]
      let outcome = await bench.run()
      let events = await bench.journal.events.filter { $0.hasPrefix("tap") }
      #expect(events == (answer == .ok ? [] : ["tap tap0", "tap tap1"]))
      #expect(outcome.error as? Refused == (answer == .ok ? nil : Refused(by: "tap")))
    }
  }

  /// Counts what it sees.
  private struct CountingTap: ErrorTap {
    let journal: Journal

    func tap(
      _ error: any Error, request: GraphQLRequest, context: ChainContext
    ) async -> ErrorOutcome {
      let code = (error as? ChainError)?.code.rawValue ?? (error as? Refused)?.by ?? "\(error)"
      await journal.note("tap \(context.entryID) \(code)")
      return .error(error)
    }
  }

  @Test(
    "of every origin are tapped",
    arguments: [
      "preflight", "cache", "http", "network", "status", "parser", "post-flight", "write", "cap",
    ])
  func origins(_ origin: String) async {
    var bench = Bench()
    let refusal = Refused(by: origin)
    var expected = origin
    var policy = CachePolicy.networkOnly
    switch origin {
    case "preflight": bench.top = [Interceptor { _, _, _ in throw refusal }]
    case "cache": (policy, expected) = (.cacheOnly, "cache_miss")
    case "http": bench.http = [HTTPWrap { _, _, _ in throw refusal }]
    case "network": (bench.server, expected) = (Server(.offline), "connection_failed")
    case "status": (bench.server, expected) = (Server(.status(500)), "http_status")
    case "parser": (bench.server, expected) = (Server(.truncated), "truncated_response")
    case "post-flight":
      bench.bottom = [
        Interceptor { request, _, next in await next(request).map { _ in throw refusal } }
      ]
    case "write":
      (bench.server, expected) = (Server(.results(["unwritable"])), "cache_write_failed")
    default:
      expected = "too_many_attempts"
      bench.top = [Interceptor { request, _, _ in throw ChainRetry(request) }]
    }
    bench.taps = [CountingTap(journal: bench.journal)]
    let outcome = await bench.run(.test(policy: policy))
    #expect(outcome.error != nil && outcome.results.isEmpty)
    #expect(await bench.journal.events.filter { $0.hasPrefix("tap") } == ["tap tap0 \(expected)"])
  }

  @Test("may be reported by an interceptor that continues")
  func reported() async {
    var bench = Bench()
    bench.taps = [CountingTap(journal: bench.journal)]
    bench.top = [
      Interceptor { request, context, next in
        await context.report(Refused(by: "top"))
        return await next(request)
      }
    ]
    bench.http = [
      HTTPWrap { request, context, next in
        await context.report(Refused(by: "http"))
        return try await next(request)
      }
    ]
    let outcome = await bench.run()
    #expect(outcome.results == ["server:server"] && outcome.error == nil)
    #expect(
      await bench.journal.events.filter { $0.hasPrefix("tap") } == [
        "tap tap0 top", "tap tap0 http",
      ])
  }

  @Test("may be kept from the caller by a tap, which gives a result or nothing")
  func tapOutcomes() async {
    struct Tap: ErrorTap {
      let outcome: ErrorOutcome

      func tap(
        _ error: any Error, request: GraphQLRequest, context: ChainContext
      ) async -> ErrorOutcome { outcome }
    }
    let result = GraphQLResponse(source: .cache, data: Array("spare".utf8))
    for (outcome, results) in [
      (ErrorOutcome.result(result), ["server:1", "cache:spare"]), (.suppressed, ["server:1"]),
    ] {
      var bench = Bench(server: Server(.results(["1", "truncated"])))
      bench.taps = [Tap(outcome: outcome), Tap(outcome: .error(Refused(by: "a refusal")))]
      let seen = await bench.run()
      #expect(seen.results == results)
      #expect(seen.error == nil)
      #expect(await bench.store.records == ["Q": "1"])
    }
  }

  @Test("say what happened, and where")
  func text() {
    let error = ChainError(
      .transport, code: .timedOut, message: "no answer within 30s\u{1B}[2J", entry: "fetch",
      cause: Refused(by: "x"))
    #expect("\(error)" == "fetch: no answer within 30s\u{FFFD}[2J (Refused(by: \"x\"))")
    #expect(ChainError(.transport, code: .tlsFailed, message: "").isNetworkFailure)
    #expect(!ChainError(.transport, code: .tlsFailed, message: "").isTransient)
    #expect(!ChainError(.transport, code: .malformedResponse, message: "").isNetworkFailure)
    #expect(!ChainError(.cache, code: .timedOut, message: "").isNetworkFailure)
    for (status, network, transient) in [
      (401, false, false), (403, false, false), (429, false, true), (500, true, false),
      (503, true, true),
    ] {
      let error = ChainError(
        .transport, code: .httpStatus, message: "", http: .init(status: status))
      #expect(error.isNetworkFailure == network)
      #expect(error.isTransient == transient)
    }
    let graphQL = GraphQLError(
      message: "no\nway", path: [.key("a"), .index(0)], extensions: ["code": "FORBIDDEN"])
    #expect("\(graphQL)" == "a.0: no\u{FFFD}way [FORBIDDEN]")
  }
}
