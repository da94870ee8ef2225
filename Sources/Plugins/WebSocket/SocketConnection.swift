import GQLRunPipeline
import NIOCore

/// A WebSocket connection, from any thread: ``SocketHandler`` does its work on the event loop.
final class SocketConnection: OperationConnection {
  let flow = ConnectionFlow()
  private let loop: any EventLoop
  private let handler: NIOLoopBoundBox<SocketHandler>
  private let alarm: ConnectionAlarm

  /// - Parameters:
  ///   - loop: The event loop of the connection.
  ///   - alarm: Checks the time limits.
  init(
    _ opening: SocketOpening, on loop: any EventLoop, clock: ServiceClock, alarm: ConnectionAlarm
  ) {
    self.loop = loop
    self.alarm = alarm
    handler = NIOLoopBoundBox.makeBoxSendingValue(
      SocketHandler(opening, on: loop, clock: clock, flow: flow, alarm: alarm), eventLoop: loop)
  }

  var version: String { "WebSocket" }

  func open(onEnd: @escaping @Sendable () -> Void) {
    // Until its end, the handler needs no reference to it.
    alarm.start { [loop, handler] in loop.execute { handler.value.check() } }
    loop.execute { self.handler.value.open(onEnd: onEnd) }
  }

  func begin(_ operation: SharedOperation, _ request: HTTPRequestMessage) {
    let payload = request.body ?? []
    loop.execute { self.handler.value.begin(operation, payload) }
  }

  func end(_ operation: SharedOperation) {
    loop.execute { self.handler.value.end(operation) }
  }

  func resume() {
    loop.execute { self.handler.value.adjustReading() }
  }

  func shutDown() async {
    let closed = loop.makePromise(of: Void.self)
    loop.execute { self.handler.value.shutDown(closed) }
    try? await closed.futureResult.get()
  }
}
