import GQLRunPipeline
import GQLRunSupport

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
