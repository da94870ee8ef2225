import ArgumentParser
import Foundation
import GQLRunBatch
import GQLRunSupport

/// The number of tasks at a time, for commands that run those of a manifest.
struct ConcurrencyOptions: ParsableArguments {
  @Option(help: "Number of tasks that run at a time; overrides the manifest.")
  var concurrency: Int?

  func validate() throws { try Self.check(concurrency) }

  static func check(_ concurrency: Int?) throws {
    guard let concurrency, !(1...4096).contains(concurrency) else { return }
    throw ValidationError("--concurrency takes a number from 1 to 4096")
  }
}

struct BatchRunCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "run",
    abstract: "Run a manifest.",
    discussion: """
      Writes results to the manifest's sinks, or to standard output if it has none; progress goes to \
      standard error. After an interrupt, requests in flight are completed and their results written; a \
      second interrupt ends the run at once. In both cases --resume continues. In a job of \
      Kubernetes (completionMode: Indexed) or an array of Slurm, --shard auto --resume runs the job's shard.

      EXAMPLES
        gqlrun batch run nightly.batch.yaml
        gqlrun batch run nightly.batch.yaml --resume
        gqlrun batch run nightly.batch.yaml --only failed
        gqlrun batch run nightly.batch.yaml --dry-run
        gqlrun batch run nightly.batch.yaml --shard 2/4
      """)

  @OptionGroup var source: ManifestOptions

  @Flag(help: "Continue the newest run; start one if there is none.")
  var resume = false

  @Option(
    help: ArgumentHelp("Run only the tasks that failed in the newest run.", valueName: "failed"))
  var only: Selection?

  @Option(
    help: ArgumentHelp(
      "Run one of several shards, such as 2/4; `auto` asks the scheduler, `auto/4` only for the number.",
      valueName: "i/n"),
    transform: ShardArgument.parse)
  var shard: Shard?

  @OptionGroup var limits: ConcurrencyOptions

  @Flag(help: "Send nothing; print the number of tasks and the first requests.")
  var dryRun = false

  @Flag(help: "Save the received data as the new snapshots.")
  var updateSnapshots = false

  @Flag(help: "Check every row before the first request, without a time limit.")
  var checkAll = false

  @OptionGroup var outputs: OverwriteOptions
  @OptionGroup var request: RequestOptions
  @OptionGroup var metrics: MetricsOptions

  @Flag(name: .shortAndLong, help: "Log the steps of requests; -vv logs more.")
  var verbose: Int

  @Flag(name: .shortAndLong, help: "Print no progress and no summary.")
  var quiet = false

  enum Selection: String, ExpressibleByArgument, CaseIterable {
    case failed
  }

  func validate() throws {
    if dryRun, resume || only != nil {
      throw ValidationError(
        "--dry-run shows what a new run sends; leave out \(resume ? "--resume" : "--only failed")")
    }
    if resume, only != nil {
      throw ValidationError(
        "--resume and --only failed continue the newest run in two ways; leave out one of them")
    }
  }

  func run() async throws {
    var manifest = try source.load(runs: !dryRun, request: request).manifest
    if let concurrency = limits.concurrency { manifest.settings.concurrency = concurrency }
    if dryRun { return try show(DryRun(manifest, shard: shard)) }
    var options = RunOptions()
    options.resumes = resume
    options.onlyFailed = only == .failed
    options.shard = shard
    options.updatesSnapshots = updateSnapshots
    options.checksAllRows = checkAll
    options.overwrites = outputs.overwrite
    let work: BatchOutcome.Work = only == nil ? .run : .repetition
    let summary = try await BatchExecution.run(
      manifest, continued, verbose: verbose, isQuiet: quiet, during: work
    ) { [manifest, options] services, control in
      try await BatchRun(manifest, options: options, services: services).run(control)
    }
    if !quiet { report(summary) }
    for warning in summary.warnings { Terminal.warning(warning) }
    try BatchOutcome.end(
      with: BatchOutcome.failure(
        summary, source.shellPath, continued: continued, during: work, isReported: !quiet),
      of: manifest, isQuiet: quiet)
  }

  /// The manifest as commands have it that continue the run: with the shard.
  private var continued: String {
    source.shellPath
      + (shard.map { " --shard \($0.number)/\($0.count)" } ?? "")
  }

  private func report(_ summary: RunSummary) {
    BatchOutcome.show(summary.counters, seconds: summary.seconds)
    if verbose > 0 {
      Terminal.note(
        String(
          format: "journal %.2f s, sinks %.2f s", summary.journalSeconds, summary.sinkSeconds))
      if let tables = summary.tables { Terminal.note(tables.text) }
    }
    for threshold in summary.missedThresholds {
      Terminal.error("threshold not met: \(threshold)")
    }
    reportFailures(summary)
    BatchOutcome.show(summary.outputs, source.shellPath)
    Terminal.note("journal: \(Terminal.safe(summary.journal))")
  }

  private func reportFailures(_ summary: RunSummary) {
    let command = "gqlrun batch errors \(source.shellPath)"
    if let failures = summary.failures {
      for line in BatchFailures.lines(failures) { Terminal.error(line) }
      if BatchFailures.hasMore(failures) { Terminal.hint("\(command) lists all reasons") }
    }
    var before = summary.earlier
    before.byState[.unknown] = nil
    if let tasks = BatchFailures.summary(before) {
      Terminal.hint("\(tasks) earlier; \(command) lists the reasons")
    }
    if summary.counts[.unknown] > 0 {
      Terminal.error(
        "\(BatchFailures.unknown(summary.counts[.unknown])): sent, and no response was recorded")
      Terminal.hint("\(command) lists their keys and what to do")
    }
    guard summary.stop == nil else { return }
    let known = summary.counters.earlier[.failed]
    if summary.counters.failed + known > 0 {
      Terminal.hint("gqlrun batch run \(continued) --only failed repeats the failed tasks")
    }
    if before[.failed] > known {
      Terminal.hint(
        "\(Quantity.count(before[.failed] - known, "task")) failed whose row or document was changed or removed since; "
          + "a run without --resume has only the present ones")
    }
  }

  private func show(_ dry: DryRun) throws {
    var lines: [String] = []
    for entry in dry.entries {
      let tasks = entry.tasks.map { Quantity.count($0, "task") } ?? "known when it runs"
      lines.append(
        "\(entry.operation): \(tasks)\(entry.hasPages ? ", each with further pages" : "")")
      for request in entry.requests { lines.append("  POST \(dry.endpoint) \(request)") }
    }
    if let total = dry.total { lines.append("\(Quantity.count(total, "task")) in all") }
    lines.append(estimate(dry))
    for problem in dry.problems { Terminal.error(problem) }
    try Terminal.write(Terminal.safe(lines.joined(separator: "\n")) + "\n")
    if !dry.problems.isEmpty { throw Failure(.badInput, "") }
  }

  /// The estimated cost of the run.
  private func estimate(_ dry: DryRun) -> String {
    let cost = dry.cost
    let isLeast = dry.total == nil || dry.entries.contains { $0.hasPages }
    var parts = [
      Quantity.count(cost.requests, "request"),
      "up to \(Quantity.count(cost.objects, "object"))\(isLeast ? " in them" : "")",
    ]
    if dry.countsPoints { parts.append("about \(Quantity.count(cost.points, "point"))") }
    if let rate = dry.rate {
      parts.append(
        String(format: "%.0f s at %.2f requests per second", Double(cost.requests) / rate, rate))
    }
    return "estimated cost: \(isLeast ? "at least " : "")" + parts.joined(separator: ", ")
  }
}
