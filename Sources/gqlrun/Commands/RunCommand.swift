public import ArgumentParser
import Foundation
import GQLRun
import GQLRunBatch
import GQLRunCache
import GQLRunLanguage
public import GQLRunPipeline
import GQLRunPlugins
import GQLRunReport
import Logging

struct RunCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "run",
    abstract: "Run an operation through a pipeline and print its result.",
    discussion: """
      Prints the GraphQL response as JSON, with exactly the fields that the document selects; several \
      results are one line each. Without --pipeline, the default pipeline is used: memory cache, \
      retries, a total timeout of five minutes. Without --endpoint, --pipeline and GQL_URL, the endpoint \
      of the project file (graphql.config.yaml) is used. With a schema, an invalid operation is not sent.

      A subscription prints its events until the server or --first or --for ends it. An endpoint that \
      begins with ws:// or wss:// sends it over WebSocket; with http:// and https://, `transport` in a \
      pipeline file selects how (gqlrun help subscriptions).

      EXAMPLES
        gqlrun run country.graphql --var code=DE \\
          --endpoint http://127.0.0.1:8080/graphql
        gqlrun run country.graphql --pipeline offline.pipeline.yaml \\
          --variables de.json -v
        gqlrun run country.graphql -e http://127.0.0.1:8080/graphql \\
          --var code=DE --store sqlite:cache.db --keys Country=code \\
          --policy cache-and-network
        gqlrun run country.graphql -e http://127.0.0.1:8080/graphql \\
          --var code=DE --curl --har country.har
        gqlrun run '{ countries { name } }' -e http://127.0.0.1:8080/graphql \\
          --jq '.data.countries[].name' --raw-output
        gqlrun run country.graphql -e http://127.0.0.1:8080/graphql \\
          --var code=DE --token-env TOKEN --timeout 10s -i
        gqlrun run country.graphql -e http://127.0.0.1:8080/graphql \\
          --var code=DE --expect 'data.country.capital == "Berlin"'
      """)

  @OptionGroup var documentOptions: DocumentOptions

  @OptionGroup var endpointOptions: EndpointArguments
  @OptionGroup var requestOptions: RequestOptions
  @OptionGroup var trustOptions: TrustOptions

  @Option(
    help: ArgumentHelp("Fetch policy: whether cache or network answers.", valueName: "policy"))
  var policy: CachePolicy?

  @Option(
    help: ArgumentHelp(
      "Store for records, such as cache.db; overrides the pipeline's store.",
      valueName: "memory|sqlite:PATH|postgresql://…"),
    transform: StoreChoice.init(argument:))
  var store: StoreChoice?

  @OptionGroup var operationOptions: OperationOptions
  @OptionGroup var uploadOptions: UploadOptions
  @OptionGroup var pageOptions: PageOptions

  @Flag(
    help: ArgumentHelp(
      "Validate the response against the schema: a null or a value that it forbids is an error. Needs a schema."
    ))
  var checkShape = false

  @Flag(
    help: ArgumentHelp(
      "Print each part of a response with @defer or @stream when it arrives: one line with what it adds, "
        + "what is pending, and the time. Without it, the whole result is printed once."))
  var incremental = false

  @OptionGroup var subscriptionOptions: SubscriptionOptions
  @OptionGroup var expectOptions: ExpectOptions
  @OptionGroup var outputOptions: OutputOptions
  @OptionGroup var recordingOptions: RecordingOptions
  @OptionGroup var metrics: MetricsOptions

  @Option(
    help: ArgumentHelp(
      "Value for plugins, such as a user name: ${context:key} in a pipeline file. May be repeated.",
      valueName: "key=value"))
  var context: [String] = []

  @Flag(
    name: .shortAndLong,
    help: "Print status and header fields of the response before the result, with secrets hidden.")
  var include = false

  @Flag(
    name: .shortAndLong,
    help: ArgumentHelp(
      "Log the steps of the request and the source of the result, and the connections of "
        + "subscriptions; -vv all connections and the header fields of requests and responses, with "
        + "secrets hidden."))
  var verbose: Int

  @Flag(
    name: [.customShort("s"), .long, .customLong("silent")],
    help: "Print no notes, warnings and progress, only errors, and the lines of -v if it is given.")
  var quiet = false

  func validate() throws {
    if pageOptions.slurp, outputOptions.jq != nil {
      throw ValidationError("--slurp cannot be used with --jq, which gets one page at a time")
    }
    if incremental, subscriptionOptions.watch || pageOptions.paginate {
      let other = pageOptions.paginate ? "--paginate" : "--watch"
      throw ValidationError("--incremental cannot be used with \(other), which needs whole results")
    }
    if incremental, !expectOptions.expect.isEmpty {
      throw ValidationError("--incremental cannot be used with --expect, which needs whole results")
    }
    try requireDifferentFiles([
      ("--output", outputOptions.file), ("--har", recordingOptions.har),
      ("--junit", expectOptions.junit), ("--metrics-file", metrics.metricsFile),
    ])
    if subscriptionOptions.watch, pageOptions.paginate {
      throw ValidationError("--watch cannot be used with --paginate, which follows one result")
    }
  }

  func run() async throws {
    Terminal.color(outputOptions.color)
    let named = try givenContext()
    let filter = try outputOptions.filter()
    try outputOptions.checkOutput()
    try expectOptions.checkReport(outputOptions.replace)
    try recordingOptions.checkArchive(outputOptions.replace)
    let source = try documentOptions.source()
    let pipeline = try loadedPipeline()
    let standardInput = try uploadOptions.files.filter { $0 == "-" }
    guard standardInput.count < 2 else {
      throw Failure(.usage, "--upload @- can be given once: standard input is one file")
    }
    let uploads = try uploadOptions.read()
    var operation = try operationOptions.prepare(
      source, pipeline: pipeline, others: standardInput, uploads: Array(uploads.keys),
      isSent: true)
    operation.checksShape = checkShape
    try subscriptionOptions.check(operation)
    let expectations = try expectOptions.expectations(of: operation)
    let store = store.flatMap { pipeline.usesStore($0, isQuiet: quiet) ? $0 : nil }
    let secrets = KnownSecrets()
    let recorder = recordingOptions.recorder(secrets)
    let isLive = subscriptionOptions.isLive(operation)
    let trace = NetworkTrace(
      secrets,
      showing: verbose > 1
        ? .everything : verbose == 0 ? .nothing : isLive ? .connections : .sockets,
      verifies: pipeline.verifiesServers)
    let meter = ConnectionMeter()
    let client = try await PipelineClient.open(
      pipeline, store: store, logger: RunLog.logger(verbosity: verbose, isQuiet: quiet)
    ) { configuration in
      configuration.recorder = recorder
      configuration.services.secrets = secrets
      configuration.meter = meter
      if trace.isPrinting || include { configuration.observer = { trace.note($0) } }
      // For --watch: short for a reader, and less than a thousandth of a processor.
      configuration.refreshInterval = .milliseconds(200)
    }
    let limit = EventLimit(subscriptionOptions)
    let run = OperationRun(
      operation: operation, uploads: uploads, label: source.label, context: named, policy: policy,
      output: outputOptions, pages: pageOptions, watches: subscriptionOptions.watch,
      isIncremental: incremental, limit: limit, gaps: subscriptionOptions.gaps, filter: filter,
      expectations: expectations, verbosity: verbose, isQuiet: quiet, trace: include ? trace : nil)
    let start = ContinuousClock.now
    let outcome: OperationRun.Outcome
    do {
      outcome = try await Interruption.run(
        for: subscriptionOptions.limit?.duration, onLimit: { limit.end() }
      ) {
        try await client.shutdown { try await run.execute($0, meter) }
      }
    } catch {
      try await recordingOptions.write(recorder, outputOptions.replace)
      if !quiet, let error = error as? ChainError, Failure(error).status == .authentication,
        let note = RequestOptions.unsentToken(of: pipeline, file: endpointOptions.pipeline)
      {
        Terminal.hint(note)
      }
      let message = Failure(describing: error).message
      try report(
        operation, since: start, cases: expectations.texts.map { ($0, .error(message)) })
      throw error
    }
    try await recordingOptions.write(recorder, outputOptions.replace)
    try end(with: outcome, of: run, since: start)
  }

  private func loadedPipeline() throws -> Pipeline {
    var pipeline = try endpointOptions.load(
      request: requestOptions, trust: trustOptions, usesProject: true, isQuiet: quiet,
      isUnsent: policy == .cacheOnly)
    if let patience = subscriptionOptions.patience?.duration {
      pipeline.subscriptions.patience = patience
    }
    if verbose > 0, let endpoint = pipeline.endpoint, let given = endpointOptions.endpoint,
      !given.contains("://")
    {
      Terminal.hint("the endpoint is \(endpoint.shownURL)")
    }
    // Before the request, which may be a mutation.
    guard !checkShape || !operationOptions.schemaFiles(pipeline).isEmpty else {
      throw Failure(
        .usage,
        "--check-shape needs a schema; name one with --schema FILE or the pipeline's key `schema`")
    }
    return pipeline
  }

  /// Reports conditions that are not met, and throws what decides about the exit code.
  private func end(
    with outcome: OperationRun.Outcome, of run: OperationRun, since start: ContinuousClock.Instant
  ) throws {
    try report(
      run.operation, since: start,
      cases: outcome.findings.map { ($0.condition, $0.problem.map { .failure($0) } ?? .passed) })
    let problems = outcome.findings.compactMap(\.problem)
    for problem in problems { Terminal.error(problem) }
    guard problems.isEmpty else { throw Failure(.failed, "") }
    if outcome.errorCount > 0, !run.expectations.judgeErrors { throw Failure(.graphQLErrors, "") }
  }

  /// Writes the JUnit file of --expect.
  private func report(
    _ operation: PreparedOperation, since start: ContinuousClock.Instant,
    cases: [(name: String, result: JUnit.Result)]
  ) throws {
    try expectOptions.write(
      operation.label, seconds: (ContinuousClock.now - start) / .seconds(1),
      outputOptions.replace, cases: cases)
  }

  private func givenContext() throws -> [String: String] {
    var values: [String: String] = [:]
    for text in context {
      let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2, !parts[0].isEmpty else {
        // Text without a name may be a secret, so the message does not repeat it.
        throw Failure(.usage, "cannot read --context: write --context key=value, once for each")
      }
      values[String(parts[0])] = String(parts[1])
    }
    return values
  }
}

