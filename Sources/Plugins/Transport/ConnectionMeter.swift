package import GQLRunPipeline
import GQLRunSupport
import NIOCore

/// Measures the connections of a transport: when each was opened, and the bytes it received.
package final class ConnectionMeter: Sendable {
  fileprivate struct Seen {
    var count = 0
    var receivedBytes = 0
    var sentBytes = 0
    /// The times of opened connections that no request has taken yet, in order.
    var waiting: [Duration] = []
  }

  fileprivate let seen = Locked(Seen())
  /// The clock that connections are measured with; each clock begins at zero when it is created.
  package let clock: ServiceClock

  package init(clock: ServiceClock = ServiceClock(ContinuousClock())) { self.clock = clock }

  /// The number of opened connections.
  package var count: Int { seen.withLock(\.count) }

  /// The received bytes as on the network: with heads, compressed, and encrypted with TLS.
  package var receivedBytes: Int { seen.withLock(\.receivedBytes) }

  /// The sent bytes as on the network, like ``receivedBytes``.
  package var sentBytes: Int { seen.withLock(\.sentBytes) }

  /// Takes the time at which a connection was opened in a time range. Each connection is taken
  /// once, so that among concurrent requests only as many have waited as connections were opened.
  ///
  /// - Parameters:
  ///   - start: The beginning of the range, on ``clock``.
  ///   - end: The end of the range, on ``clock``.
  package func takeConnection(from start: Duration, to end: Duration) -> Duration? {
    seen.withLock { seen in
      seen.waiting.firstIndex { $0 >= start && $0 <= end }.map { seen.waiting.remove(at: $0) }
    }
  }

  /// Measures a connection that was just opened.
  func watch(_ channel: any Channel) -> EventLoopFuture<Void> {
    let now = clock.now()
    seen.withLock { seen in
      seen.count += 1
      // Requests that failed never take the times of their connections.
      if seen.waiting.count == 10_000 { seen.waiting.removeFirst() }
      seen.waiting.append(now)
    }
    return channel.eventLoop.makeCompletedFuture {
      try channel.pipeline.syncOperations.addHandler(WireCounter(self), position: .first)
    }
  }
}

/// Counts received bytes before they are decrypted and decompressed, and sent ones after their
/// encryption.
private final class WireCounter: ChannelDuplexHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer
  typealias OutboundIn = IOData
  typealias OutboundOut = IOData

  private let meter: ConnectionMeter

  init(_ meter: ConnectionMeter) { self.meter = meter }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let count = unwrapInboundIn(data).readableBytes
    meter.seen.withLock { $0.receivedBytes += count }
    context.fireChannelRead(data)
  }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    let count = unwrapOutboundIn(data).readableBytes
    meter.seen.withLock { $0.sentBytes += count }
    context.write(data, promise: promise)
  }
}
