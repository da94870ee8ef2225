package import GQLRunPipeline
import GQLRunSupport
import NIOCore

/// Measures the connections of a transport: when each was opened, and the bytes it received.
package final class ConnectionMeter: Sendable {
  private struct Seen {
    var count = 0
    var receivedBytes = 0
    /// The times of opened connections that no request has taken yet, in order.
    var waiting: [Duration] = []
  }

  private let seen = Locked(Seen())
  private let clock: ServiceClock

  package init(clock: ServiceClock = ServiceClock(ContinuousClock())) { self.clock = clock }

  /// The number of opened connections.
  package var count: Int { seen.withLock(\.count) }

  /// The received bytes as on the network: with heads, compressed, and encrypted with TLS.
  package var receivedBytes: Int { seen.withLock(\.receivedBytes) }

  /// Takes the time at which a connection was opened in a time range. Each connection is taken
  /// once, so that among concurrent requests only as many have waited as connections were opened.
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
      try channel.pipeline.syncOperations.addHandler(
        WireCounter { [self] count in seen.withLock { $0.receivedBytes += count } },
        position: .first)
    }
  }
}

/// Counts received bytes before they are decrypted and decompressed.
private final class WireCounter: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer

  private let add: (Int) -> Void

  init(_ add: @escaping (Int) -> Void) { self.add = add }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    add(unwrapInboundIn(data).readableBytes)
    context.fireChannelRead(data)
  }
}
