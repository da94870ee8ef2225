public import ArgumentParser
import Foundation
import GQLRun
import GQLRunCache
import GQLRunLanguage
public import GQLRunPipeline
import GQLRunPlugins
import HTTPTypes
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
        echo '{ countries { name } }' | gqlrun run - \\
          -e http://127.0.0.1:8080/graphql -H "Authorization: Bearer $TOKEN"
      """)

  @ArgumentParser.Argument(help: "GraphQL document; - is standard input.")
  var document: String

  @OptionGroup var endpointOptions: EndpointOptions

  @Option(
    name: .long,
    help: ArgumentHelp("Fetch policy: whether cache or network answers.", valueName: "policy"))
  var policy: CachePolicy?

  @Option(
    name: .long,
    help: ArgumentHelp(
      "Store for records; overrides the pipeline's store.", valueName: "memory|sqlite:PATH"))
  var store: StoreChoice?

  @OptionGroup var operationOptions: OperationOptions
  @OptionGroup var pageOptions: PageOptions

  @Flag(
    name: .long,
    help: "Validate the response against the schema: a null or a value that it forbids is an error."
  )
  var checkShape = false

  @OptionGroup var subscriptionOptions: SubscriptionOptions
  @OptionGroup var outputOptions: OutputOptions
  @OptionGroup var recordingOptions: RecordingOptions

  @Option(
    name: .long,
    help: ArgumentHelp(
      "Value for plugins, such as a user name: ${context:key} in a pipeline file. May be repeated.",
      valueName: "key=value"))
  var context: [String] = []

  @Flag(
    name: .shortAndLong,
    help: "Log the steps of the request and the source of the result; -vv logs more.")
  var verbose: Int

  @Flag(name: .shortAndLong, help: "Print no notes and warnings, only errors.")
  var quiet = false

  func run() async throws {
    try await reporting {
      let named = try givenContext()
      let pipeline = try endpointOptions.load(usesProject: true, isQuiet: quiet)
      var operation = try operationOptions.prepare(
        document, pipeline: pipeline, isSent: true)
      operation.checksShape = checkShape
      try subscriptionOptions.check(operation)
      let store = store.flatMap { pipeline.usesStore($0, isQuiet: quiet) ? $0 : nil }
      let recorder = recordingOptions.recorder(KnownSecrets())
      let client = try await PipelineClient.open(
        pipeline, store: store, logger: RunLog.logger(verbosity: verbose, isQuiet: quiet)
      ) { $0.recorder = recorder }
      let errorCount: Int
      do {
        errorCount = try await client.shutdown { client in
          let limit = EventLimit(subscriptionOptions)
          return try await Interruption.run(
            for: subscriptionOptions.limit?.duration, onLimit: { limit.end() }
          ) { [operation] in
            try await execute(operation, named, client, limit)
          }
        }
      } catch {
        try await recordingOptions.write(recorder)
        throw error
      }
      try await recordingOptions.write(recorder)
      if errorCount > 0 { throw Failure(.graphQLErrors, "") }
    }
  }

  /// Writes the results of the operation; returns the number of errors of the last one.
  private func execute(
    _ operation: PreparedOperation, _ named: [String: String], _ client: PipelineClient,
    _ limit: EventLimit
  ) async throws -> Int {
    let effective = policy ?? client.pipeline.defaultCachePolicy
    let writer = try outputOptions.writer(
      linePerResult: effective == .cacheAndNetwork || pageOptions.isLinePerPage
        || operation.type == .subscription,
      isArray: pageOptions.slurp)
    let start = ContinuousClock.now
    var errorCount = 0
    var request = GraphQLRequest(operation, cachePolicy: policy)
    request.context.named = named
    for try await response in try RunPages(
      request, pageOptions, client, limit, name: Input.label(document))
    {
      if let gap = response.gap {
        if !quiet { Terminal.warning(Terminal.safe(gap.note)) }
        continue
      }
      try writer.write { try response.forEachChunk($0) }
      // A later result replaces an earlier one, except pages.
      errorCount = response.errors.count + (pageOptions.paginate ? errorCount : 0)
      if quiet { continue }
      if response.source == .cache, effective == .networkFirst {
        Terminal.warning(
          "the network did not answer; this is what the cache has"
            + (response.staleness.map { ", \($0)" } ?? ""))
      }
      for warning in response.writeSummary?.warnings ?? [] {
        Terminal.warning(Terminal.safe(warning))
      }
      for error in response.errors {
        Terminal.note(
          Terminal.styled("graphql error:", .red) + " "
            + Terminal.safe(error.description(in: Input.label(document))))
      }
      if verbose > 0 { summarize(response, ContinuousClock.now - start) }
      if limit.count() { break }
    }
    try writer.finish()
    return errorCount
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

  /// Prints the source of the result, its duration and size, and what was written to the cache.
  private func summarize(_ response: GraphQLResponse, _ time: Duration) {
    var parts = ["from the \(response.origin)", Format.milliseconds(time.seconds)]
    if response.source == .server {
      parts.append(Format.count(response.timing.receivedBytes, "byte"))
    } else if let count = response.data?.count {
      parts.append(Format.count(count, "byte"))
    }
    if let staleness = response.staleness { parts.append("stale, \(staleness)") }
    if response.attempt > 1 { parts.append("attempt \(response.attempt)") }
    if let written = response.writeSummary {
      parts.append(
        "records: \(written.newRecords) new, \(written.changedRecords) changed, "
          + "\(written.unchangedRecords) unchanged")
    }
    Terminal.note(Terminal.styled("= " + parts.joined(separator: ", "), .bold))
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
  var label: String { name.map { "\(type.rawValue) \($0)" } ?? "the anonymous \(type.rawValue)" }
}

extension Pipeline {
  /// The policy of requests without one.
  var defaultCachePolicy: CachePolicy {
    for entry in entries {
      for case .cacheRead(let interceptor) in entry.parts {
        return interceptor.defaultPolicy ?? .cacheFirst
      }
    }
    return .networkOnly
  }

  /// Whether the chain can use the given store instead of its own; warns if it cannot, or only
  /// reads it.
  func usesStore(_ choice: StoreChoice, isQuiet: Bool) -> Bool {
    let parts = entries.flatMap(\.parts)
    let reads = parts.contains { if case .cacheRead = $0 { true } else { false } }
    let writes = parts.contains { if case .cacheWrite = $0 { true } else { false } }
    guard case .sqlite(let path) = choice, !writes else { return reads || writes }
    if !isQuiet {
      let title = file ?? "the pipeline"
      Terminal.warning(
        reads
          ? "\(title) has no `cache-write`: nothing is stored in \(path); add `- cache-write` to its chain"
          : "\(title) has neither `cache-read` nor `cache-write`: --store sqlite:\(path) is not used; add "
            + "them to its chain")
    }
    return reads
  }
}
