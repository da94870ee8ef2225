public import GQLRunCache
public import GQLRunLanguage

/// How requests are executed: endpoint, store, cache rules, and the interceptors in their order.
///
/// Read from a file by ``PipelineFile``, or created in code. A plain value: it has no connections
/// and no state.
public struct Pipeline: Sendable {
  /// The name of the pipeline; `nil` if it has none.
  public var name: String?
  /// The path of the file it was read from, as the user wrote it; `nil` for a pipeline created in
  /// code.
  public var file: String?
  /// The endpoint that requests are sent to; `nil` if the pipeline has none.
  public var endpoint: Endpoint?
  /// The path of the schema's SDL file; `nil` if the pipeline has none.
  public var schema: String?
  /// The store of the normalized cache.
  public var store: StoreConfiguration
  /// The rules that name the key fields of each type.
  public var keys: KeyRules
  /// The max ages of types and fields.
  public var ages: AgeRules
  /// How subscriptions are treated.
  public var subscriptions = SubscriptionSettings()
  /// The entries of the chain, from the first that receives a request to the last.
  public var entries: [PipelineEntry]
  /// The tests of its file; see ``PipelineTest/run(_:equipment:)``.
  public var tests: [PipelineTest] = []
  /// The programs that it starts: those of `${exec:…}` and those of its entries.
  public var programs: [FileProgram] = []
  /// The files that it writes, except those that variables name.
  package var outputs: [FileOutput] = []
  /// The files it was read from, with their bytes: the named file and those it extends.
  public var files: [(path: String, bytes: [UInt8])] = []
  /// The values of variables, files and commands in its file, and those of its URLs' queries. A
  /// runner adds them to ``Services/secrets``.
  public var secrets: [SecretString] = []
  /// The options of the file, for checks against a schema.
  var options: PipelineFileOptions?
  /// The file without its chain, before expansion, for output.
  var shown: YAMLNode?
  /// The texts of the files it was read from, for diagnostics.
  var sources: [SourceText] = []

  /// Creates a pipeline in code.
  ///
  /// - Parameters:
  ///   - name: The name of the pipeline.
  ///   - endpoint: The endpoint that requests are sent to.
  ///   - schema: The path of the schema's SDL file.
  ///   - store: The store of the normalized cache; none by default.
  ///   - keys: The rules that name the key fields of each type.
  ///   - ages: The max ages of types and fields.
  ///   - entries: The entries of the chain in their order.
  public init(
    name: String? = nil, endpoint: Endpoint? = nil, schema: String? = nil,
    store: StoreConfiguration = StoreConfiguration(), keys: KeyRules = KeyRules(),
    ages: AgeRules = AgeRules(), entries: [PipelineEntry]
  ) {
    self.name = name
    self.endpoint = endpoint
    self.schema = schema
    self.store = store
    self.keys = keys
    self.ages = ages
    self.entries = entries
  }

  /// The max ages of types and fields, with the default max age of the chain's cache read.
  public var allAges: AgeRules {
    var ages = ages
    for read in cacheReads { ages.maxAge = read.maxAge ?? ages.maxAge }
    return ages
  }

  /// How much older than its max age data may be that the cache read still uses; `nil` is not at
  /// all.
  public var maxStale: Duration? { cacheReads.first?.maxStale }

  /// What fields with stored errors are read as by the chain's cache read.
  public var readErrors: ErrorReadPolicy { cacheReads.first?.errors ?? .refuse }

  /// The interceptors that read the cache; a pipeline file has at most one.
  package var cacheReads: [any CacheInterceptor] {
    entries.flatMap(\.parts).compactMap { part in
      if case .cacheRead(let interceptor) = part { interceptor } else { nil }
    }
  }
}

/// An entry of a chain.
public struct PipelineEntry: Sendable {
  /// The identifier, unique in its chain; the plugin's name unless the file gives another.
  public var id: String
  /// The interceptors of the entry.
  public var parts: [ChainPart]
  /// The operations that the entry applies to.
  public var condition: OperationCondition
  /// The plugin that created the parts; `nil` for interceptors that were added in code.
  public let plugin: (any Plugin)?
  /// The plugin's traits; none without a plugin.
  public let traits: PluginTraits
  /// The plugin's placement; `nil` without a plugin.
  public let placement: Placement?
  /// The programs that it starts.
  public let programs: [String]
  /// The files that it writes, except those that variables name.
  package let outputs: [FileOutput]
  /// The plugin with its options, as the file writes them; `nil` for an entry that was created in code.
  package let given: YAMLNode.Member?

  /// Creates an entry from interceptors.
  public init(id: String, _ parts: ChainPart..., when condition: OperationCondition = .always) {
    self.init(id: id, parts, when: condition, plugin: nil, given: nil)
  }

