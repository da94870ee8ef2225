/// Runs a piece of work once for all concurrent callers that need its result.
///
/// The work has its own task: a cancelled caller leaves, and the work continues for the others. It
/// is cancelled when the last caller has left.
actor SingleFlight<Key: Hashable & Sendable, Value: Sendable> {
  private struct Flight {
    var number: Int
    var task: Task<Void, Never>
    var waiting: [Int: CheckedContinuation<Value, any Error>] = [:]
  }

  private var flights: [Key: Flight] = [:]
  private var nextNumber = 0

  /// The result of `work`, or of the same work that is already running. All callers get its error.
  func value(
    for key: Key, _ work: @escaping @Sendable () async throws -> Value
  ) async throws -> Value {
    nextNumber += 1
    let waiter = nextNumber
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        join(key, waiter: waiter, continuation: continuation, work: work)
      }
    } onCancel: {
      Task { await self.leave(key, waiter) }
    }
  }

  private func join(
    _ key: Key, waiter: Int, continuation: CheckedContinuation<Value, any Error>,
    work: @escaping @Sendable () async throws -> Value
  ) {
    if flights[key] == nil {
      let number = waiter
      let task = Task {
        let result: Result<Value, any Error>
        do {
          result = .success(try await work())
        } catch {
          result = .failure(error)
        }
        self.finish(key, number: number, result: result)
      }
      flights[key] = Flight(number: number, task: task)
    }
    flights[key]?.waiting[waiter] = continuation
  }

  private func leave(_ key: Key, _ waiter: Int) {
    guard let continuation = flights[key]?.waiting.removeValue(forKey: waiter) else { return }
    if flights[key]?.waiting.isEmpty == true { flights.removeValue(forKey: key)?.task.cancel() }
    continuation.resume(throwing: CancellationError())
  }

  private func finish(_ key: Key, number: Int, result: Result<Value, any Error>) {
    guard let flight = flights[key], flight.number == number else { return }
    flights[key] = nil
    for continuation in flight.waiting.values { continuation.resume(with: result) }
  }
}
