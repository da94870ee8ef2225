import Pipeline

/// Ends work that is not done at its deadline.
struct TimeBound: Sendable {
  /// On the clock.
  let deadline: Duration
  let clock: ServiceClock
  let error: ChainError

  func run<Value: Sendable>(
    _ work: @escaping @Sendable () async throws -> Value
  ) async throws -> Value {
    guard clock.now() < deadline else {
      var error = error
      // A retry that comes too late is not begun.
      error.delivery = .notSent
      throw error
    }
    return try await withThrowingTaskGroup(of: Value?.self) { group in
      group.addTask { try await work() }
      group.addTask {
        try await clock.sleep(for: max(deadline - clock.now(), .zero))
        return nil
      }
      defer { group.cancelAll() }
      guard let first = try await group.next(), let value = first else { throw error }
      return value
    }
  }
}
