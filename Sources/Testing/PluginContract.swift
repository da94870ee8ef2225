public import GQLRunPipeline
public import GQLRunPlugins

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
    let given = try chain(with: entry, rule: rule).options.values.filter { !$0.value.isDefault }
    let options = PluginDescription(plugin).options
    let defaults = options.filter { option in !given.contains { $0.name == option.name } }
      .compactMap { option in
        option.defaultText.map { "\(option.name): \(Self.yaml($0, option.type))" }
      }
    let members = given.map { "\($0.name): \(Self.yaml($0.value))" } + defaults
    let written = try chain(
      with: "\(plugin.name): { \(members.joined(separator: ", ")) }", rule: rule)
    for (option, text) in zip(options, written.plugin.optionTexts)
    where option.defaultText != text && !given.contains(where: { $0.name == option.name }) {
      throw Failure(
        rule: rule,
        finding: "`\(option.name)` is \(option.defaultText ?? "unset"), and \(text ?? "unset") "
          + "after it was read")
    }
  }

  /// A value as an element of a flow mapping.
  private static func yaml(_ value: OptionValue) -> String {
    switch value.content {
    case .object(let options):
      let members = options.values.filter { !$0.value.isDefault }
        .map { "\($0.name): \(yaml($0.value))" }
      return "{ \(members.joined(separator: ", ")) }"
    case .list(let elements): return "[\(elements.map(yaml).joined(separator: ", "))]"
    case .map(let entries):
      return
        "{ \(entries.map { "\(quoted($0.name)): \(yaml($0.value))" }.joined(separator: ", ")) }"
    case .json: return value.shownText
    default: return quoted(value.shownText)
    }
  }

  /// A default as an element of a flow mapping.
  private static func yaml(_ text: String, _ type: OptionType) -> String {
    switch type {
    case .list, .map, .object, .json: text
    default: quoted(text)
    }
  }

  private static func quoted(_ text: String) -> String {
    "'\(text.replacing("'", with: "''"))'"
  }
}

// MARK: Chains

extension PluginContract {
  /// A chain with one entry, at the first position without diagnostics.
  struct Chain: Sendable {
    var pipeline: Pipeline
    /// The position of the entry.
    var index: Int
    var options: PluginOptions
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
        let pipeline = try load(entries, folder.path, variables ?? self.variables)
        guard let plugin = pipeline.entries[index].plugin,
          let options = pipeline.entries[index].options
        else { continue }
        return Chain(pipeline: pipeline, index: index, options: options, plugin: plugin)
      } catch let diagnostics as PipelineDiagnostics {
        if best.map({ diagnostics.all.count < $0.all.count }) ?? true { best = diagnostics }
      }
    }
    throw Failure(
      rule: rule,
      finding: "`\(entry)` has diagnostics at every position of a chain; at the best one:\n"
        + (best?.rendered(as: .human()) ?? ""))
  }

  private func load(
    _ entries: [String], _ folder: String, _ variables: [String: String]
  ) throws -> Pipeline {
    let yaml =
      "version: 1\nendpoint: { url: \"http://localhost/graphql\" }\nstore: { kind: memory "
      + "}\nchain:\n"
      + entries.map { "  - \($0)\n" }.joined()
    let loaded = try PipelineFile.load(
      Array(yaml.utf8), file: folder + "/contract.pipeline.yaml", registry: registry,
      environment: PipelineFileEnvironment(
        variable: { variables[$0] }, readFile: PipelineFileEnvironment.process.readFile))
    guard loaded.warnings.all.isEmpty else { throw loaded.warnings }
    return loaded.pipeline
  }
}
