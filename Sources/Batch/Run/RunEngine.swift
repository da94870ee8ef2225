import GQLRunPipeline
import GQLRunSupport

/// Runs the tasks of a store until none are left or the run stops.
///
/// ```
/// store ─▶ TaskFeed ─▶ TaskRunner × concurrency ─▶ Recorder ─▶ store
///                         │      ▲                 (groups)
///                         ▼      │ when, how many
///                      pipeline  Governor
/// ```
///
/// The store is a journal with the sinks of one machine (``BatchRun``), or a queue that workers share
/// (``BatchWorker``).
struct RunEngine: Sendable {
  private let recorder: Recorder
  private let runner: TaskRunner
  private let services: Services

  private var store: any TaskStore { runner.feed.store }
  private var stop: RunStop { runner.stop }

  /// Connects the parts of a run.
  ///
  /// - Parameters:
  ///   - manifest: The manifest.
  ///   - store: The tasks.
  ///   - governor: Decides when requests are sent.
  ///   - options: The options of the run.
  ///   - services: The transport, store and clocks that the pipeline uses.
  ///   - stop: Ends the run.
  init(
    _ manifest: Manifest, store: any TaskStore, governor: Governor,
    options: RunOptions = RunOptions(), services: Services, stop: RunStop
  ) {
    self.services = services
    recorder = Recorder(store, stop: stop)
    let settings = manifest.settings
    runner = TaskRunner(
      manifest: manifest, runner: PipelineRunner(manifest.pipeline, services: services),
      governor: governor, feed: TaskFeed(store, recorder: recorder, settings: settings),
      stop: stop, plan: store.plan, numbers: store.numbers,
      options: options, tables: TableLimits(concurrency: settings.concurrency),
      replacedBySnapshot: OutputCheck(manifest, store.plan).replacedBySnapshots())
    stop.onStop { governor.wakeAll() }
  }

  /// Runs the tasks.
  ///
  /// - Parameters:
  ///   - control: Stops the run and reports its progress.
  ///   - helpers: Run beside the tasks, and are cancelled after the last one.
  /// - Throws: The first error of a task, a helper or the store.
  func run(
    _ control: RunControl, beside helpers: [@Sendable () async throws -> Void]
  ) async throws -> RunEnd {
    await control.begin(stop, progress: store.progress, governor: runner.governor)
    let clock = ContinuousClock()
    let start = clock.now
    do {
      try await store.open()
      try await work(beside: helpers)
      try await recorder.barrier()
      // Read once: a signal that arrives now does not make the run an unfinished one.
      var end = stop.end
      end.seconds = (clock.now - start).seconds
      try await store.finish(end)
      return end
    } catch {
      stop.stop(.interrupted)
      // Records what finished before the failure, unless the outputs themselves failed.
      try? await recorder.barrier()
      await store.abandon()
      throw error
    }
  }

  /// Runs tasks until none are left or the run stops.
  ///
  /// Throws the first error at once: a group that waits for all children would wait for workers
  /// that the failed child would have resumed. One child waits for a failure of the store, so that the run
  /// ends even if every worker is waiting for the server.
  private func work(beside helpers: [@Sendable () async throws -> Void]) async throws {
    var helpers = helpers
    helpers.append { try await stop.waitForFailure() }
    if let deadline = runner.manifest.settings.deadline {
      helpers.append {
        guard (try? await services.clock.sleep(for: deadline)) != nil else { return }
        stop.stop(.deadline)
      }
    }
    // Each child returns whether it is a worker.
    try await withThrowingTaskGroup(of: Bool.self) { group in
      for helper in helpers {
        group.addTask {
          try await helper()
          return false
        }
      }
      let executors = services.transport?.executors ?? []
      var workers = runner.manifest.settings.concurrency
      for number in 0..<workers {
        group.addTask(
          executorPreference: executors.isEmpty ? nil : executors[number % executors.count]
        ) {
          while let item = try await runner.feed.next() { try await runner.run(item) }
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
