import GQLRun
import GQLRunCache
import GQLRunPipeline
import Logging

extension PipelineClient {
  /// A client for a command.
  ///
  /// - Parameters:
  ///   - store: The store, instead of the pipeline's.
  ///   - configure: Changes what the client takes from the command.
  /// - Throws: ``Failure`` when the database file cannot be used as it is.
  static func open(
    _ pipeline: Pipeline, store: StoreChoice? = nil, logger: Logger,
    _ configure: (inout Configuration) -> Void = { _ in }
  ) async throws -> PipelineClient {
    // Commands read the schema themselves, with every error at its line.
    var pipeline = pipeline
    pipeline.schema = nil
    var configuration = Configuration()
    configuration.userAgent = "gqlrun/\(Version.current)"
    configuration.logger = logger
    configure(&configuration)
    configuration.store = try store?.open(
      ageGranularity: pipeline.allAges.granularity, report: { logger.warning("\($0)") })
    configuration.closesStore = true
    do {
      return try await PipelineClient(pipeline, configuration: configuration)
    } catch let error as CacheError where error.code == .storage {
      throw Failure(.badInput, error.message)
    }
  }
}
