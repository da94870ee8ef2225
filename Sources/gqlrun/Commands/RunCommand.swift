public import ArgumentParser
import Cache
import Foundation
import GraphQL
import HTTPTypes
import Logging
public import Pipeline
import Plugins

struct RunCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "run",
    abstract: "Run an operation through a pipeline and print its result.",
    discussion: """
      The result is the GraphQL response as JSON, exactly the fields the document asks for, on \
      standard output; several results stand on a line each. Without --pipeline the default \
      pipeline runs: memory cache, retries, a total time of five minutes.

      EXAMPLES
        gqlrun run country.graphql --endpoint http://127.0.0.1:4000/graphql --var 'code="DE"'
        gqlrun run country.graphql --pipeline offline.pipeline.yaml --variables de.json -v
        gqlrun run country.graphql --endpoint URL --var 'code="DE"' \\
          --store sqlite:cache.db --keys Country=code --policy cache-and-network
        echo '{ countries { name } }' | gqlrun run - --endpoint URL \\
          --header "Authorization: Bearer $TOKEN"
      """)

  @ArgumentParser.Argument(help: "The GraphQL document; - is standard input.")
  var document: String

  @Option(
    name: .shortAndLong,
    help: ArgumentHelp(
      "The pipeline file; `gqlrun pipeline show` explains one.", valueName: "file"))
  var pipeline: String?

  @Option(
    name: .shortAndLong,
    help: ArgumentHelp(
      "Where to send to; stands for GQL_URL and wins over the pipeline file.", valueName: "URL"))
  var endpoint: String?

  @Option(
    name: .long,
    help: ArgumentHelp("When to ask the cache, and when the network.", valueName: "policy"))
  var policy: CachePolicy?

  @Option(
    name: .long,
    help: ArgumentHelp(
      "Where records are kept, instead of the pipeline's store.", valueName: "memory|sqlite:PATH"))
  var store: StoreChoice?

  @Option(
    name: [.customShort("H"), .long],
    help: ArgumentHelp(
      "A field to send with the request. May be repeated.", valueName: "Name: value"))
  var header: [String] = []

  @OptionGroup var operationOptions: OperationOptions
  @OptionGroup var outputOptions: OutputOptions

  @Flag(
    name: .shortAndLong,
    help: "Say what happens and where the result is from; twice says more.")
  var verbose: Int

  @Flag(name: .shortAndLong, help: "Say nothing but why there is no result.")
  var quiet = false

  func run() async throws {
    try await reporting {
      let pipeline = try loadPipeline()
      let operation = try operationOptions.prepare(
        document, keys: pipeline.keys, schema: pipeline.schema)
      guard operation.type != .subscription else {
        throw Failure(
          .badInput,
          "\(Input.label(document)): \(operation.name ?? "the operation") is a subscription; gqlrun \(Version.current) "
            + "runs queries and mutations")
      }
      let session = try Session(
        pipeline, store: store, keys: operationOptions.keyRules(pipeline.keys), facts: nil,
        logger: RunLog.logger(verbosity: verbose, isQuiet: quiet))
      let errorCount: Int
      do {
        errorCount = try await Interruption.run { try await execute(operation, session) }
      } catch {
        try? await session.close()
        throw error
      }
      try await session.close()
      if errorCount > 0 { throw Failure(.graphQLErrors, "") }
    }
  }

  /// Writes the results of the operation; returns how many errors the last one has.
  private func execute(_ operation: PreparedOperation, _ session: Session) async throws -> Int {
    let effective = policy ?? session.pipeline.defaultCachePolicy
    let writer = try outputOptions.writer(linePerResult: effective == .cacheAndNetwork)
    let start = ContinuousClock.now
    var errorCount = 0
    for try await response in session.runner.execute(
      GraphQLRequest(operation, cachePolicy: policy))
    {
      try writer.write { try response.forEachChunk($0) }
      // A later result replaces what an earlier one said.
      errorCount = response.errors.count
      if quiet { continue }
      if response.source == .cache, effective == .networkFirst {
        Terminal.warning("the network did not answer; this is what the cache has")
      }
      for error in response.errors {
        Terminal.note(Terminal.styled("graphql error:", .red) + " " + Terminal.safe("\(error)"))
      }
      if verbose > 0 { summarize(response, ContinuousClock.now - start) }
    }
    try writer.finish()
    return errorCount
  }

  /// Where the result is from, how long it took, how large it is and what became of its records.
  private func summarize(_ response: GraphQLResponse, _ time: Duration) {
    var parts = ["from the \(response.source.rawValue)", Format.milliseconds(time.seconds)]
    if response.source == .server {
      parts.append(Format.count(response.timing.receivedBytes, "byte"))
    } else if let count = response.data?.count {
      parts.append(Format.count(count, "byte"))
    }
    if response.attempt > 1 { parts.append("attempt \(response.attempt)") }
    if let written = response.writeSummary {
      parts.append(
        "records: \(written.newRecords) new, \(written.changedRecords) changed, "
          + "\(written.unchangedRecords) unchanged")
    }
    Terminal.note(Terminal.styled("= " + parts.joined(separator: ", "), .bold))
  }

  /// The pipeline of the command line: the file or the default, with what the options say instead.
  private func loadPipeline() throws -> Pipeline {
    let environment = PipelineFileEnvironment.gqlrun(endpoint: endpoint)
    let url = environment.variable("GQL_URL") ?? ""
    if let endpoint {
      try check(endpoint, "--endpoint")
    } else if pipeline == nil {
      guard !url.isEmpty else {
        throw Failure(
          .usage,
          "there is no endpoint to send to; name it with --endpoint URL or the variable GQL_URL, or "
            + "use a pipeline file with --pipeline")
      }
      try check(url, "GQL_URL:")
    }
    let fields = try givenFields()
    let loaded =
      try pipeline.map {
        try PipelineFile.load(path: $0, registry: .builtIn, environment: environment)
      }
      ?? PipelineFile.load(
        Array(ReadyMade.defaultPipeline.utf8), file: "(default pipeline)", registry: .builtIn,
        environment: environment)
    if !loaded.warnings.warnings.isEmpty && !quiet {
      Terminal.note(loaded.warnings.rendered(as: .human(colors: Terminal.usesColor)))
    }
    var result = loaded.pipeline
    let headers = (result.endpoint?.headers ?? [:]).merging(fields)
    if let endpoint {
      result.endpoint = try? Endpoint(
        url: endpoint, headers: headers, method: result.endpoint?.method ?? .post)
    } else {
      result.endpoint?.headers = headers
    }
    guard result.endpoint != nil else {
      throw Failure(
        .usage,
        "\(pipeline ?? "the pipeline") names no endpoint to send to; name it with --endpoint URL")
    }
    return result
  }

  private func check(_ url: String, _ name: String) throws {
    do {
      _ = try Endpoint(url: url)
    } catch {
      throw Failure(.usage, "\(name) \(url) is not the URL of a server: \(error.reason)")
    }
  }

  private func givenFields() throws -> HTTPFields {
    var fields = HTTPFields()
    for text in header {
      let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      let value = parts.count == 2 ? parts[1].trimmingCharacters(in: .whitespaces) : ""
      guard parts.count == 2, let name = HTTPField.Name(String(parts[0])),
        HTTPField.isValidValue(value)
      else {
        // The value may be a secret: it is not repeated, and without a colon everything may be.
        let name = parts.count == 2 ? " \(parts[0])" : ""
        throw Failure(.usage, "cannot read --header\(name): write --header 'Name: value'")
      }
      fields.append(HTTPField(name: name, value: value))
    }
    return fields
  }
}

extension CachePolicy: ExpressibleByArgument {
  public init?(argument: String) { self.init(name: argument) }

  public static var allValueStrings: [String] { allCases.map(\.rawValue) }
}

extension PreparedOperation {
  /// `query Country`, `the anonymous query`.
  var label: String { name.map { "\(type.rawValue) \($0)" } ?? "the anonymous \(type.rawValue)" }
}

extension HTTPFields {
  /// These fields, with those of the same name as one of `others` replaced.
  func merging(_ others: HTTPFields) -> HTTPFields {
    var result = self
    for name in Set(others.map(\.name)) { result[fields: name] = others[fields: name] }
    return result
  }
}

extension Pipeline {
  /// The policy of requests that bring none.
  var defaultCachePolicy: CachePolicy {
    for entry in entries {
      for case .cacheRead(let interceptor) in entry.instance.parts {
        return interceptor.defaultPolicy ?? .cacheFirst
      }
    }
    return .networkOnly
  }
}
