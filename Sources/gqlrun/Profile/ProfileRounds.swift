import Foundation
import GQLRunProfile
import GQLRunSupport

extension ProfileCommand {
  /// Runs all measurements in turn, round after round, so that conditions of the machine affect all
  /// equally.
  func measureRounds(
    of document: String, _ path: String, into report: inout ProfileReport
  ) async throws {
    let stores = store.isEmpty ? [.memory] : store
    let input =
      ["--file", path, "--document", document]
      + (pipeline.first.map { ["--pipeline", $0] } ?? []) + operationOptions.arguments
    let canHoldTree = baselines && report.workload.bytes < report.machine.memoryBytes / 24
    if baselines && !canHoldTree {
      report.remarks.append(
        "JSONSerialization was left out: its tree of this response would not fit into memory")
    }
    var floor: [RunMeasurement] = []
    var stages: [RunMeasurement] = []
    var foundation: [RunMeasurement] = []
    var jobs = [[RunMeasurement]](repeating: [], count: stores.count)
    for round in 0..<(warmup + runs) {
      let isKept = round >= warmup
      Terminal.showStatus(
        isKept ? "run \(round - warmup + 1) of \(runs)" : "warming up, \(round + 1) of \(warmup)")
      // Unusable responses make the job fail first, which reports the error best.
      for (index, store) in stores.enumerated() {
        try await measure(.job, input, store: store, isKept: isKept, runs: &jobs[index])
      }
      try await measure(.stages, input, isKept: isKept, runs: &stages)
      try await measure(.floor, input, isKept: isKept, runs: &floor)
      if canHoldTree { try await measure(.foundation, input, isKept: isKept, runs: &foundation) }
    }
    Terminal.showStatus(nil)
    let lapCost = Stopwatch.costOfLap()
    report.jobs = jobs.compactMap { job in
      JobReport(
        jobs: job, stages: stages, floor: floor, first: jobs.first, lapCost: lapCost)
    }
    if baselines {
      report.baselines = [floor, foundation].compactMap { BaselineReport($0, floor: floor) }
    }
    report.workload.counts = report.jobs.first?.counts ?? .init()
    report.remarks += remarks(report.workload.counts)
  }

  private func remarks(_ counts: RunMeasurement.Counts) -> [String] {
    var remarks: [String] = []
    if counts.errors > 0 {
      remarks.append(
        "the response has \(Quantity.count(counts.errors, "error")); fields that failed are not stored"
      )
    }
    if counts.fields == 0 {
      remarks.append(
        counts.unknownFields > 0
          ? "the response has no field that the operation asks for: does it belong to another one?"
          : "the response has no data: nothing was normalized")
    } else if counts.unknownFields > 0 {
      remarks.append(
        "the operation does not ask for \(Quantity.count(counts.unknownFields, "field")) of the "
          + "response; they were parsed and left out")
    }
    if counts.fields > 0, counts.resultBytes == 0 {
      remarks.append("the result could not be read back from the store: it is not complete there")
    }
    return remarks
  }

  private func measure(
    _ kind: RunMeasurement.Kind, _ input: [String], store: ProfileStore? = nil, isKept: Bool,
    runs: inout [RunMeasurement]
  ) async throws {
    try Task.checkCancellation()
    let storeArguments = store.map { ["--store", $0.label] } ?? []
    let outcome = try await MeasuredProcess.run(
      ["profile-run", "--kind", kind.rawValue] + storeArguments + input)
    try Task.checkCancellation()
    guard outcome.status == 0 else {
      Terminal.showStatus(nil)
      // The run has already reported its error.
      guard outcome.status < 128, let status = Failure.Status(rawValue: outcome.status) else {
        throw Failure(.failed, "a measured run ended with status \(outcome.status)")
      }
      throw Failure(status, "")
    }
    guard isKept else { return }
    do {
      var measurement = try JSONDecoder().decode(RunMeasurement.self, from: Data(outcome.output))
      measurement.enclose(start: outcome.start, end: outcome.end, cpu: outcome.cpuSeconds)
      runs.append(measurement)
    } catch {
      throw Failure(.failed, "cannot read what a measured run printed: \(error)")
    }
  }
}

extension OperationOptions {
  /// The same options as command-line arguments.
  var arguments: [String] {
    var words: [String] = []
    if let operation { words += ["--operation", operation] }
    if let variables { words += ["--variables", variables] }
    for assignment in assignments { words += ["--var", assignment] }
    for rule in keys { words += ["--keys", rule] }
    for assignment in fileAssignments { words += ["--var-file", assignment] }
    for schema in schema { words += ["--schema", schema] }
    return words
  }
}

/// This program, started again for one measured run, so that runs do not share memory, and peak
/// memory is that of a single run.
struct MeasuredProcess {
  var status: Int32
  var output: [UInt8]
  /// The start and end times, measured by the parent process.
  var start: UInt64
  var end: UInt64
  /// User and system time of all threads, in seconds.
  var cpuSeconds: Double

  /// Runs the process until it exits, sharing standard error. Cancelling the task terminates it.
  static func run(_ arguments: [String]) async throws -> MeasuredProcess {
    let output: (reading: Descriptor, writing: Descriptor)
    do throws(SystemError) {
      output = try Descriptor.pipe()
    } catch {
      throw Failure(.failed, "cannot start a measured run: \(error.reason)")
    }
    let start = StageClock.wall()
    let process = try OwnProcess.start(arguments, output: output.writing)
    return try await withTaskCancellationHandler {
      try await DispatchQueue.global().run {
        let bytes = output.reading.read()
        let end = process.wait()
        return MeasuredProcess(
          status: end.status ?? 128 + end.signal, output: bytes, start: start,
          end: StageClock.wall(), cpuSeconds: end.cpuSeconds)
      }
    } onCancel: {
      process.kill(SIGTERM)
    }
  }
}
