import Foundation
import GQLRunCache
import GQLRunLanguage
import GQLRunPipeline
import GQLRunPlugins
import HTTPTypes
import Logging

/// A pipeline with everything its chains need: network, store, log.
struct Session {
  let pipeline: Pipeline
  let store: (any RecordStore)?
  let keys: KeyRules
  let facts: TypeFacts?
  /// One for all operations of the session, so that they share what plugins keep: tokens, budgets.
  let runner: PipelineRunner
  private let transport: AsyncHTTPTransport

  /// Opens what `pipeline` names.
  ///
  /// - Parameters:
  ///   - recorder: Keeps what is sent and answered.
  ///   - meter: Watches the connections.
  init(
    _ pipeline: Pipeline, store choice: StoreChoice? = nil, keys: KeyRules, facts: TypeFacts?,
    logger: Logger, recorder: ExchangeRecorder? = nil, meter: ConnectionMeter? = nil
  ) throws {
    self.pipeline = pipeline
    self.keys = keys
    self.facts = facts
    let granularity = pipeline.allAges.granularity
    store =
      try choice?.open(ageGranularity: granularity, report: Self.report(logger))
      ?? Self.store(pipeline.store, ageGranularity: granularity, logger)
    let transport = AsyncHTTPTransport(
      userAgent: "gqlrun/\(Version.current)", meter: meter)
    self.transport = transport
    let network: any HTTPTransport
    if let recorder {
      network = RecordingTransport(transport, recorder: recorder)
    } else {
      network = transport
    }
    var services = Services(transport: network, store: store, logger: logger)
    if let recorder { services.secrets = recorder.secrets }
    runner = PipelineRunner(pipeline, services: services)
  }

  private static func report(_ logger: Logger) -> @Sendable (StoreNotice) -> Void {
    { logger.warning("\($0)") }
  }

  private static func store(
    _ configuration: StoreConfiguration, ageGranularity: Int, _ logger: Logger
  ) throws -> (any RecordStore)? {
    switch configuration.kind {
    case .none: return nil
    case .memory: return MemoryStore(maxSize: configuration.maximumSize?.bytes)
    case .sqlite: return try file(configuration, ageGranularity: ageGranularity, logger)
    }
  }

  /// The store of a file; `nil` when the file cannot be used now and need not be.
  private static func file(
    _ configuration: StoreConfiguration, ageGranularity: Int, _ logger: Logger
  ) throws -> SQLiteStore? {
    let path = configuration.path ?? "cache.db"
    do {
      var options = SQLiteStore.Options()
      options.memory = configuration.memory?.bytes
      options.ageGranularity = ageGranularity
      options.report = report(logger)
      let store = try SQLiteStore(path: path, options: options)
      guard configuration.isRequired, store.isReadOnly else { return store }
      try store.close()
      throw Failure(
        .failed,
        "the cache \(path) can only be read, and the pipeline requires its store; change the "
          + "permissions of the file and its directory, or remove `required`")
    } catch let error as CacheError where error.isStoreFailure {
      // A folder that is not there is a mistake in the pipeline.
      let folder = (path as NSString).deletingLastPathComponent
      let hasFolder = FileManager.default.fileExists(atPath: folder.isEmpty ? "." : folder)
      guard !configuration.isRequired, hasFolder else {
        throw error.code == .storage ? Failure(.badInput, error.message) : error
      }
      logger.warning("running without the cache: \(error)")
      return nil
    }
  }

  /// Closes connections and files.
  func close() async throws {
    await transport.shutdown()
    try (store as? SQLiteStore)?.close()
  }
}
