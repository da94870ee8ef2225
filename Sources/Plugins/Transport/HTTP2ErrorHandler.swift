import NIOCore
import NIOHTTP2

/// Ends all streams of an HTTP/2 connection when the server violates the protocol.
///
/// The HTTP/2 library reports such an error and sends GOAWAY, but leaves the connection and its
/// streams open, so requests would wait for the idle timeout. This handler is between the library's
/// handler and the client's multiplexer: it fails each open stream with the error, passes a GOAWAY
/// frame to the client's pool so that the connection is not reused, and closes it.
///
/// https://www.rfc-editor.org/rfc/rfc9113#section-5.4.1
final class HTTP2ErrorHandler: ChannelInboundHandler {
  typealias InboundIn = HTTP2Frame
  typealias InboundOut = HTTP2Frame

  private var openStreams: Set<HTTP2StreamID> = []
  private var hasFailed = false

  static func add(to channel: any Channel) -> EventLoopFuture<Void> {
    channel.eventLoop.makeCompletedFuture {
      let pipeline = channel.pipeline.syncOperations
      try pipeline.addHandler(
        HTTP2ErrorHandler(), position: .after(pipeline.handler(type: NIOHTTP2Handler.self)))
    }
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    switch event {
    case let event as NIOHTTP2StreamCreatedEvent: openStreams.insert(event.streamID)
    case let event as StreamClosedEvent: openStreams.remove(event.streamID)
    default: break
    }
    context.fireUserInboundEventTriggered(event)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    // A stream error does not affect other streams, and a socket error closes the connection
    // anyway.
    guard error is any NIOHTTP2Error, !(error is NIOHTTP2Errors.StreamError), !hasFailed else {
      return context.fireErrorCaught(error)
    }
    hasFailed = true
    let goAway = HTTP2Frame.FramePayload.goAway(
      lastStreamID: .maxID, errorCode: .protocolError, opaqueData: nil)
    context.fireChannelRead(wrapInboundOut(HTTP2Frame(streamID: .rootStream, payload: goAway)))
    for stream in openStreams {
      context.fireErrorCaught(NIOHTTP2Errors.streamError(streamID: stream, baseError: error))
    }
    context.fireErrorCaught(error)
    context.close(mode: .all, promise: nil)
  }
}
