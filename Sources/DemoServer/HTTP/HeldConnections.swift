import GQLRunSupport
import HummingbirdCore
import Logging
import NIOCore

/// The connections of a server, held until they are closed.
///
/// SwiftNIO ends the program when the last reference to an open connection's `NIOAsyncChannel` goes. That
/// is what happens to a connection that comes at the moment when the server ends: it is accepted, and
/// nobody takes it from the row any more. Held here, it is closed instead.
final class HeldConnections: Sendable {
  private struct State: Sendable {
    var channels: [ObjectIdentifier: any Channel] = [:]
    var isOver = false
  }

  private let state = Locked(State())

  /// Holds a connection, and what was made for it, until it is closed.
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

  /// Closes all connections, and those that still come.
  func close() {
    let channels = state.withLock { state in
      state.isOver = true
      return Array(state.channels.values)
    }
    for channel in channels { channel.close(promise: nil) }
  }
}

/// A kind of connections, each of which is held until it is closed.
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
