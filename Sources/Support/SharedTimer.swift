import Foundation

/// A timer that any number of sleeping tasks share.
///
/// `Task.sleep` creates a timer each time, and a cancelled one keeps its memory until its time.
/// Nearly every sleep of a chain is a limit of minutes that is cancelled after milliseconds: a
/// hundred thousand requests would hold hundreds of megabytes. Here, a cancelled sleep is freed at
/// once.
///
/// Sendable: mutable state is only accessed while `lock` is held.
package final class SharedTimer: @unchecked Sendable {
  package static let shared = SharedTimer()

  private enum State {
    case new
    case sleeping(CheckedContinuation<Void, any Error>)
    case ended
  }

  private final class Sleeper {
    let end: ContinuousClock.Instant
    var state = State.new

    init(end: ContinuousClock.Instant) { self.end = end }
  }

  private let lock = NSLock()
  private let clock = ContinuousClock()
  private let source: any DispatchSourceTimer
  private var sleepers: [ObjectIdentifier: Sleeper] = [:]
  /// The next time at which the timer fires: never later than the first sleeper's end, sometimes
  /// earlier.
  private var nextFiring: ContinuousClock.Instant?

  package init() {
    source = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "gqlrun.timer"))
    source.setEventHandler { [weak self] in self?.fire() }
    source.activate()
  }

  /// The number of sleeping tasks.
  package var count: Int { lock.withLock { sleepers.count } }

  /// Suspends the task for a duration.
  ///
  /// - Throws: `CancellationError` if the task is cancelled.
  package func sleep(for duration: Duration) async throws {
    try Task.checkCancellation()
    guard duration > .zero else { return }
    let sleeper = Unchecked(Sleeper(end: clock.now + duration))
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { add(sleeper.value, $0) }
    } onCancel: {
      cancel(sleeper.value)
    }
  }

  private func add(_ sleeper: Sleeper, _ continuation: CheckedContinuation<Void, any Error>) {
    let isSleeping = lock.withLock {
      // It may have been cancelled already.
      guard case .new = sleeper.state else { return false }
      sleeper.state = .sleeping(continuation)
      sleepers[ObjectIdentifier(sleeper)] = sleeper
      schedule(noLaterThan: sleeper.end)
      return true
    }
    if !isSleeping { continuation.resume(throwing: CancellationError()) }
  }

  private func cancel(_ sleeper: Sleeper) {
    let state = lock.withLock {
      defer { sleeper.state = .ended }
      sleepers[ObjectIdentifier(sleeper)] = nil
      return sleeper.state
    }
    if case .sleeping(let continuation) = state {
      continuation.resume(throwing: CancellationError())
    }
  }

  /// Schedules the timer no later than `moment`. Called with the lock held.
  private func schedule(noLaterThan moment: ContinuousClock.Instant) {
    if let nextFiring, nextFiring <= moment { return }
    nextFiring = moment
    let (seconds, attoseconds) = (moment - clock.now).components
    // Sleeps of more than a day need several firings.
    let nanoseconds = min(max(seconds, 0), 86_400) * 1_000_000_000 + attoseconds / 1_000_000_000
    source.schedule(deadline: .now() + .nanoseconds(Int(max(nanoseconds, 0))))
  }

  private func fire() {
    let due = lock.withLock { () -> [CheckedContinuation<Void, any Error>] in
      let now = clock.now
      nextFiring = nil
      var due: [CheckedContinuation<Void, any Error>] = []
      var first: ContinuousClock.Instant?
      for (key, sleeper) in sleepers {
        if sleeper.end <= now {
          if case .sleeping(let continuation) = sleeper.state { due.append(continuation) }
          sleeper.state = .ended
          sleepers[key] = nil
        } else {
          first = min(first ?? sleeper.end, sleeper.end)
        }
      }
      if let first { schedule(noLaterThan: first) }
      return due
    }
    for continuation in due { continuation.resume() }
  }

  /// `@unchecked Sendable`: a sleeper is only accessed while the timer's lock is held.
  private struct Unchecked: @unchecked Sendable {
    let value: Sleeper

    init(_ value: Sleeper) { self.value = value }
  }
}
