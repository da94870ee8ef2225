import GQLRunCache
import GQLRunJSON
import GQLRunLanguage
public import GQLRunPipeline
public import GQLRunPlugins
import HTTPTypes
import Logging

/// The requirements on every plugin, as checks for the tests of its author.
///
/// ```swift
/// import GQLRunTesting
/// import Testing
///
/// @Test func `the plugin keeps the contract`() async throws {
///   try await PluginContract(TenantPlugin.self, context: ["tenant": "acme"]).check()
/// }
/// ```
/// The checks need no test framework: each throws a ``Failure`` with the violated rule and what was
/// found. They use no network.
///
/// | check | requirement |
/// |---|---|
/// | ``checkDeclarations()`` | its name, options, defaults and documentation are valid |
/// | ``checkExamples()`` | each example of its documentation loads in some position of a chain |
/// | ``checkDefaults()`` | writing a default into the file changes nothing |
/// | ``checkSecrets()`` | neither `pipeline show`, nor reflection, nor the log, nor errors show secrets |
/// | ``checkRequests()`` | no concurrent request is lost, and all have the same result |
/// | ``checkErrors()`` | other failures and GraphQL errors reach the caller unchanged |
/// | ``checkCancellation()`` | cancelling the caller's task cancels the request |
/// | ``checkStreaming()`` | chunks and results are passed on one by one, when they are read |
/// | ``checkEvents()`` | each event of a subscription is passed on when it arrives |
public struct PluginContract: Sendable {
  /// A rule that a plugin violates.
  public struct Failure: Error, Sendable, Hashable, CustomStringConvertible {
    /// The violated rule, such as "an example loads".
    public var rule: String
    /// What was found instead.
    public var finding: String

    /// The rule, and what was found.
    public var description: String { "\(rule): \(finding)" }

    /// Throws a failure unless a rule holds.
    static func check(
      _ holds: Bool, _ rule: String, finding: @autoclosure () -> String
    ) throws(Failure) {
      guard holds else { throw Failure(rule: rule, finding: finding()) }
    }
  }

  let plugin: any Plugin.Type
  let registry: PluginRegistry
  /// The entry of a chain whose behavior is checked.
  let entry: String
  let context: [String: String]
  let variables: [String: String]
  let files: [String: String]
  let readsAhead: Bool
  private let folder = ContractFolder()

  /// Creates the contract of one plugin.
  ///
  /// - Parameters:
  ///   - plugin: The plugin to check.
  ///   - others: Other plugins that its chains contain.
  ///   - entry: The entry of a chain that requests pass, such as `"tenant: { allowed: [acme] }"`;
  ///     the documentation's example by default. Choose options that let a request pass to a
  ///     server.
  ///   - context: Context values of the requests.
  ///   - variables: The environment variables that the examples and the entry need.
  ///   - files: The contents of the files that they need, by name, in the folder of the pipeline
  ///     file.
  ///   - readsAhead: Whether it reads results before its caller does, like a plugin that shares
  ///     them.
  public init(
    _ plugin: any Plugin.Type, among others: PluginRegistry = .builtIn, entry: String? = nil,
    context: [String: String] = [:], variables: [String: String] = [:],
    files: [String: String] = [:], readsAhead: Bool = false
  ) {
    var registry = others
    if registry[plugin.name] == nil, PluginDescription(plugin).problems.isEmpty {
      registry.register(plugin)
    }
    self.plugin = plugin
    self.registry = registry
    self.entry = entry ?? plugin.documentation.example
    self.context = context
    self.variables = variables
    self.files = files
    self.readsAhead = readsAhead
  }

  /// Runs all checks, from declarations to events.
  ///
  /// - Throws: The first ``Failure``.
  public func check() async throws {
    try checkDeclarations()
    try checkExamples()
    try checkDefaults()
    try await checkSecrets()
    try await checkRequests()
    try await checkErrors()
    try await checkCancellation()
    try await checkStreaming()
    try await checkEvents()
  }
}

extension PluginContract: CustomStringConvertible {
  /// The name of the plugin.
  public var pluginName: String { plugin.name }

  /// The name of the plugin, for test names.
  public var description: String { "the contract of \(pluginName)" }
}

// MARK: Declarations

