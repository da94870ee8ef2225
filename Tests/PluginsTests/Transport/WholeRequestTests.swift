import Foundation
import GQLRunPipeline
import NIOCore
import NIOHTTP1
import NIOPosix
import Testing

@testable import GQLRunPlugins

/// When the bytes of a request are sent.
@Suite(.timeLimit(.minutes(10))) struct WholeRequestTests {
  /// Reports the answers and errors of a connection.
  private final class Reporter: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart

    private let events: AsyncStream<String>.Continuation

    init(_ events: AsyncStream<String>.Continuation) { self.events = events }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      if case .end = unwrapInboundIn(data) { events.yield("answer") }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
      events.yield("\(type(of: error))")
    }
  }

  /// A connection, and the socket of its server, whose bytes arrive at once.
  private static func connection(
    _ events: AsyncStream<String>.Continuation
  ) async throws -> (channel: any Channel, server: Int32) {
    var ends: [Int32] = [-1, -1]
    let result = socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends)
    try #require(result == 0)
    let channel = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          let pipeline = channel.pipeline.syncOperations
          try pipeline.addHandler(HTTPRequestEncoder())
          try pipeline.addHandler(WholeRequestHandler())
          try pipeline.addHandler(ByteToMessageHandler(HTTPResponseDecoder()))
          try pipeline.addHandler(Reporter(events))
        }
      }.withConnectedSocket(ends[0]).get()
    return (channel, ends[1])
  }

  /// Sends bytes of the server.
  private static func put(_ text: String, into server: Int32) {
    let bytes = Array(text.utf8)
    let count = write(server, bytes, bytes.count)
    #expect(count == bytes.count)
  }

  /// Sends bytes of the server, and then a request, before the client can read these bytes.
  private static func request(
    on channel: any Channel, after text: String, from server: Int32, endsConnection: Bool = false
  ) async throws {
    try await channel.eventLoop.submit {
      put(text, into: server)
      if endsConnection { _ = Foundation.shutdown(server, Int32(SHUT_WR)) }
      let pipeline = channel.pipeline.syncOperations
      let head = HTTPRequestHead(version: .http1_1, method: .GET, uri: "/")
      pipeline.write(NIOAny(HTTPClientRequestPart.head(head)), promise: nil)
      pipeline.write(NIOAny(HTTPClientRequestPart.end(nil)), promise: nil)
      pipeline.flush()
    }.get()
  }

  /// The number of requests that the server has received since the last call; waits for bytes, or the end of the
  /// connection.
  private static func requests(_ server: Int32) -> Int {
    let size = 4096
    var bytes = [UInt8](repeating: 0, count: size)
    let count = read(server, &bytes, size)
    return String(decoding: bytes.prefix(max(count, 0)), as: UTF8.self)
      .components(separatedBy: "GET / ").count - 1
  }

  private static func next(_ events: AsyncStream<String>) async -> String? {
    for await event in events { return event }
    return nil
  }

  private static let answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"

  @Test func `a request is not sent on a connection with a response that answers no request`()
    async throws
  {
    let (events, event) = AsyncStream.makeStream(of: String.self)
    let (channel, server) = try await Self.connection(event)
    defer { close(server) }
    try await Self.request(on: channel, after: "", from: server)
    Self.put(Self.answer, into: server)
    let first = await Self.next(events)
    #expect(first == "answer")
    try await Self.request(on: channel, after: Self.answer, from: server)
    let second = await Self.next(events)
    #expect(second == "UnaskedBytes")
    try await channel.closeFuture.get()
    #expect(Self.requests(server) == 1)
  }

  @Test func `a request on a connection that ends before it is one that was not sent`()
    async throws
  {
    let (events, event) = AsyncStream.makeStream(of: String.self)
    let (channel, server) = try await Self.connection(event)
    defer { close(server) }
    try await Self.request(on: channel, after: "", from: server)
    #expect(Self.requests(server) == 1)
    Self.put(Self.answer, into: server)
    let first = await Self.next(events)
    #expect(first == "answer")
    try await Self.request(on: channel, after: "\r\n", from: server, endsConnection: true)
    let second = await Self.next(events)
    #expect(second == "EndBeforeRequest")
    #expect(Self.requests(server) == 0)
  }

  /// A network whose first connection has ended before its request.
  private actor EndedNetwork: HTTPTransport {
    private let network = FakeNetwork(.ok)
    private let reason: any Error
    private(set) var count = 0

    init(_ reason: any Error) { self.reason = reason }

    func send(
      _ request: HTTPRequestMessage, limits: HTTPLimits
    ) async throws -> HTTPResponseMessage {
      count += 1
      guard count == 1 else { return try await network.send(request, limits: limits) }
      let route = ConnectionRoute(request.head, limits.connection)
      throw TransportFailures(request: request, limits: limits, route: route)
        .afterSending(reason)
    }
  }

  @Test(
    arguments: [Bench.user, Bench.rename], [UnaskedBytes(), EndBeforeRequest()] as [any Error])
  func `a request that was not sent for such a reason is sent once more by itself`(
    _ document: String, _ reason: any Error
  ) async throws {
    let network = EndedNetwork(reason)
    try await Bench.with(setup: .init(transport: network)) { bench in
      let outcome = await bench.run(document)
      #expect(outcome.failure?.delivery != .notSent, "\(outcome.message)")
      #expect(await network.count == 2)
    }
  }

  @Test func `line ends behind a response do not end its connection`() async throws {
    let (events, event) = AsyncStream.makeStream(of: String.self)
    let (channel, server) = try await Self.connection(event)
    defer { close(server) }
    for text in ["", "\r\n"] {
      try await Self.request(on: channel, after: text, from: server)
      #expect(Self.requests(server) == 1)
      Self.put(Self.answer, into: server)
      let answer = await Self.next(events)
      #expect(answer == "answer")
    }
    try await channel.close()
  }
}
