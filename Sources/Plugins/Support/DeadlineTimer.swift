import GQLRunPipeline
import GQLRunSupport

/// A timer that checks any number of time limits with one sleeping task.
///
/// The task sleeps until the next limit is due. It exists while there are limits, and outlives most
/// of them: limits that come and go in time neither start nor end it.
final class DeadlineTimer: Sendable {
  /// Checks a limit, and ends what has exceeded it. Returns the time until the next check; `nil` if
  /// no further check is needed.
  typealias Check = @Sendable () -> Duration?

  private struct State {
    /// The limits by the number of changes with which they were added.
    var checks: [Int: Check] = [:]
    /// How often a limit was added, or became shorter.
    var changes = 0
    var task: Task<Void, Never>?
    /// The time of the next check.
    var nextCheck = Duration.zero
  }

  private let clock: ServiceClock
  private let state = Locked(State())

  init(_ clock: ServiceClock) { self.clock = clock }

  deinit { state.withLock { $0.task }?.cancel() }

  /// Adds a limit; returns its number.
  func add(_ check: @escaping Check) -> Int {
    let due = clock.now() + (check() ?? .zero)
    return state.withLock { state in
      state.changes += 1
      state.checks[state.changes] = check
      if state.task == nil || due < state.nextCheck {
        state.task?.cancel()
        state.nextCheck = due
        state.task = begin()
      }
      return state.changes
    }
  }

  /// Checks again within `rest`, because a limit became shorter since the last check.
  func check(within rest: Duration) {
    let due = clock.now() + rest
    state.withLock { state in
      // A task that checks at the moment may have asked this limit already.
      state.changes += 1
      guard state.task != nil, due < state.nextCheck else { return }
      state.task?.cancel()
      state.nextCheck = due
      state.task = begin(after: rest)
    }
  }

  func remove(_ number: Int) {
    // Destroyed after the lock is released: its deinitializer may use this timer, too.
    _ = state.withLock { $0.checks.removeValue(forKey: number) }
  }

  private func begin(after first: Duration? = nil) -> Task<Void, Never> {
    Task { [weak self, clock] in
      if let first {
        do { try await clock.sleep(for: first) } catch { return }
      }
      while let delay = self?.check() {
        do { try await clock.sleep(for: delay) } catch { return }
      }
    }
  }

  private func check() -> Duration? {
    while true {
      let (checks, changes) = state.withLock { ($0.checks, $0.changes) }
      var delay: Duration?
      for (id, check) in checks {
        if let rest = check() {
          delay = min(delay ?? rest, rest)
        } else {
          remove(id)
        }
      }
      let next = state.withLock { state -> Duration?? in
        // Another task has replaced this one.
        if Task.isCancelled { return .some(nil) }
        // Limits that were added or became shorter meanwhile depend on this task.
        if state.changes != changes { return nil }
        guard let delay else {
          state.task = nil
          return .some(nil)
        }
        state.nextCheck = clock.now() + delay
        return delay
      }
      if let next { return next }
    }
  }
}

/// Cancels work that has not finished at its deadline.
struct DeadlineScope: Sendable {
  /// The deadline on the clock.
  let deadline: Duration
  let clock: ServiceClock
  let timer: DeadlineTimer
  /// Creates the error for a missed deadline; called only when it is needed.
  private let makeError: @Sendable () -> ChainError

  /// - Parameter timer: A shared timer, for callers with many deadlines; a new one by default.
  init(
    deadline: Duration, clock: ServiceClock, timer: DeadlineTimer? = nil,
    error: @escaping @Sendable @autoclosure () -> ChainError
  ) {
    self.deadline = deadline
    self.clock = clock
    self.timer = timer ?? DeadlineTimer(clock)
    makeError = error
  }

  func run<Value: Sendable>(
    _ work: @escaping @Sendable () async throws -> Value
  ) async throws -> Value {
    guard clock.now() < deadline else {
      var error = makeError()
      // A retry after the deadline is not started.
      error.delivery = .notSent
      throw error
    }
    let signal = Signal<Value>()
    let number = timer.add { [deadline, clock] in
      let rest = deadline - clock.now()
      guard rest <= .zero else { return rest }
      signal.send(isOver: true)
      return nil
    }
    defer { timer.remove(number) }
    // A separate task can be cancelled while this one continues. A child task runs where its parent
    // does, and this one starts at once, without being enqueued. Its value is handed over by the signal: a task
    // keeps its result until it is destroyed, and data with a second reference is copied when it grows.
    return try await withThrowingTaskGroup(of: Void.self) { group in
      group.addImmediateTask {
        defer { signal.send(isOver: false) }
        signal.keep(try await work())
      }
      await signal.wait()
      let isOver = signal.isOver && !Task.isCancelled
      if isOver { group.cancelAll() }
      do {
        try await group.next()
        guard let value = signal.takeValue(), !isOver else { throw makeError() }
        return value
      } catch {
        if isOver { throw makeError() }
        throw error
      }
    }
  }
}

/// Wakes the waiting task: when the work is done, the deadline has passed, or the task was
/// cancelled. The first wake-up counts.
private final class Signal<Value: Sendable>: Sendable {
  private struct State {
    var isSent = false
    var isOver = false
    var value: Value?
    var waiter: CheckedContinuation<Void, Never>?
  }

  private let state = Locked(State())

  /// Whether the deadline passed before the work was done.
  var isOver: Bool { state.withLock { $0.isOver } }

  /// Keeps the value of the work until ``takeValue()``.
  func keep(_ value: Value) { state.withLock { $0.value = value } }

  func takeValue() -> Value? { state.withLock { $0.value.take() } }

  func send(isOver: Bool) {
    state.withLock { state -> CheckedContinuation<Void, Never>? in
      guard !state.isSent else { return nil }
      state.isSent = true
      state.isOver = isOver
      return state.waiter.take()
    }?.resume()
  }

  func wait() async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isSent = state.withLock { state in
          if !state.isSent { state.waiter = continuation }
          return state.isSent
        }
        if isSent { continuation.resume() }
      }
    } onCancel: {
      send(isOver: false)
    }
  }
}
