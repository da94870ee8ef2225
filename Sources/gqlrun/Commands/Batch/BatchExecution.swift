import CGQLRunMemory
import Foundation
import GQLRun
import GQLRunBatch
import GQLRunPipeline

/// Runs tasks of a manifest with the client of its pipeline, shows the progress, and stops after an interrupt.
enum BatchExecution {
  /// - Parameters:
  ///   - manifest: The manifest.
  ///   - file: The manifest's file as messages have it: that of a shard with its option.
  ///   - verbose: The verbosity of the log.
  ///   - isQuiet: Whether to show no progress.
  ///   - work: What the command does, for the advice of a message.
  ///   - body: The run, with the services of the client and the control that stops it.
  static func run<Summary: Sendable>(
    _ manifest: Manifest, _ file: String, verbose: Int, isQuiet: Bool,
    during work: BatchOutcome.Work,
    body: @escaping @Sendable (Services, RunControl) async throws -> Summary
  ) async throws -> Summary {
    gqlrun_keep_freed_memory()
    let client = try await PipelineClient.open(
      manifest.pipeline, logger: RunLog.logger(verbosity: verbose, isQuiet: isQuiet))
    let control = RunControl()
    ProgramTelemetry.current?.registry?.follow(control)
    do {
      return try await Interruption.run {
        try await client.shutdown { client in
          try await withThrowingTaskGroup(of: Summary?.self) { group in
            group.addTask { try await body(client.services, control) }
            group.addTask {
              if !isQuiet { await ProgressLog.show(control, countsRows: work == .extraction) }
              return nil
            }
            defer { group.cancelAll() }
            while let result = try await group.next() {
              if let summary = result { return summary }
            }
            throw CancellationError()
          }
        }
      } onFirst: {
        Task { await control.stop() }
        // Standard error may have a reader that does not read; the next signal must not wait for that.
        DispatchQueue.global().async {
          Terminal.note("\nstopping after the requests in flight; interrupt again to end at once")
        }
      }
    } catch {
      throw BatchOutcome.failure(error, file, during: work)
    }
  }
}
