import Foundation

/// A profile: what was measured, on which machine, with which results.
///
/// The JSON form is a file format; its version increases when a reader of an older version would
/// misread it.
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
  package var subscription: SubscriptionReport?
  package var shape: ShapeReport?
  /// What was found for each budget; `nil` without budgets.
  package var budgets: [BudgetResult]?
  /// Reasons to read the figures with caution.
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
    /// The response file, the endpoint, or the generator.
    package var source: String
    package var operation: String
    /// Bytes of the response after decompression; 0 without a response.
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
  /// The time of the whole process, as `/usr/bin/time` measures it: the sum of the stages and of
  /// the profiler's overhead.
  package var seconds: Spread
  package var cpuSeconds: Spread
  /// The maximum resident memory of the process.
  package var peakBytes: Spread
  /// The number of allocator calls of all threads; `nil` where they cannot be counted.
  package var allocations: Spread?
  package var stages: [StageReport]
  package var firstRecordSeconds: Spread?
  package var counts: RunMeasurement.Counts
  /// The memory of the run with the median time.
  package var memory: [MemorySample]
  package var pageFaults: Spread
  /// The time until the commit, divided by that of yajl alone.
  package var toFloor: Ratio?
  /// The time of the whole job, divided by that of the report's first job.
  package var toFirst: Ratio?
  /// The share of the time that the profiler itself took: reading clocks and sampling memory.
  package var timerShare: Double
  /// The slowest stage, and how to reduce its time.
  package var bottleneck: String
  /// The times of the runs, in seconds, in order.
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
  /// Processor time; for writing to the store, that of all threads except the parser's.
  package var cpuSeconds: Double
  /// The share of the total time.
  package var share: Double
  /// Time in which the parsing thread did not run: it waited for the disk, for the store's threads,
  /// or for a processor.
  package var waitSeconds: Double
  package var megabytesPerSecond: Double?
  package var eventsPerSecond: Double?
  package var recordsPerSecond: Double?
  /// The time per chunk of 256 KiB.
  package var perPiece: Percentiles?
}

/// The time of another parser for the same bytes.
package struct BaselineReport: Codable, Sendable, Hashable {
  package var label: String
  /// The work alone, without starting and ending a process.
  package var seconds: Spread
  package var peakBytes: Spread
  package var allocations: Spread?
  package var megabytesPerSecond: Double
  /// The time, divided by that of yajl alone.
  package var toFloor: Ratio?

  /// - Parameters:
  ///   - runs: The runs, in order; at least one, otherwise the result is nil.
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

/// The machine that made a profile; a comparison of different machines produces a warning.
package struct Machine: Codable, Sendable, Hashable {
  package var processor: String
  package var cores: Int
  package var memoryBytes: Int
  package var system: String

  /// This machine.
  package static func current() -> Machine {
    var name = utsname()
    uname(&name)
    return Machine(
      processor: processorName() ?? text(of: name.machine),
      cores: ProcessInfo.processInfo.activeProcessorCount,
      memoryBytes: Int(clamping: ProcessInfo.processInfo.physicalMemory),
      system: "\(text(of: name.sysname)) \(text(of: name.release))")
  }

  private static func processorName() -> String? {
    guard let text = try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8) else {
      return nil
    }
    let line = text.split(separator: "\n").first { $0.hasPrefix("model name") }
    return line?.split(separator: ":", maxSplits: 1).last?
      .trimmingCharacters(in: .whitespaces)
  }

  private static func text<Field>(of field: Field) -> String {
    withUnsafeBytes(of: field) { bytes in
      String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }
  }
}

extension StageReport {
  /// The stage that takes most of a job's time, and how to reduce it.
  static func bottleneck(of stages: [StageReport]) -> String {
    guard let slowest = stages.max(by: { $0.seconds.median < $1.seconds.median }) else {
      return "nothing was measured"
    }
    let share = String(format: "%.0f %%", slowest.share * 100)
    return "\(slowest.name.rawValue) takes \(share) of the time: \(slowest.advice)"
  }

  private var advice: String {
    switch name {
    case .start:
      "the response is so small that starting the program takes longer than reading it; with a new "
        + "database, most of that is creating the file"
    case .plan: "the document is large; a long-running client plans it only once"
    case .input: "the file or the network is slower than all other stages"
    case .textGuard:
      "checking the bytes takes longest, which is expected only for a response with much "
        + "non-ASCII text"
    case .parse:
      "parsing JSON takes longest, which is the lower bound for these bytes; only a smaller "
        + "response is faster"
    case .normalize:
      "creating records takes longest; select fewer fields, or objects that repeat less often"
    case .storeWrite:
      "the parser waits for the store; fewer and larger records are faster, and for a store in a "
        + "file, a faster disk"
    case .sync: "writing the file to disk durably takes longest: the disk is the limit"
    case .readBack:
      "reading the result back takes longest; request the result while the response is read, "
        + "or select fewer fields"
    case .end: "closing files and freeing memory takes longest"
    case .output: "the consumer of the output is slower than all other stages"
    }
  }
}
