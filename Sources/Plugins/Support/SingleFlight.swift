import GQLRunSupport

/// Runs a piece of work once for all concurrent callers that need its result.
///
/// The work has its own task: a cancelled caller leaves, and the work continues for the others. It
/// is cancelled when the last caller has left, unless its result is needed without callers, too.
final class SingleFlight<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  /// `nil` until the work is done.
  private typealias Outcome = Monitor<Result<Value, any Error>?>

  private struct Flight {
    let outcome: Outcome
    let task: Task<Void, Never>
    var callers = 0
  }

  private let flights = Locked([Key: Flight]())
  private let outlivesCallers: Bool

  /// - Parameter outlivesCallers: Whether the work continues when the last caller has left.
  init(outlivesCallers: Bool = false) { self.outlivesCallers = outlivesCallers }

  /// The result of `work`, or of the same work that is already running. All callers get its error.
  func value(
    for key: Key, _ work: @escaping @Sendable () async throws -> Value
  ) async throws -> Value {
    let outcome = join(key, work)
    defer { leave(key, outcome) }
    return try await outcome.take { try $0?.get() }
  }

  /// Waits for the end of all work that runs.
  func finish() async {
    for flight in flights.withLock({ Array($0.values) }) { await flight.task.value }
  }

  private func join(
    _ key: Key, _ work: @escaping @Sendable () async throws -> Value
  ) -> Outcome {
    flights.withLock { flights in
      var flight = flights[key] ?? start(key, work)
      flight.callers += 1
      flights[key] = flight
      return flight.outcome
    }
  }

  private func start(
    _ key: Key, _ work: @escaping @Sendable () async throws -> Value
  ) -> Flight {
    let outcome = Outcome(nil)
    let task = Task {
      let result: Result<Value, any Error>
      do {
        result = .success(try await work())
      } catch {
        result = .failure(error)
      }
      _ = self.remove(key, outcome) { _ in true }
      outcome.update { $0 = result }
    }
    return Flight(outcome: outcome, task: task)
  }

  private func leave(_ key: Key, _ outcome: Outcome) {
    let last = remove(key, outcome) { flight in
      flight.callers -= 1
      return flight.callers == 0 && !outlivesCallers
    }
    last?.cancel()
  }

  /// Removes a flight that has not ended, if `isOver` returns `true`. Returns its task then.
  private func remove(
    _ key: Key, _ outcome: Outcome, if isOver: (inout Flight) -> Bool
  ) -> Task<Void, Never>? {
    flights.withLock { flights in
      guard var flight = flights[key], flight.outcome === outcome else { return nil }
      flights[key] = isOver(&flight) ? nil : flight
      return flights[key] == nil ? flight.task : nil
    }
  }
}
