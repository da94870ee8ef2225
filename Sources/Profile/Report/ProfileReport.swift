/// A profile: what was measured, on which machine, with which result. The JSON form is a format: its
/// version counts up when a reader of an older one would misread it.
package struct ProfileReport: Codable, Sendable {
  package static let currentVersion = 1

  package var version = ProfileReport.currentVersion
  package var program: String
  /// Seconds since 1970.
  package var madeAt: Double
  package var machine: Machine
  package var workload: Workload
  package var runs: Int
  package var warmUps: Int
  package var jobs: [JobReport] = []
  package var baselines: [BaselineReport] = []
  package var network: [NetworkReport] = []
  package var load: LoadReport?
  package var shape: ShapeReport?
  /// What a reader should know before believing the figures.
  package var remarks: [String] = []

  package init(
    program: String, madeAt: Double, machine: Machine, workload: Workload, runs: Int, warmUps: Int
  ) {
    self.program = program
    self.madeAt = madeAt
    self.machine = machine
    self.workload = workload
    self.runs = runs
    self.warmUps = warmUps
  }

  package struct Workload: Codable, Sendable, Hashable {
    /// The response file, the endpoint, or what was generated.
    package var source: String
    package var operation: String
    /// Bytes of the response after decompression; 0 without one.
    package var bytes: Int
    package var counts = RunMeasurement.Counts()

    package init(source: String, operation: String, bytes: Int = 0) {
      self.source = source
      self.operation = operation
      self.bytes = bytes
    }
  }
}

/// The job with one store.
package struct JobReport: Codable, Sendable {
  package var label: String
  /// Of the whole process, from its start to its end, as `/usr/bin/time` sees it: the sum of the stages
  /// and of the profiler's own work.
  package var seconds: Spread
  package var cpuSeconds: Spread
  /// The most resident memory of the process.
  package var peakBytes: Spread
  /// Calls of the allocator, by whomever; `nil` where they cannot be counted.
  package var allocations: Spread?
  package var stages: [StageReport]
  package var firstRecordSeconds: Spread?
  package var counts: RunMeasurement.Counts
  /// The memory of the run with the median time.
  package var memory: [MemorySample]
  package var pageFaults: Spread
  /// Time of the job up to the commit, against yajl alone.
  package var toFloor: Ratio?
  /// Time of the whole job against the first job of the report.
  package var toFirst: Ratio?
  /// The share of the time that the profiler took itself: reading clocks, and looking at the memory.
  package var timerShare: Double
  /// The slowest stage and what would help, in words.
  package var bottleneck: String
  /// The times of the single runs, in seconds, in order.
  package var times: [Double]
}

/// One stage of a job.
package struct StageReport: Codable, Sendable, Hashable {
  package enum Name: String, Codable, Sendable, Hashable, CaseIterable {
    case start
    case plan
    case input
    case textGuard = "guard"
    case parse
    case normalize
    case storeWrite = "store write"
    case sync
    case readBack = "read back"
    case output
    case end
  }

  package var name: Name
  package var seconds: Spread
  /// Processor time; for the store write that of all threads beside the parser's.
  package var cpuSeconds: Double
  /// The share of the whole time.
  package var share: Double
  /// Time in which the thread that reads and parses did not work: it waited for the disk, for the store's
  /// threads, or for a processor.
  package var waitSeconds: Double
  package var megabytesPerSecond: Double?
  package var eventsPerSecond: Double?
  package var recordsPerSecond: Double?
  /// The time per piece of 256 KiB.
  package var perPiece: Percentiles?
}

/// What others need for the same bytes.
package struct BaselineReport: Codable, Sendable, Hashable {
  package var label: String
  /// Of the work alone, without the start of a process and its end.
  package var seconds: Spread
  package var peakBytes: Spread
  package var allocations: Spread?
  package var megabytesPerSecond: Double
  /// Its time against yajl alone.
  package var toFloor: Ratio?

  /// - Parameters:
  ///   - runs: Its runs, in order; at least one.
  ///   - floor: The runs of yajl alone, in the same order.
  package init?(_ runs: [RunMeasurement], floor: [RunMeasurement]) {
    guard let any = runs.first, let seconds = Spread(runs.map(\.workSeconds)),
      let peak = Spread(runs.map { Double($0.peakBytes) })
    else { return nil }
    label = any.label
    self.seconds = seconds
    peakBytes = peak
    allocations = Spread(runs.compactMap(\.allocations).map { Double($0) })
    megabytesPerSecond = Double(any.counts.bytes) / 1e6 / seconds.median
    toFloor = Ratio(runs.map(\.workSeconds), to: floor.map(\.workSeconds))
  }
}
