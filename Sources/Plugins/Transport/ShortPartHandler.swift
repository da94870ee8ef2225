import NIOCore
import NIOHTTP1
import NIOHTTP2

/// Joins short parts of a response's body that arrive together.
///
/// Each event of a subscription is a chunk or frame of its own. The HTTP client delivers them one by one, and discards
/// those that it has not delivered when the connection ends. As one part, all events that were received are
/// delivered, with one wake-up of the reader.
final class ShortPartHandler: ChannelInboundHandler {
  typealias InboundIn = HTTPClientResponsePart
  typealias InboundOut = HTTPClientResponsePart

  /// The size of parts that are not joined, so that the body of a large response is not copied, in bytes.
  private static let longPart = 4 << 10
  /// The size at which joined parts are delivered, in bytes.
  private static let fullSize = 32 << 10

  private var joined: ByteBuffer?
  /// Whether the client was given parts that it delivers at the end of reading.
  private var hasUndelivered = false

  /// Adds the handler to a connection over HTTP/1.1.
  static func add(to channel: any Channel) -> EventLoopFuture<Void> {
    channel.eventLoop.makeCompletedFuture {
      let pipeline = channel.pipeline.syncOperations
      let decoder = try pipeline.handler(type: ByteToMessageHandler<HTTPResponseDecoder>.self)
      try pipeline.addHandler(ShortPartHandler(), position: .after(decoder))
    }
  }

  /// Adds the handler to a stream over HTTP/2, on its event loop.
  static func add(toStream channel: any Channel) throws {
    let pipeline = channel.pipeline.syncOperations
    let codec = try pipeline.handler(type: HTTP2FramePayloadToHTTP1ClientCodec.self)
    try pipeline.addHandler(ShortPartHandler(), position: .after(codec))
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard case .body(var part) = unwrapInboundIn(data), part.readableBytes < Self.longPart else {
      deliver(context)
      hasUndelivered = true
      return context.fireChannelRead(data)
    }
    guard joined != nil else {
      joined = part
      return
    }
    joined?.writeBuffer(&part)
    if let joined, joined.readableBytes >= Self.fullSize { deliver(context) }
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    deliver(context)
    hasUndelivered = false
    context.fireChannelReadComplete()
  }

  func channelInactive(context: ChannelHandlerContext) {
    deliverAll(context)
    context.fireChannelInactive()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    deliverAll(context)
    context.fireErrorCaught(error)
  }

  private func deliver(_ context: ChannelHandlerContext) {
    guard let part = joined.take() else { return }
    hasUndelivered = true
    context.fireChannelRead(wrapInboundOut(.body(part)))
  }

  /// Delivers everything before the end of the connection or stream.
  private func deliverAll(_ context: ChannelHandlerContext) {
    deliver(context)
    guard hasUndelivered else { return }
    hasUndelivered = false
    context.fireChannelReadComplete()
  }
}
