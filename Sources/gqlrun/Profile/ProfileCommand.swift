import ArgumentParser
import Foundation
import GQLRunBatch
import GQLRunCache
import GQLRunLanguage
import GQLRunPipeline
import GQLRunProfile

struct ProfileCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "profile",
    abstract: "Measure the time and memory that processing a large response takes.",
    discussion: """
      Measures a recorded response (--file), a fetched one (--endpoint, --pipeline) or a generated one \
      (--generate feed:N), stage by stage: input, guard, parse, normalize, store write, read back. For a \
      fetched response, it also reports connecting, the first byte (the server), and the download (the \
      network, or a server that sends slowly). --generate with --keep . writes feed.graphql. Every \
      run is a separate process; stores and baselines alternate, and medians are compared. With --rate \
      or --concurrency, measures many requests instead; with --subscribe, the events of a subscription. \
      Subscriptions of --manifest are open while its requests are sent. Requests are not retried and use no cache, \
      unless --retries and --cache are given. A budget that is not met, or a load of which no request succeeds, ends \
      with exit code 1.

      EXAMPLES
        gqlrun profile --generate feed:25000 --store memory --store sqlite
        gqlrun profile --file response.json --document feed.graphql \\
          --var first=250 --html report.html
        gqlrun profile --endpoint http://127.0.0.1:8080/graphql \\
          --document feed.graphql --var first=1000
        gqlrun profile --endpoint http://127.0.0.1:8080/graphql \\
          --pipeline plain --pipeline offline \\
          --document country.graphql --var code=DE
        gqlrun profile --endpoint http://127.0.0.1:8080/graphql \\
          --document country.graphql --var code=DE --rate 200 --duration 10s
        gqlrun profile --manifest nightly.batch.yaml --weight countries=3 \\
          --stages 10s:0..200,60s:200 --budget 'failed<=1%' --budget 'p99<=250ms'
        gqlrun profile --generate feed:1000 --json old.json
        gqlrun profile --generate feed:1000 --json new.json --compare old.json \\
          --fail-above 200 --budget 'peak<=256MiB'
      """)

  @Option(
    help: ArgumentHelp(
      "Recorded response, a JSON file; - is standard input.", valueName: "response"))
  var file: String?
  @Option(
    help: ArgumentHelp(
      "Generate a response with N posts; 25000 are about 110 MB.", valueName: "feed:N"))
  var generate: String?
  @Option(
    name: .shortAndLong,
    help: ArgumentHelp("GraphQL document of the response.", valueName: "document"))
  var document: String?
  @Option(
    name: .shortAndLong,
    help: EndpointArguments.endpointHelp(
      "the response is fetched from it; by default that of GQL_URL"))
  var endpoint: String?
  @Option(
    name: .shortAndLong,
    help: ArgumentHelp(
      "Pipeline file to fetch the response through. May be repeated, to compare.", valueName: "file"
    ))
  var pipeline: [String] = []
  @Option(
    help: ArgumentHelp(
      "Store to measure. May be repeated, to compare. Uses new files in the folder of PATH, and "
        + "deletes them. Not with --rate, --stages, --concurrency or --subscribe. Default: memory.",
      valueName: "memory|sqlite[:PATH]"))
  var store: [ProfileStore] = []
  @Option(help: "Number of measured runs of each store and baseline.")
  var runs = 5
  @Option(help: "Number of rounds before the measured ones.")
  var warmup = 1
  @Flag(inversion: .prefixedNo, help: "Also measure bare yajl and JSONSerialization.")
  var baselines = true
  @Flag(inversion: .prefixedNo, help: "Also print the shape of the response.")
  var shape = true
  @Option(
    help: ArgumentHelp(
      "Folder to keep the generated or fetched response in (response.json), with the document of a "
        + "generated one (feed.graphql).",
      valueName: "folder"))
  var keep: String?
  @OptionGroup var load: LoadOptions
  @OptionGroup var outputs: ProfileOutputs
  @OptionGroup var operationOptions: OperationOptions
  @OptionGroup var requestOptions: RequestOptions
  @OptionGroup var trustOptions: TrustOptions

  mutating func validate() throws {
    if file == nil, generate == nil, endpoint == nil, pipeline.isEmpty, load.manifest == nil,
      let url = PipelineFileEnvironment.process.variable("GQL_URL"), !url.isEmpty
    {
      endpoint = url
    }
    guard (1...1000).contains(runs) else { throw ValidationError("--runs is 1 to 1000") }
    guard (0...100).contains(warmup) else { throw ValidationError("--warmup is 0 to 100") }
    if load.manifest != nil, file != nil || generate != nil || document != nil || !pipeline.isEmpty
    {
      throw ValidationError(
        "--manifest has the operations and the pipeline; leave out --document, --pipeline, --file and --generate"
      )
    }
    let sources = [
      file != nil, generate != nil, endpoint != nil || !pipeline.isEmpty || load.manifest != nil,
    ]
    guard sources.count(where: { $0 }) == 1 else {
      throw ValidationError(
        "name one response to profile: --file FILE, --generate feed:N, or --endpoint URL (or the "
          + "variable GQL_URL) or --pipeline FILE")
    }
    if outputs.junit != nil, outputs.budget.isEmpty, !load.isGiven || load.subscribe {
      throw ValidationError(
        "--junit has a case for each budget; add one, such as --budget 'total<=2s'")
    }
    if load.isGiven, !store.isEmpty || outputs.trace != nil || outputs.folded != nil {
      throw ValidationError(
        "--store, --trace and --folded are for the stages of one response; leave them out, or --rate, --stages, "
          + "--concurrency and --subscribe")
    }
    if load.manifest != nil { return try refuseRequestOptions() }
    let inputs = [file, document, operationOptions.variables] + operationOptions.schema
    guard inputs.count(where: { $0 == "-" }) < 2 else {
      throw ValidationError("only one file can be - (standard input); name the others")
    }
    if file == "" { throw ValidationError("--file needs the name of a file") }
    if generate == nil, document == nil {
      throw ValidationError("--document FILE names the operation the response belongs to")
    }
    if keep != nil, file != nil || load.isGiven {
      throw ValidationError(
        "--keep needs a response that is made or fetched: --generate, --endpoint")
    }
    if load.isGiven, endpoint == nil, pipeline.isEmpty {
      throw ValidationError(
        "--rate, --stages, --concurrency and --subscribe need --endpoint URL or --pipeline FILE")
    }
    if load.isGiven, pipeline.count > 1 {
      throw ValidationError(
        "--rate, --stages, --concurrency and --subscribe take one --pipeline; run them one by one")
    }
  }

  /// The manifest has the variables and keys of its requests.
  private func refuseRequestOptions() throws {
    guard keep == nil, operationOptions.arguments.isEmpty else {
      throw ValidationError(
        "--manifest has the operations, their variables and keys; leave out --keep and the options of one operation"
      )
    }
  }

  func run() async throws {
    let earlier = try outputs.check()
    let report = try await Interruption.run { try await makeReport() }
    if let path = load.eventTime, let events = report.subscription, events.events > 0,
      events.delay == nil
    {
      Terminal.warning("the events have no time that can be read at \(path): no delay is reported")
    }
    try outputs.write(report, comparedWith: earlier)
  }

  private func makeReport() async throws -> ProfileReport {
    if let manifest = load.manifest { return try await mixed(manifest) }
    let scratch = try ScratchFolder(keep)
    defer { scratch.remove() }
    if file == nil {
      try scratch.check("response.json", replacing: outputs.replace.replacing(.result))
    }
    if generate != nil, document == nil {
      let form = OutputForm("the document of a generated response") { path, _ in
        try Input.bytes(path, "the document") == Array(GeneratedFeed.document.utf8)
      }
      try scratch.check("feed.graphql", replacing: outputs.replace.replacing(form))
    }
    var command = self
    // Every run reads its input again.
    command.operationOptions.variables = try operationOptions.variables.map {
      try scratch.kept($0, "the variables file")
    }
    command.operationOptions.schema = try operationOptions.schema.map {
      try scratch.kept($0, "the schema")
    }
    command.document = try document.map { try scratch.kept($0, "the document") }
    if let generate { return try await command.generated(generate, scratch) }
    guard let document = command.document else { throw Failure(.usage, "--document is missing") }
    if let file {
      let kept = try scratch.kept(file, "the response")
      return try await command.ladder(document, kept, source: Input.label(file))
    }
    command.requestOptions = try requestOptions.withFields()
    return try await command.fetched(document, scratch)
  }

  // MARK: Responses

  private mutating func generated(
    _ text: String, _ scratch: ScratchFolder
  ) async throws -> ProfileReport {
    let workload = try GeneratedFeed(text)
    let path = scratch.path("response.json")
    let document = self.document ?? scratch.path("feed.graphql")
    if self.document == nil {
      try OutputFile.write(
        Array(GeneratedFeed.document.utf8), to: document, replacing: .anything)
      operationOptions.assignments.append("first=\(workload.posts)")
    }
    Terminal.showStatus("making a response of \(workload.posts) posts")
    try workload.write(operationOptions.prepare(document), to: path)
    return try await ladder(document, path, source: "generated \(text)")
  }

  /// The URL's query may contain keys.
  private var shownEndpoint: String? { endpoint.map(Endpoint.shownText) }

  private func fetched(_ document: String, _ scratch: ScratchFolder) async throws -> ProfileReport {
    let operation = try operationOptions.prepare(
      document, pipeline: loadedPipeline(pipeline.first), isSent: true)
    guard load.subscribe || operation.type != .subscription else {
      throw Failure(
        .usage, "\(operation.label) is a subscription; add --subscribe to measure its events")
    }
    if operation.type == .mutation, !load.subscribe {
      Terminal.warning("\(operation.label) is executed with every request")
    }
    if load.isGiven {
      var report = report(source: shownEndpoint ?? pipeline[0], operation: operation.label)
      if load.subscribe {
        report.subscription = try await measureEvents(of: document)
      } else {
        report.load = try await measureRequests(of: document)
      }
      return report
    }
    let copy = scratch.path("response.json")
    let network = try await fetch(document, copy: copy)
    var report = try await ladder(
      document, copy, source: shownEndpoint ?? pipeline.joined(separator: ", "))
    report.network = network
    return report
  }

  /// A load with the operations of a manifest.
  private func mixed(_ path: String) async throws -> ProfileReport {
    let source = ManifestOptions(
      manifest: path, endpoint: endpoint, allowExec: trustOptions.allowExec)
    let manifest = try source.load(runs: true, request: requestOptions.withFields()).manifest
    let mix = try load.mix(manifest, source)
    let operations = mix.requests.operations + (mix.subscriptions?.mix.operations ?? [])
    let names = operations.map(\.name).joined(separator: ", ")
    var report = report(source: manifest.pipeline.endpoint?.shownURL ?? path, operation: names)
    (report.load, report.subscription) = try await measure(
      mix, through: manifest.pipeline, isDefault: !manifest.namesPipeline)
    return report
  }

  /// An empty report. A load is one run.
  private func report(source: String, operation: String, bytes: Int = 0) -> ProfileReport {
    ProfileReport(
      program: "gqlrun \(Version.current)", madeAt: Date().timeIntervalSince1970,
      machine: .current(), workload: .init(source: source, operation: operation, bytes: bytes),
      runs: load.isGiven ? 1 : runs, warmUps: load.isGiven ? 0 : warmup)
  }

  // MARK: Stages

  private func ladder(
    _ document: String, _ path: String, source: String
  ) async throws -> ProfileReport {
    let operation = try operationOptions.prepare(document, pipelineFile: pipeline.first)
    let size = try ResponseFile(path).size
    var report = report(source: source, operation: operation.label, bytes: size)
    if shape {
      Terminal.showStatus("looking at the shape of the response")
      do {
        let keys = try SchemaFile.rules(of: nil, flags: operationOptions.keys).keys
        report.shape = try ShapeReport(ofFile: path, keys: keys)
      } catch let error as ProfileError {
        throw error
      } catch {
        // The measured run reports the error better, with the operation at hand.
        report.shape = nil
      }
    }
    try await measureRounds(of: document, path, into: &report)
    return report
  }
}
