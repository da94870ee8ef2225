public import GQLRunCache

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
  /// The entries of the chain, from the first that receives a request to the last.
  public var entries: [PipelineEntry]
  /// The tests of its file; see ``PipelineTest/run(_:equipment:)``.
  public var tests: [PipelineTest] = []
  /// The programs that it starts: those of `${exec:…}` and those of its entries.
  public var programs: [FileProgram] = []
  /// The files it was read from, with their bytes: the named file and those it extends.
  public var files: [(path: String, bytes: [UInt8])] = []
  /// The values of variables, files and commands in its file, and those of its URLs' queries. A
  /// runner adds them to ``Services/secrets``.
  public var secrets: [SecretString] = []
  /// The options of the file before expansion, for output.
  var shown: PluginOptions?
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
    for entry in entries {
      for case .cacheRead(let interceptor) in entry.instance.parts {
        ages.maxAge = interceptor.maxAge ?? ages.maxAge
      }
    }
    return ages
  }
}

/// An entry of a chain.
public struct PipelineEntry: Sendable {
  /// The identifier, unique in its chain; the plugin's name unless the file gives another.
  public var id: String
  /// The interceptors of the entry.
  public var instance: PluginInstance
  /// Selects the operations that the entry applies to.
  public var condition: OperationCondition
  /// The description of the plugin; `nil` for an entry created in code.
  public var description: PluginDescription?
  /// The options of the plugin; `nil` for an entry created in code.
  public var options: PluginOptions?

  /// Creates an entry.
  ///
  /// - Parameters:
  ///   - id: The identifier, unique in its chain.
  ///   - instance: The interceptors of the entry.
  ///   - condition: Selects the operations that the entry applies to; all by default.
  ///   - description: The description of the plugin.
  ///   - options: The options of the plugin, for output.
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
