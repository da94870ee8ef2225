extension JobReport {
  /// Combines the runs of one job.
  ///
  /// - Parameters:
  ///   - jobs: The runs of the job, in order; at least one.
  ///   - stages: Runs of the separate stages, which divide the time of feeding the parser.
  ///   - floor: The runs of yajl alone, in the order of the jobs.
  ///   - first: The runs of the report's first job, for a ratio.
  ///   - lapCost: The duration of a lap of the stopwatch, in seconds.
  package init?(
    jobs: [RunMeasurement], stages: [RunMeasurement], floor: [RunMeasurement],
    first: [RunMeasurement]? = nil, lapCost: Double
  ) {
    guard let any = jobs.first, let seconds = Spread(jobs.map(\.seconds)),
      let cpu = Spread(jobs.map { max($0.processCPUSeconds, $0.cpuSeconds) }),
      let peak = Spread(jobs.map { Double($0.peakBytes) }),
      let faults = Spread(jobs.map { Double($0.minorFaults + $0.majorFaults) })
    else { return nil }
    label = any.label
    self.seconds = seconds
    cpuSeconds = cpu
    peakBytes = peak
    pageFaults = faults
    allocations = Spread(jobs.compactMap(\.allocations).map { Double($0) })
    firstRecordSeconds = Spread(jobs.compactMap(\.firstRecordSeconds))
    counts = any.counts
    let middle = jobs.min { abs($0.seconds - seconds.median) < abs($1.seconds - seconds.median) }
    memory = middle?.memory ?? []
    times = jobs.map(\.seconds)
    toFloor = Ratio(jobs.map(\.writeSeconds), to: floor.map(\.workSeconds))
    toFirst = first.flatMap { Ratio(jobs.map(\.seconds), to: $0.map(\.seconds)) }
    timerShare = Spread.median(
      of: jobs.map { (Double($0.laps) * lapCost + $0.wall(.marks)) / $0.seconds })
    self.stages = StageSplit(jobs: jobs, stages: stages).reports
    bottleneck = StageReport.bottleneck(of: self.stages)
  }
}

extension RunMeasurement {
  func wall(_ part: Part) -> Double { parts[part]?.wall ?? 0 }
  func cpu(_ part: Part) -> Double { parts[part]?.cpu ?? 0 }

  /// From the first byte to the commit: the time that is compared with parsing alone.
  var writeSeconds: Double {
    wall(.input) + wall(.feed) + wall(.handOver) + wall(.commit)
  }
}

/// Divides the time of jobs among the stages.
///
/// The clocks of a job cannot separate guard, parser and normalizer, which alternate within a
/// chunk; their time is divided in the proportions measured by ``StagesRun``.
struct StageSplit {
  let jobs: [RunMeasurement]
  let stages: [RunMeasurement]

  var reports: [StageReport] {
    let shares = FeedShares(stages)
    return StageReport.Name.allCases.compactMap { name in
      switch name {
      case .start: report(name) { ($0.wall(.start), $0.cpu(.start)) }
      case .plan: report(name) { ($0.wall(.plan), $0.cpu(.plan)) }
      case .input: withPieces(.input, report(name) { ($0.wall(.input), $0.cpu(.input)) })
      case .textGuard, .parse, .normalize: feed(name, shares)
      case .storeWrite:
        withPieces(
          .handOver,
          report(name) { ($0.wall(.handOver) + $0.wall(.commit), $0.storeCPU) })
      case .sync: report(name) { ($0.wall(.sync), $0.cpu(.sync)) }
      case .readBack: report(name) { ($0.wall(.readBack), $0.cpu(.readBack)) }
      case .output: report(name) { ($0.wall(.output), $0.cpu(.output)) }
      case .end: report(name) { ($0.wall(.end), $0.cpu(.end)) }
      }
    }
  }

  /// Adds the times per chunk of the median run.
  private func withPieces(_ part: Part, _ report: StageReport?) -> StageReport? {
    var report = report
    let total = Spread.median(of: jobs.map(\.seconds))
    let middle = jobs.min { abs($0.seconds - total) < abs($1.seconds - total) }
    report?.perPiece = Percentiles(nanoseconds: middle?.pieceTimes[part] ?? [])
    return report
  }

