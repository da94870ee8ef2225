import GQLRunPipeline
import GQLRunSupport
import NIOCore
import NIOPosix

/// The exchanges in flight, with what they share: event loops and one timer for their time limits.
final class ExchangeRegister: Sendable {
  /// The registration of an exchange.
  struct Ticket: Sendable {
    let loop: any EventLoop
    /// Whether it is the event loop of the calling thread.
    let isOwn: Bool
    fileprivate let number: Int
    fileprivate let loopIndex: Int
  }

  private let timer: DeadlineTimer
  private let loops: [any EventLoop]
  /// The number of exchanges on each event loop.
  private let uses: Locked<[Int]>

  init(clock: ServiceClock, loops: [any EventLoop]) {
    self.loops = loops
    timer = DeadlineTimer(clock)
    uses = Locked(loops.map { _ in 0 })
  }

  /// Enforces the limits of an exchange until it is removed, and assigns an event loop.
  ///
  /// A task on an event loop gets that loop. Other tasks get the least busy one, and among equals
  /// always the same, so that consecutive requests find their connection there.
  func add(_ reader: ResponseReader) -> Ticket {
    let current = MultiThreadedEventLoopGroup.currentEventLoop
      .flatMap { current in loops.firstIndex { $0 === current } }
    let index = uses.withLock { uses in
      let index = current ?? uses.indices.min { uses[$0] < uses[$1] } ?? 0
      uses[index] += 1
      return index
    }
    return Ticket(
      loop: loops[index], isOwn: current != nil, number: timer.add { reader.nextCheck() },
      loopIndex: index)
  }

  /// Checks the time limits again within `rest`.
  func check(within rest: Duration) { timer.check(within: rest) }

  func remove(_ ticket: Ticket) {
    timer.remove(ticket.number)
    uses.withLock { $0[ticket.loopIndex] -= 1 }
  }
}
