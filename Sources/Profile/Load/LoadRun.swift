package import GQLRunPipeline

/// Runs one request again and again, at a fixed rate or so many at a time.
package struct LoadRun: Sendable {
  package var model: LoadReport.Model
  /// How long requests are started.
  package var duration: Duration
  package var clock: ServiceClock
  /// Processor time of the program so far, in seconds.
  package var processTime: @Sendable () -> Double
  /// Time of all processors of the machine so far, in any unit.
  package var machineTime: @Sendable () -> MachineTime?
  package var perform: @Sendable () async -> RequestOutcome

  package init(
    model: LoadReport.Model, duration: Duration,
    clock: ServiceClock = ServiceClock(ContinuousClock()),
    processTime: @escaping @Sendable () -> Double = { Double(StageClock.process()) / 1e9 },
    machineTime: @escaping @Sendable () -> MachineTime? = { .current() },
    perform: @escaping @Sendable () async -> RequestOutcome
  ) {
    self.model = model
    self.duration = duration
    self.clock = clock
    self.processTime = processTime
    self.machineTime = machineTime
    self.perform = perform
  }

  /// Starts requests until the duration is over or the task is cancelled, and waits for those that run.
  package func run() async -> LoadReport {
    let recorder = LatencyRecorder()
    let (start, processStart, machineStart) = (now, processTime(), machineTime())
    var waits = 0
    switch model {
    case .open(let rate, let inFlight):
      waits = await open(recorder, rate: rate, inFlight: inFlight)
    case .closed(let concurrency): await closed(recorder, concurrency: concurrency)
    }
    let seconds = max(now - start, 1e-9)
    var report = await report(
      recorder, seconds: seconds, processSeconds: processTime() - processStart, waits: waits)
    if let machineStart, let machineEnd = machineTime() {
      report.machineLoad = machineEnd.load(since: machineStart)
    }
    report.warnings =
      LoadWarnings(
        report: report, lateStarts: await recorder.lateStarts, waits: waits
      ).lines
    return report
  }

  private var now: Double { clock.now().inSeconds }

  /// Returns how often a request had to wait because too many were in flight.
  private func open(_ recorder: LatencyRecorder, rate: Double, inFlight: Int) async -> Int {
    let start = now
    var waits = 0
    let count = Int((duration.inSeconds * rate).rounded())
    let places = Places(inFlight)
    await withDiscardingTaskGroup { group in
      for number in 0..<count {
        let intended = start + Double(number) / rate
        let early = intended - now
        if early > 0 { try? await clock.sleep(for: .seconds(early)) }
        if Task.isCancelled { break }
        // A request that has to wait for another is late, and its latency says so.
        if await places.take() { waits += 1 }
        group.addTask {
          await record(recorder, intended: intended)
          await places.give()
        }
      }
    }
    return waits
  }

  private func closed(_ recorder: LatencyRecorder, concurrency: Int) async {
    let end = now + duration.inSeconds
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<concurrency {
        group.addTask {
          while now < end, !Task.isCancelled { await record(recorder, intended: nil) }
        }
      }
    }
  }

  private func record(_ recorder: LatencyRecorder, intended: Double?) async {
    let started = now
    let outcome = await perform()
    if Task.isCancelled { return }
    await recorder.add(outcome, intended: intended, started: started, ended: now)
  }

  private func report(
    _ recorder: LatencyRecorder, seconds: Double, processSeconds: Double, waits: Int
  ) async -> LoadReport {
    let requests = await recorder.requests
    return LoadReport(
      model: model, seconds: seconds, requests: requests, failures: await recorder.failures,
      errors: await recorder.errorCounts, achievedRate: Double(requests) / seconds,
      corrected: await recorder.correctedLatencies,
      uncorrected: await recorder.uncorrectedLatencies, phases: await recorder.phaseReports,
      receivedBytes: await recorder.receivedBytes, clientLoad: processSeconds / seconds,
      warnings: [])
  }
}

/// The places of requests in flight. One task takes them, many give them back.
actor Places {
  private var free: Int
  private var waiter: CheckedContinuation<Void, Never>?

  init(_ count: Int) { free = count }

  /// Returns whether none was free at once.
  func take() async -> Bool {
    guard free == 0 else {
      free -= 1
      return false
    }
    await withCheckedContinuation { waiter = $0 }
    return true
  }

  func give() {
    guard let waiter else {
      free += 1
      return
    }
    self.waiter = nil
    waiter.resume()
  }
}

extension Duration {
  var inSeconds: Double {
    Double(components.seconds) + Double(components.attoseconds) / 1e18
  }
}
