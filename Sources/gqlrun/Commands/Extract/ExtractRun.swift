import Foundation
import GQLRun
import GQLRunBatch
import GQLRunJSON
import GQLRunPipeline
import GQLRunPlugins
import GQLRunSupport

/// Runs the manifest of `gqlrun extract`.
struct ExtractRun {
  let manifest: Manifest
  /// Whether to continue the newest run: where it stopped, or with the pages that failed in it.
  let resumes: Bool
  /// Whether a newest run of another document or of other variables is an error.
  let requiresSame: Bool
  let overwrites: Bool
  let verbose: Int
  let isQuiet: Bool

  /// How a run that stopped is continued.
  private static let how = "the same command with --resume continues"

  func run() async throws {
    let run: ExtractionRun
    do {
      run = try ExtractionRun(
        manifest, resumes: resumes, requiresSame: requiresSame, overwrites: overwrites)
    } catch {
      throw BatchOutcome.failure(error, manifest.file, during: .queue)
    }
    if run.isOfOther, !isQuiet {
      Terminal.hint("the newest run has another document or other variables: a new one begins")
    }
    let summary = try await BatchExecution.run(
      manifest, manifest.file, verbose: verbose, isQuiet: isQuiet, during: .extraction
    ) { services, control in try await run.run(services, control) }
    if !isQuiet { report(summary.tables, seconds: summary.end.seconds) }
    for warning in summary.warnings { Terminal.warning(warning) }
    if !isQuiet, let journal = summary.journal {
      Terminal.note("journal: \(Terminal.safe(journal))")
    }
    try end(
      BatchOutcome.failure(
        summary.end.reason, detail: summary.end.detail, outage: summary.end.outage, how: Self.how),
      reasons: summary.failures)
  }

  /// Prints the number of rows of each table, and those of requests.
  private func report(_ tables: TablesSummary, seconds: Double) {
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
