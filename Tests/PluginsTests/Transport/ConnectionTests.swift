import GQLRunPipeline
import GQLRunPlugins
import GQLRunTestSupport
import HTTPTypes
import Testing

/// Connections: kept, closed, given up.
@Suite(.timeLimit(.minutes(10))) struct ConnectionTests {
  private static let ok = HTTPText.response()
  /// Limits with time enough to connect on a busy machine.
  private static let patient: HTTPLimits = {
    var limits = HTTPLimits()
    limits.connect = .seconds(3_600)
    return limits
  }()

  @Test func `one connection serves several operations`() async throws {
    let script: [RawServer.Step] = [
      .request, .send(Self.ok), .request, .send(Self.ok), .request, .send(Self.ok), .untilClosed,
    ]
    try await Bench.withServer(script) { bench, server in
      for _ in 0..<3 {
        let outcome = await bench.run()
        #expect(outcome.sources == [.server])
      }
      #expect(await server.log.connections == 1)
      #expect(await server.log.requests.count == 3)
    }
  }

  @Test func `head and body of a request come in one piece`() async throws {
    try await Bench.withServer([.bytes(1), .send(Self.ok), .untilClosed]) { bench, server in
      #expect(await bench.run().sources == [.server])
      let piece = String(decoding: await server.log.bytes(), as: UTF8.self)
      #expect(piece.hasPrefix("POST /graphql HTTP/1.1\r\n"))
      #expect(piece.hasSuffix("}") && piece.contains("\r\n\r\n{"), "\(piece)")
    }
  }

  @Test func `requests of one transport go where they are sent, and each way of theirs is kept`()
    async throws
  {
    let script: [RawServer.Step] = [
      .request, .send(Self.ok), .request, .send(Self.ok), .request, .send(Self.ok), .untilClosed,
    ]
    try await RawServer.withServer(script) { first in
      try await RawServer.withServer(script) { second in
        let transport = AsyncHTTPTransport(clock: ServiceClock(TestClock()))
        for path in ["/a", "/b", "/a"] {
          for server in [first, second] {
            let message = HTTPRequestMessage(
              head: HTTPRequest(
                method: .post, scheme: "http", authority: "127.0.0.1:\(server.port)", path: path),
              body: Array("to \(server.port)".utf8))
            let response = try await transport.send(message, limits: Self.patient)
            _ = try await response.body.prefix(1 << 20)
          }
        }
        for server in [first, second] {
          let requests = await server.log.requests
          #expect(requests.map { $0.split(separator: " ")[1] } == ["/a", "/b", "/a"])
          #expect(requests.allSatisfy { $0.hasSuffix("\r\n\r\nto \(server.port)") })
          #expect(await server.log.connections == 1)
        }
        await transport.shutdown()
      }
    }
  }

  @Test func `a long body is sent on a connection of another event loop`() async throws {
    let script: [RawServer.Step] = [
      .request, .send(Self.ok), .request, .send(Self.ok), .request, .send(Self.ok), .untilClosed,
    ]
    try await RawServer.withServer(script) { server in
      let transport = AsyncHTTPTransport(clock: ServiceClock(TestClock()))
      let message = HTTPRequestMessage(
        head: HTTPRequest(
          method: .post, scheme: "http", authority: "127.0.0.1:\(server.port)", path: "/"),
        body: [UInt8](repeating: UInt8(ascii: "x"), count: 200_000))
      // The next request waits until the one connection, on the event loop of the first, is free.
      var limits = Self.patient
      limits.connection.maxPerHost = 1
      for executor in transport.executors.prefix(2) + transport.executors.prefix(1) {
        let answer = try await Task(executorPreference: executor) { [limits] in
          try await transport.send(message, limits: limits).body.prefix(1 << 20)
        }.value
        #expect(!answer.isEmpty)
      }
      #expect(await server.log.connections == 1)
      await transport.shutdown()
    }
  }

  // If it was closed at the end of the upload, the client would return it to its pool, and stop the program.
  @Test func `an answer before the end of the upload is the last one on its connection`()
    async throws
  {
    let (heads, head) = AsyncStream.makeStream(of: Void.self)
    // The server reads the rest only after its answer has arrived: the client cannot have sent all of it.
    let script: [RawServer.Step] = [
      .request, .send(Self.ok), .bytes(1), .send(Self.ok), .run { for await _ in heads {} },
      .untilClosed,
    ]
    try await RawServer.withServer(script, [.request]) { server in
      let transport = AsyncHTTPTransport(clock: ServiceClock(TestClock()))
      let message = HTTPRequestMessage(
        head: HTTPRequest(
          method: .post, scheme: "http", authority: "127.0.0.1:\(server.port)", path: "/"))
      _ = try await transport.send(message, limits: Self.patient).body.prefix(1 << 20)
      let file = try Upload(bytes: [UInt8](repeating: 0, count: 32 << 20), fileName: "zeros.bin")
      var upload = message
      upload.multipart = MultipartBody(operations: Array("{}".utf8), uploads: ["file": file])
      let response = try await transport.send(upload, limits: Self.patient)
      #expect(response.head.headerFields[.connection] == "close")
      head.finish()
      let body = try await response.body.prefix(1 << 20)
      #expect(String(decoding: body, as: UTF8.self) == HTTPText.user)
      // The server has not ended it, and may keep others.
      let error = await #expect(throws: ChainError.self) {
        try await transport.send(message, limits: Self.patient)
      }
      #expect(error.map { "\($0)".contains("the connection was reused") } == true)
      await transport.shutdown()
    }
  }

  @Test func `a connection serves on after a refused answer that was read to its end`()
    async throws
  {
    let script: [RawServer.Step] = [
      .request, .send(HTTPText.response("503 Service Unavailable", body: "busy")), .request,
      .send(Self.ok), .untilClosed,
    ]
    try await Bench.withServer(script) { bench, server in
      #expect(await bench.run().code == .httpStatus)
      #expect(await bench.run().sources == [.server])
      #expect(await server.log.connections == 1)
    }
  }

  @Test func `fault 7: a query on a kept connection that closes is sent once more by itself`()
    async throws
  {
    try await Bench.withServer(
      [.request, .send(Self.ok), .request], [.request, .send(Self.ok), .untilClosed]
    ) { bench, server in
      #expect(await bench.run().sources == [.server])
      let second = await bench.run()
      #expect(second.sources == [.server])
      #expect(second.results.first?.attempt == 1)
      #expect(await server.log.connections == 2)
      #expect(await server.log.requests.count == 3)
    }
  }

  @Test func `a query is sent once more only once`() async throws {
    try await Bench.withServer([.request, .send(Self.ok), .request], [.request]) { bench, server in
      _ = await bench.run()
      let second = await bench.run()
      #expect(second.code == .connectionClosed)
      #expect(await server.log.requests.count == 3)
    }
  }

  @Test func `fault 7: a mutation on a kept connection that closes is not sent again`() async throws
  {
    try await Bench.withServer(
      [.request, .send(Self.ok), .request], [.request, .send(Self.ok), .untilClosed],
      chain: Bench.retrying
    ) { bench, server in
      _ = await bench.run()
      let outcome = await bench.run(Bench.rename)
      #expect(outcome.code == .connectionClosed)
      #expect(outcome.failure?.delivery == .unknown)
      #expect(outcome.message.contains("the connection was reused"))
      #expect(await server.log.requests.count == 2)
      expectNoSecrets(outcome, bench)
    }
  }

  @Test(arguments: [[RawServer.Step.request], [.request, .reset]])
  func `fault 6: a mutation whose answer did not come is not sent again`(
    _ script: [RawServer.Step]
  ) async throws {
    try await Bench.withServer(script, chain: Bench.retrying) { bench, server in
      try await bench.prime()
      let before = await bench.dump()
      let outcome = await bench.run(Bench.rename)
      #expect(outcome.code == .connectionClosed)
      #expect(outcome.failure?.delivery == .unknown)
      #expect(await server.log.connections == 1)
      #expect(await bench.dump() == before)
      expectNoSecrets(outcome, bench)
    }
  }

  @Test func `max-retry repeats a query whose connection closed before the answer`() async throws {
    try await Bench.withServer([.request], [.request, .send(Self.ok)], chain: Bench.retrying) {
      bench, server in
      let outcome = await bench.run()
      #expect(outcome.results.map(\.attempt) == [2])
      #expect(await server.log.requests.count == 2)
    }
  }

  @Test(arguments: [
    [RawServer.Step.request],
    [.request, .send(HTTPText.response(headers: ["Content-Length: 900"], body: #"{"data":{"#))],
  ]) func `cancelling closes the connection`(_ start: [RawServer.Step]) async throws {
    let (reached, signal) = AsyncStream.makeStream(of: Void.self)
    try await Bench.withServer(start + [.run { signal.yield() }, .untilClosed]) { bench, server in
      let before = await bench.dump()
      let task = Task { await bench.run() }
      for await _ in reached { break }
      task.cancel()
      let outcome = await task.value
      #expect(outcome.error is CancellationError, "\(outcome.message)")
      await server.log.closure()
      #expect(await bench.dump() == before)
    }
  }

  @Test func `a body that is found to be wrong is not read to its end`() async throws {
    // Small pieces are put together before they are parsed.
    let padding = String(repeating: " ", count: 64 << 10)
    let script: [RawServer.Step] = [
      .request,
      .send(HTTPText.response(headers: ["Content-Length: 99999999"], body: "{oops" + padding)),
      .untilClosed,
    ]
    try await Bench.withServer(script) { bench, server in
      let outcome = await bench.run()
      #expect(outcome.code == .malformedResponse)
      await server.log.closure()
    }
  }

  @Test func `fault 18: a second answer behind the first is not taken for the next one's`()
    async throws
  {
    let other = HTTPText.response(body: HTTPText.user.replacing("Ada", with: "Eve"))
    try await Bench.withServer(
      [.request, .send(Self.ok + other), .untilClosed], [.request, .send(Self.ok), .untilClosed]
    ) { bench, _ in
      let outcomes = [await bench.run(), await bench.run()]
      let texts = outcomes.map(\.texts)
      let ada = [Bench.answered]
      // The first may be refused, but no message may contain Eve.
      #expect([[ada, ada], [[], ada]].contains(texts), "\(outcomes.map(\.message))")
    }
  }

  @Test func `after the shutdown nothing is sent`() async throws {
    let transport = AsyncHTTPTransport()
    await transport.shutdown()
    let message = HTTPRequestMessage(
      head: HTTPRequest(method: .post, scheme: "http", authority: "localhost", path: "/"))
    let error = await #expect(throws: ChainError.self) {
      try await transport.send(message, limits: HTTPLimits())
    }
    #expect(error?.delivery == .notSent)
  }
}