extension CachePolicy: ExpressibleByArgument {
  /// Creates the policy from its name, such as `cache-first`; `nil` for other text.
  public init?(argument: String) { self.init(name: argument) }

  /// The names of all policies.
  public static var allValueStrings: [String] { allCases.map(\.rawValue) }
}

extension PreparedOperation {
  /// `query Country`, `the anonymous query`.
  var label: String { type.label(of: name) }
}

extension Pipeline {
  /// Whether the certificates of servers are verified.
  var verifiesServers: Bool {
    !entries.contains { ($0.plugin as? FetchPlugin)?.tls.insecure == true }
  }

  /// The policy of requests without one.
  var defaultCachePolicy: CachePolicy {
    guard let read = cacheReads.first else { return .networkOnly }
    return read.defaultPolicy ?? .cacheFirst
  }

  /// Whether the chain can use the given store instead of its own; warns if it cannot, or only
  /// reads it.
  func usesStore(_ choice: StoreChoice, isQuiet: Bool) -> Bool {
    let reads = !cacheReads.isEmpty
    let writes = entries.flatMap(\.parts).contains(where: \.isCacheWrite)
    let (name, option): (String, String)
    switch choice {
    case .memory: return reads || writes
    case .sqlite(let path): (name, option) = (path, "sqlite:\(path)")
    case .postgres: (name, option) = ("the database", "postgresql://…")
    }
    guard !writes else { return true }
    if !isQuiet {
      let title = file ?? "the pipeline"
      Terminal.warning(
        reads
          ? "\(title) has no `cache-write`: nothing is stored in \(name); add `- cache-write` to its chain"
          : "\(title) has neither `cache-read` nor `cache-write`: --store \(option) is not used; add "
            + "them to its chain")
    }
    return reads
  }
}
