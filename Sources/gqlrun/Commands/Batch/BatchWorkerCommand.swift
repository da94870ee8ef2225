import ArgumentParser
import GQLRunBatch

extension BatchCommand {
  struct Worker: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "worker",
      abstract: "Run tasks of a queue until none are left.",
      discussion: """
        Any number of workers on any number of machines may run at the same time, and be started and \
        stopped at will. After an interrupt (SIGINT, SIGTERM), requests in flight are completed, and the \
        other tasks returned. A worker that vanishes is noticed after 30 seconds: tasks that it did not \
        send are queued again, mutations that it sent end as `unknown`. Exit code 0 if no tasks are left, \
        whether or not tasks failed; 130 after an interrupt.

        EXAMPLE
          gqlrun batch worker cluster.batch.yaml --concurrency 32
        """)

    @OptionGroup var source: ManifestOptions

    @OptionGroup var limits: ConcurrencyOptions
    @OptionGroup var request: RequestOptions
    @OptionGroup var metrics: MetricsOptions

    @Flag(name: .shortAndLong, help: "Log the steps of requests; -vv logs more.")
    var verbose: Int

    @Flag(name: .shortAndLong, help: "Print no progress and no summary.")
    var quiet = false

    func run() async throws {
      var manifest = try source.load(runs: true, request: request).manifest
      if let concurrency = limits.concurrency { manifest.settings.concurrency = concurrency }
      let summary = try await BatchExecution.run(
        manifest, source.shellPath, verbose: verbose, isQuiet: quiet, during: .worker
      ) { [manifest] services, control in
        try await BatchWorker(manifest, services: services).run(control)
      }
      if !quiet { report(summary, manifest) }
      try BatchOutcome.end(
        with: BatchOutcome.failure(summary, source.shellPath), of: manifest, isQuiet: quiet)
    }

    private func report(_ summary: BatchWorker.Summary, _ manifest: Manifest) {
      BatchOutcome.show(summary.counters, seconds: summary.seconds)
      switch summary.stop {
      case nil:
        Terminal.note("no tasks are left")
        // Those of other workers count, too; without the database, the worker has done its work nevertheless.
        if let status = try? BatchQueue(manifest).status() {
          BatchFailures.hints(status.taskCounts, source.shellPath)
        }
      case .cancelled: Terminal.note("the run was cancelled")
      default: BatchOutcome.show(summary.outputs, source.shellPath)
      }
    }
  }
}
