public import GQLRunCache

/// How requests are run: where they go, which store they use, which interceptors they pass, in
/// which order.
///
/// Read from a file by ``PipelineFile``, or put together in code. A plain value: it holds no
/// connection and no state.
public struct Pipeline: Sendable {
  public var name: String?
  /// The file it was read from, as the user named it.
  public var file: String?
  public var endpoint: Endpoint?
  /// The path of the schema's SDL file.
  public var schema: String?
  public var store: StoreConfiguration
  public var keys: KeyRules
  /// How long data of single types and fields are fresh.
  public var ages: AgeRules
  /// From the first that meets a request to the last.
  public var entries: [PipelineEntry]
  /// What its file says it does; see ``PipelineTest/run(_:equipment:)``.
  public var tests: [PipelineTest] = []
  /// The programs that it starts: those of `${exec:…}`, and those of its entries.
  public var programs: [FileProgram] = []
  /// The files that it was read from: the one that was named and those it extends, with their bytes.
  public var files: [(path: String, bytes: [UInt8])] = []
  /// The values that its file took from variables, files and commands, and those of its URLs' queries. A
  /// runner adds them to ``Services/secrets``.
  public var secrets: [SecretString] = []
  /// How the file's own options are shown, before expansion.
  var shown: PluginOptions?
  /// The lines of the files it was read from, for diagnostics.
  var sources: [SourceText] = []

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

  /// All rules about ages: those of the pipeline with what its cache read says of the rest.
  public var allAges: AgeRules {
    var ages = ages
    for entry in entries {
      for case .cacheRead(let interceptor) in entry.instance.parts {
        ages.maxAge = interceptor.maxAge ?? ages.maxAge
      }
    }
    return ages
  }
}

/// One entry of a chain.
public struct PipelineEntry: Sendable {
  /// Unique in its chain; the plugin's name unless the file gives another.
  public var id: String
  public var instance: PluginInstance
  /// Which operations the entry is for.
  public var condition: OperationCondition
  /// The plugin, for entries that were read from a file.
  public var description: PluginDescription?
  public var options: PluginOptions?

  public init(
    id: String, _ instance: PluginInstance, when condition: OperationCondition = .always,
    description: PluginDescription? = nil, options: PluginOptions? = nil
  ) {
    self.id = id
    self.instance = instance
    self.condition = condition
    self.description = description
    self.options = options
  }
}
