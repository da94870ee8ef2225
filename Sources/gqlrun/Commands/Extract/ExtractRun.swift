import Foundation
import GQLRun
import GQLRunBatch
import GQLRunJSON
import GQLRunPipeline
import GQLRunPlugins
import GQLRunSupport

/// Runs the manifest of `gqlrun extract`: with a journal, or through a queue with one worker in this process.
struct ExtractRun {
  let manifest: Manifest
  /// Whether to continue the newest run, with the pages that failed in it.
  let resumes: Bool
  /// Whether to request only the pages that failed.
  let onlyFailed: Bool
  let overwrites: Bool
  let verbose: Int
  let isQuiet: Bool

  /// How a run that stopped is continued.
  private static let how = "the same command with --resume continues"

  /// Runs with a journal on this machine.
  func withJournal() async throws {
    var options = resumes || onlyFailed ? manifest.continuation : RunOptions()
    options.overwrites = overwrites
    let summary = try await execute { [manifest, options] services, control in
      try await BatchRun(manifest, options: options, services: services).run(control)
    }
    if !isQuiet { report(summary.tables, seconds: summary.seconds) }
    for warning in summary.warnings { Terminal.warning(warning) }
    if !isQuiet { Terminal.note("journal: \(Terminal.safe(summary.journal))") }
    try end(
      BatchOutcome.failure(
        summary.stop, detail: summary.stopDetail, outage: summary.outage, how: Self.how),
      reasons: summary.hasFailures ? try RunInspection(manifest).failureReasons() : nil)
  }

  /// Adds the task to the queue in the database of the tables, and runs it in this process.
  func inQueue() async throws {
    let queue = try describingErrors {
      let queue = try BatchQueue(manifest)
      let hasBegun = try queue.initialize(beginsNew: !resumes && !onlyFailed)
      if !hasBegun {
        _ = try TaskResolution(.retry, of: .failed).apply(to: manifest)
      }
      _ = try queue.enqueue()
      return queue
    }
    let summary = try await execute { [manifest] services, control in
      try await BatchWorker(manifest, services: services).run(control)
    }
    if !isQuiet { report(summary.tables, seconds: summary.seconds) }
    for warning in summary.warnings { Terminal.warning(warning) }
    let reasons = try describingErrors { () -> FailureReasons? in
      let counts = try queue.status().taskCounts
      guard counts[.failed] + counts[.unknown] + counts[.skipped] > 0 else { return nil }
      return try queue.inspect { try $0.failureReasons() }
    }
    try end(
      BatchOutcome.failure(
        summary.stop, detail: summary.stopDetail, outage: summary.outage, how: Self.how),
      reasons: reasons)
  }

  private func execute<Summary: Sendable>(
    _ body: @escaping @Sendable (Services, RunControl) async throws -> Summary
  ) async throws -> Summary {
    try await BatchExecution.run(
      manifest, manifest.file, verbose: verbose, isQuiet: isQuiet, during: .extraction, body: body)
  }

  /// Prints the number of rows of each table, and those of requests.
  private func report(_ tables: TablesSummary?, seconds: Double) {
    guard let tables else { return }
    for line in tables.tableText.split(separator: "\n") {
      Terminal.note(Terminal.safe(String(line)))
    }
    Terminal.note("\(tables.text), \(String(format: "%.1f s", seconds))")
  }

  /// Throws the failure of a run that stopped, or whose tables lack rows.
  private func end(_ stop: Failure?, reasons: FailureReasons?) throws {
    if let stop {
      if !isQuiet { stop.hintAtToken(for: manifest) }
      throw stop
    }
    guard let reasons, let first = reasons.all.first else { return }
    let more =
      "--only failed requests the pages that failed, --allow-partial accepts tables without them"
    if !isQuiet, first.isIncomplete { Terminal.hint("the same command with \(more)") }
    throw Failure(.failed, first.message)
  }

  private func describingErrors<Result>(_ body: () throws -> Result) throws -> Result {
    do { return try body() } catch {
      throw BatchOutcome.failure(error, manifest.file, during: .queue)
    }
  }
}

/// The preview of `gqlrun extract --dry-run`.
enum ExtractPreview {
  /// Prints the tables of a manifest. Sends one request if the document selects the totals of connections that no list is
  /// above.
  static func show(_ manifest: Manifest, isQuiet: Bool, verbose: Int) async throws {
    guard var preview = TablesPreview(manifest) else { return }
    if let operation = try preview.totalsOperation() {
      let client = try await PipelineClient.open(
        manifest.pipeline, logger: RunLog.logger(verbosity: verbose, isQuiet: isQuiet))
      let data = try await client.shutdown { client in
        try await Interruption.run {
          var last: GraphQLResponse?
          for try await response in client.execute(GraphQLRequest(operation)) { last = response }
          return try last?.data.unlessNull.map { try JSONValue(parsing: $0.bytes()) }
        }
      }
      if let data { preview.read(data) }
    }
    try Terminal.write(Terminal.safe(preview.text))
  }
}