extension PluginContract {
  /// Checks that the plugin's name, options, defaults and documentation are valid.
  ///
  /// - Throws: ``Failure`` with the first problem.
  public func checkDeclarations() throws {
    for problem in PluginDescription(plugin).problems {
      throw Failure(rule: "declarations are valid", finding: problem)
    }
  }

  /// Checks that each example of the documentation loads without diagnostics at a position of a
  /// chain.
  ///
  /// - Throws: ``Failure`` for the first example that does not.
  public func checkExamples() throws {
    for example in plugin.documentation.examples {
      _ = try chain(with: example, rule: "an example loads")
    }
  }

  /// Checks that a file with the default of every option has the same effect as a file without
  /// them.
  ///
  /// - Throws: ``Failure`` for the first default that changes something.
  public func checkDefaults() throws {
    let rule = "a written default has no effect"
    let given = try chain(with: entry, rule: rule).given.json.objectValue ?? [:]
    let options = PluginDescription(plugin).options.filter { given[$0.name] == nil }
    var members = given
    for option in options { members[option.name] = option.defaultValue }
    let written = try chain(
      with: "\(plugin.name): \(JSONValue.object(members).jsonText())", rule: rule)
    let values = written.plugin.descriptions
    for option in options {
      let value = values.first { $0.name == option.name }?.defaultValue
      try Failure.check(
        option.defaultValue == value, rule,
        finding: "`\(option.name)` is \(option.defaultText ?? "unset"), and "
          + "\(value?.optionText ?? "unset") after it was read")
    }
  }
}

// MARK: Chains

extension PluginContract {
  /// A chain with one entry, at the first position without diagnostics.
  struct Chain: Sendable {
    var pipeline: Pipeline
    /// The position of the entry.
    var index: Int
    /// The options of the entry, as the file has them.
    var given: YAMLNode
    var plugin: any Plugin
  }

  /// The chain that entries are inserted into, without an entry of the same plugin.
  private static let standard = [
    "max-retry: { max_retries: 0 }", "cache-read: { policy: network-only }", "fetch",
    "response-code", "parse", "cache-write",
  ]

  func chain(
    with entry: String, rule: String, variables: [String: String]? = nil
  ) throws -> Chain {
    let others = Self.standard.filter { $0.prefix { $0 != ":" } != plugin.name }
    try folder.prepare(files)
    var best: PipelineDiagnostics?
    for index in 0...others.count {
      var entries = others
      entries.insert(entry, at: index)
      do {
        let pipeline = try load(entries, variables: variables ?? self.variables)
        guard let plugin = pipeline.entries[index].plugin,
          let given = pipeline.entries[index].given
        else { continue }
        return Chain(pipeline: pipeline, index: index, given: given.value, plugin: plugin)
      } catch let diagnostics as PipelineDiagnostics {
        if best.map({ diagnostics.all.count < $0.all.count }) ?? true { best = diagnostics }
      }
    }
    throw Failure(
      rule: rule,
      finding: "`\(entry)` has diagnostics at every position of a chain; at the best one:\n"
        + (best?.rendered(as: .human()) ?? ""))
  }

  private func load(_ entries: [String], variables: [String: String]) throws -> Pipeline {
    let yaml =
      "version: 1\nendpoint: { url: \"http://localhost/graphql\" }\nstore: { kind: memory "
      + "}\nchain:\n"
      + entries.map { "  - \($0)\n" }.joined()
    let loaded = try PipelineFile.load(
      Array(yaml.utf8), file: folder.path + "/contract.pipeline.yaml", registry: registry,
      environment: PipelineFileEnvironment(
        variable: { variables[$0] }, readFile: PipelineFileEnvironment.process.readFile))
    guard loaded.warnings.all.isEmpty else { throw loaded.warnings }
    return loaded.pipeline
  }
}

