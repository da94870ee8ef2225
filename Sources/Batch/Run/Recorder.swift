import Pipeline

/// Gathers outcomes and makes them durable in groups, so that one wait for the disk serves many.
///
/// Whoever submits waits while too much is on its way: that is the back-pressure of the sinks.
actor Recorder {
  private let stage: SinkStage
  private let settled: @Sendable ([TaskID]) async -> Void
  private var pending: [Outcome] = []
  private var pendingBytes = 0
  private var submitted = 0
  private var durable = 0
  private var isFlushing = false
  private var failure: (any Error)?
  private var spaceWaiters: [CheckedContinuation<Void, Never>] = []
  private var durableWaiters: [(ticket: Int, continuation: CheckedContinuation<Void, Never>)] = []
  private var isTimerSet = false

  /// The most that waits to be written.
  private static let mostPending = 2_048
  private static let mostBytes = 16 << 20
  /// How long an outcome waits for others to join it.
  private static let gathering = Duration.milliseconds(40)

  init(_ stage: SinkStage, settled: @escaping @Sendable ([TaskID]) async -> Void) {
    self.stage = stage
    self.settled = settled
  }

  /// Hands an outcome over. It is durable some time later; ``barrier()`` waits for that.
  func submit(_ outcome: Outcome) async throws {
    while failure == nil, pending.count >= Self.mostPending || pendingBytes >= Self.mostBytes {
      await withCheckedContinuation { spaceWaiters.append($0) }
    }
    if let failure { throw failure }
    add(outcome)
    if pending.count >= Self.mostPending / 4 || pendingBytes >= Self.mostBytes / 4 {
      startFlush()
    } else {
      startTimer()
    }
  }

  /// Records something and returns when it is durable.
  func durably(_ outcome: Outcome) async throws {
    if let failure { throw failure }
    add(outcome)
    try await barrier()
  }

  /// Returns when everything submitted before is durable.
  func barrier() async throws {
    let ticket = submitted
    startFlush()
    while failure == nil, durable < ticket {
      await withCheckedContinuation { durableWaiters.append((ticket, $0)) }
    }
    if let failure { throw failure }
  }

  private func add(_ outcome: Outcome) {
    pending.append(outcome)
    pendingBytes += outcome.size
    submitted += 1
  }

  private func startTimer() {
    guard !isTimerSet, !isFlushing else { return }
    isTimerSet = true
    // Set by the first outcome of a group, once; nothing is asked again and again. Bound to the outcomes
    // that wait, not to whoever submitted: it ends by itself.
    Task {
      try? await Task.sleep(for: Self.gathering)
      timerFired()
    }
  }

  private func timerFired() {
    isTimerSet = false
    startFlush()
  }

  private func startFlush() {
    guard !isFlushing, !pending.isEmpty, failure == nil else { return }
    isFlushing = true
    Task { await flush() }
  }

  private func flush() async {
    while !pending.isEmpty, failure == nil {
      let batch = pending
      pending = []
      pendingBytes = 0
      wakeSpace()
      do {
        try await stage.commit(batch)
      } catch {
        failure = error
        break
      }
      durable += batch.count
      await settled(batch.filter(\.update.isFinal).map(\.update.id))
      let ready = durableWaiters.filter { $0.ticket <= durable }
      durableWaiters.removeAll { $0.ticket <= durable }
      for waiter in ready { waiter.continuation.resume() }
      // Others may join the next group, unless somebody waits for it.
      if durableWaiters.isEmpty, pending.count < Self.mostPending / 4 { break }
    }
    isFlushing = false
    if failure != nil {
      let waiting = durableWaiters
      durableWaiters = []
      for waiter in waiting { waiter.continuation.resume() }
      wakeSpace()
    } else if !pending.isEmpty {
      startTimer()
    }
  }

  private func wakeSpace() {
    let waiting = spaceWaiters
    spaceWaiters = []
    for continuation in waiting { continuation.resume() }
  }
}
