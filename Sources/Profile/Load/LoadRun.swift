package import Pipeline

/// Runs one request again and again, at a fixed rate or so many at a time.
package struct LoadRun: Sendable {
  package var model: LoadReport.Model
  /// How long requests are started.
  package var duration: Duration
  package var clock: ServiceClock
  /// Processor time of the program so far, in seconds.
  package var processTime: @Sendable () -> Double
  package var perform: @Sendable () async -> RequestOutcome

  package init(
    model: LoadReport.Model, duration: Duration,
    clock: ServiceClock = ServiceClock(ContinuousClock()),
    processTime: @escaping @Sendable () -> Double = { Double(StageClock.process()) / 1e9 },
    perform: @escaping @Sendable () async -> RequestOutcome
  ) {
    self.model = model
    self.duration = duration
    self.clock = clock
    self.processTime = processTime
    self.perform = perform
  }

  /// Starts requests until the duration is over or the task is cancelled, and waits for those that run.
  package func run() async -> LoadReport {
    let recorder = LatencyRecorder()
    let (start, processStart) = (now, processTime())
    var waits = 0
    switch model {
    case .open(let rate, let inFlight):
      waits = await open(recorder, rate: rate, inFlight: inFlight)
    case .closed(let concurrency): await closed(recorder, concurrency: concurrency)
    }
    let seconds = max(now - start, 1e-9)
    return await report(
      recorder, seconds: seconds, processSeconds: processTime() - processStart, waits: waits)
  }

  private var now: Double { clock.now().inSeconds }

  /// Returns how often a request had to wait because too many were in flight.
  private func open(_ recorder: LatencyRecorder, rate: Double, inFlight: Int) async -> Int {
    let start = now
    var waits = 0
    let count = Int((duration.inSeconds * rate).rounded())
    await withTaskGroup(of: Void.self) { group in
      var running = 0
      for number in 0..<count {
        let intended = start + Double(number) / rate
        let early = intended - now
        if early > 0 { try? await clock.sleep(for: .seconds(early)) }
        if Task.isCancelled { break }
        // A request that has to wait for another is late, and its latency says so.
        if running == inFlight {
          await group.next()
          running -= 1
          waits += 1
        }
        running += 1
        group.addTask { await record(recorder, intended: intended) }
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
    var report = LoadReport(
      model: model, seconds: seconds, requests: requests, failures: await recorder.failures,
      errors: await recorder.errorCounts, achievedRate: Double(requests) / seconds,
      corrected: await recorder.correctedLatencies,
      uncorrected: await recorder.uncorrectedLatencies, phases: await recorder.phaseReports,
      receivedBytes: await recorder.receivedBytes, clientLoad: processSeconds / seconds,
      warnings: [])
    report.warnings = warnings(report, latestStart: await recorder.latestStart, waits)
    return report
  }

  private func warnings(
    _ report: LoadReport, latestStart: Double, _ waits: Int
  ) -> [String] {
    var warnings: [String] = []
    let cores = Double(Machine.current().cores)
    if report.clientLoad > 0.8 * cores {
      warnings.append(
        "this program used \(Int(report.clientLoad * 100)) % of a core on a machine of "
          + "\(Int(cores)): the figures may be the client's; use a lower rate, or another machine")
    }
    if case .open(let rate, let inFlight) = report.model {
      if report.achievedRate < 0.95 * rate {
        warnings.append(
          "\(Int(report.achievedRate)) requests per second were answered where \(Int(rate)) were asked "
            + "for: the latencies grow with the length of the run and say that the rate is too high"
        )
      }
      if waits > 0 {
        warnings.append(
          "\(waits) requests had to wait for one of \(inFlight) in flight to end; "
            + "--concurrency allows more")
      } else if latestStart > 0.01 {
        warnings.append(
          "a request started \(Int(latestStart * 1e3)) ms after its time, because this program or the "
            + "machine was busy")
      }
    }
    return warnings
  }
}

extension Duration {
  var inSeconds: Double {
    Double(components.seconds) + Double(components.attoseconds) / 1e18
  }
}
