#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// The profiler's clocks, in nanoseconds. Nothing else in the program reads them.
package enum StageClock {
  /// Wall time; never goes back.
  @inline(__always)
  package static func wall() -> UInt64 { read(CLOCK_MONOTONIC) }

  /// Processor time of the calling thread.
  @inline(__always)
  package static func thread() -> UInt64 { read(CLOCK_THREAD_CPUTIME_ID) }

  /// Processor time of all threads of the process.
  package static func process() -> UInt64 { read(CLOCK_PROCESS_CPUTIME_ID) }

  /// What a ``Stopwatch`` lap costs, in nanoseconds: the median of many.
  package static func costOfLap() -> Double {
    let rounds = (0..<31).map { _ in
      let start = wall()
      for _ in 0..<100 {
        _ = wall()
        _ = thread()
      }
      return Double(wall() - start) / 100
    }
    return rounds.sorted()[15]
  }

  @inline(__always)
  private static func read(_ clock: clockid_t) -> UInt64 {
    var time = timespec()
    clock_gettime(clock, &time)
    return UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec)
  }
}

/// Splits the time of one thread of work into parts, lap by lap.
///
/// A lap reads two clocks; at one lap per piece of 256 KiB that is far below a thousandth of the time.
package struct Stopwatch {
  package private(set) var parts: [Part: PartTime] = [:]
  /// How many laps were taken.
  package private(set) var laps = 0
  /// The time of each lap of a part, in nanoseconds.
  package private(set) var lapTimes: [Part: [UInt64]] = [:]
  private var wall = StageClock.wall()
  private var thread = StageClock.thread()

  package init() {}

  /// Starts a lap; what passed since the last one counts for nothing.
  package mutating func start() {
    wall = StageClock.wall()
    thread = StageClock.thread()
  }

  /// Ends a lap and counts it for `part`.
  ///
  /// - Parameter isSuspending: Whether the work may have moved to another thread, so that this
  ///   thread's processor time says nothing.
  @discardableResult
  package mutating func lap(
    _ part: Part, isSuspending: Bool = false, isKept: Bool = false
  ) -> UInt64 {
    let nowWall = StageClock.wall()
    let nowThread = StageClock.thread()
    let elapsed = nowWall &- wall
    parts[part, default: PartTime()].wall += Double(elapsed) / 1e9
    if !isSuspending, nowThread >= thread {
      parts[part, default: PartTime()].cpu += Double(nowThread &- thread) / 1e9
    }
    if isKept { lapTimes[part, default: []].append(elapsed) }
    laps += 1
    wall = nowWall
    thread = nowThread
    return elapsed
  }
}

/// A part of a measured run, as far as clocks can tell it from others.
package enum Part: String, Codable, Sendable, Hashable, CaseIterable {
  /// Reading the bytes from a file, or waiting for them from the network.
  case input
  /// Guard, yajl and normalizer together.
  case feed
  /// The guard alone; only where the stages are measured one by one.
  case textGuard = "guard"
  /// The guard, yajl, and counting handlers.
  case parse
  /// The guard, yajl, and the normalizer, with a store that keeps nothing.
  case normalize
  /// Handing records to the store and waiting for it.
  case handOver = "hand-over"
  case commit
  /// Making it durable: the checkpoint of a SQLite file.
  case sync
  case readBack = "read-back"
  case output
}

/// Time in seconds.
package struct PartTime: Codable, Sendable, Hashable {
  package var wall: Double
  /// Processor time of the measured thread.
  package var cpu: Double

  package init(wall: Double = 0, cpu: Double = 0) {
    self.wall = wall
    self.cpu = cpu
  }
}
