import GQLRunCache
public import GQLRunLanguage

/// Reads pipeline files: `*.pipeline.yaml`.
///
/// Reading does not use the network. All problems of a file are reported at once, each with its
/// source location.
public enum PipelineFile {
  /// A pipeline with the warnings about its file.
  public struct Loaded: Sendable {
    /// The pipeline.
    public var pipeline: Pipeline
    /// The diagnostics of the file; warnings only.
    public var warnings: PipelineDiagnostics
  }

  /// Reads a pipeline from a file.
  ///
  /// - Parameters:
  ///   - path: The path of the file. Paths in the file are relative to its folder.
  ///   - registry: The plugins that the file can name.
  ///   - environment: The variables, files and commands that the file can use.
  /// - Returns: The pipeline with the warnings about its file.
  /// - Throws: `PipelineDiagnostics` with all errors and warnings of the file.
  public static func load(
    path: String, registry: PluginRegistry, environment: PipelineFileEnvironment = .process
  ) throws(PipelineDiagnostics) -> Loaded {
    try load(
      environment.bytes(of: path, "the pipeline file"), file: path, registry: registry,
      environment: environment)
  }

  /// Reads a pipeline from the bytes of a file.
  ///
  /// - Parameters:
  ///   - bytes: The contents of the file.
  ///   - file: The path of the file. Paths in the file are relative to its folder.
  ///   - registry: The plugins that the file can name.
  ///   - environment: The variables, files and commands that the file can use.
  /// - Returns: The pipeline with the warnings about its file.
  /// - Throws: `PipelineDiagnostics` with all errors and warnings of the file.
  public static func load(
    _ bytes: [UInt8], file: String, registry: PluginRegistry,
    environment: PipelineFileEnvironment
  ) throws(PipelineDiagnostics) -> Loaded {
    var environment = environment
    if environment.execute == nil, !environment.showsPlaceholders {
      environment.execute = { _ in
        throw PipelineFileEnvironment.Failure("commands are not run by this check")
      }
    }
    var loader = PipelineLoader(file: file, registry: registry, environment: environment)
    let pipeline = loader.load(bytes)
    guard let pipeline, loader.diagnostics.errors.isEmpty else { throw loader.diagnostics }
    return Loaded(pipeline: pipeline, warnings: loader.diagnostics)
  }

  /// Returns all errors and warnings of a file. Runs no commands: options with `${exec:…}` count as
  /// valid.
  ///
  /// - Parameters:
  ///   - path: The path of the file.
  ///   - registry: The plugins that the file can name.
  ///   - environment: The variables and files that the file can use.
  ///   - readSchema: Reads the schema that the file names. With it, the rules of the file (`keys`,
  ///     `fields`, `types`) are checked against the schema.
  public static func check(
    path: String, registry: PluginRegistry, environment: PipelineFileEnvironment = .process,
    readSchema: ((_ path: String) throws -> Schema)? = nil
  ) -> PipelineDiagnostics {
    do throws(PipelineDiagnostics) {
      let bytes = try environment.bytes(of: path, "the pipeline file")
      return check(
        bytes, file: path, registry: registry, environment: environment, readSchema: readSchema)
    } catch {
      return error
    }
  }

  /// Returns all errors and warnings of the bytes of a file; see
  /// ``check(path:registry:environment:readSchema:)``.
  public static func check(
    _ bytes: [UInt8], file: String, registry: PluginRegistry,
    environment: PipelineFileEnvironment, readSchema: ((_ path: String) throws -> Schema)? = nil
  ) -> PipelineDiagnostics {
    var loader = PipelineLoader(
      file: file, registry: registry, environment: environment.withoutCommands)
    loader.readSchema = readSchema
    _ = loader.load(bytes)
    return loader.diagnostics
  }
}

extension PipelineFile {
  /// The options of a pipeline file except `chain`.
  static let options = PipelineFileOptions.optionDescriptions

  /// The type of max ages. In whole seconds, because records store the second of their receipt.
  public static let ageRange: ClosedRange<Duration> = .zero ... .seconds(1_000_000 * 3600)
  static let maxAge = OptionType.duration(in: ageRange, wholeSeconds: true)
}

/// The keys of a pipeline file except `chain`.
struct PipelineFileOptions: OptionSection {
  @Option("Version of the format; always 1") var version: FormatVersion
  @Option("Name of the pipeline in logs and reports") var name: String?
  @Option(
    "Pipeline file that this one changes: the keys of this file override those of that one, and "
      + "each entry of its chain inserts, replaces or removes entries")
  var extends: OptionPath?
  @Option("Server that operations are sent to") var endpoint: EndpointOptions?
  @Option("Behavior of subscriptions") var subscriptions: EventOptions?
  @Option("SDL file of the server's schema") var schema: OptionPath?
  @Option("Normalized cache") var store: StoreOptions?
  @Option("Key fields of types") var keys: KeyOptions?
  @Option("Rules by field, as `Type.field`") var fields = OptionMap<FieldRuleOptions>()
  @Option("Rules by type; also by interface if the schema is known")
  var types = OptionMap<TypeRuleOptions>()
  @Option("Tests that `gqlrun pipeline test` runs; see the guide") var tests: [PipelineTest] = []
}

