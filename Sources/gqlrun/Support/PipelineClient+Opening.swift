import GQLRun
import GQLRunCache
import GQLRunPipeline
import Logging

extension PipelineClient {
  /// Opens a client for a command.
  ///
  /// - Parameters:
  ///   - pipeline: The pipeline.
  ///   - store: The store to use instead of the pipeline's.
  ///   - configure: Adds the command's settings to the configuration.
  /// - Throws: ``Failure`` if the database file cannot be used.
  static func open(
    _ pipeline: Pipeline, store: StoreChoice? = nil, logger: Logger,
    _ configure: (inout Configuration) -> Void = { _ in }
  ) async throws -> PipelineClient {
    // Commands load the schema themselves, to report all errors with their source locations.
    var pipeline = pipeline
    pipeline.schema = nil
    var configuration = Configuration()
    configuration.userAgent = "gqlrun/\(Version.current)"
    configuration.logger = logger
    configure(&configuration)
    configuration.store = try await store?.open(
      ageGranularity: pipeline.allAges.granularity, report: { logger.warning("\($0)") })
    configuration.closesStore = true
    do {
      return try await PipelineClient(pipeline, configuration: configuration)
    } catch let error as CacheError where error.code == .storage {
      throw Failure(.badInput, error.message)
    }
  }
}
