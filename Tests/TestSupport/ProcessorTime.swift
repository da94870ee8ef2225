import Foundation
import Synchronization

/// The processor time that the calling thread has had.
private func threadTime() -> Duration {
  var time = timespec()
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
  return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
}

/// The processor time that the calling thread needs, which other tests and a busy machine do not change.
public func processorTime<Failure: Error>(_ work: () throws(Failure) -> Void) throws(Failure)
  -> Duration
{
  let start = threadTime()
  try work()
  return threadTime() - start
}

/// The processor time that all parts of some asynchronous work need, which other tests and a busy machine
/// do not change.
public func processorTime(_ work: @Sendable () async throws -> Void) async throws -> Duration {
  let meter = Meter()
  try await withTaskExecutorPreference(meter) { try await work() }
  return meter.time
}

/// Runs one part of a task after the other, and adds up what they need.
private final class Meter: TaskExecutor {
  private let queue = DispatchQueue(label: "gqlrun.tests.meter")
  private let total = Mutex(Duration.zero)

  var time: Duration { total.withLock { $0 } }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async {
      let start = threadTime()
      job.runSynchronously(on: self.asUnownedTaskExecutor())
      let needed = threadTime() - start
      self.total.withLock { $0 += needed }
    }
  }
}
