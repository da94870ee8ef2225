import NIOConcurrencyHelpers
import Pipeline

/// Ends work that is not done at its deadline.
struct TimeBound: Sendable {
  /// On the clock.
  let deadline: Duration
  let clock: ServiceClock
  let watch: Watch
  let error: ChainError

  /// - Parameter watch: Shared by whoever bounds much; a new one when not given.
  init(deadline: Duration, clock: ServiceClock, watch: Watch? = nil, error: ChainError) {
    self.deadline = deadline
    self.clock = clock
    self.watch = watch ?? Watch(clock)
    self.error = error
  }

  func run<Value: Sendable>(
    _ work: @escaping @Sendable () async throws -> Value
  ) async throws -> Value {
    guard clock.now() < deadline else {
      var error = error
      // A retry that comes too late is not begun.
      error.delivery = .notSent
      throw error
    }
    let isOver = NIOLockedValueBox(false)
    let task = Task { try await work() }
    let number = watch.add { [deadline, clock] in
      let rest = deadline - clock.now()
      guard rest <= .zero else { return rest }
      isOver.withLockedValue { $0 = true }
      task.cancel()
      return nil
    }
    defer { watch.remove(number) }
    let result = await withTaskCancellationHandler {
      await task.result
    } onCancel: {
      task.cancel()
    }
    guard !isOver.withLockedValue({ $0 }) || Task.isCancelled else { throw error }
    return try result.get()
  }
}
