package import GQLRunCache
import GQLRunJSON
import GQLRunSupport

/// Guard, strict parser and normalizer in turn on the same chunks, so that the cost of each is a
/// difference measured within one chunk, independent of other load on the machine.
///
/// The three read each chunk one after the other from the processor's cache. The time of the parser
/// includes the guard, that of the normalizer includes both. They have one thread.
package enum StagesRun {
  /// Reads the response of an operation from a file.
  package static func run(
    _ operation: PreparedOperation, path: String
  ) async throws -> RunMeasurement {
    let file = try ResponseFile(path)
    var run = RunMeasurement(kind: .stages, label: "stages")
    var textGuard = JSONGuard()
    var parser = try CountingParser()
    var options = ResponseNormalizer.Options()
    options.wantsResult = false
    options.minTapeBytes = Int.max
    let normalizer = try ResponseNormalizer(operation, store: nil, options: options)
    let clock = RunClock()
    var watch = Stopwatch()
    while let chunk = try file.next() {
      watch.lap(.input)
      guard textGuard.scan(chunk) == chunk.count else { break }
      watch.lap(.textGuard, isKept: true)
      try parser.feed(chunk)
      watch.lap(.parse, isKept: true)
      try normalizer.feed(chunk)
      watch.lap(.normalize, isKept: true)
      if normalizer.needsFlush { try await normalizer.flush() }
      run.counts.bytes += chunk.count
    }
    try parser.finish()
    let response = try await normalizer.finish()
    await response.write?.rollback()
    run.count(response, WriteSummary())
    clock.finish(&run, watch)
    return run
  }
}

/// Divides the time of one thread into parts, lap by lap.
///
/// A lap reads two clocks. A few laps per chunk of 256 KiB cost far below one percent of the time;
/// see ``costOfLap()``.
package struct Stopwatch {
  package private(set) var parts: [Part: PartTime] = [:]
  /// The number of laps.
  package private(set) var laps = 0
  /// The duration of each lap of a part, in nanoseconds.
  package private(set) var lapTimes: [Part: [UInt64]] = [:]
  private var wall = StageClock.wall()
  private var thread = StageClock.thread()

  package init() {}

  /// Ends a lap and adds its time to `part`.
  ///
  /// - Parameters:
  ///   - part: The part that the time belongs to.
  ///   - cpu: Processor time of the work on any threads; `nil` uses that of the current thread.
  ///   - isKept: Whether the duration of this lap is kept in addition to the sum.
  package mutating func lap(_ part: Part, cpu: UInt64? = nil, isKept: Bool = false) {
    let nowWall = StageClock.wall()
    let nowThread = StageClock.thread()
    let elapsed = nowWall &- wall
    // After a suspension the work may continue on another thread, whose clock is unrelated.
    let worked = cpu ?? (nowThread > thread ? min(nowThread &- thread, elapsed) : 0)
    parts[part, default: PartTime()].wall += Double(elapsed) / 1e9
    parts[part, default: PartTime()].cpu += Double(worked) / 1e9
    if isKept { lapTimes[part, default: []].append(elapsed) }
    laps += 1
    wall = nowWall
    thread = nowThread
  }

  /// The duration of a lap, in seconds: the median of many.
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

/// A part of a measured run that clocks can separate from others.
package enum Part: String, Codable, Sendable, Hashable, CaseIterable {
  /// From the start of the process until the operation is read.
  case start
  /// Parsing the document and planning the operation.
  case plan
  /// Reading from a file, or waiting for the network.
  case input
  /// Guard, yajl and normalizer together.
  case feed
  /// The guard alone; only if the stages are measured separately.
  case textGuard = "guard"
  /// The guard, yajl, and handlers that only count.
  case parse
  /// The guard, yajl and the normalizer, with a store that discards records.
  case normalize
  /// Passing records to the store and waiting for it.
  case handOver = "hand-over"
  case commit
  /// Making the commit durable: the checkpoint of a SQLite file.
  case sync
  case readBack = "read-back"
  case output
  /// Sampling the memory between chunks: the profiler's overhead.
  case marks
  /// From the last part to the end of the process: closing files and freeing memory.
  case end
}

/// A duration in seconds.
package struct PartTime: Codable, Sendable, Hashable {
  package var wall = 0.0
  /// Processor time of the measured thread.
  package var cpu = 0.0
}
