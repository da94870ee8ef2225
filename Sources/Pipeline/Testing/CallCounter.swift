import GQLRunSupport

/// Counts the calls of each entry of a chain.
final class CallCounter: StepObserver {
  private let state = Locked<(counts: [String: Int], attempts: Int)>(([:], 0))

  var counts: [String: Int] { state.withLock { $0.counts } }

  /// The most attempts of any operation.
  var attempts: Int { state.withLock { $0.attempts } }

  func begin(_ step: ObservedStep, in context: ChainContext) -> (any StepObservation)? {
    guard step.isMain else { return nil }
    state.withLock { state in
      state.counts[step.id, default: 0] += 1
      state.attempts = max(state.attempts, context.attempt)
    }
    return step.kind == .http || step.kind == .fetch ? SentAttempt(number: context.attempt) : nil
  }
}

/// The attempt that an upstream is asked in.
private struct SentAttempt: StepObservation {
  let number: Int

  func run<Result: Sendable>(_ body: () async throws -> Result) async throws -> Result {
    try await ScriptedUpstream.$attempt.withValue(number) { try await body() }
  }

  func note(_ event: StepEvent) {}
}
