import Foundation

/// Measures all rows of all workloads, interleaved: every round runs every row once, because machines
/// are shared and noisy, and ratios are taken within a round.
struct Suite {
  let options: Options
  private let program = CommandLine.arguments[0]

  init(options: Options) { self.options = options }

  private struct Sample {
    var process: Measurement
    var report: StageReport
    var verify: Measurement
    var yajl: Double?
  }

  func run() async throws {
    var results = Results(
      date: ISO8601DateFormatter().string(from: Date()), commit: Self.commit(),
      machine: Self.machine(), rounds: options.rounds)
    for workload in try Workload.all(options) {
      let result = try await measure(workload)
      Table(result).print()
      results.workloads.append(result)
      if let output = options.output { try results.write(output) }
    }
    if let output = options.output { print("\nkept in \(output)") }
  }

  private func measure(_ workload: Workload) async throws -> WorkloadResult {
    try workload.prepare()
    let files = workload.files
    let size = try FileManager.default.attributesOfItem(atPath: files.response)[.size] as? Int ?? 0
    var samples: [Stage: [Sample]] = [:]
    var verified: [Double] = []
    defer { files.removeDatabases() }
    for _ in 0..<options.rounds {
      files.removeDatabases()
      let verify = try Measurement.run(["json_verify", "-q"], input: files.response)
      verified.append(verify.seconds)
      var yajl: Double?
      for stage in workload.stages {
        if stage.wantsCheckpoint { try await Self.checkpoint(files) }
        let (process, report) = try runStage(stage, files)
        if stage == .yajl { yajl = report.seconds }
        samples[stage, default: []].append(
          Sample(process: process, report: report, verify: verify, yajl: yajl))
      }
    }
    let rows = workload.stages.map { stage in
      row(stage, samples[stage] ?? [], workload.goals(of: stage, bytes: size))
    }
    return WorkloadResult(
      name: workload.name, bytes: size, verify: Spread(verified), rows: rows)
  }

  private func runStage(_ stage: Stage, _ files: Files) throws -> (Measurement, StageReport) {
    let path = files.folder + "/report.json"
    unlink(path)
    let process = try Measurement.run([program, "stage", stage.rawValue, files.folder, path])
    let data = try Data(contentsOf: URL(fileURLWithPath: path))
    return (process, try JSONDecoder().decode(StageReport.self, from: data))
  }

  /// In a process of its own, so that this one has no database open while others measure.
  private static func checkpoint(_ files: Files) async throws {
    _ = try Measurement.run([CommandLine.arguments[0], "checkpoint", files.folder])
  }

  private func row(_ stage: Stage, _ samples: [Sample], _ goals: Goals) -> RowResult {
    func time(_ sample: Sample) -> Double {
      stage.countsWorkOnly ? sample.report.seconds : sample.process.seconds
    }
    func spread(_ value: (Sample) -> Double) -> Spread { Spread(samples.map(value)) }
    var result = RowResult(
      id: stage.rawValue, title: stage.title, peakMiB: spread(\.report.peakMiB), goals: goals)
    let counts = Spread(samples.map { Double($0.report.allocations) })
    // The baseline loop in C is counted with what it reads first.
    if stage != .insertRows { result.allocations = Int(counts.median) }
    if samples.allSatisfy({ $0.report.latency != nil }) {
      func latency(_ value: (StageReport.Latency) -> Double) -> Spread {
        Spread(samples.compactMap(\.report.latency).map(value))
      }
      result.latency = LatencyResult(
        operationsPerSecond: latency(\.operationsPerSecond), p50: latency(\.p50),
        p90: latency(\.p90), p99: latency(\.p99), p999: latency(\.p999),
        cpu: latency(\.cpu))
      return result
    }
    result.seconds = spread(time)
    result.ratio = spread { time($0) / $0.verify.seconds }
    if samples.allSatisfy({ $0.yajl != nil }) {
      result.yajlRatio = spread { $0.report.seconds / ($0.yajl ?? .nan) }
    }
    if stage != .insertRows {
      result.cpuRatio = spread {
        (stage.countsWorkOnly ? $0.report.cpuSeconds : $0.process.cpuSeconds)
          / $0.verify.cpuSeconds
      }
    }
    return result
  }

  // MARK: Where and what

  private static func machine() -> String {
    let info = (try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8)) ?? ""
    let model = info.split(separator: "\n").first { $0.hasPrefix("model name") }
      .flatMap { $0.split(separator: ":").last.map { $0.trimmingCharacters(in: .whitespaces) } }
    return "\(ProcessInfo.processInfo.processorCount) cores, \(model ?? "unknown processor")"
  }

  private static func commit() -> String {
    let path = FileManager.default.temporaryDirectory
      .appendingPathComponent("gqlrun-bench-\(getpid())").path
    defer { unlink(path) }
    guard (try? Measurement.run(["git", "describe", "--always", "--dirty"], output: path)) != nil,
      let text = try? String(contentsOfFile: path, encoding: .utf8)
    else { return "unknown" }
    return text.trimmingCharacters(in: .whitespacesAndNewlines)
  }
}