  private func feed(_ name: StageReport.Name, _ shares: FeedShares) -> StageReport? {
    let share = shares.time[name] ?? 0
    var result = report(name) { ($0.wall(.feed) * share, $0.cpu(.feed) * share) }
    result?.perPiece = shares.pieces[name]
    return result
  }

  private func report(
    _ name: StageReport.Name, _ times: (RunMeasurement) -> (wall: Double, cpu: Double)
  ) -> StageReport? {
    let walls = jobs.map { times($0).wall }
    guard let seconds = Spread(walls), seconds.highest > 0 else { return nil }
    let cpu = Spread.median(of: jobs.map { times($0).cpu })
    let total = Spread.median(of: jobs.map(\.seconds))
    let counts = jobs[0].counts
    let bytes = name == .readBack || name == .output ? counts.resultBytes : counts.bytes
    let hasRate = ![.start, .plan, .sync, .end].contains(name)
    let isParsing = [.textGuard, .parse, .normalize].contains(name)
    func rate(_ amount: Int, _ applies: Bool) -> Double? {
      applies && amount > 0 && seconds.median > 0 ? Double(amount) / seconds.median : nil
    }
    return StageReport(
      name: name, seconds: seconds, cpuSeconds: cpu, share: total > 0 ? seconds.median / total : 0,
      waitSeconds: name == .storeWrite ? seconds.median : max(seconds.median - cpu, 0),
      megabytesPerSecond: rate(bytes, hasRate).map { $0 / 1e6 },
      eventsPerSecond: rate(counts.events, isParsing),
      recordsPerSecond: rate(counts.records, name == .normalize || name == .storeWrite))
  }
}

extension RunMeasurement {
  /// Processor time of the store's own threads: that of all threads less that of the parser's.
  fileprivate var storeCPU: Double {
    max(
      cpuSeconds - cpu(.input) - cpu(.feed) - cpu(.sync) - cpu(.readBack) - cpu(.output)
        - cpu(.marks), 0)
  }
}

/// The shares of guard, parser and normalizer in the time of feeding the parser.
private struct FeedShares {
  private(set) var time: [StageReport.Name: Double] = [.normalize: 1]
  /// The times per chunk.
  private(set) var pieces: [StageReport.Name: Percentiles] = [:]

  init(_ runs: [RunMeasurement]) {
    let whole = Self.time(.normalize, runs)
    guard whole > 0 else { return }
    let guardTime = Self.time(.textGuard, runs)
    let parseTime = Self.time(.parse, runs)
    let textGuard = min(guardTime / whole, 1)
    let parse = min(max(parseTime - guardTime, 0) / whole, 1 - textGuard)
    time = [.textGuard: textGuard, .parse: parse, .normalize: 1 - textGuard - parse]
    guard let run = runs.min(by: { $0.wall(.normalize) < $1.wall(.normalize) }) else { return }
    let (first, second, third) = (
      run.pieceTimes[.textGuard] ?? [], run.pieceTimes[.parse] ?? [],
      run.pieceTimes[.normalize] ?? []
    )
    pieces[.textGuard] = Percentiles(nanoseconds: first)
    pieces[.parse] = Percentiles(nanoseconds: zip(second, first).map { $0 > $1 ? $0 - $1 : 0 })
    pieces[.normalize] = Percentiles(nanoseconds: zip(third, second).map { $0 > $1 ? $0 - $1 : 0 })
  }

  /// The time of a part over all chunks except the first, which also loads code and touches memory
  /// for the others.
  private static func time(_ part: Part, _ runs: [RunMeasurement]) -> Double {
    guard !runs.isEmpty else { return 0 }
    return Spread.median(
      of: runs.map { run in
        let pieces = run.pieceTimes[part] ?? []
        return pieces.count > 2
          ? Double(pieces.dropFirst().reduce(0, +)) / 1e9 : run.wall(part)
      })
  }
}
