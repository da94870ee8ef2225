public import CoreMetrics
public import GQLRunCache
public import GQLRunJSON
import GQLRunLanguage
public import GQLRunPipeline
public import GQLRunPlugins
public import HTTPTypes
public import Logging
public import ServiceLifecycle
public import Tracing

/// Executes GraphQL operations with the store, transport and tokens of a pipeline.
///
/// ```swift
/// let client = try await PipelineClient(file: "countries.pipeline.yaml")
/// let result = try await client.fetch(
///   "query C($code: ID!) { country(code: $code) { name } }", variables: ["code": "PT"],
///   as: CountryData.self)
/// print(result.data?.country?.name ?? "none")
/// try await client.shutdown()
/// ```
///
/// One client executes any number of concurrent operations. They share the store, the connections
/// and the state of plugins: tokens, budgets. ``shutdown()`` closes what the client has opened; a
/// `ServiceGroup` calls it through ``run()``.
public final class PipelineClient: Service, Sendable {
  /// The pipeline of the client's requests.
  public let pipeline: Pipeline
  /// The store of the pipeline; `nil` if it has none, or if a store that is not `required` cannot
  /// be opened.
  public let store: CacheStore?
  /// Executes the requests.
  let runner: PipelineRunner
  /// The services of the pipeline's plugins, for a runner next to the client, such as a batch.
  public var services: Services { runner.services }
  let operations = OperationRegister()
  let watches = WatchRegister()
  let prepared: PreparedOperations
  /// The key rules of operations, with those of the schema.
  package var keyRules: KeyRules { prepared.keys }
  /// The schema of operations; `nil` without one.
  package var schema: Schema? { prepared.facts?.schema }
  let decoder: JSONTextDecoder
  private let transport: AsyncHTTPTransport?
  private let ownStore: CacheStore?
  /// Checks the store while queries are watched; `nil` if the configuration has no interval.
  let refresher: StoreRefresher?

  /// Creates a client for a pipeline file.
  ///
  /// - Parameters:
  ///   - file: The path of the file. Paths in the file are relative to its directory.
  ///   - configuration: Settings in place of those of the file.
  /// - Throws: `PipelineDiagnostics` with all errors of the file; `CacheError` if the store cannot
  ///   be opened and is `required`, or if its directory does not exist; an error of the schema that
  ///   the file names.
  public convenience init(file: String, configuration: Configuration = .init()) async throws {
    let loaded = try await Self.load(file, configuration)
    if !loaded.warnings.warnings.isEmpty { configuration.logger.warning("\(loaded.warnings)") }
    try await self.init(loaded.pipeline, configuration: configuration)
  }

  /// Reads a file, and runs its commands, outside the caller's actor.
  @concurrent private static func load(
    _ file: String, _ configuration: Configuration
  ) async throws -> PipelineFile.Loaded {
    var environment = configuration.environment
    environment.readyMade = { ReadyMade.file($0) }
    return try PipelineFile.load(
      path: file, registry: configuration.registry, environment: environment)
  }

  /// Creates a client for an endpoint with the default pipeline: a memory cache of 256 MiB, three
  /// retries, and a time limit of five minutes per operation.
  ///
  /// - Parameters:
  ///   - endpoint: The absolute URL of the endpoint, `http` or `https`.
  ///   - headers: The header fields of every request.
  ///   - configuration: Settings in place of those of the pipeline.
  /// - Throws: `Endpoint.InvalidURL`.
  public convenience init(
    endpoint: String, headers: HTTPFields = [:], configuration: Configuration = .init()
  ) async throws {
    let target = try Endpoint(url: endpoint, headers: headers)
    var environment = configuration.environment
    let variable = environment.variable
    environment.variable = { $0 == "GQL_URL" ? endpoint : variable($0) }
    var pipeline = try PipelineFile.load(
      Array(ReadyMade.defaultPipeline.utf8), file: "(default pipeline)",
      registry: configuration.registry, environment: environment
    ).pipeline
    pipeline.endpoint = target
    try await self.init(pipeline, configuration: configuration)
  }

  /// Creates a client for a pipeline that was loaded or created before.
  ///
  /// - Parameters:
  ///   - pipeline: The pipeline.
  ///   - configuration: Settings in place of those of the pipeline.
  /// - Throws: `CacheError` if the store cannot be opened and is `required`, or if its directory
  ///   does not exist; an error of the schema that the pipeline names.
  public init(_ pipeline: Pipeline, configuration: Configuration = .init()) async throws {
    prepared = try await PreparedOperations.forOperations(of: pipeline, configuration)
    self.pipeline = pipeline
    decoder = configuration.decoder
    var services = configuration.services
    let isGiven = services.store != nil && !configuration.closesStore
    let keyResolver = configuration.keyRules(of: pipeline).resolver?.version
    if let store = services.store {
      try await store.adopt(keyResolver: keyResolver)
    } else {
      services.store = try await StoreOpening(
        pipeline: pipeline, keyResolver: keyResolver, logger: services.logger
      ).open()
    }
    ownStore = isGiven ? nil : services.store
    if services.transport == nil {
      // The times of connections are compared with those of requests.
      if let meter = configuration.meter { services.clock = meter.clock }
      // The client traces its requests itself.
      let own = AsyncHTTPTransport(
        clock: services.clock, userAgent: configuration.userAgent, meter: configuration.meter,
        traces: false, observer: configuration.observer)
      services.transport = own
      transport = own
    } else {
      transport = nil
    }
    if let recorder = configuration.recorder, let base = services.transport {
      services.transport = RecordingTransport(base, recorder: recorder)
      services.secrets = recorder.secrets
    }
    if let telemetry = Telemetry(configuration, services) {
      services[ChainObservationKey.self] = telemetry
      services.transport = services.transport.map {
        ObservedTransport(base: $0, telemetry: telemetry)
      }
    }
    store = services.store
    if let interval = configuration.refreshInterval, let store = services.store {
      let operations = operations
      refresher = StoreRefresher(every: interval, services) {
        // A shutdown waits for the check before it closes the store.
        _ = try await operations.hold { try await store.refresh() }
      }
    } else {
      refresher = nil
    }
    runner = PipelineRunner(pipeline, services: services, wrap: operations.guarding)
  }
}

