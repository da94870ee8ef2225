import Dispatch
import GQLRunSupport

/// A clock that only advances when nothing else can run.
///
/// Tasks that prefer it as their executor run one after the other. When none can run, the clock
/// jumps to the next time that a task sleeps until. So an hour of delays takes no real time, and
/// events keep their order.
final class VirtualTime: TaskExecutor {
  private struct State: Sendable {
    var openJobs = 0
    /// Counts events, so that a comparison of two readings shows whether anything has happened.
    var events = 0
    var time = Duration.zero
    /// The times that tasks sleep until.
    var sleepers: [Int: Duration] = [:]
    var lastSleeper = 0
  }

  private let state = Monitor(State())
  private let queue = DispatchQueue(label: "gqlrun.virtual-time")

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
    state.update { state in
      guard let next = state.sleepers.values.min() else { return false }
      let time = max(state.time, next)
      state.time = time
      state.events += 1
      state.sleepers = state.sleepers.filter { $0.value > time }
      return true
    }
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
    try Task.checkCancellation()
    let id = state.withLock { state in
      state.events += 1
      state.lastSleeper += 1
      state.sleepers[state.lastSleeper] = deadline.offset
      return state.lastSleeper
    }
    defer { wake(id) }
    try await withTaskCancellationHandler {
      try await state.wait { $0.time >= deadline.offset }
    } onCancel: {
      // At once: the task may run on another executor, and the time must not jump to its deadline meanwhile.
      wake(id)
    }
  }

  private func wake(_ id: Int) {
    state.withLock { state in
      state.events += 1
      state.sleepers[id] = nil
    }
  }
}
