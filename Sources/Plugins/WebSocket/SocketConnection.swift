import GQLRunLive
import GQLRunPipeline
import GQLRunSupport
import NIOCore
import Synchronization

/// A WebSocket connection for any number of operations, from any thread.
///
/// ``SocketHandler`` does its work on the event loop.
final class SocketConnection: OperationConnection {
  /// The most bytes of unread results while any reader waits for another result.
  ///
  /// One that waits may keep the others from reading, such as a query within a loop over events. So the connection
  /// reads on for it, up to this limit.
  static let maxBytes = 16 << 20

  let loop: any EventLoop
  private let life: NIOLoopBoundBox<SocketHandler>
  private let clock: ServiceClock
  private let timer: DeadlineTimer
  private let due = Locked<Duration?>(nil)
  private let waiting = Atomic(0)
  private let unread = Atomic(0)
  private let isPaused = Atomic(false)

  /// - Parameters:
  ///   - loop: The event loop of the connection.
  ///   - timer: Checks the time limits.
  ///   - onEnd: Called once no further operation can begin.
  init(
    _ opening: SocketOpening, on loop: any EventLoop, clock: ServiceClock, timer: DeadlineTimer,
    onEnd: @escaping @Sendable (any OperationConnection) -> Void
  ) {
    self.loop = loop
    self.clock = clock
    self.timer = timer
    life = NIOLoopBoundBox.makeBoxSendingValue(
      SocketHandler(opening, clock: clock, onEnd: onEnd), eventLoop: loop)
  }

  var version: String { "WebSocket" }

  func operation(for request: HTTPRequestMessage) -> SharedOperation {
    SharedOperation(
      request.body ?? [], isSubscription: request.webSocket?.isSubscription ?? false, on: self)
  }

  func open() {
    let number = timer.add { [weak self] in self?.rest() }
    loop.execute { self.life.value.open(self, timer: number) }
  }

  func begin(_ operation: SharedOperation) {
    loop.execute { self.life.value.begin(operation) }
  }

  func end(_ operation: SharedOperation) {
    loop.execute { self.life.value.end(operation) }
  }

  func shutDown() async {
    let closed = loop.makePromise(of: Void.self)
    loop.execute { self.life.value.shutDown(closed) }
    try? await closed.futureResult.get()
  }
}

// MARK: Time

extension SocketConnection {
  /// The longest time between two checks of a connection for which nothing is due.
  private static let rest = Duration.seconds(3600)

  /// Sets the time of the next check; `nil` if nothing is due.
  func setDue(_ time: Duration?) {
    let isChanged = due.withLock { due in
      defer { due = time }
      return due != time
    }
    guard isChanged, let time else { return }
    timer.check(within: max(time - clock.now(), .zero))
  }

  private func rest() -> Duration {
    let now = clock.now()
    guard let due = due.withLock({ $0 }) else { return Self.rest }
    if due > now { return due - now }
    self.due.withLock { $0 = nil }
    loop.execute { self.life.value.check() }
    return Self.rest
  }

  func removeTimer(_ number: Int) { timer.remove(number) }
}

// MARK: Back-pressure

extension SocketConnection {
  func noteWaiting(_ change: Int) {
    waiting.wrappingAdd(change, ordering: .relaxed)
    if change > 0 { drained() }
  }

  func noteUnread(_ bytes: Int) { unread.wrappingAdd(bytes, ordering: .relaxed) }

  func noteRead(_ bytes: Int) { unread.wrappingSubtract(bytes, ordering: .relaxed) }

  func drained() {
    guard isPaused.load(ordering: .acquiring) else { return }
    loop.execute { self.life.value.adjustReading() }
  }

  /// Whether unread results may stop the connection now.
  var mayPause: Bool {
    waiting.load(ordering: .relaxed) <= 0 || unread.load(ordering: .relaxed) >= Self.maxBytes
  }

  func setPaused(_ value: Bool) { isPaused.store(value, ordering: .releasing) }
}
