/// What one run measured, in a process of its own. Written as JSON by the process that ran it.
package struct RunMeasurement: Codable, Sendable {
  package enum Kind: String, Codable, Sendable {
    /// The whole job with one store.
    case job
    /// Guard, parser and normalizer side by side, piece by piece.
    case stages
    /// yajl without handlers.
    case floor
    /// Foundation's `JSONSerialization`.
    case foundation
  }

  package var kind: Kind
  /// What the job was measured with: `memory`, `sqlite:cache.db`.
  package var label: String
  /// From the start of the process to its end, as somebody outside sees it; before
  /// ``enclose(start:end:cpu:)`` that of the work alone.
  package var seconds: Double
  /// From the first piece to the end of the last part, in seconds.
  package var workSeconds: Double
  /// Processor time of all threads in between.
  package var cpuSeconds: Double
  /// Processor time of the process before that.
  package var cpuSecondsBefore: Double
  /// Processor time of the whole process; 0 until it has ended.
  package var processCPUSeconds: Double
  /// When the first piece was asked for, and when the last part ended, on ``StageClock/wall()``, which is
  /// the same for all processes.
  package var began: UInt64
  package var ended: UInt64
  package var parts: [Part: PartTime]
  /// The time of each piece, in nanoseconds.
  package var pieceTimes: [Part: [UInt64]]
  package var counts: Counts
  /// From the first piece until the first record was complete.
  package var firstRecordSeconds: Double?
  package var memory: [MemorySample]
  package var peakBytes: Int
  /// Calls of the allocator; `nil` where they cannot be counted.
  package var allocations: Int?
  package var minorFaults: Int
  package var majorFaults: Int
  /// How often the clocks were read for a lap.
  package var laps: Int

  /// What went through.
  package struct Counts: Codable, Sendable, Hashable {
    package var bytes = 0
    package var events = 0
    package var objects = 0
    package var fields = 0
    package var unknownFields = 0
    package var records = 0
    package var newRecords = 0
    package var errors = 0
    /// Bytes of the result that was read back.
    package var resultBytes = 0
    /// Bytes of the database file and its log.
    package var fileBytes: Int?

    package init() {}
  }

  package init(kind: Kind, label: String) {
    self.kind = kind
    self.label = label
    seconds = 0
    workSeconds = 0
    cpuSeconds = 0
    cpuSecondsBefore = 0
    processCPUSeconds = 0
    began = 0
    ended = 0
    parts = [:]
    pieceTimes = [:]
    counts = Counts()
    memory = []
    peakBytes = 0
    minorFaults = 0
    majorFaults = 0
    laps = 0
  }
}

extension Part: CodingKeyRepresentable {}

extension RunMeasurement {
  /// Counts the process around the run, too, so that the parts add up to what somebody outside sees.
  ///
  /// - Parameters:
  ///   - start: When the process was started, on ``StageClock/wall()``.
  ///   - end: When it was gone.
  ///   - cpu: Its processor time, in seconds.
  package mutating func enclose(start: UInt64, end: UInt64, cpu: Double) {
    let plan = parts[.plan] ?? PartTime()
    parts[.start] = PartTime(
      wall: max(Double(began &- start) / 1e9 - plan.wall, 0),
      cpu: max(cpuSecondsBefore - plan.cpu, 0))
    parts[.end] = PartTime(
      wall: Double(end &- ended) / 1e9, cpu: max(cpu - cpuSecondsBefore - cpuSeconds, 0))
    seconds = Double(end &- start) / 1e9
    processCPUSeconds = cpu
  }
}

/// Begins with the first piece of a run and ends after its last part.
struct RunClock {
  private let wall = StageClock.wall()
  private let process = StageClock.process()
  private let before = ProcessMemory.usage()

  var elapsed: Double { Double(StageClock.wall() &- wall) / 1e9 }

  func finish(_ run: inout RunMeasurement, _ watch: Stopwatch) {
    (run.began, run.ended) = (wall, StageClock.wall())
    run.workSeconds = Double(run.ended &- wall) / 1e9
    run.seconds = run.workSeconds
    run.cpuSecondsBefore = Double(process) / 1e9
    run.cpuSeconds = Double(StageClock.process() &- process) / 1e9
    run.parts = watch.parts
    run.pieceTimes = watch.lapTimes
    run.laps = watch.laps
    let after = ProcessMemory.usage()
    run.peakBytes = after.peak
    run.minorFaults = after.minorFaults - before.minorFaults
    run.majorFaults = after.majorFaults - before.majorFaults
  }
}
