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
        transport: transport,
        store: store, logger: logger))
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
    transport = AsyncHTTPTransport()
  }

  private static func store(_ configuration: StoreConfiguration) throws -> (any RecordStore)? {
    switch configuration.kind {
    case .none: return nil
    case .memory: return MemoryStore(maxSize: configuration.maximumSize?.bytes)
    case .sqlite: return try SQLiteStore(path: configuration.path ?? "cache.db")
    }
  }

  /// Closes connections and files.
  func close() async throws {
    await transport.shutdown()
    try (store as? SQLiteStore)?.close()
  }
}

/// The log of one run: lines on standard error.
enum RunLog {
  static func logger(verbosity: Int, isQuiet: Bool) -> Logger {
    var logger = Logger(label: "gqlrun") { _ in StandardErrorLog() }
    logger.logLevel =
      isQuiet ? .critical : verbosity == 0 ? .warning : verbosity == 1 ? .info : .debug
    return logger
  }
}

/// Writes log lines to standard error, without date: a run is short, and its reader is a person.
struct StandardErrorLog: LogHandler {
  var logLevel = Logger.Level.info
  var metadata = Logger.Metadata()

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    let details = (event.metadata ?? [:]).merging(metadata) { first, _ in first }
      .sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
    let text = Terminal.safe("\(event.message)\(details)")
    switch event.level {
    case .error, .critical: Terminal.note(Terminal.styled(text, .red))
    case .warning: Terminal.note(Terminal.styled("warning: ", .yellow) + text)
    default: Terminal.note(Terminal.styled(text, .dim))
    }
  }
}
