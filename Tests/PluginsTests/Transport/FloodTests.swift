import GQLRunPipeline
import GQLRunTestSupport
import Testing

/// Servers that send as fast as they can, and never an event.
@Suite(.timeLimit(.minutes(10))) struct FloodTests {
  struct Flood: Sendable, CustomTestStringConvertible {
    var name: String
    var script: [RawServer.Step]
    var isSocket = false

    var testDescription: String { name }
  }

  /// A flood in the body of a response.
  private static func body(
    _ name: String, type: String = "text/event-stream", _ steps: RawServer.Step...
  ) -> Flood {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: \(type)\r\nConnection: close\r\n\r\n"
    return Flood(name: name, script: [.request, .send(head)] + steps)
  }

  /// A flood over WebSocket, after the greeting.
  private static func socket(_ name: String, _ steps: RawServer.Step...) -> Flood {
    Flood(name: name, script: RawServer.Step.greeting + steps, isSocket: true)
  }

  private static func frames(_ frame: [UInt8]) -> RawServer.Step {
    .flood((0..<1_000).flatMap { _ in frame })
  }

  private static func messages(_ text: String) -> RawServer.Step { frames(SocketFrame.text(text)) }

  static let floods: [Flood] = [
    body("comments of an event stream", .flood(Array(repeating: 0x3A, count: 4_096))),
    body("empty lines of an event stream", .flood(Array(repeating: 0x0A, count: 4_096))),
    body(
      "events of another name",
      .flood(Array(String(repeating: "event: x\ndata: y\n\n", count: 200).utf8))),
    body(
      "comments within an event", .send("event: next\ndata: {\n"),
      .flood(Array(repeating: 0x3A, count: 4_096))),
    body(
      "a preamble", type: "multipart/mixed;boundary=graphql",
      .flood(Array(repeating: 0x78, count: 4_096))),
    body(
      "an epilogue without a last boundary", type: "multipart/mixed;boundary=graphql",
      .send("--graphql"), .flood(Array(repeating: 0x20, count: 4_096))),
    body(
      "empty parts", type: "multipart/mixed;boundary=graphql", .send("--graphql"),
      .flood(Array(String(repeating: "\r\n\r\n{}\r\n--graphql", count: 100).utf8))),
    socket(
      "empty continuation frames", .send(SocketFrame.bytes(Array("{".utf8), isFinal: false)),
      frames(SocketFrame.bytes([], opcode: 0, isFinal: false))),
    socket("ping frames", frames(SocketFrame.bytes([], opcode: 9))),
    socket("pong frames", frames(SocketFrame.bytes([], opcode: 10))),
    socket("messages that are pongs", messages(#"{"type":"pong"}"#)),
    socket("results of unknown operations", messages(SocketTests.next("Ada", id: 99))),
    Flood(
      name: "signs of life of the legacy protocol",
      script: [
        .handshake("graphql-ws"), .frame, .message(SocketTests.ack), .frame,
        messages(#"{"type":"ka"}"#),
      ], isSocket: true),
  ]

  @Test(arguments: floods)
  func `a flood without content is an error that a retry would not change`(_ flood: Flood)
    async throws
  {
    try await RawServer.withServer(flood.script) { server in
      let url = flood.isSocket ? server.socketURL : server.url
      // The clocks do not advance: the time window does not end however slow the machine is.
      let setup = Bench.Setup(clock: ServiceClock(TestClock()))
      let chain = "- max-retry\n" + Bench.plain
      try await Bench.with(chain, url: url, setup: setup) { bench in
        let outcome = await bench.run(SocketTests.document)
        #expect(outcome.code == .malformedResponse, "\(outcome.message)")
        #expect(outcome.message.contains("it has no content"), "\(outcome.message)")
        #expect(await server.log.connections == 1)
      }
    }
  }
}
