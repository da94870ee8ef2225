import GQLRunPipeline
import GQLRunSupport
import Testing

/// What subscriptions do over every transport, against a server with a script.
///
/// What is particular to one transport is in the suites of that transport.
@Suite(.timeLimit(.minutes(10))) struct SubscriptionFramingTests {
  enum Event: Sendable, Equatable {
    /// A result with this text.
    case result(String)
    /// Something that is not a result of the operation.
    case other
    case complete

    static func next(_ name: String) -> Event { .result(payload(name)) }
  }

  static func payload(_ name: String) -> String {
    #"{"data":{"renamed":{"__typename":"User","id":"\#(name)","name":"\#(name)"}}}"#
  }

  enum Framing: String, CaseIterable, Sendable {
    case transportWS = "graphql-transport-ws"
    case legacyWS = "graphql-ws"
    case sse, singleConnection, multipart

    var isSocket: Bool { self == .transportWS || self == .legacyWS }

    /// The bytes of an event of the operation with an id.
    func bytes(of event: Event, id: String = "1") -> [UInt8] {
      let part = "\r\nContent-Type: application/json\r\n\r\n"
      let text =
        switch (self, event) {
        case (.transportWS, .result(let text)): #"{"id":"\#(id)","type":"next","payload":\#(text)}"#
        case (.transportWS, .other): #"{"type":"next","id":"9","payload":{}}"#
        case (.legacyWS, .result(let text)): #"{"id":"\#(id)","type":"data","payload":\#(text)}"#
        case (.legacyWS, .other): #"{"type":"ka"}"#
        case (.transportWS, .complete), (.legacyWS, .complete):
          #"{"id":"\#(id)","type":"complete"}"#
        case (.sse, .result(let text)): "event: next\ndata: \(text)\n\n"
        case (.sse, .other): ": hello\n\n:\n\n"
        case (.sse, .complete): "event: complete\ndata:\n\n"
        case (.singleConnection, .result(let text)):
          "event: next\ndata: {\"id\":\"\(id)\",\"payload\":\(text)}\n\n"
        case (.singleConnection, .other):
          "event: next\ndata: {\"id\":\"9\(id)\",\"payload\":\(payload("others"))}\n\n"
        case (.singleConnection, .complete): "event: complete\ndata: {\"id\":\"\(id)\"}\n\n"
        case (.multipart, .result(let text)): "\(part){\"payload\":\(text)}\r\n--graphql"
        case (.multipart, .other): "\(part){}\r\n--graphql"
        case (.multipart, .complete): "--\r\n"
        }
      return isSocket ? SocketFrame.text(text) : Array(text.utf8)
    }

    /// A connection with these events, which is lost after them unless they have an end; `nil` is refused.
    private func script(_ events: [Event]?) -> [RawServer.Step] {
      guard let events else {
        let headers = isSocket ? [] : ["Connection: close"]
        let refusal = HTTPText.response("503 Service Unavailable", headers: headers, body: "")
        return [.request, .send(refusal)]
      }
      let sent = RawServer.Step.send(events.flatMap { bytes(of: $0) })
      guard !isSocket else {
        let end: RawServer.Step = events.contains(.complete) ? .closing : .reset
        return [.handshake(rawValue), .frame, .message(SocketTests.ack), .frame, sent, end]
      }
      let head =
        self == .multipart
        ? HTTPText.response(
          type: "multipart/mixed;boundary=graphql;subscriptionSpec=1.0",
          headers: ["Connection: close"], body: "--graphql")
        : HTTPText.response(type: "text/event-stream", headers: ["Connection: close"], body: "")
      return [.request, .send(head), sent, .end]
    }

    /// Uses a chain with a server whose connections bring these events, one after the other.
    func withServer(
      _ connections: [[Event]?], chain: String = Bench.plain,
      body: @escaping @Sendable (Bench, RawServer) async throws -> Void
    ) async throws {
      guard self == .singleConnection else {
        return try await RawServer.withServer(connections.map(script), tls: nil) { server in
          let url = isSocket ? server.socketURL : server.url
          try await Bench.with(chain, url: url) { try await body($0, server) }
        }
      }
      // The reservation is refused in a test of its own.
      let left = Streams(connections.compactMap { $0 })
      var server = SingleConnectionTests.Server()
      server.events = { id in
        let events = left.next()
        let end: [RawServer.Step] = events.contains(.complete) ? [.untilClosed] : []
        return [.send(events.flatMap { bytes(of: $0, id: id) })] + end
      }
      let setup = Bench.Setup(change: SingleConnectionTests.shared)
      try await server.with { server in
        try await Bench.with(chain, url: server.url, setup: setup) { try await body($0, server) }
      }
    }
  }

  /// The events of streams, in turn.
  private final class Streams: Sendable {
    private let left: Locked<[[Event]]>

    init(_ streams: [[Event]]) { left = Locked(streams) }

    func next() -> [Event] { left.withLock { $0.isEmpty ? [] : $0.removeFirst() } }
  }

  @Test(arguments: Framing.allCases)
  func `each event is a result, and its records are in the store`(
    _ framing: Framing
  ) async throws {
    let events: [Event] = [.other, .next("Ada"), .other, .next("Bo"), .complete]
    try await framing.withServer([events]) { bench, _ in
      let outcome = await bench.run(SocketTests.document)
      #expect(outcome.error == nil, "\(outcome.message)")
      #expect(outcome.texts == [Self.payload("Ada"), Self.payload("Bo")])
      let dump = await bench.dump()
      #expect(dump.contains(#""name":"Ada""#) && dump.contains(#""name":"Bo""#), "\(dump)")
      #expect(!dump.contains("renamed"))
      expectNoSecrets(outcome, bench)
    }
  }

  @Test(arguments: Framing.allCases)
  func `errors of an event do not end the subscription`(_ framing: Framing) async throws {
    let failed = Event.result(#"{"data":null,"errors":[{"message":"once"}]}"#)
    try await framing.withServer([[failed, .next("Ada"), .complete]]) { bench, _ in
      let outcome = await bench.run(SocketTests.document)
      #expect(outcome.error == nil, "\(outcome.message)")
      #expect(outcome.results.map { $0.errors.map(\.message) } == [["once"], []])
    }
  }

  @Test(arguments: Framing.allCases)
  func `a lost connection is opened again, and the gap is announced before the next event`(
    _ framing: Framing
  ) async throws {
    let connections: [[Event]?] = [[.next("Ada")], nil, [.next("Bo"), .complete]]
    try await framing.withServer(connections, chain: SocketTests.retrying) { bench, server in
      let outcome = await bench.run(SocketTests.document)
      #expect(outcome.error == nil, "\(outcome.message)")
      #expect(outcome.results.map(\.gap) == [nil, 784_111_777, nil])
      #expect(outcome.texts.first == Self.payload("Ada"))
      #expect(outcome.texts.last == Self.payload("Bo"))
      if framing == .singleConnection {
        #expect(await server.log.requests.count { $0.hasPrefix("PUT ") } == 2)
      } else {
        #expect(await server.log.connections == 3)
      }
    }
  }

  @Test(arguments: Framing.allCases)
  func `a slow reader stops the connection, and gets every event`(
    _ framing: Framing
  ) async throws {
    let count = framing.isSocket ? 20_000 : 5_000
    let events = (0..<count).map { Event.next("\($0)") } + [.complete]
    try await framing.withServer([events], chain: "- fetch\n- parse") { bench, _ in
      var number = 0
      for try await response in bench.runner.execute(try Bench.request(SocketTests.document)) {
        if number % 500 == 0 {
          var bytes: [UInt8] = []
          try response.forEachChunk { bytes += $0 }
          #expect(String(decoding: bytes, as: UTF8.self) == Self.payload("\(number)"))
        }
        number += 1
      }
      #expect(number == count)
    }
  }

  @Test(arguments: Framing.allCases)
  func `an event without data has none, and one with null has it`(_ framing: Framing) async throws {
    let texts = [
      #"{"errors":[{"message":"no"}]}"#, #"{"data":null,"errors":[{"message":"no"}]}"#,
    ]
    try await framing.withServer([texts.map { .result($0) } + [.complete]]) { bench, _ in
      let outcome = await bench.run(SocketTests.document)
      #expect(outcome.error == nil, "\(outcome.message)")
      #expect(outcome.texts == texts)
    }
  }
}