extension PluginContract {
  /// Checks that neither `pipeline show`, nor reflection, nor the log, nor errors contain secrets.
  ///
  /// Every variable has a secret value, and requests carry one as their authorization.
  ///
  /// - Throws: ``Failure`` with the output that contains a secret.
  public func checkSecrets() async throws {
    let canary = "canary-7f3a91"
    for example in plugin.documentation.examples where example.contains("${env:") {
      let names = example.split(separator: "${env:").dropFirst()
        .map { String($0.prefix { $0 != ":" && $0 != "}" }) }
      let secrets = variables.merging(names.map { ($0, variables[$0] ?? canary) }) { $1 }
      let pipeline = try chain(with: example, rule: "secrets do not show", variables: secrets)
        .pipeline
      var reflected = ""
      dump(pipeline, to: &reflected)
      for (view, text) in [("`pipeline show`", pipeline.show()), ("reflection", reflected)]
      where text.contains(canary) {
        throw Failure(rule: "secrets do not show", finding: "\(view) shows a variable's value")
      }
    }
    for failure in [nil, ContractNetwork.failure] {
      let log = ContractLog()
      let network = ContractNetwork(failure.map { .failure($0) } ?? .answer)
      let runner = try runner(network, log: log)
      var request = try request()
      request.additionalHeaders[.authorization] = "Bearer \(canary)"
      var message = ""
      do {
        _ = try await runner.results(of: request)
      } catch {
        message = "\(error)"
      }
      for (view, text) in [("the log", log.text), ("the error", message)]
      where text.contains(canary) {
        throw Failure(rule: "secrets do not show", finding: "\(view) shows the authorization")
      }
    }
  }

  /// Checks that twenty concurrent requests, then three one after the other, all have the same
  /// result.
  ///
  /// - Throws: ``Failure`` for a request without a result, or with a different one.
  public func checkRequests() async throws {
    let rule = "no request is lost"
    let network = ContractNetwork(.answer)
    let runner = try runner(network)
    let request = try request()
    let concurrent = try await withThrowingTaskGroup(of: [String].self) { group in
      for _ in 0..<20 { group.addTask { try await Self.texts(runner, request) } }
      return try await group.reduce(into: [[String]]()) { $0.append($1) }
    }
    var all = concurrent
    for _ in 0..<3 { all.append(try await Self.texts(runner, request)) }
    guard let first = all.first, !first.isEmpty else {
      throw Failure(rule: rule, finding: "a request ended without a result")
    }
    guard all.count == 23, let other = all.first(where: { $0 != first }) else { return }
    throw Failure(
      rule: rule, finding: "equal requests have different results: \(first) and \(other)")
  }

  /// Checks that a network failure, and the errors of a response, reach the caller unchanged.
  ///
  /// - Throws: ``Failure`` if one does not.
  public func checkErrors() async throws {
    let rule = "errors pass unchanged"
    let wanted = ContractNetwork.failure
    let network = ContractNetwork(.failure(wanted))
    let runner = try runner(network)
    do {
      let results = try await runner.results(of: try request())
      // A plugin that answers requests itself sends nothing.
      guard await network.requestCount > 0 else { return }
      throw Failure(
        rule: rule,
        finding: "\(results.count) results were delivered instead of the failure \(wanted.code)")
    } catch let error as ChainError {
      try Failure.check(
        error.code == wanted.code && error.layer == wanted.layer, rule,
        finding: "\(wanted.code.rawValue) became \(error.code.rawValue)")
    }
    let refusing = try self.runner(ContractNetwork(.graphQLError))
    let results = try await refusing.results(of: try request())
    try Failure.check(
      results.last?.errors.first?.code == "CONTRACT", rule,
      finding: "a GraphQL error of the server does not reach the caller")
  }

  /// Checks that cancelling the caller's task cancels the request in flight.
  ///
  /// - Throws: ``Failure`` if the request continues, or has a result.
  public func checkCancellation() async throws {
    let rule = "cancellation passes through"
    let network = ContractNetwork(.noAnswer)
    let runner = try runner(network)
    let request = try request()
    let caller = Task { try await runner.results(of: request) }
    guard try await network.waitForRequest(orEndOf: caller) else { return }
    caller.cancel()
    let hasEnded = await withTaskGroup(of: Bool.self) { group in
      group.addTask {
        _ = await caller.result
        return true
      }
      group.addTask {
        // Only reached by a plugin that violates the rule.
        try? await ContinuousClock().sleep(for: .seconds(10))
        return false
      }
      let first = await group.next() ?? false
      network.release()
      group.cancelAll()
      return first
    }
    try Failure.check(hasEnded, rule, finding: "the request continued for ten seconds")
    if case .success = await caller.result {
      throw Failure(rule: rule, finding: "the cancelled request has a result")
    }
    try Failure.check(
      await network.wasCancelled, rule, finding: "the request to the server was not cancelled")
  }

