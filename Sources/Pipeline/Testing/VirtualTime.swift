import Dispatch
import GQLRunSupport

/// A clock that only advances when nothing else can run.
///
/// Tasks that prefer it as their executor run one after the other. When none can run, the clock
/// jumps to the next time that a task sleeps until. So an hour of delays takes no real time, and
/// events keep their order.
final class VirtualTime: TaskExecutor {
  private struct State {
    var openJobs = 0
    /// Counts events, so that a comparison of two readings shows whether anything has happened.
    var events = 0
    var time = Duration.zero
    var sleepers: [Int: Sleeper] = [:]
    var nextSleeper = 0
    var cancelled: Set<Int> = []
  }

  private let state = Locked(State())
  private let queue = DispatchQueue(label: "gqlrun.virtual-time")

  private struct Sleeper {
    var until: Duration
    var continuation: CheckedContinuation<Void, any Error>
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    state.withLock { state in
      state.openJobs += 1
      state.events += 1
    }
    queue.async { [self] in
      job.runSynchronously(on: asUnownedTaskExecutor())
      state.withLock { $0.openJobs -= 1 }
    }
  }

  /// Advances the time until the task is cancelled, or no task has run or slept for ten seconds.
  ///
  /// Work on other executors is invisible, so time only advances if nothing has happened for
  /// several checks.
  func advance() async {
    var idleChecks = 0
    var lastEvents = -1
    while !Task.isCancelled {
      do { try await Task.sleep(for: .milliseconds(2)) } catch { return }
      let (isBusy, count) = state.withLock { ($0.openJobs > 0, $0.events) }
      guard !isBusy, count == lastEvents else {
        lastEvents = count
        idleChecks = 0
        continue
      }
      idleChecks += 1
      if idleChecks >= 5, jump() { idleChecks = 0 }
      if idleChecks == 5_000 { return }
    }
  }

  /// Jumps to the next time that a task sleeps until; `false` if no task sleeps.
  private func jump() -> Bool {
    let due = state.withLock { state -> [Sleeper] in
      guard let next = state.sleepers.values.map(\.until).min() else { return [] }
      let time = max(state.time, next)
      state.time = time
      state.events += 1
      let ids = state.sleepers.filter { $0.value.until <= time }.map(\.key)
      return ids.sorted().compactMap { state.sleepers.removeValue(forKey: $0) }
    }
    for sleeper in due { sleeper.continuation.resume() }
    return !due.isEmpty
  }
}

extension VirtualTime: Clock {
  struct Instant: InstantProtocol {
    var offset: Duration

    func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
    func duration(to other: Instant) -> Duration { other.offset - offset }
    static func < (lhs: Instant, rhs: Instant) -> Bool { lhs.offset < rhs.offset }
  }

  var now: Instant { Instant(offset: state.withLock { $0.time }) }
  var minimumResolution: Duration { .nanoseconds(1) }

  func sleep(until deadline: Instant, tolerance: Duration?) async throws {
    let id = state.withLock { state in
      state.nextSleeper += 1
      return state.nextSleeper
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let result = state.withLock { state -> Result<Void, any Error>? in
          state.events += 1
          if state.cancelled.remove(id) != nil { return .failure(CancellationError()) }
          if deadline.offset <= state.time { return .success(()) }
          state.sleepers[id] = Sleeper(until: deadline.offset, continuation: continuation)
          return nil
        }
        if let result { continuation.resume(with: result) }
      }
    } onCancel: {
      let sleeper = state.withLock { state -> Sleeper? in
        state.events += 1
        let sleeper = state.sleepers.removeValue(forKey: id)
        if sleeper == nil { state.cancelled.insert(id) }
        return sleeper
      }
      sleeper?.continuation.resume(throwing: CancellationError())
    }
  }
}
