import GQLRunSupport
import HummingbirdCore
import Logging
import NIOCore

/// References to all open connections of a server.
///
/// SwiftNIO traps when the last reference to an open connection's `NIOAsyncChannel` is released.
/// That happens to a connection that is accepted while the server stops, because it is never taken
/// from the sequence of connections. With a reference here it is closed instead.
final class HeldConnections: Sendable {
  private struct State: Sendable {
    var channels: [ObjectIdentifier: any Channel] = [:]
    var isOver = false
  }

  private let state = Locked(State())

  /// Keeps a connection and the objects created for it until it is closed.
  func hold(_ value: some Sendable, of channel: any Channel) {
    let isOver = state.withLock { state in
      if !state.isOver { state.channels[ObjectIdentifier(channel)] = channel }
      return state.isOver
    }
    channel.closeFuture.whenComplete { _ in
      withExtendedLifetime(value) {
        self.state.withLock { state in state.channels[ObjectIdentifier(channel)] = nil }
      }
    }
    if isOver { channel.close(promise: nil) }
  }

  /// Closes all connections, including later ones.
  func close() {
    let channels = state.withLock { state in
      state.isOver = true
      return Array(state.channels.values)
    }
    for channel in channels { channel.close(promise: nil) }
  }
}

/// A channel type whose connections are referenced until they are closed.
struct HeldChannel<Base: ServerChildChannel>: ServerChildChannel {
  let base: Base
  let connections: HeldConnections

  func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Base.Value> {
    base.setup(channel: channel, logger: logger).map { value in
      connections.hold(value, of: channel)
      return value
    }
  }

  func handle(value: Base.Value, logger: Logger) async {
    await base.handle(value: value, logger: logger)
  }
}
