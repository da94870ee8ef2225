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

  private static func head(_ type: String) -> RawServer.Step {
    .send("HTTP/1.1 200 OK\r\nContent-Type: \(type)\r\nConnection: close\r\n\r\n")
  }

  private static func frames(_ frame: [UInt8]) -> RawServer.Step {
    .flood((0..<1_000).flatMap { _ in frame })
  }

  private static func messages(_ text: String) -> RawServer.Step { frames(SocketFrame.text(text)) }

  static let floods: [Flood] = [
    Flood(
      name: "comments of an event stream",
      script: [.request, head("text/event-stream"), .flood(Array(repeating: 0x3A, count: 4_096))]),
    Flood(
      name: "empty lines of an event stream",
      script: [.request, head("text/event-stream"), .flood(Array(repeating: 0x0A, count: 4_096))]),
    Flood(
      name: "events of another name",
      script: [
        .request, head("text/event-stream"),
        .flood(Array(String(repeating: "event: x\ndata: y\n\n", count: 200).utf8)),
      ]),
    Flood(
      name: "comments within an event",
      script: [
        .request, head("text/event-stream"), .send("event: next\ndata: {\n"),
        .flood(Array(repeating: 0x3A, count: 4_096)),
      ]),
    Flood(
      name: "a preamble",
      script: [
        .request, head("multipart/mixed;boundary=graphql"),
        .flood(Array(repeating: 0x78, count: 4_096)),
      ]),
    Flood(
      name: "an epilogue without a last boundary",
      script: [
        .request, head("multipart/mixed;boundary=graphql"), .send("--graphql"),
        .flood(Array(repeating: 0x20, count: 4_096)),
      ]),
    Flood(
      name: "empty parts",
      script: [
        .request, head("multipart/mixed;boundary=graphql"), .send("--graphql"),
        .flood(Array(String(repeating: "\r\n\r\n{}\r\n--graphql", count: 100).utf8)),
      ]),
    Flood(
      name: "empty continuation frames",
      script: RawServer.Step.greeting + [
        .send(SocketFrame.bytes(Array("{".utf8), isFinal: false)),
        frames(SocketFrame.bytes([], opcode: 0, isFinal: false)),
      ], isSocket: true),
    Flood(
      name: "ping frames",
      script: RawServer.Step.greeting + [frames(SocketFrame.bytes([], opcode: 9))], isSocket: true),
    Flood(
      name: "pong frames",
      script: RawServer.Step.greeting + [frames(SocketFrame.bytes([], opcode: 10))], isSocket: true),
    Flood(
      name: "messages that are pongs",
      script: RawServer.Step.greeting + [messages(#"{"type":"pong"}"#)], isSocket: true),
    Flood(
      name: "results of unknown operations",
      script: RawServer.Step.greeting + [messages(SocketTests.next("Ada", id: 99))], isSocket: true),
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
