package import GQLRunPipeline
import GQLRunSupport
import NIOCore

/// Watches the connections of a transport: when each was made, and how much came over them.
package final class ConnectionMeter: Sendable {
  private struct Seen {
    var count = 0
    var receivedBytes = 0
    /// When connections were made that no request was told of yet, in order.
    var waiting: [Duration] = []
  }

  private let seen = Locked(Seen())
  private let clock: ServiceClock

  package init(clock: ServiceClock = ServiceClock(ContinuousClock())) { self.clock = clock }

  /// How many connections were made.
  package var count: Int { seen.withLock(\.count) }

  /// Bytes as they came over the network: with heads, compressed, and encrypted where TLS is used.
  package var receivedBytes: Int { seen.withLock(\.receivedBytes) }

  /// When a connection was made between two times; each connection is told once, so that of many
  /// requests at a time only as many have waited for one as were made.
  package func takeConnection(from start: Duration, to end: Duration) -> Duration? {
    seen.withLock { seen in
      seen.waiting.firstIndex { $0 >= start && $0 <= end }.map { seen.waiting.remove(at: $0) }
    }
  }

  /// To be called with a connection that has just been made.
  func watch(_ channel: any Channel) -> EventLoopFuture<Void> {
    let now = clock.now()
    seen.withLock { seen in
      seen.count += 1
      // Nobody asks any more for connections of requests that failed.
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

/// Counts what comes in, before anything unpacks it.
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
