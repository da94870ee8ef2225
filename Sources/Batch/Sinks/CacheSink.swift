import GQLRunPipeline

/// The cache of the pipeline, which the pipeline itself writes.
struct CacheSink: Sink {
  static let name = "cache"
  static let summary = "The cache of the pipeline, a SQLite file or a PostgreSQL database"
  static let example = "cache"

  @Option("Operations whose results the sink receives; by default all")
  var operations: [Located<String>] = []

  var file: Located<String>? { nil }

  func output(of operation: BatchOperation, at path: String) -> SinkOutput? { nil }
}
