import GQLRunJSON
import GQLRunLanguage
import GQLRunPipeline
import GQLRunTestSupport
import HTTPTypes
import Testing

@Suite("A chain")
struct ChainTests {
  @Test("lets the first interceptor see the request first and the response last")
  func order() async throws {
    var bench = Bench()
    let journal = bench.journal
    bench.top = [Tracer(name: "a", journal: journal), Tracer(name: "b", journal: journal)]
    bench.bottom = [Tracer(name: "c", journal: journal)]
    bench.http = ["x", "y"].map { name in
      HTTPWrap { request, _, next in
        await journal.note("↓\(name)")
        let response = try await next(request)
        await journal.note("↑\(name)")
        return response
      }
    }
    let outcome = await bench.run()
    #expect(outcome.results == ["server:server"])
    await #expect(
      journal.events == [
        "↓a", "↓b", "↓c", "↓x", "↓y", "fetch", "↑y", "↑x", "parse server", "↑c", "↑b", "↑a",
        "commit",
      ])
  }

  @Test("lets HTTP interceptors see a response before the status is checked")
  func statusAfterWraps() async throws {
    var bench = Bench(server: Server(.status(503)))
    let journal = bench.journal
    bench.http = [
      HTTPWrap { request, _, next in
        let response = try await next(request)
        await journal.note("status \(response.head.status.code)")
        return response
      }
    ]
    let error = try #require(await bench.run().error as? ChainError)
    #expect(error.http?.status == 503)
    #expect(error.isTransient)
    await #expect(journal.events == ["fetch", "status 503"])
  }

  @Test("does not trouble interceptors below the cache read when it hits")
  func hit() async throws {
    var bench = Bench(store: FakeStore(["Q": "cached"]))
    bench.top = [Tracer(name: "a", journal: bench.journal)]
    bench.bottom = [Tracer(name: "b", journal: bench.journal)]
    let outcome = await bench.run(.test(policy: .cacheFirst))
    #expect(outcome.results == ["cache:cached"])
    await #expect(bench.journal.events == ["↓a", "↑a"])
  }

  @Test("hands on what an interceptor changes, in both directions")
  func changes() async throws {
    var bench = Bench()
    bench.top = [
      Interceptor { request, _, next in
        var request = request
        request.additionalHeaders[.authorization] = "Bearer x"
        request.context.named["tenant"] = "acme"
        return await next(request).map { response in
          var response = response
          response.data = Array("changed".utf8)
          return response
        }
      }
    ]
    bench.http = [
      HTTPWrap { request, context, next in
        var request = request
        request.head.headerFields[.init("X-Tenant")!] = context.values.named["tenant"]
        let response = try await next(request)
        return response.mapChunks { _ in Array("chunk".utf8) }
      }
    ]
    #expect(await bench.run().results == ["server:changed"])
    let sent = try #require(await bench.server.requests.first)
    #expect(sent.head.headerFields[.authorization] == "Bearer x")
    #expect(sent.head.headerFields[.init("X-Tenant")!] == "acme")
    #expect(await bench.store.records == ["Q": "chunk"])
  }

  @Test("brings several results, each through all interceptors and committed before the next")
  func manyResults() async throws {
    var bench = Bench(server: Server(.results(["1", "2", "3"])))
    bench.top = [Tracer(name: "a", journal: bench.journal)]
    let outcome = await bench.run()
    #expect(outcome.results == ["server:1", "server:2", "server:3"])
    await #expect(
      bench.journal.events == [
        "↓a", "fetch", "parse 1", "↑a", "commit", "parse 2", "↑a", "commit", "parse 3", "↑a",
        "commit",
      ])
  }

  @Test("may be answered by an interceptor alone")
  func shortCut() async throws {
    var bench = Bench()
    bench.top = [
      Interceptor { _, _, _ in
        ResponseStream(GraphQLResponse(source: .server, data: Array("own".utf8)))
      }
    ]
    #expect(await bench.run().results == ["server:own"])
    #expect(await bench.server.count == 0)
  }

  @Test("may be given more results by an interceptor, before and after those from below")
  func moreResults() async throws {
    var bench = Bench()
    @Sendable func local(_ text: String) -> GraphQLResponse {
      GraphQLResponse(source: .cache, data: Array(text.utf8))
    }
    bench.top = [
      Tracer(name: "a", journal: bench.journal),
      Interceptor { request, _, next in
        let (first, last) = (ResponseStream(local("first")), ResponseStream(local("last")))
        let stream = await next(request)
        return ResponseStream(pull: {
          if let response = try await first.next() { return response }
          if let response = try await stream.next() { return response }
          return try await last.next()
        })
      },
    ]
    #expect(await bench.run().results == ["cache:first", "server:server", "cache:last"])
    #expect(await bench.journal.count("↑a") == 3)
    #expect(await bench.store.commits == 1)
  }

  @Test("may send a body of an interceptor's own making")
  func ownBody() async throws {
    var bench = Bench()
    bench.bottom = [
      Interceptor { request, _, next in
        var request = request
        request.documentID = "abc"
        return await next(request)
      }
    ]
    bench.http = [
      HTTPWrap { request, _, next in
        var request = request
        request.body = (request.body ?? []) + Array("\n".utf8)
        return try await next(request)
      }
    ]
    #expect(await bench.run().error == nil)
    let body = try #require(await bench.server.requests.first?.body)
    #expect(
      String(decoding: body, as: UTF8.self) == #"{"documentId":"abc","operationName":"Q"}"# + "\n")
  }

  @Test("uses the entries whose condition holds")
  func conditions() async throws {
    let journal = Journal()
    let server = Server(.ok)
    let pipeline = Pipeline(
      endpoint: testEndpoint,
      entries: [
        PipelineEntry(
          id: "a", .graphQL(Tracer(name: "a", journal: journal)), when: .init(operations: ["A"])),
        PipelineEntry(
          id: "b", .graphQL(Tracer(name: "b", journal: journal)), when: .init(type: .mutation)),
        PipelineEntry(id: "fetch", .fetch(FakeFetch(server: server))),
        PipelineEntry(id: "parse", .parsing(FakeParser())),
      ])
    let runner = PipelineRunner(pipeline, services: Services())
    _ = try await runner.results(of: .test("A"))
    _ = try await runner.results(of: .test("B"))
    _ = try await runner.results(of: .test("A", .mutation))
    #expect(await journal.events == ["↓a", "↑a", "↓a", "↓b", "↑b", "↑a"])
  }

  @Test("that ends without a result says at which stage")
  func noResult() async throws {
    let fetch = PipelineEntry(id: "fetch", .fetch(FakeFetch(server: Server(.results([])))))
    let parse = PipelineEntry(id: "parse", .parsing(FakeParser()))
    let cases: [(entries: [PipelineEntry], policy: CachePolicy, entry: String)] = [
      ([fetch, parse], .networkOnly, "parse"), ([fetch], .networkOnly, "parsing"),
      ([parse], .networkOnly, "HTTP"), ([], .networkOnly, "parsing"),
      ([fetch, parse], .cacheOnly, "cache"),
    ]
    for test in cases {
      let runner = PipelineRunner(
        Pipeline(endpoint: testEndpoint, entries: test.entries), services: Services())
      let error = try #require(
        await outcome(of: runner.execute(.test(policy: test.policy))).error as? ChainError)
      #expect(error.code == .noResult)
      #expect(error.layer == .chain)
      #expect(error.entry == test.entry)
    }
    let runner = PipelineRunner(
      Pipeline(endpoint: testEndpoint, entries: [fetch, parse]), services: Services())
    #expect(try await runner.results(of: .test("S", .subscription)).isEmpty)
    let nowhere = PipelineRunner(Pipeline(entries: [fetch, parse]), services: Services())
    let error = await outcome(of: nowhere.execute(.test())).error as? ChainError
    #expect(error?.code == .invalidRequest)
  }

  @Test("begins with the first read and not before")
  func laziness() async throws {
    let bench = Bench()
    let stream = PipelineRunner(bench.pipeline, services: Services()).execute(.test())
    #expect(await bench.server.count == 0)
    #expect(try await stream.next()?.text == "server:server")
    #expect(try await stream.next() == nil)
    #expect(try await stream.next() == nil)
    #expect(await bench.server.count == 1)
  }

  @Test("measures with the clock it is given")
  func timing() async throws {
    let clock = TestClock.jumping()
    var bench = Bench(services: Services(clock: ServiceClock(clock)))
    bench.http = [
      HTTPWrap { request, _, next in
        clock.advance(by: .milliseconds(30))
        return try await next(request)
      }
    ]
    bench.bottom = [
      Interceptor { request, _, next in
        clock.advance(by: .milliseconds(12))
        return await next(request)
      }
    ]
    let result = try await PipelineRunner(bench.pipeline, services: bench.services)
      .results(of: .test()).first
    #expect(result?.timing.total == .milliseconds(42))
    #expect(result?.timing.firstByte == .milliseconds(30))
    #expect(result?.http?.status == .ok)
    #expect(result?.attempt == 1)
  }

  @Test("stops when its task is cancelled")
  func cancellation() async throws {
    var bench = Bench()
    let journal = bench.journal
    let (reached, continuation) = AsyncStream.makeStream(of: Void.self)
    bench.http = [
      HTTPWrap { _, _, _ in
        continuation.yield()
        // Waits until it is cancelled.
        for await _ in AsyncStream<Never>.makeStream().stream {}
        try Task.checkCancellation()
        throw Refused(by: "not cancelled")
      }
    ]
    bench.top = [Tracer(name: "a", journal: journal)]
    let task = Task { [bench] in await bench.run() }
    for await _ in reached { break }
    task.cancel()
    let outcome = await task.value
    #expect(outcome.error is CancellationError)
    #expect(outcome.results.isEmpty)
    #expect(await journal.events == ["↓a", "✗a"])
  }

  @Test("does not begin, and does not commit, in a cancelled task")
  func cancelledBefore() async throws {
    let bench = Bench()
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return await bench.run()
    }
    #expect(await task.value.error is CancellationError)
    #expect(await bench.server.count == 0)

    var late = Bench()
    late.top = [
      Interceptor { request, _, next in
        await next(request).map { response in
          withUnsafeCurrentTask { $0?.cancel() }
          return response
        }
      }
    ]
    let second = Task { [late] in await late.run() }
    #expect(await second.value.error is CancellationError)
    #expect(await late.store.commits == 0)
    #expect(await late.store.rollbacks == 1)
  }

  @Test("keeps a thousand concurrent requests apart")
  func concurrency() async throws {
    var bench = Bench()
    bench.top = [
      Interceptor { request, context, next in
        var request = request
        guard request.context.named["id"] == nil, context.attempt == 1 else {
          throw Refused(by: "leak")
        }
        request.context.named["id"] = request.operationName
        return await next(request)
      }
    ]
    bench.http = [
      HTTPWrap { request, context, next in
        let response = try await next(request)
        let id = context.values.named["id"] ?? "none"
        return response.mapChunks { _ in Array(id.utf8) }
      }
    ]
    let runner = PipelineRunner(bench.pipeline, services: Services())
    try await withThrowingTaskGroup(of: Bool.self) { group in
      for number in 0..<1_000 {
        group.addTask {
          try await runner.results(of: .test("Q\(number)")).map(\.text) == ["server:Q\(number)"]
        }
      }
      for try await isRight in group { #expect(isRight) }
    }
    #expect(await bench.store.commits == 1_000)
  }
}
