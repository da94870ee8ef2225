import ArgumentParser
import Foundation
import GQLRunBatch
import GQLRunPipeline
import GQLRunPlugins
import GQLRunSupport
import HTTPTypes

struct BatchCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "batch",
    abstract: "Run many operations from a manifest: checked, resumable, each result exactly once.",
    discussion: """
      A manifest declares operations, the rows that they run over, the pipeline and the sinks. All \
      errors in it are reported before anything is sent. A journal records the state of each task: \
      --resume continues a run that was interrupted or failed.

      The options for header fields, credentials and connections are those of `gqlrun run`. They \
      override the manifest and its pipeline, and apply to all operations. Without `pipeline` in the \
      manifest, the token in GQL_TOKEN is sent.

      EXAMPLES
        gqlrun batch new export.batch.yaml
        gqlrun batch check nightly.batch.yaml
        gqlrun batch run nightly.batch.yaml
        gqlrun batch run nightly.batch.yaml --resume
        gqlrun batch errors nightly.batch.yaml
        gqlrun batch resolve nightly.batch.yaml --done KEY
        gqlrun batch report nightly.batch.yaml
        gqlrun batch prune nightly.batch.yaml

      ON SEVERAL MACHINES
        gqlrun batch init cluster.batch.yaml
        gqlrun batch enqueue cluster.batch.yaml
        gqlrun batch worker cluster.batch.yaml
        gqlrun batch status cluster.batch.yaml
        gqlrun batch retry cluster.batch.yaml --failed
        gqlrun batch merge cluster.batch.yaml

      EXIT CODES
        0    success
        1    an operation, an expectation or a threshold failed
        65   a manifest, document or row is invalid
        69   the endpoint is unreachable
        75   stopped by a rate limit or a deadline; --resume continues
        77   the endpoint refused the credentials
        78   the pipeline file is invalid
        130  interrupted; --resume continues
      """,
    subcommands: [
      BatchRunCommand.self, Check.self, Init.self, Enqueue.self, Worker.self, Status.self,
      Errors.self, Resolve.self, Retry.self, Report.self, Diff.self, Merge.self, Cancel.self,
      Prune.self, Trust.self,
      New.self, Sinks.self, Schema.self,
    ])

  struct Check: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "check",
      abstract: "Report all errors in a manifest and its rows.",
      discussion: """
        Reads every row and sends nothing. Exit code 65 if there are errors. Takes the options of \
        `gqlrun batch run` for requests, and checks them, too.

        EXAMPLE
          gqlrun batch check nightly.batch.yaml --format github
        """)

    @OptionGroup var source: ManifestOptions

    @Option(help: ArgumentHelp("Format of the diagnostics.", valueName: "format"))
    var format = FindingFormat.human

    @OptionGroup var outputs: OverwriteOptions
    @OptionGroup var request: RequestOptions

    func run() async throws {
      let loaded = try source.load(format: format, request: request)
      let report: RowReport
      do {
        report = try await RowReport(loaded.manifest, overwrites: outputs.overwrite)
      } catch {
        throw BatchOutcome.failure(error, source.shellPath)
      }
      for problem in report.problems { Terminal.note(Terminal.safe("error: \(problem)")) }
      guard report.problems.isEmpty else {
        throw Failure(
          .badInput,
          "\(Quantity.count(report.problems.count, "problem")) in the rows or outputs of "
            + source.manifest)
      }
      let tasks =
        "\(report.isExact ? "" : "at least ")\(Quantity.count(report.count, "task"))"
      if format == .human {
        Terminal.note(
          Terminal.safe(
            "\(source.manifest): ok, \(Quantity.count(loaded.manifest.operationCount, "operation")), "
              + tasks))
      }
    }
  }

  struct Status: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "status",
      abstract: "Print the state of the newest run of a manifest.",
      discussion: """
        Also works while the run is in progress. With a journal in PostgreSQL, the status on a \
        terminal changes until no tasks are left.

        EXAMPLE
          gqlrun batch status nightly.batch.yaml --json
        """)

    @OptionGroup var source: ManifestOptions
    @OptionGroup var journal: JournalOptions

    @Flag(help: "Print JSON.")
    var json = false

    func run() async throws {
      let manifest = try source.load().manifest
      if manifest.queueURL != nil {
        try journal.refuse(manifest)
        do {
          return try await show(BatchQueue(manifest))
        } catch {
          throw BatchOutcome.failure(error, source.shellPath, during: .queue)
        }
      }
      let inspection = try RunInspection(manifest, journal: journal.journal)
      try Terminal.write(json ? inspection.statusJSON() : inspection.status())
      let unknown = json ? 0 : try inspection.unknownTasks()
      if unknown > 0, try inspection.hasEnded() {
        Terminal.hint(
          "\(BatchFailures.unknown(unknown)); gqlrun batch errors \(source.shellPath) lists their keys and what to do"
        )
      }
    }
  }

  struct Report: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "report",
      abstract: "Write the reports of a run from its journal.",
      discussion: """
        Writes the files listed under `report` in the manifest, and prints the figures as JSON.

        EXAMPLE
          gqlrun batch report nightly.batch.yaml
        """)

    @OptionGroup var source: ManifestOptions
    @OptionGroup var journal: JournalOptions
    @OptionGroup var outputs: OverwriteOptions

    func run() async throws {
      try journal.inspect(source) { inspection, _ in
        let written = try source.describingErrors {
          try inspection.writeReports(overwrites: outputs.overwrite)
        }
        for path in written { Terminal.note("wrote \(Terminal.safe(path))") }
        try Terminal.write(inspection.report())
      }
    }
  }

  struct Diff: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "diff",
      abstract: "Compare two runs: new failures, fixed failures, changed latencies.",
      discussion: """
        Without options, compares the last two runs. Exit code 1 if there are new failures.

        EXAMPLE
          gqlrun batch diff nightly.batch.yaml
        """)

    @OptionGroup var source: ManifestOptions

    @Option(help: ArgumentHelp("Journal of the earlier run.", valueName: "file"))
    var from: String?

    @Option(help: ArgumentHelp("Journal of the later run.", valueName: "file"))
    var to: String?

    func run() async throws {
      let diff = try RunDiff(source.load().manifest, from: from, to: to)
      try Terminal.write(Terminal.safe(diff.text))
      if diff.broken > 0 {
        throw Failure(
          .failed,
          "\(Quantity.count(diff.broken, "task")) of the earlier run did not succeed in the later one"
        )
      }
    }
  }

  struct Merge: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "merge",
      abstract: "Merge the outputs of shards or workers.",
      discussion: """
        After `gqlrun batch run M --shard 1/4` to `4/4`, on one or several machines: copy the outputs \
        and journals into the manifest's folder, then merge them. This also saves the bookmarks \
        and the values of `since` of the shards, which the next run starts from. With a journal in \
        PostgreSQL, joins the segments NAME.WORKER.part that the workers wrote.

        EXAMPLE
          gqlrun batch merge nightly.batch.yaml
        """)

    @OptionGroup var source: ManifestOptions
    @OptionGroup var outputs: OverwriteOptions

    func run() async throws {
      let manifest = try source.load().manifest
      if manifest.queueURL != nil {
        let files = try source.describingErrors(during: .queue) {
          try BatchQueue(manifest).merge(overwrites: outputs.overwrite)
        }
        for file in files { Terminal.note("wrote \(Terminal.safe(file))") }
        return
      }
      let merge = try source.describingErrors {
        try ShardMerge(manifest, overwrites: outputs.overwrite)
      }
      for file in merge.files { Terminal.note("wrote \(Terminal.safe(file))") }
      Terminal.note("\(Quantity.count(merge.tasks, "task")) in \(Terminal.safe(merge.journal))")
    }
  }
}

