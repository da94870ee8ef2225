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

  @inline(__always)
  private static func read(_ clock: clockid_t) -> UInt64 {
    var time = timespec()
    clock_gettime(clock, &time)
    return UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec)
  }
}

/// Splits the time of one thread of work into parts, lap by lap.
///
/// A lap reads two clocks. Some laps per piece of 256 KiB are far below a hundredth of the time; see
/// ``costOfLap()``.
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
  /// - Parameters:
  ///   - cpu: Processor time that the work took on whatever threads; without it, what this thread took.
  ///   - isKept: Whether the time of this lap is kept beside the sum.
  package mutating func lap(_ part: Part, cpu: UInt64? = nil, isKept: Bool = false) {
    let nowWall = StageClock.wall()
    let nowThread = StageClock.thread()
    let elapsed = nowWall &- wall
    // After a suspension the work may go on in another thread, whose clock says nothing here.
    let worked = cpu ?? (nowThread > thread ? min(nowThread &- thread, elapsed) : 0)
    parts[part, default: PartTime()].wall += Double(elapsed) / 1e9
    parts[part, default: PartTime()].cpu += Double(worked) / 1e9
    if isKept { lapTimes[part, default: []].append(elapsed) }
    laps += 1
    wall = nowWall
    thread = nowThread
  }

  /// What a lap costs, in seconds: the median of many.
  package static func costOfLap() -> Double {
    let rounds = (0..<31).map { _ in
      var watch = Stopwatch()
      let start = StageClock.wall()
      for _ in 0..<100 { watch.lap(.input, isKept: true) }
      return Double(StageClock.wall() &- start) / 1e11
    }
    return Spread.median(of: rounds)
  }
}

/// A part of a measured run, as far as clocks can tell it from others.
package enum Part: String, Codable, Sendable, Hashable, CaseIterable {
  /// From the start of the process until the operation is read.
  case start
  /// Reading the document and planning the operation.
  case plan
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
  /// Looking at the memory between pieces: the profiler's own work.
  case marks
  /// From the last part to the end of the process: closing files and giving memory back.
  case end
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
