public import CoreMetrics
public import GQLRunCache
public import GQLRunJSON
public import GQLRunPipeline
public import GQLRunPlugins
public import Logging
public import Tracing

extension PipelineClient {
  /// Settings of a client that the program provides, in place of the pipeline file.
  ///
  /// ```swift
  /// var configuration = PipelineClient.Configuration()
  /// configuration.logger = Logger(label: "shop")
  /// configuration.store = .memory()
  /// let client = try await PipelineClient(
  ///   file: "shop.pipeline.yaml", configuration: configuration)
  /// ```
  public struct Configuration: Sendable {
    /// The services of the plugins: clock, random numbers, logger, environment variables and
    /// others.
    ///
    /// A transport or a store in it replaces the one that the client would open. The client only
    /// closes what it has opened itself.
    public var services = Services()
    /// The plugins that a pipeline file can name; the built-in ones by default.
    public var registry = PluginRegistry.builtIn
    /// The variables, files and commands that a pipeline file can use; by default those of the
    /// process.
    public var environment = PipelineFileEnvironment.process
    /// The key rules of operations; `nil`, the default, uses those of the pipeline and its schema.
    public var keys: KeyRules?
    /// Computes the identities of objects in Swift; `nil`, the default, uses that of the key rules.
    public var keyResolver: KeyResolver?
    /// Facts about types; `nil`, the default, uses the pipeline's schema.
    public var facts: TypeFacts?
    /// Receives the metrics; by default the bootstrapped factory of the process.
    public var metrics: any MetricsFactory = MetricsSystem.factory
    /// Receives the spans; by default the bootstrapped tracer of the process.
    public var tracer: any Tracer = InstrumentationSystem.tracer
    /// Records requests and responses, for HTTP archives and curl commands; `nil`, the default,
    /// records none.
    public var recorder: ExchangeRecorder?
    /// The header field `User-Agent` of requests that have none.
    public var userAgent = "gqlrun"
    /// Decodes data into the program's types. Set its strategies for dates and keys here.
    public var decoder = JSONTextDecoder()
    /// The time between two checks of a SQLite file for writes of other processes, while queries are
    /// watched; `nil`, the default, only checks in ``PipelineClient/refresh()``.
    ///
    /// A check takes microseconds. Writes of this process are noticed without it.
    public var refreshInterval: Duration?
    /// Counts the bytes and connections of the transport.
    package var meter: ConnectionMeter?
    /// Called with connections, requests and responses of the transport.
    package var observer: (@Sendable (NetworkEvent) -> Void)?
    /// Whether the client closes a store that the program provides.
    package var closesStore = false

    /// Creates the default configuration.
    public init() {}

    /// The key rules of the operations of `pipeline`.
    func keyRules(of pipeline: Pipeline) -> KeyRules {
      var rules = keys ?? pipeline.keys
      if let keyResolver { rules.resolver = keyResolver }
      return rules
    }

    /// The logger of the client and its plugins; discards everything by default.
    public var logger: Logger {
      get { services.logger }
      set { services.logger = newValue }
    }

    /// The store, in place of the pipeline's. The program closes it.
    public var store: CacheStore? {
      get { services.store }
      set { services.store = newValue }
    }

    /// The transport, in place of the client's own. The program shuts it down.
    public var transport: (any HTTPTransport)? {
      get { services.transport }
      set { services.transport = newValue }
    }
  }
}
