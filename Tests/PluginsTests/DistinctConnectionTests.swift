import GQLRunPipeline
import Testing

/// Subscriptions over server-sent events with a connection for each, against a server with a script.
///
/// The names are those of the reference client's tests of this mode, which is the default. Its others are here:
///
/// - headers, the URL, errors before and within a stream: `SubscriptionTests`, `HTTPRequestBuilderTests`
/// - retries, and servers that go away: `SubscriptionTests`, `torture-live`
/// - lines of multiline messages: `SplitterTests`
/// - iterators that return, throw or break: `SubscriptionTests`; an iteration that ends releases its stream
///
/// Those of its listeners do not apply: `-v` and the state of a subscription show connections.
///
/// - https://github.com/enisdenjo/graphql-sse/blob/master/tests/client.test.ts
@Suite(.timeLimit(.minutes(10))) struct DistinctConnectionTests {
  private static func document(_ name: String) -> String {
    "subscription \(name) { renamed { __typename id name } }"
  }

  private static let head = HTTPText.response(
    type: "text/event-stream", headers: ["Connection: close"], body: "")
  private static let event = RawServer.Step.send(
    "event: next\ndata: \(SocketTests.payload("Ada"))\n\n")
  private static let complete = RawServer.Step.send("event: complete\ndata:\n\n")

  @Test func `establishes separate connections for each subscribe`() async throws {
    let script: [RawServer.Step] = [.request, .send(Self.head), Self.event, .untilClosed]
    try await Bench.withServer(script, script) { bench, server in
      let first = bench.runner.execute(try Bench.request(Self.document("First")))
      let second = bench.runner.execute(try Bench.request(Self.document("Second")))
      for stream in [first, second] { #expect(try await stream.next()?.source == .server) }
      #expect(await server.log.connections == 2)
      let requests = await server.log.requests
      #expect(requests.count { $0.contains("First") } == 1)
      #expect(requests.count { $0.contains("Second") } == 1)
    }
  }

  @Test func `disconnects on unsubscribe even if no events are emitted`() async throws {
    try await Bench.withServer([.request, .send(Self.head), .untilClosed]) { bench, server in
      let task = Task { await bench.run(Self.document("First")) }
      _ = await server.log.request(containing: "First")
      task.cancel()
      #expect(await task.value.error is CancellationError)
      await server.log.closure()
    }
  }

  @Test func `a loop that breaks disconnects`() async throws {
    try await Bench.withServer([.request, .send(Self.head), Self.event, .untilClosed]) {
      bench, server in
      for try await result in bench.runner.execute(try Bench.request(Self.document("First"))) {
        #expect(result.source == .server)
        break
      }
      await server.log.closure()
    }
  }

  @Test func `completes all connections when the client is disposed`() async throws {
    let script: [RawServer.Step] = [.request, .send(Self.head), .untilClosed]
    try await RawServer.withServer(script, script) { server in
      let tasks = try await Bench.with(url: server.url) { bench in
        let names = ["First", "Second"]
        let tasks = names.map { name in Task { await bench.run(Self.document(name)) } }
        for name in names { _ = await server.log.request(containing: name) }
        return tasks
      }
      for task in tasks {
        let outcome = await task.value
        #expect(outcome.error is CancellationError, "\(outcome.message)")
        #expect(outcome.results.isEmpty)
      }
    }
  }

  @Test func `does not complete after a subscription error`() async throws {
    let script: [RawServer.Step] = [
      .request, .send(Self.head), Self.event,
      .send("event: next\ndata: nonsense\n\n"), Self.complete, .untilClosed,
    ]
    try await Bench.withServer(script) { bench, _ in
      let outcome = await bench.run(Self.document("First"))
      #expect(outcome.results.count == 1)
      #expect(outcome.code == .malformedResponse, "\(outcome.message)")
    }
  }
}
