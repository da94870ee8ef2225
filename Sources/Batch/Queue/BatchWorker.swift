import Foundation
import GQLRunCache
public import GQLRunPipeline
import GQLRunPlugins
import GQLRunPostgres
import GQLRunSupport

/// Runs tasks of a manifest whose journal is a queue, beside other workers on any number of machines.
///
/// ```
/// queue ─▶ QueueFeed ─▶ TaskRunner × concurrency ─▶ Recorder ─▶ QueueStage ─▶ segments, queue
///             ▲            ▲                         (groups)
///             └─ QueuePulse ┘ heartbeat every 10 s, tasks of lost workers
/// ```
public struct BatchWorker: Sendable {
  private let manifest: Manifest
  private let services: Services
  private let url: String

  /// Creates a worker.
  ///
  /// - Parameters:
  ///   - manifest: The manifest, the same for all workers.
  ///   - services: The transport, store and clocks that the pipeline uses.
  /// - Throws: ``JournalError`` if the journal of the manifest is a folder.
  public init(_ manifest: Manifest, services: Services) throws {
    self.manifest = manifest
    self.services = services
    url = try manifest.requiredQueueURL()
  }

  /// What a worker did.
  public struct Summary: Sendable {
    /// The counters of this worker.
    public var counters: RunCounters
    /// Why the worker stopped early; `nil` if no tasks are left.
    public var stop: StopReason?
    /// The error of the server or the network that stopped the worker.
    public var stopDetail: String?
    /// The outage that stopped the worker; `nil` if it stopped for another reason.
    public var outage: Outage?
    /// The duration in seconds.
    public var seconds: Double
    /// The files that this worker wrote, with their records.
    public var outputs: [RunOutput] = []
  }

  /// Runs tasks until none are left or the worker is stopped.
  ///
  /// - Parameter control: Stops the worker and reports its progress.
  /// - Throws: ``JournalError`` if there is no queue, ``StoppedByStorage`` if it cannot be reached or a file cannot be
  ///   written.
  public func run(_ control: RunControl = RunControl()) async throws -> Summary {
    let clock = services.clock
    let patience = manifest.settings.patience
    let client = QueueClient(url, clock: clock, patience: patience)
    // A URL that is wrong is reported soon.
    let worker = try await register(
      QueueClient(url, clock: clock, patience: min(patience, .seconds(10))))
    let stop = RunStop()
    let leases = LeaseTable()
    let plan = try SinkPlan(manifest)
    OpenFiles.raiseLimit()
    let pulse = QueuePulse(
      manifest, worker: worker, client: QueueClient(url, clock: clock), clock: clock, stop: stop)
    let limits = limits(of: worker)
    let tokens = QueueTokens(url, clock: clock, patience: patience)
    var services = services
    services[SharedTokensKey.self] = tokens
    let governor = Governor(
      manifest.settings, limits: manifest.rate, endpoint: manifest.pipeline.endpoint,
      services: services, shared: limits)
    let feed = QueueFeed(
      manifest, worker: worker, client: client, leases: leases, pulse: pulse, services: services,
      stop: stop, concurrency: manifest.settings.concurrency
    ) {
      let left = try await limits.update()
      if left > .zero { governor.pause(for: left) }
    }
    stop.onStop { governor.wakeAll() }
    let stage = QueueStage(
      manifest, url: url, worker: worker, plan: plan, leases: leases, clock: clock,
      patience: patience)
    try await stage.open()
    let (failures, report) = AsyncStream.makeStream(of: (any Error).self)
    let recorder = Recorder(stage, settled: { _ in }, failed: { report.yield($0) })
    let runner = TaskRunner(
      manifest: manifest, runner: PipelineRunner(manifest.pipeline, services: services),
      governor: governor, recorder: recorder, feed: feed, order: nil, stop: stop, plan: plan,
      numbers: Array(manifest.operations.indices), options: RunOptions())
    await control.begin(stop, feed, governor)
    let start = clock.now()
    do {
      try await work(runner, pulse, failures)
      try await recorder.barrier()
      try await leave(worker, feed, client)
    } catch {
      stop.stop(.interrupted)
      try? await recorder.barrier()
      try? await leave(worker, feed, client)
      await stage.close()
      throw error
    }
    let outputs = await stage.outputs()
    await stage.close()
    return Summary(
      counters: feed.counters, stop: stop.reason, stopDetail: stop.detail, outage: stop.outage,
      seconds: (clock.now() - start).seconds, outputs: outputs)
  }

  private func limits(of worker: QueueWorker) -> QueueLimits {
    let client = QueueClient(url, clock: services.clock, patience: manifest.settings.patience)
    let endpoint = manifest.pipeline.endpoint
    let rate = manifest.rate
    let points =
      rate?.adapter == nil
      ? nil
      : QueuePoints(
        client, worker: worker.id, clock: services.clock, credential: endpoint?.origin ?? "",
        reserve: rate?.reserve.fraction ?? 0, budget: Governor.budget(endpoint, services))
    var bound: (perSecond: Double, burst: Int)?
    if let rate, let number = rate.perSecond { bound = (number, rate.burst) }
    return QueueLimits(
      client, clock: services.clock, credential: endpoint?.origin ?? "", rate: bound,
      points: points)
  }

  private func register(_ client: QueueClient) async throws -> QueueWorker {
    try await client.run("begin to work") { [manifest] connection in
      let run = try QueueRun.current(manifest, connection)
      let worker = QueueWorker(id: UUID().uuidString.lowercased(), run: run.id)
      try connection.run(
        "INSERT INTO gq_worker (id, run, host) VALUES ($1::uuid, $2::uuid, $3)", .text(worker.id),
        .text(run.id),
        .text("\(ProcessInfo.processInfo.hostName):\(ProcessInfo.processInfo.processIdentifier)"))
      return worker
    }
  }

  /// Returns the tasks that did not end.
  private func leave(_ worker: QueueWorker, _ feed: QueueFeed, _ client: QueueClient) async throws {
    try await feed.close()
    try await client.run("end the work") { connection in
      try connection.run(
        "UPDATE gq_worker SET ended_at = now() WHERE id = $1::uuid", .text(worker.id))
      return
    }
    await client.close()
  }

  /// Runs tasks beside the heartbeat. The first error ends all.
  private func work(
    _ runner: TaskRunner, _ pulse: QueuePulse, _ failures: AsyncStream<any Error>
  ) async throws {
    let stop = runner.stop
    try await withThrowingTaskGroup(of: Bool.self) { group in
      group.addTask {
        for await failure in failures { throw failure }
        return false
      }
      group.addTask {
        await pulse.run()
        return false
      }
      if let deadline = manifest.settings.deadline {
        group.addTask { [clock = services.clock] in
          do { try await clock.sleep(for: deadline) } catch { return false }
          stop.stop(.deadline)
          return false
        }
      }
      let executors = services.transport?.executors ?? []
      var workers = manifest.settings.concurrency
      for number in 0..<workers {
        group.addTask(
          executorPreference: executors.isEmpty ? nil : executors[number % executors.count]
        ) {
          while let item = try await runner.next() { try await runner.run(item) }
          return true
        }
      }
      do {
        while workers > 0, let isWorker = try await group.next() {
          if isWorker { workers -= 1 }
        }
      } catch {
        stop.stop(.interrupted)
        group.cancelAll()
        throw error
      }
      group.cancelAll()
    }
  }
}
