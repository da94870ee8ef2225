import Dispatch

/// A timer that any number of sleeping tasks share.
///
/// `Task.sleep` creates a timer each time, and a cancelled one keeps its memory until its time.
/// Nearly every sleep of a chain is a limit of minutes that is cancelled after milliseconds: a
/// hundred thousand requests would hold hundreds of megabytes. Here, a cancelled sleep is freed at
/// once.
package final class SharedTimer: Sendable {
  package static let shared = SharedTimer()

  private enum Phase {
    case new
    case sleeping(CheckedContinuation<Void, any Error>)
    case ended
  }

  /// `@unchecked Sendable`: the phase is only accessed while the timer's lock is held.
  private final class Sleeper: @unchecked Sendable {
    let end: ContinuousClock.Instant
    var phase = Phase.new

    init(end: ContinuousClock.Instant) { self.end = end }
  }

  private struct State {
    let source: any DispatchSourceTimer
    var sleepers: [ObjectIdentifier: Sleeper] = [:]
    /// The next time at which the timer fires: never later than the first sleeper's end, sometimes
    /// earlier.
    var nextFiring: ContinuousClock.Instant?
  }

  private let clock = ContinuousClock()
  private let state: Locked<State>

  package init() {
    state = Locked(
      State(
        source: DispatchSource.makeTimerSource(queue: DispatchQueue(label: "gqlrun.timer"))))
    state.withLock { state in
      state.source.setEventHandler { [weak self] in self?.fire() }
      state.source.activate()
    }
  }

  /// The number of sleeping tasks.
  package var count: Int { state.withLock { $0.sleepers.count } }

  /// Suspends the task for a duration.
  ///
  /// - Throws: `CancellationError` if the task is cancelled.
  package func sleep(for duration: Duration) async throws {
    try Task.checkCancellation()
    guard duration > .zero else { return }
    let sleeper = Sleeper(end: clock.now + duration)
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { add(sleeper, $0) }
    } onCancel: {
      cancel(sleeper)
    }
  }

  private func add(_ sleeper: Sleeper, _ continuation: CheckedContinuation<Void, any Error>) {
    let isSleeping = state.withLock { state in
      // It may have been cancelled already.
      guard case .new = sleeper.phase else { return false }
      sleeper.phase = .sleeping(continuation)
      state.sleepers[ObjectIdentifier(sleeper)] = sleeper
      schedule(noLaterThan: sleeper.end, &state)
      return true
    }
    if !isSleeping { continuation.resume(throwing: CancellationError()) }
  }

  private func cancel(_ sleeper: Sleeper) {
    let phase = state.withLock { state in
      defer { sleeper.phase = .ended }
      state.sleepers[ObjectIdentifier(sleeper)] = nil
      return sleeper.phase
    }
    if case .sleeping(let continuation) = phase {
      continuation.resume(throwing: CancellationError())
    }
  }

  /// Schedules the timer no later than `moment`. Called with the lock held.
  private func schedule(noLaterThan moment: ContinuousClock.Instant, _ state: inout State) {
    if let nextFiring = state.nextFiring, nextFiring <= moment { return }
    state.nextFiring = moment
    let (seconds, attoseconds) = (moment - clock.now).components
    // Sleeps of more than a day need several firings.
    let nanoseconds = min(max(seconds, 0), 86_400) * 1_000_000_000 + attoseconds / 1_000_000_000
    state.source.schedule(deadline: .now() + .nanoseconds(Int(max(nanoseconds, 0))))
  }

  private func fire() {
    let due = state.withLock { state -> [CheckedContinuation<Void, any Error>] in
      let now = clock.now
      state.nextFiring = nil
      var due: [CheckedContinuation<Void, any Error>] = []
      var first: ContinuousClock.Instant?
      for (key, sleeper) in state.sleepers {
        if sleeper.end <= now {
          if case .sleeping(let continuation) = sleeper.phase { due.append(continuation) }
          sleeper.phase = .ended
          state.sleepers[key] = nil
        } else {
          first = min(first ?? sleeper.end, sleeper.end)
        }
      }
      if let first { schedule(noLaterThan: first, &state) }
      return due
    }
    for continuation in due { continuation.resume() }
  }
}
