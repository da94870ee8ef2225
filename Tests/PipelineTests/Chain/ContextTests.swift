import GQLRunPipeline
import Testing

@Suite("The context of a request")
struct ContextTests {
  private enum UserKey: RequestContextKey {
    typealias Value = Int
  }

  private enum Trace {
    @TaskLocal static var id: String?
  }

  @Test("has typed and named values that interceptors below see, and retries keep")
  func values() async {
    var bench = Bench(server: Server(.offline, .ok))
    let journal = bench.journal
    bench.top = [
      Interceptor { request, _, next in
        var request = request
        request.context[UserKey.self] = (request.context[UserKey.self] ?? 0) + 1
        request.context.named["tenant"] = "acme"
        let changed = request
        return await next(request).mapErrors { throw ChainRetry(changed, cause: $0) }
      }
    ]
    bench.http = [
      HTTPWrap { request, context, next in
        let user = context.values[UserKey.self].map(String.init) ?? "none"
        await journal.note("\(user) \(context.values.named["tenant"] ?? "none")")
        return try await next(request)
      }
    ]
    _ = await bench.run()
    _ = await bench.run()
    #expect(
      await journal.events.filter { $0.contains("acme") } == ["1 acme", "2 acme", "1 acme"])
  }

  /// Notes the task-local value on the path down, and with each result.
  private func noting(_ journal: Journal) -> Interceptor {
    Interceptor { request, _, next in
      await journal.note("down \(Trace.id ?? "none")")
      return await next(request).map { response in
        await journal.note("up \(Trace.id ?? "none")")
        return response
      }
    }
  }

  @Test("carries task-local values set before the request")
  func outerTaskLocals() async {
    var bench = Bench(server: Server(.results(["1", "2"])))
    bench.bottom = [noting(bench.journal)]
    _ = await Trace.$id.withValue("t") { await bench.run() }
    #expect(
      await bench.journal.events.filter { $0.hasSuffix(" t") || $0.hasSuffix("none") }
        == ["down t", "up t", "up t"])
  }

  @Test("carries task-local values that an interceptor sets, to the steps below and to results")
  func innerTaskLocals() async {
    var bench = Bench(server: Server(.results(["1", "2"])))
    let journal = bench.journal
    bench.top = [
      Interceptor { request, _, next in
        await Trace.$id.withValue("t") { await next(request) }.binding(Trace.$id, to: "t")
      }, noting(journal),
    ]
    bench.http = [
      HTTPWrap { request, _, next in
        await journal.note("http \(Trace.id ?? "none")")
        return try await next(request)
      }
    ]
    _ = await bench.run()
    let seen = await journal.events.filter { $0.hasSuffix(" t") || $0.hasSuffix("none") }
    #expect(seen == ["down t", "http t", "up t", "up t"])
  }

  @Test("carries task-local values to the first result without further ado")
  func firstResult() async {
    var bench = Bench()
    let journal = bench.journal
    bench.top = [
      Interceptor { request, _, next in
        await Trace.$id.withValue("t") { await next(request) }
      },
      Interceptor { request, _, next in
        await next(request).map { response in
          await journal.note("up \(Trace.id ?? "none")")
          return response
        }
      },
    ]
    _ = await bench.run()
    #expect(await journal.events.filter { $0.hasPrefix("up") } == ["up t"])
  }

  @Test("comes with services by typed keys")
  func services() async {
    enum Counter: ServiceKey {
      typealias Value = Journal
    }
    var bench = Bench()
    bench.services[Counter.self] = bench.journal
    bench.top = [
      Interceptor { request, context, next in
        await context.services[Counter.self]?.note("\(context.entryID) \(context.operationLabel)")
        return await next(request)
      }
    ]
    _ = await bench.run()
    #expect(await bench.journal.events.first == "top0 Q")
  }
}
