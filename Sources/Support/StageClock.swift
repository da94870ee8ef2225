import Foundation

/// The clocks of the profiler, in nanoseconds. No other part of the program reads them.
package enum StageClock {
  /// Wall time, monotonic.
  package static func wall() -> UInt64 { read(CLOCK_MONOTONIC) }

  /// Processor time of the calling thread.
  package static func thread() -> UInt64 { read(CLOCK_THREAD_CPUTIME_ID) }

  /// Processor time of all threads of the process.
  package static func process() -> UInt64 { read(CLOCK_PROCESS_CPUTIME_ID) }

  private static func read(_ clock: clockid_t) -> UInt64 {
    var time = timespec()
    clock_gettime(clock, &time)
    return UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec)
  }
}
