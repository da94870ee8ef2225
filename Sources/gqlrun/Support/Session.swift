import Cache
import Foundation
import GraphQL
import HTTPTypes
import Logging
import Pipeline
import Plugins

/// A pipeline with everything its chains need: network, store, log.
struct Session {
  let pipeline: Pipeline
  let store: (any RecordStore)?
  let keys: KeyRules
  let facts: TypeFacts?
  private let transport: AsyncHTTPTransport
  private let logger: Logger

  var runner: PipelineRunner {
    PipelineRunner(
      pipeline,
      services: Services(
        transport: transport, store: store, logger: logger))
  }

  /// Opens what `pipeline` names.
  init(
    _ pipeline: Pipeline, store choice: StoreChoice? = nil, keys: KeyRules, facts: TypeFacts?,
    logger: Logger
  ) throws {
    self.pipeline = pipeline
    self.keys = keys
    self.facts = facts
    self.logger = logger
    store = try choice?.open() ?? Self.store(pipeline.store)
    transport = AsyncHTTPTransport(userAgent: "gqlrun/\(Version.current)")
  }

  private static func store(_ configuration: StoreConfiguration) throws -> (any RecordStore)? {
    switch configuration.kind {
    case .none: return nil
    case .memory: return MemoryStore(maxSize: configuration.maximumSize?.bytes)
    case .sqlite: return try StoreChoice.open(configuration.path ?? "cache.db")
    }
  }

  /// Closes connections and files.
  func close() async throws {
    await transport.shutdown()
    try (store as? SQLiteStore)?.close()
  }
}
