import NIOCore
import NIOSSL
import NIOTLS

/// TLS on connections to a Unix domain socket.
///
/// async-http-client has no server name for a socket, so it is given plain connections, and this adds TLS to
/// them before their first request. They use HTTP/1.1.
struct SocketTLS: Sendable {
  let context: NIOSSLContext
  /// The server name for SNI and certificate verification; `nil` if the server is not verified.
  let name: String?
  let timeout: TimeAmount

  init(_ configuration: TLSConfiguration?, name: String?, timeout: TimeAmount) throws {
    var configuration = configuration ?? .makeClientConfiguration()
    configuration.applicationProtocols = ["http/1.1"]
    context = try NIOSSLContext(configuration: configuration)
    self.name = name
    self.timeout = timeout
  }

  /// Adds TLS to a connection; the result completes when the handshake has.
  func add(to channel: any Channel) -> EventLoopFuture<Void> {
    let done = channel.eventLoop.makePromise(of: Void.self)
    do {
      let pipeline = channel.pipeline.syncOperations
      let handshake = HandshakeHandler(done, timeout: timeout)
      try pipeline.addHandler(handshake, position: .first)
      try pipeline.addHandler(
        NIOSSLClientHandler(context: context, serverHostname: name), position: .first)
    } catch {
      done.fail(error)
    }
    done.futureResult.whenFailure { _ in channel.close(promise: nil) }
    return done.futureResult
  }
}

/// Completes a promise at the end of a TLS handshake, and removes itself.
private final class HandshakeHandler: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = ByteBuffer

  private let done: EventLoopPromise<Void>
  private let timeout: TimeAmount
  private var timer: Scheduled<Void>?

  init(_ done: EventLoopPromise<Void>, timeout: TimeAmount) {
    self.done = done
    self.timeout = timeout
  }

  func handlerAdded(context: ChannelHandlerContext) {
    timer = context.eventLoop.scheduleTask(in: timeout) { [done, timeout] in
      done.fail(ChannelError.connectTimeout(timeout))
    }
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    timer?.cancel()
    // Has no effect after the end of the handshake.
    done.fail(NIOSSLError.uncleanShutdown)
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if case TLSUserEvent.handshakeCompleted? = event as? TLSUserEvent {
      done.succeed(())
      context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
    }
    context.fireUserInboundEventTriggered(event)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) { done.fail(error) }

  func channelInactive(context: ChannelHandlerContext) {
    done.fail(NIOSSLError.uncleanShutdown)
    context.fireChannelInactive()
  }
}