/// The `endpoint` section.
struct EndpointOptions: OptionSection {
  @Option(
    "URL of the server, http or https; ws or wss send everything over WebSocket", secrecy: .url)
  var url: String
  @Option("Header fields of every request", secrecy: .secretHeaders)
  var headers = OptionMap<Located<String>>()
  @Option("HTTP method of queries; mutations are always sent by POST")
  var method = Endpoint.Method.post
  @Option(
    "Subscriptions; without it they are sent like queries, and over HTTP as server-sent events or multipart"
  )
  var subscriptions: SubscriptionEndpointOptions?
}

/// The `subscriptions` section of `endpoint`.
struct SubscriptionEndpointOptions: OptionSection {
  @Option(
    "URL for subscriptions; by default that of the endpoint, with the scheme of the transport",
    secrecy: .url)
  var url: String?
  @Option(
    "Protocol of subscriptions; `auto` uses WebSocket, or server-sent events or multipart if the server opens "
      + "no WebSocket connection, and remembers the answer")
  var transport = Endpoint.Subscriptions.Transport.auto
  @Option(
    "With the transport `sse`: whether all subscriptions share one event stream, which the server must support "
      + "(\"single connection mode\" of graphql-sse)")
  var singleConnection = false
  @Option("Payload of `connection_init` for connections over WebSocket, filled in for each attempt")
  var connectionParams: ConnectionParameters?
}

/// The `subscriptions` section.
struct EventOptions: OptionSection {
  @Option(
    "What happens to events that are not read in time: `block` slows the server down, "
      + "`drop-oldest` drops the oldest and announces it, `fail` ends the subscription")
  var overflow = SubscriptionSettings.Overflow.block
  @Option(
    1...1_000_000,
    "Number of events that wait to be read, with `drop-oldest` and `fail`; 1000 by default")
  var maxWaiting: Int?
  @Option(
    .kibibytes(1)...ByteSize(bytes: 1 << 40),
    "Size of the events that wait to be read, with `drop-oldest` and `fail`; 64MiB by default")
  var maxWaitingSize: ByteSize?
  @Option(
    .zero ... .seconds(86_400),
    "How long a subscription that has lost its connection tries to connect again without receiving an event; "
      + "needs `max-retry`, whose delays it uses") var patience = Duration.seconds(300)
  @Option(
    "Query that fetches what was missed after a connection was lost, before events continue; it gets "
      + "those of the subscription's variables that it declares")
  var catchUp: CatchUpOptions?
}

/// The `catch_up` section.
struct CatchUpOptions: OptionSection {
  @Option("Name of the query, in the subscription's document or in `file`") var query: String?
  @Option("Document with the query") var file: OptionPath?
  @Option("Whether its result is delivered like an event; otherwise only the cache gets it")
  var deliver = false
}

/// The `store` section.
struct StoreOptions: OptionSection {
  static let sizes: ClosedRange<ByteSize> = .kibibytes(64)...ByteSize(bytes: .max)

  @Option("Storage of the records") var kind = StoreConfiguration.Kind.memory
  @Option("Database file of a SQLite store") var path: WrittenPath?
  @Option(
    "PostgreSQL database: `postgresql://host/database`; libpq's variables (`PGHOST`, …) and its password file give what "
      + "is missing", secrecy: .url) var url: String?
  @Option(sizes, "Size above which a store in memory evicts records") var maxSize: ByteSize?
  @Option(sizes, "Size of the memory tier of a SQLite store") var memory: ByteSize?
  @Option("Whether a store that cannot be used is an error instead of a warning")
  var required = false
}

/// The `keys` section.
struct KeyOptions: OptionSection {
  @Option("Key fields of types without a rule") var `default` = [Located("id")]
  @Option("Key fields by type") var types = OptionMap<[Located<String>]>()
  @Option("Names that replace those of types in cache keys, so that types share one key space")
  var groups = OptionMap<Located<String>>()
}

/// An entry of `fields`.
struct FieldRuleOptions: OptionSection {
  @Option(
    "Arguments that are the key fields of the returned object, in their order: a cache redirect. "
      + "`input.code` is a field of an input object; one of them may be a list")
  var keyArgs: [Located<String>]?
  @Option(
    "Type that a field with `key_args` returns, `Country` or `[Country]`; required without a schema"
  )
  var type: String?
  @Option(
    "Arguments in the key that the field is stored under; all by default, or for pages all but "
      + "those that select a page")
  var fieldKeyArgs: [Located<String>]?
  @Option(
    "How pages are merged into one stored list: `connection` at cursors, `offset` by position, "
      + "`append` at the end")
  var merge: PagePolicy?
  @Option("Max age of the field: how long it stays fresh after it was received")
  var maxAge: RecordAge?

  init() {}

  init(option: GivenOption) throws(OptionError) {
    self = try option.group(Self.self)
    guard option.node.members?.isEmpty == false else {
      throw OptionError(
        "the rule is empty", remedy: "give `key_args`, `field_key_args`, `merge` or `max_age`")
    }
  }
}

/// An entry of `types`.
struct TypeRuleOptions: OptionSection {
  @Option("Max age of the type's fields: how long they stay fresh after they were received")
  var maxAge: RecordAge
}

/// The `when` section of an entry of the chain.
struct ConditionOptions: OptionSection {
  @Option("Names of operations") var operation: [String]?
  @Option("Type of operations") var type: OperationType?
}

extension OperationType: ExpressibleByOption {}
extension PagePolicy: ExpressibleByOption {}
extension SubscriptionSettings.Overflow: ExpressibleByOption {}
extension StoreConfiguration.Kind: ExpressibleByOption {}
