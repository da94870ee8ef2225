public import CoreMetrics
public import Foundation
public import GQLRunCache
public import GQLRunPipeline
public import GQLRunPlugins
public import Logging
public import Tracing

extension PipelineClient {
  /// What a client takes from its program instead of from the pipeline file.
  ///
  /// ```swift
  /// var configuration = PipelineClient.Configuration()
  /// configuration.logger = Logger(label: "shop")
  /// configuration.store = MemoryStore()
  /// let client = try await PipelineClient(file: "shop.pipeline.yaml", configuration: configuration)
  /// ```
  public struct Configuration: Sendable {
    /// Clock, randomness, log, environment variables and further services of the plugins.
    ///
    /// A transport or a store in it replaces the one that the client would open. The client closes
    /// only what it opened itself.
    public var services = Services()
    /// The plugins that a pipeline file can name; the built-in ones by default.
    public var registry = PluginRegistry.builtIn
    /// The variables, files and commands that a pipeline file can use; those of the process by default.
    public var environment = PipelineFileEnvironment.process
    /// The key rules of operations; by default those of the pipeline and of its schema.
    public var keys: KeyRules?
    /// What is known about types; by default what the pipeline's schema says.
    public var facts: TypeFacts?
    /// Receives the metrics; by default the factory that the process was bootstrapped with.
    public var metrics: any MetricsFactory = MetricsSystem.factory
    /// Receives the spans; by default the tracer that the process was bootstrapped with.
    public var tracer: any Tracer = InstrumentationSystem.tracer
    /// Keeps requests and responses, for HTTP archives and curl commands; `nil`, the default, keeps none.
    public var recorder: ExchangeRecorder?
    /// The header field `User-Agent` of requests that have none.
    public var userAgent = "gqlrun"
    /// Decodes data into the types of the program: set its date strategy here.
    public var decoder = JSONDecoder()
    /// Counts the bytes and connections of the transport.
    package var meter: ConnectionMeter?
    /// Whether the client closes a store that it was given.
    package var closesStore = false

    /// A configuration that changes nothing.
    public init() {}

    /// The log of the client and of its plugins; nothing is logged by default.
    public var logger: Logger {
      get { services.logger }
      set { services.logger = newValue }
    }

    /// The store, instead of the pipeline's. Its owner closes it.
    public var store: (any RecordStore)? {
      get { services.store }
      set { services.store = newValue }
    }

    /// The transport, instead of the client's own. Its owner shuts it down.
    public var transport: (any HTTPTransport)? {
      get { services.transport }
      set { services.transport = newValue }
    }
  }
}
