import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1
import NIOHTTPTypes
import NIOHTTPTypesHTTP1
import NIOWebSocket

/// A channel type for HTTP/1.1 whose connections may become WebSocket connections.
struct DemoSocketChannel: ServerChildChannel {
  typealias Socket = NIOAsyncChannel<WebSocketFrame, WebSocketFrame>

  /// What the first request of a connection makes of it.
  enum Connection: Sendable {
    case http(NIOAsyncChannel<HTTPRequestPart, HTTPResponsePart>)
    case socket(Socket, DemoSocketHandshake)
  }

  struct Value: ServerChildChannelValue {
    let channel: any Channel
    let connection: EventLoopFuture<Connection>
  }

  let http: HTTP1Channel
  let executor: DemoExecutor
  let state: ServerState
  let configuration: DemoServer.Configuration

  func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
    channel.eventLoop.makeCompletedFuture {
      let connection = channel.eventLoop.makePromise(of: Connection.self)
      // A promise that is kept already ignores it.
      channel.closeFuture.whenComplete { _ in connection.fail(ChannelError.eof) }
      let encoder = HTTPResponseEncoder()
      let decoder = ByteToMessageHandler(HTTPRequestDecoder(leftOverBytesStrategy: .forwardBytes))
      let first = FirstRequestHandler { channel in
        connection.succeed(try Self.http(channel, logger))
      }
      // The handler for typed upgrades loses the head of a request that is not upgraded.
      let upgrade = HTTPServerUpgradeHandler(
        upgraders: [upgrader(connection)], httpEncoder: encoder,
        extraHTTPHandlers: [decoder, first], upgradeCompletionHandler: { _ in })
      try channel.pipeline.syncOperations.addHandlers(encoder, decoder, upgrade, first)
      return Value(channel: channel, connection: connection.futureResult)
    }
  }

  func handle(value: Value, logger: Logger) async {
    await withTaskCancellationHandler {
      // It fails if the connection closes before its first request.
      guard let connection = try? await value.connection.get() else { return }
      switch connection {
      case .http(let channel): await http.handleHTTP(asyncChannel: channel, logger: logger)
      case .socket(let socket, let handshake): await serve(socket, handshake)
      }
    } onCancel: {
      value.channel.close(mode: .input, promise: nil)
    }
  }

  private func serve(_ socket: Socket, _ handshake: DemoSocketHandshake) async {
    // A connection that fails has ended like one that was closed.
    try? await socket.executeThenClose { inbound, outbound in
      let connection = DemoSocketConnection(
        handshake, outbound, socket.channel, executor: executor, state: state,
        configuration: configuration)
      await connection.run(inbound)
    }
  }

  private static func http(_ channel: any Channel, _ logger: Logger) throws -> Connection {
    try channel.pipeline.syncOperations.addHandler(HTTP1ToHTTPServerCodec(secure: false))
    try channel.pipeline.syncOperations.addHandler(HTTPConnectionStateHandler(logger: logger))
    return .http(
      try NIOAsyncChannel(
        wrappingChannelSynchronously: channel,
        configuration: .init(isOutboundHalfClosureEnabled: true)))
  }

  private func upgrader(_ connection: EventLoopPromise<Connection>) -> NIOWebSocketServerUpgrader {
    let state = state
    let limit = configuration.maxBodyBytes
    return NIOWebSocketServerUpgrader(
      maxFrameSize: limit,
      shouldUpgrade: { channel, head in
        let handshake = DemoSocketHandshake(head, state, isCounted: false)
        return channel.eventLoop.makeSucceededFuture(handshake?.responseHeaders)
      },
      upgradePipelineHandler: { channel, head in
        channel.eventLoop.makeCompletedFuture {
          guard let handshake = DemoSocketHandshake(head, state, isCounted: true) else {
            throw ChannelError.inappropriateOperationForState
          }
          try channel.pipeline.syncOperations.addHandler(
            NIOWebSocketFrameAggregator(
              minNonFinalFragmentSize: 0, maxAccumulatedFrameCount: 1024,
              maxAccumulatedFrameSize: limit))
          let socket = try Socket(
            wrappingChannelSynchronously: channel,
            configuration: .init(isOutboundHalfClosureEnabled: true))
          connection.succeed(.socket(socket, handshake))
        }
      })
  }
}

/// Adds the handlers for HTTP when the first request arrives that is not upgraded.
private final class FirstRequestHandler: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias InboundOut = HTTPServerRequestPart
  typealias OutboundOut = HTTPServerResponsePart

  private let configure: (any Channel) throws -> Void
  private var isConfigured = false

  init(configure: @escaping (any Channel) throws -> Void) {
    self.configure = configure
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    if !isConfigured {
      isConfigured = true
      do {
        try configure(context.channel)
      } catch {
        return context.close(promise: nil)
      }
    }
    context.fireChannelRead(data)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    guard !isConfigured, error is HTTPParserError else { return context.fireErrorCaught(error) }
    var head = HTTPResponseHead(version: .http1_1, status: .badRequest)
    head.headers = ["Connection": "close", "Content-Length": "0"]
    context.write(Self.wrapOutboundOut(.head(head)), promise: nil)
    context.writeAndFlush(Self.wrapOutboundOut(.end(nil)), promise: nil)
    context.close(promise: nil)
  }

  /// The peer has closed its half without a request.
  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if !isConfigured, event as? ChannelEvent == .inputClosed { return context.close(promise: nil) }
    if !isConfigured, event is ChannelShouldQuiesceEvent { return context.close(promise: nil) }
    context.fireUserInboundEventTriggered(event)
  }
}
