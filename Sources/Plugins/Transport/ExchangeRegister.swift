import GQLRunPipeline
import GQLRunSupport
import NIOCore
import NIOPosix

/// The exchanges that are under way, for what they share: event loops, and one watch over their limits
/// of time.
final class ExchangeRegister: Sendable {
  /// The place of an exchange among the others.
  struct Ticket: Sendable {
    let loop: any EventLoop
    /// Whether it is the loop of the thread that asked for it.
    let isOwn: Bool
    fileprivate let number: Int
    fileprivate let loopIndex: Int
  }

  private let watch: Watch
  private let loops: [any EventLoop]
  /// How many exchanges use each loop.
  private let uses: Locked<[Int]>

  init(clock: ServiceClock, loops: [any EventLoop]) {
    self.loops = loops
    watch = Watch(clock)
    uses = Locked(loops.map { _ in 0 })
  }

  /// Watches over an exchange until it is removed. It gets the loop that its task runs on; for a task of
  /// the pool, the one that has the least to do, and of several always the same, so that one request after
  /// the other finds its connection there.
  func add(_ reception: Reception) -> Ticket {
    let current = MultiThreadedEventLoopGroup.currentEventLoop
      .flatMap { current in loops.firstIndex { $0 === current } }
    let index = uses.withLock { uses in
      let index = current ?? uses.indices.min { uses[$0] < uses[$1] } ?? 0
      uses[index] += 1
      return index
    }
    return Ticket(
      loop: loops[index], isOwn: current != nil, number: watch.add { reception.nextLook() },
      loopIndex: index)
  }

  /// Checks the limits of time again within `rest` at the latest.
  func look(within rest: Duration) { watch.look(within: rest) }

  func remove(_ ticket: Ticket) {
    watch.remove(ticket.number)
    uses.withLock { $0[ticket.loopIndex] -= 1 }
  }
}