  /// Checks that chunks of a body and results of a stream are passed on one by one, when they are
  /// read.
  ///
  /// - Throws: ``Failure`` if they are read ahead.
  public func checkStreaming() async throws {
    let rule = "streams pass lazily"
    let chain = try chain(with: entry, rule: rule)
    let parts = chain.pipeline.entries[chain.index].parts
    let network = ContractNetwork(.answer)
    if parts.contains(where: { if case .graphQL = $0 { true } else { false } }) {
      let source = ResultSource()
      var pipeline = chain.pipeline
      pipeline.entries.insert(
        PipelineEntry(id: "contract-source", .graphQL(source)), at: chain.index + 1)
      let stream = PipelineRunner(pipeline, services: services(network)).execute(try request())
      let first = try await stream.next()
      try Failure.check(first != nil, rule, finding: "the first result does not arrive")
      // An interceptor may read one result ahead.
      let count = await source.count
      try Failure.check(
        readsAhead || count <= 2, rule,
        finding: "all results were read before the first one was delivered")
    }
    if parts.contains(where: { if case .http = $0 { true } else { false } }) {
      let probe = ChunkProbe()
      var pipeline = chain.pipeline
      pipeline.entries.insert(PipelineEntry(id: "contract-probe", .http(probe)), at: chain.index)
      let runner = PipelineRunner(pipeline, services: services(network))
      _ = try await runner.results(of: try request())
      guard let pulled = await probe.pulls else { return }
      try Failure.check(
        pulled.atHead <= 1 && pulled.atFirstChunk <= 2, rule,
        finding: "\(pulled.atHead) chunks were read before the head was delivered, and "
          + "\(pulled.atFirstChunk) before the first chunk")
    }
  }
}

// MARK: Events

extension PluginContract {
  /// Checks that each event of a subscription reaches the caller unchanged, before the next one is read
  /// from the connection, and that the subscription ends when the server completes it.
  ///
  /// - Throws: ``Failure`` for an event that is missing or late.
  public func checkEvents() async throws {
    let rule = "events pass one by one"
    let network = ContractNetwork(.events)
    let runner = try runner(network)
    let stream = runner.execute(try request("subscription Contract { contract }"))
    var found: [String] = []
    while let response = try await stream.next() {
      found.append(try response.text)
      try Failure.check(
        readsAhead || network.pullCount.value <= found.count + 1, rule,
        finding: "\(network.pullCount.value) events were read from the connection before event "
          + "\(found.count) was delivered")
    }
    // A plugin that answers requests itself sends nothing.
    guard await network.requestCount > 0 else { return }
    let expected = ContractNetwork.events.map { "{\"data\":{\"contract\":\"\($0)\"}}" }
    try Failure.check(
      found == expected, rule, finding: "of the events \(expected), \(found) were delivered")
  }
}

extension GraphQLResponse {
  fileprivate var text: String {
    get throws {
      var bytes: [UInt8] = []
      try forEachChunk { bytes.append(contentsOf: $0) }
      return String(decoding: bytes, as: UTF8.self)
    }
  }
}

// MARK: Requests

extension PluginContract {
  func runner(_ network: ContractNetwork, log: ContractLog? = nil) throws -> PipelineRunner {
    let chain = try chain(with: entry, rule: "the entry loads")
    return PipelineRunner(chain.pipeline, services: services(network, log: log))
  }

  func services(_ network: ContractNetwork, log: ContractLog? = nil) -> Services {
    var services = Services(transport: network, store: .memory(), random: { 0.5 })
    let variables = variables
    services.variable = { variables[$0] }
    if let log { services.logger = log.logger }
    return services
  }

  func request(_ document: String = "query Contract { contract }") throws -> GraphQLRequest {
    var request = GraphQLRequest(try PreparedOperation(document: Document(parsing: document)))
    request.context.named = context
    return request
  }

  private static func texts(
    _ runner: PipelineRunner, _ request: GraphQLRequest
  ) async throws -> [String] {
    try await runner.results(of: request).map { try $0.text }
  }
}
