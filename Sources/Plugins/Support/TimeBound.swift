import GQLRunPipeline
import GQLRunSupport

/// Ends work that is not done at its deadline.
struct TimeBound: Sendable {
  /// On the clock.
  let deadline: Duration
  let clock: ServiceClock
  let watch: Watch
  /// What is thrown then; made when it comes to that.
  private let makeError: @Sendable () -> ChainError

  /// - Parameter watch: Shared by whoever bounds much; a new one when not given.
  init(
    deadline: Duration, clock: ServiceClock, watch: Watch? = nil,
    error: @escaping @Sendable @autoclosure () -> ChainError
  ) {
    self.deadline = deadline
    self.clock = clock
    self.watch = watch ?? Watch(clock)
    makeError = error
  }

  func run<Value: Sendable>(
    _ work: @escaping @Sendable () async throws -> Value
  ) async throws -> Value {
    guard clock.now() < deadline else {
      var error = makeError()
      // A retry that comes too late is not begun.
      error.delivery = .notSent
      throw error
    }
    let alarm = Alarm()
    let number = watch.add { [deadline, clock] in
      let rest = deadline - clock.now()
      guard rest <= .zero else { return rest }
      alarm.ring(isOver: true)
      return nil
    }
    defer { watch.remove(number) }
    // A task of its own can be ended while this one goes on; a child runs where its parent does, and this
    // one begins at once, without a place in a queue.
    return try await withThrowingTaskGroup(of: Value.self) { group in
      group.addImmediateTask {
        defer { alarm.ring(isOver: false) }
        return try await work()
      }
      await alarm.wait()
      let isOver = alarm.isOver && !Task.isCancelled
      if isOver { group.cancelAll() }
      do {
        guard let value = try await group.next(), !isOver else { throw makeError() }
        return value
      } catch {
        if isOver { throw makeError() }
        throw error
      }
    }
  }
}

/// Wakes the one who waits: because the work is done, its time is over, or the waiting task was
/// cancelled. The first ring counts.
private final class Alarm: Sendable {
  private struct State {
    var hasRung = false
    var isOver = false
    var waiter: CheckedContinuation<Void, Never>?
  }

  private let state = Locked(State())

  /// Whether the time was over before the work was done.
  var isOver: Bool { state.withLock { $0.isOver } }

  func ring(isOver: Bool) {
    state.withLock { state -> CheckedContinuation<Void, Never>? in
      guard !state.hasRung else { return nil }
      state.hasRung = true
      state.isOver = isOver
      return state.waiter.take()
    }?.resume()
  }

  func wait() async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let hasRung = state.withLock { state in
          if !state.hasRung { state.waiter = continuation }
          return state.hasRung
        }
        if hasRung { continuation.resume() }
      }
    } onCancel: {
      ring(isOver: false)
    }
  }
}