// MARK: Shutdown

extension PipelineClient {
  /// Shuts the client down: refuses new operations, cancels those in flight, waits for their end,
  /// then closes the connections and the database file. The renewal of a refresh token is not cancelled, because its answer
  /// has the next one: the shutdown waits for it, at most for the `timeout` of `token-refresh`.
  ///
  /// Cancelled and later operations throw `ChainError` with code `client_shut_down`; watches end. A
  /// store or transport of the program stays open. Transactions are not cancelled: the shutdown
  /// waits for them, so do not call this inside one. It also waits for a transport of the program that does not end its
  /// requests when they are cancelled. Further calls wait for the first.
  ///
  /// - Throws: `CacheError` if the database file cannot be closed.
  public func shutdown() async throws {
    try await operations.close { [transport, ownStore, services] in
      for tokens in services.shared.all(TokenCache.self) { await tokens.finish() }
      await transport?.shutdown()
      try ownStore?.close()
    }
  }

  /// Runs `body`, then shuts the client down, even if `body` throws.
  ///
  /// - Returns: The result of `body`.
  public func shutdown<Result>(
    after body: (PipelineClient) async throws -> Result
  ) async throws -> Result {
    let result: Result
    do {
      result = try await body(self)
    } catch {
      try? await shutdown()
      throw error
    }
    try await shutdown()
    return result
  }

  /// Suspends until the service group shuts down gracefully or the task is cancelled, then calls
  /// ``shutdown()``.
  public func run() async throws {
    // Throws when the task is cancelled, which ends the service like a graceful shutdown.
    try? await gracefulShutdown()
    try await shutdown()
  }
}

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
    /// Whether spans of operations have their documents, without known secrets.
    package var reportsDocuments = false
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
    /// Counts the bytes and connections of the transport. The client has its clock then.
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

extension PipelineClient {
  /// The state of the connections of this client's subscriptions.
  public var connectionState: ConnectionState { SubscriptionRegister.of(services).current }

  /// The state of the connections of this client's subscriptions: the current one, and each one that follows.
  ///
  /// ```swift
  /// for await state in client.connectionStates {
  ///   banner.isHidden = state == .open || state == .idle
  /// }
  /// ```
  ///
  /// Never ends by itself. A slow reader misses states, but not the last one.
  public var connectionStates: AsyncStream<ConnectionState> {
    SubscriptionRegister.of(services).states()
  }

  /// Ends the connections of all subscriptions, for example while a program is in the background.
  ///
  /// The subscriptions themselves do not end: after ``resumeSubscriptions()`` they connect again, and each delivers
  /// an element whose `gap` is set. Subscriptions that begin meanwhile wait.
  public func pauseSubscriptions() { SubscriptionRegister.of(services).pause() }

  /// Connects the subscriptions again that ``pauseSubscriptions()`` has paused.
  public func resumeSubscriptions() { SubscriptionRegister.of(services).resume() }
}

extension PipelineClient {
  /// Edits the store. The changes become visible when `body` returns; none do if it throws.
  ///
  /// ```swift
  /// try await client.transaction { transaction in
  ///   try await transaction.update(post) { $0["post"]?["title"] = "Edited" }
  /// }
  /// ```
  ///
  /// Other writers wait meanwhile, so `body` must neither write to the store in another way nor
  /// shut the client down.
  ///
  /// - Returns: The result of `body`.
  /// - Throws: The errors of `body`, and `ChainError` if the client has no store.
  @discardableResult
  public func transaction<Result: Sendable>(
    _ body: (StoreTransaction) async throws -> Result
  ) async throws -> Result {
    let store = try runner.store(to: "edit the cache")
    return try await operations.hold { try await store.transaction(body) }
  }

  /// Checks for changes by other processes in the store's file, and notifies watchers.
  ///
  /// ``Configuration/refreshInterval`` does this regularly while a query is watched.
  /// Costs some microseconds without changes. Does nothing for a store in memory.
  ///
  /// - Returns: Whether other processes have written.
  @discardableResult
  public func refresh() async throws -> Bool {
    let store = try runner.store(to: "refresh the cache")
    return try await operations.hold { try await store.refresh() }
  }

  /// Removes all records and optimistic layers. Responses to requests in flight are not stored.
  public func clear() async throws {
    let store = try runner.store(to: "clear the cache")
    try await operations.hold { try await store.clear() }
  }

  /// Logs out: removes the tokens of the pipeline's plugins, including those in files, and all
  /// records.
  ///
  /// - Returns: Descriptions of what was removed, for a message.
  /// - Throws: An error if a file cannot be removed or the store cannot be cleared; everything else
  ///   is removed nevertheless.
  @discardableResult
  public func logOut() async throws -> [String] {
    try await operations.hold { try await runner.signOut() }
  }
}
