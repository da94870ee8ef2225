import Foundation
import GQLRun
import GQLRunBatch
import GQLRunJSON
import GQLRunPipeline

extension ExtractCommand {
  /// How a run that stopped is continued.
  private static let how = "the same command with --resume continues"

  /// Runs the manifest.
  func extract(_ manifest: Manifest) async throws {
    let run: ExtractionRun
    do {
      // The pages that failed are those of a run of this document and these variables.
      run = try ExtractionRun(
        manifest, resumes: resume || only != nil, requiresSame: only != nil, overwrites: overwrite)
    } catch {
      throw BatchOutcome.failure(error, manifest.file, during: .queue)
    }
    if run.isOfOther, !quiet {
      Terminal.hint("the newest run has another document or other variables: a new one begins")
    }
    let summary = try await BatchExecution.run(
      manifest, manifest.file, verbose: verbose, isQuiet: quiet, during: .extraction
    ) { services, control in try await run.run(services, control) }
    if !quiet { report(summary.tables, seconds: summary.end.seconds) }
    for warning in summary.warnings { Terminal.warning(warning) }
    if !quiet, let journal = summary.journal {
      Terminal.note("journal: \(Terminal.safe(journal))")
    }
    try end(
      BatchOutcome.failure(
        summary.end.reason, detail: summary.end.detail, outage: summary.end.outage, how: Self.how),
      reasons: summary.failures, of: manifest)
  }

  /// Prints the number of rows of each table, and those of requests.
  private func report(_ tables: TablesSummary, seconds: Double) {
    for line in tables.tableText.split(separator: "\n") {
      Terminal.note(Terminal.safe(String(line)))
    }
    Terminal.note("\(tables.text), \(String(format: "%.1f s", seconds))")
  }

  /// Throws the failure of a run that stopped, or whose tables lack rows.
  private func end(_ stop: Failure?, reasons: FailureReasons?, of manifest: Manifest) throws {
    try BatchOutcome.end(with: stop, of: manifest, isQuiet: quiet)
    guard let reasons, let first = reasons.all.first else { return }
    let more =
      "--only failed requests the pages that failed, --allow-partial accepts tables without them"
    if !quiet, first.isIncomplete { Terminal.hint("the same command with \(more)") }
    throw Failure(.failed, first.message)
  }

  /// Prints the tables of a manifest. Sends one request if the document selects the totals of connections that no list is
  /// above.
  func preview(_ manifest: Manifest) async throws {
    guard var preview = TablesPreview(manifest) else { return }
    if let operation = try preview.totalsOperation() {
      let client = try await PipelineClient.open(
        manifest.pipeline, logger: RunLog.logger(verbosity: verbose, isQuiet: quiet))
      let data = try await Interruption.run {
        try await client.shutdown { client in
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
