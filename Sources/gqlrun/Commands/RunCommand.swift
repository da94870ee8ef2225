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

      EXAMPLE
        gqlrun run countries.graphql --endpoint http://127.0.0.1:8080/graphql \\
          --var 'code="DE"' --store sqlite:cache.db
      """)

  @ArgumentParser.Argument(help: "The GraphQL document; - is standard input.")
  var document: String

  @Option(name: .shortAndLong, help: "The pipeline file.")
  var pipeline: String?

  @Option(
    name: .shortAndLong,
    help: "The URL to send to; stands for GQL_URL and wins over the pipeline file.")
  var endpoint: String?

  @Option(
    name: .long,
    help: ArgumentHelp(
      "When to ask the cache: \(CachePolicy.allCases.map(\.rawValue).joined(separator: ", ")).",
      valueName: "policy"))
  var policy: CachePolicy?

  @Option(
    name: .long,
    help: ArgumentHelp(
      "Where records are kept, instead of the pipeline's store.", valueName: "memory|sqlite:PATH"))
  var store: StoreChoice?

  @Option(
    name: [.customShort("H"), .long],
    help: ArgumentHelp("A field to send with the request. May be repeated.", valueName: "Name: value"))
  var header: [String] = []

  @OptionGroup var operationOptions: OperationOptions
  @OptionGroup var outputOptions: OutputOptions

  @Flag(name: .shortAndLong, help: "Say what happens; twice says more.")
  var verbose: Int

  @Flag(name: .shortAndLong, help: "Say nothing but errors.")
  var quiet = false

  func run() async throws {
    try await reporting {
      let pipeline = try loadPipeline()
      let operation = try operationOptions.prepare(
        document, keys: pipeline.keys, schema: pipeline.schema)
      let logger = RunLog.logger(verbosity: verbose, isQuiet: quiet)
      let session = try Session(
        pipeline, store: store, keys: operationOptions.keyRules(pipeline.keys),
        facts: nil, logger: logger)
      let outcome: Outcome
      do {
        outcome = try await Interruption.run { try await execute(operation, session) }
      } catch {
        try? await session.close()
        throw error
      }
      try await session.close()
      if outcome.errors > 0 { throw Failure(.graphQLErrors, "") }
    }
  }

  private struct Outcome: Sendable {
    var errors = 0
  }

  private func execute(_ operation: PreparedOperation, _ session: Session) async throws -> Outcome {
    let request = GraphQLRequest(operation, cachePolicy: policy)
    let effective = policy ?? session.pipeline.defaultCachePolicy
    let hasSeveral = effective == .cacheAndNetwork || operation.type == .subscription
    let writer = try outputOptions.writer(linePerResult: hasSeveral)
    var outcome = Outcome()
    for try await response in session.runner.execute(request) {
      try writer.write { try response.forEachChunk($0) }
      // A later result replaces what an earlier one said.
      outcome.errors = response.errors.count
      report(response)
    }
    try writer.finish()
    return outcome
  }

  private func report(_ response: GraphQLResponse) {
    for error in response.errors where !quiet {
      Terminal.note(Terminal.styled("graphql error:", .red) + " " + Terminal.safe("\(error)"))
    }
  }

  /// The pipeline of the command line: the file or the default, with what the options say instead.
  private func loadPipeline() throws -> Pipeline {
    var environment = PipelineFileEnvironment.process
    if let endpoint {
      let variable = environment.variable
      environment.variable = { $0 == "GQL_URL" ? endpoint : variable($0) }
    }
    if pipeline == nil, environment.variable("GQL_URL") == nil {
      throw Failure(
        .usage,
        "there is no endpoint to send to; name it with --endpoint URL or the variable GQL_URL, or "
          + "use a pipeline file with --pipeline")
    }
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
    var pipeline = loaded.pipeline
    let fields = (pipeline.endpoint?.headers ?? [:]).merging(try givenFields())
    if let endpoint {
      do {
        pipeline.endpoint = try Endpoint(
          url: endpoint, headers: fields, method: pipeline.endpoint?.method ?? .post)
      } catch {
        throw Failure(.usage, "--endpoint \(endpoint) is not a URL to send to: \(error.reason)")
      }
    } else {
      pipeline.endpoint?.headers = fields
    }
    return pipeline
  }

  private func givenFields() throws -> HTTPFields {
    var fields = HTTPFields()
    for text in header {
      let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      let value = parts.count == 2 ? parts[1].trimmingCharacters(in: .whitespaces) : ""
      guard parts.count == 2, let name = HTTPField.Name(String(parts[0])),
        HTTPField.isValidValue(value)
      else {
        // The value may be a secret: it is not repeated.
        throw Failure(
          .usage,
          "cannot read --header \(parts.first.map { String($0) } ?? ""): write --header 'Name: value'")
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

/// Ends the work when the user interrupts it: once asks it to stop, so that files are left in order.
enum Interruption {
  static func run<R: Sendable>(_ work: @escaping @Sendable () async throws -> R) async throws -> R {
    let task = Task { try await work() }
    let queue = DispatchQueue(label: "gqlrun.signals")
    let sources = [SIGINT, SIGTERM].map { number in
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
      source.setEventHandler {
        // The second time the user does not want to wait.
        if task.isCancelled { _exit(130) }
        task.cancel()
      }
      source.activate()
      return source
    }
    defer { for source in sources { source.cancel() } }
    return try await withTaskCancellationHandler {
      try await task.value
    } onCancel: {
      task.cancel()
    }
  }
}