/// The options that name a manifest and its endpoint.
struct ManifestOptions: ParsableArguments {
  @Argument(help: "Manifest; - is standard input.")
  var manifest: String

  @Option(
    name: .shortAndLong,
    help: EndpointArguments.endpointHelp("overrides GQL_URL, the manifest and its pipeline"))
  var endpoint: String?

  @Flag(help: TrustOptions.help)
  var allowExec = false

  /// The manifest as a word of the commands in messages.
  var shellPath: String { QuotedText.shellPath(manifest) }

  /// The flag as the group that other commands have; a group in a group takes longer to parse.
  private var trust: TrustOptions { TrustOptions(allowExec: allowExec) }

  init() {}

  /// The options of a command that has its own option for the manifest.
  init(manifest: String, endpoint: String?, allowExec: Bool) {
    self.manifest = manifest
    self.endpoint = endpoint
    self.allowExec = allowExec
  }

  /// Loads the manifest; prints its diagnostics, and throws if it has errors.
  ///
  /// - Parameters:
  ///   - format: The format of the diagnostics.
  ///   - runs: Whether the manifest will run. Otherwise no program is started and `${exec:…}` is
  ///     not expanded, except with --allow-exec.
  ///   - request: The options for requests, which override the manifest's pipeline. GQL_TOKEN is sent if
  ///     the manifest names none, as by `gqlrun run` without --pipeline.
  /// - Throws: ``Failure`` if the manifest has errors, its programs are not allowed, or an option is invalid.
  func load(
    format: FindingFormat = .human, runs: Bool = false, request: RequestOptions? = nil
  ) throws -> ManifestLoader.Loaded {
    let endpoint = endpoint.map { EndpointArguments.withScheme($0) }
    if let endpoint { try EndpointArguments.check(endpoint, "--endpoint") }
    if manifest == "-", let request, request.readsStandardInput {
      throw Failure(
        .usage, "standard input is the manifest, so --header @- cannot read it; name a file")
    }
    let fields = try request?.fields() ?? [:]
    var loaded = try read(format, endpoint: endpoint, runs: runs)
    try request?.apply(
      fields, to: &loaded.manifest.pipeline, isDefault: !loaded.manifest.namesPipeline)
    return loaded
  }

