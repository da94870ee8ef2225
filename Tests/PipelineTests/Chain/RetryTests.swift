import GQLRunPipeline
import Testing

@Suite("Retries")
struct RetryTests {
  /// Asks for a retry on any error, changing the request.
  private func retrying(atMost limit: Int = .max) -> Interceptor {
    Interceptor { request, context, next in
      await next(request).mapErrors { error in
        guard context.attempt <= limit else { throw error }
        var request = request
        request.context.named["tries"] = "\(context.attempt)"
        throw ChainRetry(request, cause: error)
      }
    }
  }

  @Test("start again at the first interceptor, with the request they carry")
  func restart() async {
    var bench = Bench(server: Server(.offline, .status(503), .ok))
    let journal = bench.journal
    bench.top = [
      Interceptor { request, context, next in
        let cause = (context.retryCause as? ChainError)?.code.rawValue ?? "none"
        let tries = request.context.named["tries"] ?? "0"
        await journal.note("\(context.attempt) \(request.attempt) \(tries) \(cause)")
        return await next(request).map { response in
          await journal.note("result of \(response.attempt)")
          return response
        }
      }, retrying(),
    ]
    let outcome = await bench.run()
    #expect(outcome.results == ["server:server"])
    #expect(
      await journal.events.filter { $0 != "fetch" && !$0.hasPrefix("parse") && $0 != "commit" } == [
        "1 1 0 none", "2 2 1 connection_failed", "3 3 2 http_status", "result of 3",
      ])
  }

  @Test("may be requested before the network, and by a result")
  func everywhere() async {
    var bench = Bench(server: Server(.graphQLError, .ok))
    bench.top = [
      Interceptor { request, context, next in
        if context.attempt == 1 { throw ChainRetry(request) }
        return await next(request).map { response in
          if !response.errors.isEmpty { throw ChainRetry(request) }
          return response
        }
      }
    ]
    #expect(await bench.run().results == ["server:server"])
    #expect(await bench.server.count == 2)
    #expect(await bench.store.records == ["Q": "server"])
    #expect(await bench.store.rollbacks == 1)
  }

  @Test(
    "may be asked for at any stage, and restart at the first interceptor with the next attempt",
    arguments: ["preflight", "cache", "bottom", "http", "chunk", "parsing", "result", "write"])
  func stages(stage: String) async {
    /// Asks for a retry in the first attempt, at its stage.
    @Sendable func ask(_ here: String, _ request: GraphQLRequest, _ attempt: Int) throws {
      if here == stage, attempt == 1 { throw ChainRetry(request) }
    }
    var bench = Bench(hook: ask)
    let journal = bench.journal
    bench.top = [
      Interceptor { request, context, next in
        await journal.note("attempt \(context.attempt)")
        try ask("preflight", request, context.attempt)
        return await next(request).map { response in
          try ask("result", request, context.attempt)
          return response
        }
      }
    ]
    bench.bottom = [
      Interceptor { request, context, next in
        try ask("bottom", request, context.attempt)
        return await next(request)
      }
    ]
    bench.http = [
      HTTPWrap { message, context, next in
        try ask("http", .test(), context.attempt)
        return try await next(message).mapChunks { chunk in
          try ask("chunk", .test(), context.attempt)
          return chunk
        }
      }
    ]
    let result = await bench.run(.test(policy: .cacheFirst))
    #expect(result.error == nil)
    #expect(result.results == ["server:server"])
    #expect(await journal.events.filter { $0.hasPrefix("attempt") } == ["attempt 1", "attempt 2"])
    #expect(await bench.store.commits == 1)
  }

  @Test("are not errors to the interceptors above")
  func invisible() async {
    var bench = Bench(server: Server(.offline, .ok))
    bench.top = [
      Interceptor { request, _, next in await next(request).mapErrors { _ in nil } },
      Tracer(name: "a", journal: bench.journal), retrying(),
    ]
    #expect(await bench.run().results == ["server:server"])
    #expect(await bench.journal.count("✗a") == 0)
    #expect(await bench.journal.count("↓a") == 2)
  }

  @Test("end at a hard cap, with an error that names it")
  func cap() async throws {
    var bench = Bench(server: Server(.offline))
    bench.top = [retrying()]
    let error = try #require(await bench.run().error as? ChainError)
    #expect(error.code == .tooManyAttempts)
    #expect(error.layer == .chain)
    #expect(error.message.contains("25 times"))
    #expect((error.cause as? ChainError)?.code == .connectionFailed)
    #expect(await bench.server.count == PipelineRunner.maxAttempts)
  }

  @Test("end when the interceptor has had enough")
  func bounded() async throws {
    var bench = Bench(server: Server(.offline))
    bench.top = [retrying(atMost: 3)]
    let error = try #require(await bench.run().error as? ChainError)
    #expect(error.code == .connectionFailed)
    #expect(await bench.server.count == 4)
  }

  @Test(
    "under cache-and-network neither read nor bring the cached result again",
    arguments: [true, false])
  func cacheOnce(isCached: Bool) async {
    var bench = Bench(
      server: Server(.offline, .offline, .ok), store: FakeStore(isCached ? ["Q": "cached"] : [:]))
    bench.top = [retrying()]
    let outcome = await bench.run(.test(policy: .cacheAndNetwork))
    #expect(outcome.results == (isCached ? ["cache:cached"] : []) + ["server:server"])
    #expect(await bench.store.reads == 1)
    #expect(await bench.server.count == 3)
  }

  @Test("may change the policy, as persisted queries do")
  func policy() async {
    var bench = Bench(server: Server(.offline, .ok))
    bench.top = [
      Interceptor { request, _, next in
        await next(request).mapErrors { error in
          var request = request
          request.cachePolicy = .networkOnly
          throw ChainRetry(request, cause: error)
        }
      }
    ]
    #expect(await bench.run(.test(policy: .cacheFirst)).results == ["server:server"])
    #expect(await bench.store.reads == 1)
  }

  @Test("stop when the task is cancelled")
  func cancelled() async {
    var bench = Bench(server: Server(.offline))
    bench.top = [
      Interceptor { request, _, next in
        await next(request).mapErrors { error in
          withUnsafeCurrentTask { $0?.cancel() }
          throw ChainRetry(request, cause: error)
        }
      }
    ]
    let task = Task { [bench] in await bench.run() }
    #expect(await task.value.error is CancellationError)
    #expect(await bench.server.count == 1)
  }
}
