import GQLRunJSON
import HTTPTypes
import Testing

@testable import GQLRunDemoServer

@Suite(.timeLimit(.minutes(10))) struct ServerLifeTests {
  private struct Expected: Error {}

  @Test func `a server runs until its task is cancelled`() async throws {
    let server = DemoServer()
    let (ready, continuation) = AsyncStream.makeStream(of: String.self)
    let running = Task { try await server.run { continuation.yield($0) } }
    let url = try #require(await ready.first { _ in true })
    let port = try #require(Int(url.dropFirst("http://127.0.0.1:".count).prefix { $0 != "/" }))
    #expect(url == "http://127.0.0.1:\(port)/graphql")
    let live = LiveDemoServer(
      host: "127.0.0.1", port: port, state: ServerState(misbehaviour: .init()))
    let reply = try await RawClient(live).post("{ __typename }")
    #expect(reply.status == 200)
    #expect(server.log.requestCount == 1)
    running.cancel()
    try await running.value
    // Another program's server may use its port by now.
    _ = try? await RawClient(live).post("{ __typename }")
    #expect(server.log.requestCount == 1)
  }

  @Test func `a port that is taken is an error`() async throws {
    try await DemoServer.withServer { first in
      let second = DemoServer.Configuration(port: first.port)
      await #expect(throws: DemoServer.Failure.self) {
        try await DemoServer.withServer(second) { _ in }
      }
      let reply = try await RawClient(first).post("{ __typename }")
      #expect(reply.status == 200)
    }
  }

  @Test func `the result and the error of the work are passed on`() async throws {
    let port = try await DemoServer.withServer { $0.port }
    #expect(port > 0)
    await #expect(throws: Expected.self) {
      try await DemoServer.withServer { _ in throw Expected() }
    }
  }

  @Test func `cancelling the work ends the server`() async throws {
    let (ready, continuation) = AsyncStream.makeStream(of: Void.self)
    let task = Task {
      try await DemoServer.withServer { _ in
        continuation.yield()
        try await waitForCancellation()
      }
    }
    _ = await ready.first { _ in true }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  @Test func `requests are answered at the same time`() async throws {
    try await RawClient.withServer { client, server in
      let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
        for _ in 0..<50 {
          group.addTask { try await client.post("{ countries { name } }").status }
        }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      #expect(statuses == Array(repeating: 200, count: 50))
      #expect(server.requestCount == 50)
    }
  }

  @Test func `what mutations change lasts as long as the server`() async throws {
    try await RawClient.withServer { client, _ in
      let mutation = "mutation { likePost(id: \"P_1\") { likeCount } }"
      let first = try JSONValue(parsing: try await client.post(mutation).body)
      let second = try JSONValue(parsing: try await client.post(mutation).body)
      let counts = [first, second].compactMap { $0["data"]?["likePost"]?["likeCount"]?.intValue }
      #expect(counts.count == 2 && counts[1] == counts[0] + 1)
    }
  }

  @Test func `the log keeps the last requests and the beginning of bodies`() {
    let log = RequestLog()
    for number in 0..<2500 {
      log.add(RequestLog.Entry(method: "GET", path: "/\(number)", headers: [:], body: []))
    }
    #expect(log.requestCount == 2500)
    #expect(log.requests.count == RequestLog.keptEntries)
    #expect(log.requests.first?.path == "/1500" && log.last?.path == "/2499")
  }
}