  private func read(
    _ format: FindingFormat, endpoint: String?, runs: Bool
  ) throws -> ManifestLoader.Loaded {
    do {
      let bytes = try ManifestLoader.bytes(of: manifest)
      let environment = PipelineFileEnvironment.gqlrun(endpoint: endpoint)
      let read = { (environment: PipelineFileEnvironment) in
        try ManifestLoader.load(
          bytes, path: manifest, registry: .builtIn, environment: environment, endpoint: endpoint)
      }
      let loaded = try environment.loadingReplays { environment in
        runs || trust.allowsAll
          ? try ProgramGate(allowsAll: trust.allowsAll, file: manifest, command: "batch")
            .load(environment, read: read) { ProgramGate.Facts($0.manifest.pipeline) }
          : try read(environment.withPlaceholders)
      } pipeline: {
        $0.manifest.pipeline
      }
      try loaded.warnings.write(as: format)
      return loaded
    } catch let found as PipelineDiagnostics {
      try found.write(as: format)
      let isPipeline = found.errors.allSatisfy { $0.location.file != Input.label(manifest) }
      throw Failure(isPipeline ? .badPipeline : .badInput, "")
    }
  }

  /// Runs work on the journal or the outputs of the manifest. Its errors become those of the command line.
  func describingErrors<Result>(
    during work: BatchOutcome.Work = .run, _ body: () throws -> Result
  ) throws -> Result {
    do { return try body() } catch {
      throw BatchOutcome.failure(error, shellPath, during: work)
    }
  }
}

struct OverwriteOptions: ParsableArguments {
  @Flag(
    help:
      "Replace files that this manifest did not create, and write into tables that no batch created."
  )
  var overwrite = false
}

struct JournalOptions: ParsableArguments {
  @Option(help: ArgumentHelp("Journal to read instead of the newest.", valueName: "file"))
  var journal: String?

  /// Calls `body` with the journal, or with the run in a queue.
  func inspect(_ source: ManifestOptions, _ body: (RunInspection, Manifest) throws -> Void) throws {
    let manifest = try source.load().manifest
    guard manifest.queueURL != nil else {
      return try body(RunInspection(manifest, journal: journal), manifest)
    }
    try refuse(manifest)
    try source.describingErrors(during: .queue) {
      try BatchQueue(manifest).inspect { try body($0, manifest) }
    }
  }

  /// Throws if the option is given for a manifest whose journal is a queue.
  func refuse(_ manifest: Manifest) throws {
    guard journal != nil else { return }
    throw Failure(
      .badInput, "the journal of \(manifest.file) is a PostgreSQL database; leave out --journal")
  }
}
