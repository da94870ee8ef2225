import NIOCore
import NIOHTTP2

/// Distinguishes streams that a closing server never processed from streams that it cancelled.
///
/// After GOAWAY, the HTTP/2 library ends unprocessed streams with the code CANCEL, which a server
/// could also have sent for a stream that it has processed. Only in the second case does an
/// RST_STREAM arrive. The first is reported as REFUSED_STREAM, which has the same meaning: nothing
/// was executed.
///
/// https://www.rfc-editor.org/rfc/rfc9113#section-6.8
final class GoAwayHandler: ChannelInboundHandler {
  typealias InboundIn = HTTP2Frame.FramePayload
  typealias InboundOut = HTTP2Frame.FramePayload

  private var wasReset = false

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    if case .rstStream = unwrapInboundIn(data) { wasReset = true }
    context.fireChannelRead(data)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    guard let closed = error as? NIOHTTP2Errors.StreamClosed, closed.errorCode == .cancel, !wasReset
    else { return context.fireErrorCaught(error) }
    context.fireErrorCaught(
      NIOHTTP2Errors.streamClosed(streamID: closed.streamID, errorCode: .refusedStream))
  }
}
