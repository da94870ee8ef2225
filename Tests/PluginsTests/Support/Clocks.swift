import Foundation

/// A clock that stands still until it is moved.
final class ManualClock: Clock, @unchecked Sendable {
  // Unchecked: what changes is only touched while `lock` is held.
  private let lock = NSLock()
  private var time = Duration.zero
  private var sleepers:
    [Int: (until: Duration, continuation: CheckedContinuation<Void, any Error>)] =
      [:]
  private var cancelled: Set<Int> = []
  private var nextSleeper = 0
  private var watchers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []

  struct Instant: InstantProtocol {
    var offset: Duration

    func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
    func duration(to other: Instant) -> Duration { other.offset - offset }
    static func < (lhs: Instant, rhs: Instant) -> Bool { lhs.offset < rhs.offset }
  }

  var now: Instant { Instant(offset: lock.withLock { time }) }
  var minimumResolution: Duration { .nanoseconds(1) }

  /// Returns the number of tasks that it wakes.
  @discardableResult func advance(by duration: Duration) -> Int {
    let due = lock.withLock {
      time += duration
      let due = sleepers.filter { $0.value.until <= time }
      for id in due.keys { sleepers[id] = nil }
      return due
    }
    for sleeper in due.values { sleeper.continuation.resume() }
    return due.count
  }

  /// Waits until a task sleeps; returns when the first sleeper is due.
  func nextWaking() async -> Duration {
    await sleepers(1)
    return lock.withLock { sleepers.values.map(\.until).min() ?? time }
  }

  /// Waits until so many sleep.
  func sleepers(_ count: Int) async {
    await withCheckedContinuation { continuation in
      let areThere = lock.withLock {
        if sleepers.count >= count { return true }
        watchers.append((count, continuation))
        return false
      }
      if areThere { continuation.resume() }
    }
  }

  func sleep(until deadline: Instant, tolerance: Duration?) async throws {
    let id = lock.withLock {
      nextSleeper += 1
      return nextSleeper
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        enum Next { case go, cancel, wait }
        let (next, woken) = lock.withLock {
          () -> (Next, [CheckedContinuation<Void, Never>]) in
          if cancelled.remove(id) != nil { return (.cancel, []) }
          if deadline.offset <= time { return (.go, []) }
          sleepers[id] = (deadline.offset, continuation)
          let woken = watchers.filter { $0.count <= sleepers.count }
          watchers.removeAll { $0.count <= sleepers.count }
          return (.wait, woken.map(\.continuation))
        }
        for watcher in woken { watcher.resume() }
        switch next {
        case .go: continuation.resume()
        case .cancel: continuation.resume(throwing: CancellationError())
        case .wait: break
        }
      }
    } onCancel: {
      let sleeper = lock.withLock {
        let sleeper = sleepers.removeValue(forKey: id)
        if sleeper == nil { cancelled.insert(id) }
        return sleeper
      }
      sleeper?.continuation.resume(throwing: CancellationError())
    }
  }
}

/// A clock on which sleeping takes no time: it jumps ahead, and remembers for how long.
final class JumpingClock: Clock, @unchecked Sendable {
  // Unchecked: what changes is only touched while `lock` is held.
  private let lock = NSLock()
  private var time = Duration.zero
  private var naps: [Duration] = []

  typealias Instant = ManualClock.Instant

  var now: Instant { Instant(offset: lock.withLock { time }) }
  var minimumResolution: Duration { .nanoseconds(1) }
  var slept: [Duration] { lock.withLock { naps } }

  func sleep(until deadline: Instant, tolerance: Duration?) async throws {
    try Task.checkCancellation()
    lock.withLock {
      naps.append(deadline.offset - time)
      time = max(time, deadline.offset)
    }
  }
}
