import NIOCore
import NIOHTTP1

/// Sends head and body of a request in one write.
///
/// The client flushes each part by itself: two or three system calls and packets for a short
/// request, and as many wake-ups of the server. A part without an immediate successor is flushed at
/// the end of the event loop's current tick.
final class WholeRequestHandler: ChannelOutboundHandler {
  typealias OutboundIn = HTTPClientRequestPart
  typealias OutboundOut = HTTPClientRequestPart

  /// Whether a request has started whose end was not written yet.
  private var isOpen = false
  private var holdsFlush = false

  static func add(to channel: any Channel) -> EventLoopFuture<Void> {
    channel.eventLoop.makeCompletedFuture {
      let pipeline = channel.pipeline.syncOperations
      try pipeline.addHandler(
        WholeRequestHandler(), position: .after(pipeline.handler(type: HTTPRequestEncoder.self)))
    }
  }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    switch unwrapOutboundIn(data) {
    case .head: isOpen = true
    case .body: break
    case .end: isOpen = false
    }
    context.write(data, promise: promise)
  }

  func flush(context: ChannelHandlerContext) {
    guard isOpen else {
      holdsFlush = false
      return context.flush()
    }
    guard !holdsFlush else { return }
    holdsFlush = true
    context.eventLoop.assumeIsolated().execute {
      guard self.holdsFlush else { return }
      self.holdsFlush = false
      context.flush()
    }
  }
}
