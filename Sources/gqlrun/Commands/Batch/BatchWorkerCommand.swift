import ArgumentParser
import CGQLRunMemory
import Foundation
import GQLRun
import GQLRunBatch
import GQLRunSupport

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

    @Option(
      name: .long, help: ArgumentHelp("Number of tasks that run at a time; overrides the manifest.")
    )
    var concurrency: Int?

    @OptionGroup var request: RequestOptions

    @Flag(name: .shortAndLong, help: "Log the steps of requests; -vv logs more.")
    var verbose: Int

    @Flag(name: .shortAndLong, help: "Print no progress and no summary.")
    var quiet = false

    func validate() throws {
      if let concurrency, !(1...4096).contains(concurrency) {
        throw ValidationError("--concurrency takes a number from 1 to 4096")
      }
    }

    func run() async throws {
      gqlrun_keep_freed_memory()
      try await reporting {
        var manifest = try source.load(runs: true, request: request).manifest
        if let concurrency { manifest.settings.concurrency = concurrency }
        let summary = try await run(manifest)
        if !quiet { report(summary, manifest) }
        if let failure = BatchOutcome.failure(summary, source.manifest) {
          if !quiet { failure.hintAtToken(for: manifest) }
          throw failure
        }
      }
    }

    private func run(_ manifest: Manifest) async throws -> BatchWorker.Summary {
      // Exceeding a file size limit makes a write fail instead of ending the program.
      signal(SIGXFSZ, SIG_IGN)
      let client = try await PipelineClient.open(
        manifest.pipeline, logger: RunLog.logger(verbosity: verbose, isQuiet: quiet))
      let control = RunControl()
      let progress = BatchProgress(control, isQuiet: quiet)
      do {
        let worker = try BatchWorker(manifest, services: client.services)
        let summary = try await Interruption.runGracefully {
          let display = Task { await progress.show() }
          defer { display.cancel() }
          return try await worker.run(control)
        } onFirst: {
          Terminal.note("\nstopping after the requests in flight; interrupt again to end at once")
          Task { await control.stop() }
        }
        try await client.shutdown()
        return summary
      } catch {
        try? await client.shutdown()
        throw BatchOutcome.failure(error, source.manifest, during: .worker)
      }
    }

    private func report(_ summary: BatchWorker.Summary, _ manifest: Manifest) {
      let counters = summary.counters
      var parts = ["\(counters.done) done"]
      if counters.failed > 0 { parts.append(Terminal.styled("\(counters.failed) failed", .red)) }
      if counters.unknown > 0 { parts.append(Terminal.styled("\(counters.unknown) unknown", .red)) }
      if counters.skipped > 0 { parts.append("\(counters.skipped) skipped") }
      parts.append(Quantity.count(counters.records, "record"))
      let rate = summary.seconds > 0 ? Double(counters.ended) / summary.seconds : 0
      parts.append(String(format: "%.1f s, %.0f/s", summary.seconds, rate))
      Terminal.note(parts.joined(separator: ", "))
      switch summary.stop {
      case nil:
        Terminal.note("no tasks are left")
        // Those of other workers count, too; without the database, the worker has done its work nevertheless.
        if let status = try? BatchQueue(manifest).status() {
          BatchFailures.hints(status.taskCounts, source.manifest)
        }
      case .cancelled: Terminal.note("the run was cancelled")
      default: BatchOutcome.show(summary.outputs, source.manifest)
      }
    }
  }
}
