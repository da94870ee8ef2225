import GQLRunPipeline
import Testing

/// Connections that the server closes right behind events.
@Suite(.timeLimit(.minutes(10))) struct CutStreamTests {
  private static let document = "subscription Renamed { renamed { __typename id name } }"

  private static func chunks(_ kind: String, _ texts: [String]) -> [UInt8] {
    HTTPText.response(
      type: kind, headers: ["Transfer-Encoding: chunked"],
      body: texts.map(HTTPText.chunk).joined())
  }

  static let events = chunks(
    "text/event-stream", (0..<500).map { "event: next\ndata: \(SocketTests.payload("\($0)"))\n\n" })
  static let parts = chunks(
    "multipart/mixed;boundary=graphql;subscriptionSpec=1.0",
    ["--graphql"]
      + (0..<500).map {
        "\r\nContent-Type: application/json\r\n\r\n"
          + #"{"payload":\#(SocketTests.payload("\($0)"))}"# + "\r\n--graphql"
      })

  enum Kind: CaseIterable, Sendable {
    case events, parts

    var bytes: [UInt8] { self == .events ? CutStreamTests.events : CutStreamTests.parts }
  }

  @Test(arguments: Kind.allCases)
  func `all events that arrived before the connection was closed are results`(
    kind: Kind
  ) async throws {
    let bytes = kind.bytes
    try await Bench.withServer([.request, .send(bytes), .end]) { bench, _ in
      let outcome = await bench.run(Self.document)
      #expect(outcome.results.count == 500)
      #expect(outcome.texts.last == SocketTests.payload("499"))
      #expect((outcome.error as? ChainError)?.code == .truncatedResponse, "\(outcome.message)")
    }
  }

  // MARK: Slow readers

  private static let many = 5_000

  /// About half a megabyte, several times what is read ahead.
  enum Stream: CaseIterable, Sendable {
    case events, parts, socket, legacySocket, shared

    var isSocket: Bool { self == .socket || self == .legacySocket }
  }

  private static func payloads() -> [String] { (0..<many).map { SocketTests.payload("\($0)") } }

  private static func steps(_ stream: Stream) -> [RawServer.Step] {
    switch stream {
    case .events:
      return [
        .request,
        .send(chunks("text/event-stream", payloads().map { "event: next\ndata: \($0)\n\n" })),
      ]
    case .parts:
      let parts = payloads().map {
        "\r\nContent-Type: application/json\r\n\r\n{\"payload\":\($0)}\r\n--graphql"
      }
      let type = "multipart/mixed;boundary=graphql;subscriptionSpec=1.0"
      return [.request, .send(chunks(type, ["--graphql"] + parts))]
    case .socket, .legacySocket:
      let isLegacy = stream == .legacySocket
      let messages = payloads().flatMap {
        SocketFrame.text(
          #"{"id":"1","type":"\#(isLegacy ? "data" : "next")","payload":\#($0)}"#)
      }
      return [
        .handshake(isLegacy ? "graphql-ws" : "graphql-transport-ws"), .frame,
        .message(SocketTests.ack), .frame, .send(messages),
      ]
    case .shared: return []
    }
  }

  private static func shared() -> SingleConnectionTests.Server {
    var server = SingleConnectionTests.Server()
    server.events = { id in
      let events = payloads().map {
        "event: next\ndata: {\"id\":\"\(id)\",\"payload\":\($0)}\n\n"
      }
      return [.send(events.joined())]
    }
    return server
  }

  @Test(arguments: Stream.allCases)
  func `a reader that is far behind gets everything that was received before the loss`(
    stream: Stream
  ) async throws {
    let gate = AsyncStream.makeStream(of: Void.self)
    let read = { @Sendable (server: RawServer) in
      let url = stream.isSocket ? server.socketURL : server.url
      var setup = Bench.Setup()
      if stream == .shared { setup.change = SingleConnectionTests.shared }
      try await Bench.with("- fetch\n- parse", url: url, setup: setup) { bench in
        let results = bench.runner.execute(try Bench.request(Self.document))
        #expect(try await results.next() != nil)
        // The rest is read when the server has closed the connection.
        if stream != .shared { for await _ in gate.stream { break } }
        var count = 1
        let error = await #expect(throws: ChainError.self) {
          while try await results.next() != nil { count += 1 }
        }
        #expect(count == Self.many)
        #expect([.truncatedResponse, .connectionClosed].contains(error?.code), "\(error as Any)")
      }
    }
    guard stream != .shared else { return try await Self.shared().with(read) }
    let end = RawServer.Step.run { gate.continuation.finish() }
    try await RawServer.withServer(Self.steps(stream) + [.end, end], body: read)
  }
}
