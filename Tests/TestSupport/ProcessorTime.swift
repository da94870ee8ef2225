import Foundation

/// The processor time that the calling thread needs, which other tests and a busy machine do not change.
public func processorTime<Failure: Error>(_ work: () throws(Failure) -> Void) throws(Failure)
  -> Duration
{
  func now() -> Duration {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
  }
  let start = now()
  try work()
  return now() - start
}
