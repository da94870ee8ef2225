import Foundation

/// A clock that only advances when nothing else can run.
///
/// Tasks that prefer it as their executor run one after the other. When none can run, the clock
/// jumps to the next time that a task sleeps until. So an hour of delays takes no real time, and
/// events keep their order.
///
/// Sendable: mutable state is only used with `lock` held.
final class VirtualTime: TaskExecutor, @unchecked Sendable {
  private let lock = NSLock()
  private let queue = DispatchQueue(label: "gqlrun.virtual-time")
  private var openJobs = 0
  /// Counts events, so that a comparison of two readings shows whether anything has happened.
  private var events = 0
  private var time = Duration.zero
  private var sleepers: [Int: Sleeper] = [:]
  private var nextSleeper = 0
  private var cancelled: Set<Int> = []

  private struct Sleeper {
    var until: Duration
    var continuation: CheckedContinuation<Void, any Error>
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    lock.withLock {
      openJobs += 1
      events += 1
    }
    queue.async { [self] in
      job.runSynchronously(on: asUnownedTaskExecutor())
      lock.withLock { openJobs -= 1 }
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
      let (isBusy, count) = lock.withLock { (openJobs > 0, events) }
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
    let due = lock.withLock { () -> [Sleeper] in
      guard let next = sleepers.values.map(\.until).min() else { return [] }
      time = max(time, next)
      events += 1
      let ids = sleepers.filter { $0.value.until <= time }.map(\.key)
      return ids.sorted().compactMap { sleepers.removeValue(forKey: $0) }
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

  var now: Instant { Instant(offset: lock.withLock { time }) }
  var minimumResolution: Duration { .nanoseconds(1) }

  func sleep(until deadline: Instant, tolerance: Duration?) async throws {
    let id = lock.withLock {
      nextSleeper += 1
      return nextSleeper
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let result = lock.withLock { () -> Result<Void, any Error>? in
          events += 1
          if cancelled.remove(id) != nil { return .failure(CancellationError()) }
          if deadline.offset <= time { return .success(()) }
          sleepers[id] = Sleeper(until: deadline.offset, continuation: continuation)
          return nil
        }
        if let result { continuation.resume(with: result) }
      }
    } onCancel: {
      let sleeper = lock.withLock { () -> Sleeper? in
        events += 1
        let sleeper = sleepers.removeValue(forKey: id)
        if sleeper == nil { cancelled.insert(id) }
        return sleeper
      }
      sleeper?.continuation.resume(throwing: CancellationError())
    }
  }
}
