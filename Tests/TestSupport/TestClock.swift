import GQLRunSupport

/// A clock that only a test moves.
package final class TestClock: Clock {
  package struct Instant: InstantProtocol {
    package var offset: Duration

    package init(offset: Duration) { self.offset = offset }

    package func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
    package func duration(to other: Instant) -> Duration { other.offset - offset }
    package static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
  }

  private struct Sleeper {
    var until: Duration
    var continuation: CheckedContinuation<Void, any Error>
  }

  private struct State {
    var time = Duration.zero
    /// How long the tasks wanted to sleep, in the order in which they did.
    var naps: [Duration] = []
    var sleepers: [Int: Sleeper] = [:]
    var cancelled: Set<Int> = []
    var lastSleeper = 0
    var watchers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
  }

  private let state = Locked(State())
  private let jumps: @Sendable (Duration) -> Bool

  /// - Parameter jumps: Which sleeps take no time and move the clock; the others end when the clock is moved.
  package init(jumps: @escaping @Sendable (_ sleep: Duration) -> Bool = { _ in false }) {
    self.jumps = jumps
  }

  /// A clock on which sleeping takes no time.
  package static func jumping() -> TestClock { TestClock { _ in true } }

  package var now: Instant { Instant(offset: state.withLock { $0.time }) }
  package var minimumResolution: Duration { .nanoseconds(1) }
  package var slept: [Duration] { state.withLock { $0.naps } }

  /// Returns the number of tasks that it wakes.
  @discardableResult package func advance(by duration: Duration) -> Int {
    let due = state.withLock { state in
      state.time += duration
      let due = state.sleepers.filter { $0.value.until <= state.time }
      for id in due.keys { state.sleepers[id] = nil }
      return due
    }
    for sleeper in due.values { sleeper.continuation.resume() }
    return due.count
  }

  /// Waits until so many sleep.
  package func sleepers(_ count: Int) async {
    await withCheckedContinuation { continuation in
      let areThere = state.withLock { state in
        if state.sleepers.count >= count { return true }
        state.watchers.append((count, continuation))
        return false
      }
      if areThere { continuation.resume() }
    }
  }

  /// Waits until a task sleeps; returns when the first sleeper is due.
  package func nextWaking() async -> Duration {
    await sleepers(1)
    return state.withLock { state in state.sleepers.values.map(\.until).min() ?? state.time }
  }

  package func sleep(until deadline: Instant, tolerance: Duration?) async throws {
    try Task.checkCancellation()
    let (id, hasJumped) = state.withLock { state in
      let nap = deadline.offset - state.time
      state.naps.append(nap)
      state.lastSleeper += 1
      guard jumps(nap) else { return (state.lastSleeper, false) }
      state.time = max(state.time, deadline.offset)
      return (state.lastSleeper, true)
    }
    if hasJumped { return await Task.yield() }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { wait($0, until: deadline.offset, as: id) }
    } onCancel: {
      let sleeper = state.withLock { state in
        let sleeper = state.sleepers.removeValue(forKey: id)
        if sleeper == nil { state.cancelled.insert(id) }
        return sleeper
      }
      sleeper?.continuation.resume(throwing: CancellationError())
    }
  }

  private func wait(
    _ continuation: CheckedContinuation<Void, any Error>, until deadline: Duration, as id: Int
  ) {
    enum Next { case go, cancel, wait }
    let (next, woken) = state.withLock {
      state -> (Next, [(count: Int, continuation: CheckedContinuation<Void, Never>)]) in
      if state.cancelled.remove(id) != nil { return (.cancel, []) }
      if deadline <= state.time { return (.go, []) }
      state.sleepers[id] = Sleeper(until: deadline, continuation: continuation)
      let woken = state.watchers.filter { $0.count <= state.sleepers.count }
      state.watchers.removeAll { $0.count <= state.sleepers.count }
      return (.wait, woken)
    }
    for watcher in woken { watcher.continuation.resume() }
    switch next {
    case .go: continuation.resume()
    case .cancel: continuation.resume(throwing: CancellationError())
    case .wait: break
    }
  }
}
