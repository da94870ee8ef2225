import Foundation

/// A clock that stands still until it is moved.
final class StepClock: Clock, @unchecked Sendable {
  // Unchecked: `elapsed` is only touched while `lock` is held.
  private let lock = NSLock()
  private var elapsed = Duration.zero

  struct Instant: InstantProtocol {
    var offset: Duration

    func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
    func duration(to other: Instant) -> Duration { other.offset - offset }
    static func < (lhs: Instant, rhs: Instant) -> Bool { lhs.offset < rhs.offset }
  }

  var now: Instant { Instant(offset: lock.withLock { elapsed }) }
  var minimumResolution: Duration { .nanoseconds(1) }

  func advance(by duration: Duration) {
    lock.withLock { elapsed += duration }
  }

  func sleep(until deadline: Instant, tolerance: Duration?) async throws {
    lock.withLock { elapsed = max(elapsed, deadline.offset) }
  }
}