  /// Creates an entry from a plugin that was configured in code.
  ///
  /// - Parameters:
  ///   - id: The identifier, unique in its chain; the plugin's name by default.
  ///   - plugin: The plugin with its options.
  ///   - condition: The operations that the entry applies to; all by default.
  ///   - folder: The folder that relative paths of the plugin are relative to.
  ///   - variable: The value of an environment variable.
  /// - Throws: `OptionError` for options that are not valid together or cannot be used.
  public init(
    id: String? = nil, _ plugin: some Plugin, when condition: OperationCondition = .always,
    folder: String = ".",
    variable: @escaping @Sendable (String) -> String? = Services.environment
  ) throws(OptionError) {
    let id = id ?? type(of: plugin).name
    try plugin.validateAll()
    let parts = try plugin.parts(
      PluginEnvironment(entryID: id, folder: folder, variable: variable))
    self.init(id: id, parts, when: condition, plugin: plugin, given: nil)
  }

  init(
    id: String, _ parts: [ChainPart], when condition: OperationCondition, plugin: (any Plugin)?,
    given: YAMLNode.Member?, outputs: [FileOutput] = []
  ) {
    self.id = id
    self.parts = parts
    self.condition = condition
    self.plugin = plugin
    traits = plugin?.traits ?? []
    placement = plugin?.placement
    programs = plugin?.programs ?? []
    self.outputs = outputs
    self.given = given
  }

  /// The name of the plugin, or `nil` without one.
  public var pluginName: String? { plugin.map { type(of: $0).name } }
}

extension Pipeline {
  /// Changes the options of every entry of one plugin, as a command line does, and makes the
  /// interceptors of these entries again.
  ///
  /// - Parameter change: Changes the plugin's options.
  /// - Returns: The number of entries of the plugin.
  /// - Throws: `OptionError` for options that do not go together or cannot be used.
  @discardableResult
  package mutating func configure<Configured: Plugin>(
    _ plugin: Configured.Type, _ change: (inout Configured) -> Void
  ) throws(OptionError) -> Int {
    var count = 0
    for (index, entry) in entries.enumerated() {
      guard var plugin = entry.plugin as? Configured else { continue }
      change(&plugin)
      try plugin.validateAll()
      let parts = try plugin.parts(
        PluginEnvironment(pipelineName: name, entryID: entry.id, variable: Services.environment))
      entries[index] = PipelineEntry(
        id: entry.id, parts, when: entry.condition, plugin: plugin, given: entry.given,
        outputs: entry.outputs)
      count += 1
    }
    return count
  }
}

extension Pipeline {
  /// What is special about requests with files, as a part of a sentence; `nil` if nothing is.
  ///
  /// For `gqlrun pipeline check`.
  package var uploadRemark: String? {
    if let endpoint, endpoint.isWebSocket {
      return "requests with files are refused: the endpoint's URL is one of WebSocket"
    }
    let refusing = entries.filter { $0.traits.contains(.refusesUploads) }.map { "`\($0.id)`" }
    if !refusing.isEmpty {
      return "requests with files are refused by \(refusing.listed())"
    }
    let passing = entries.filter { $0.traits.contains(.passesUploads) }.map { "`\($0.id)`" }
    guard !passing.isEmpty else { return nil }
    return "requests with files pass \(passing.listed()) without effect"
  }
}

/// Selects the operations that an entry of a chain applies to: `when: { operation: [A, B], type:
/// query }`.
public struct OperationCondition: Sendable, Hashable {
  /// The names of the operations; `nil` selects all.
  public var operations: Set<String>?
  /// The type of the operations; `nil` selects all.
  public var type: OperationType?

  /// Creates a condition; without arguments, it selects every operation.
  ///
  /// - Parameters:
  ///   - operations: The names of the operations; `nil` selects all.
  ///   - type: The type of the operations; `nil` selects all.
  public init(operations: Set<String>? = nil, type: OperationType? = nil) {
    self.operations = operations
    self.type = type
  }

  /// Selects every operation.
  public static let always = OperationCondition()

  /// Whether the entry applies to a request.
  public func holds(for request: GraphQLRequest) -> Bool {
    if let type, type != request.operationType { return false }
    guard let operations else { return true }
    return request.operationName.map(operations.contains) ?? false
  }
}

extension OperationCondition: CustomStringConvertible {
  /// The condition as a pipeline file writes it; empty for ``always``.
  public var description: String {
    [
      operations.map { "operation: [\($0.sorted().joined(separator: ", "))]" },
      type.map { "type: \($0.rawValue)" },
    ].compactMap { $0 }.joined(separator: ", ")
  }
}
