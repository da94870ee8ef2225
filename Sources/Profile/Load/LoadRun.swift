package import GQLRunPipeline
import GQLRunSupport

/// Sends requests: at a fixed rate, at the rates of stages, or with a fixed concurrency.
package struct LoadRun: Sendable {
  package var model: LoadReport.Model
  /// How long requests are started; stages have their own time.
  package var duration: Duration
  /// The delay of closed-loop load after each response, before the next request of the same slot.
  package var thinkTime = Duration.zero
  /// The names of the operations, by ``RequestOutcome/operation``; empty for one operation.
  package var operations: [String] = []
  package var clock: ServiceClock
  /// The program's processor time, in seconds.
  package var processTime: @Sendable () -> Double
  /// The time of all processors of the machine.
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

  /// Starts requests until the duration is over or the task is cancelled, then waits for those in
  /// flight.
  package func run() async -> LoadReport {
    let (start, processStart, machineStart) = (now, processTime(), machineTime())
    let plan = model.schedule(over: duration.seconds)
    let recorder = LatencyRecorder(start: start, seconds: self.seconds, operations: operations)
    var waits = 0
    if let plan {
      waits = await open(recorder, plan.starts, inFlight: plan.inFlight)
    } else if case .closed(let concurrency) = model {
      await closed(recorder, concurrency: concurrency)
    }
    let isInterrupted = Task.isCancelled
    let elapsed = max(now - start, 1e-9)
    var report = await recorder.report(
      model, seconds: max(elapsed, isInterrupted ? 0 : self.seconds),
      clientLoad: (processTime() - processStart) / elapsed, isInterrupted: isInterrupted)
    if let machineStart, let machineEnd = machineTime() {
      report.machineLoad = machineEnd.load(since: machineStart)
    }
    if thinkTime > .zero { report.thinkSeconds = thinkTime.seconds }
    report.warnings = report.warnings(
      lateStarts: await recorder.lateStarts, waits: waits, plan: plan)
    return report
  }

  /// The time during which requests start, in seconds.
  package var seconds: Double {
    model.schedule(over: duration.seconds)?.starts.seconds ?? duration.seconds
  }

  private var now: Double { clock.now().seconds }

  /// Returns how many requests waited because the maximum was in flight.
  private func open(
    _ recorder: LatencyRecorder, _ starts: LoadSchedule, inFlight: Int
  ) async -> Int {
    let start = now
    var waits = 0
    let free = Monitor(inFlight)
    await withDiscardingTaskGroup { group in
      for number in 0..<starts.count {
        let intended = start + starts.start(of: number)
        let early = intended - now
        if early > 0 { try? await clock.sleep(for: .seconds(early)) }
        // A request that waits for another one starts late, which its latency includes.
        guard !Task.isCancelled else { break }
        if !free.withLock(Self.takeSlot) {
          guard (try? await free.wait(until: Self.takeSlot)) != nil else { break }
          waits += 1
        }
        group.addTask {
          await record(recorder, intended: intended)
          free.update { $0 += 1 }
        }
      }
    }
    return waits
  }

  private func closed(_ recorder: LatencyRecorder, concurrency: Int) async {
    let end = now + duration.seconds
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<concurrency {
        group.addTask {
          while now < end, !Task.isCancelled {
            await record(recorder, intended: nil)
            guard thinkTime > .zero else { continue }
            let rest = end - now
            guard thinkTime.seconds < rest else {
              // No further request starts. The rate is one of the whole duration.
              if rest > 0 { try? await clock.sleep(for: .seconds(rest)) }
              break
            }
            try? await clock.sleep(for: thinkTime)
          }
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

  /// Takes one of the slots for requests in flight; `false` if none is free.
  @Sendable static func takeSlot(_ free: inout Int) -> Bool {
    guard free > 0 else { return false }
    free -= 1
    return true
  }
}
