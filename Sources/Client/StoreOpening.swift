import Foundation
import GQLRunCache
import GQLRunPipeline
import Logging

/// Opens the store of a pipeline.
struct StoreOpening: Sendable {
  private let configuration: StoreConfiguration
  private let ageGranularity: Int
  private let keyResolver: String?
  private let logger: Logger

  init(_ pipeline: Pipeline, keyResolver: String?, logger: Logger) {
    configuration = pipeline.store
    self.keyResolver = keyResolver
    ageGranularity = pipeline.allAges.granularity
    self.logger = logger
  }

  /// The store; `nil` if the pipeline has none, or if its file cannot be opened and is not
  /// `required`.
  ///
  /// - Throws: `CacheError`; also if the directory of the file does not exist, which is a mistake
  ///   in the pipeline.
  @concurrent func open() async throws -> CacheStore? {
    switch configuration.kind {
    case .none: nil
    case .memory: .memory(maxSize: configuration.maxSize?.bytes)
    case .sqlite: try await file()
    case .postgres: try await database()
    }
  }

  private func database() async throws -> CacheStore? {
    var options = CacheStore.PostgresOptions(url: configuration.url ?? "")
    options.ageGranularity = ageGranularity
    do throws(CacheError) {
      let store = try await CacheStore.postgres(options)
      try await adopt(store)
      return store
    } catch {
      guard error.isStoreFailure, !configuration.isRequired else { throw error }
      logger.warning("running without the cache: \(error)")
      return nil
    }
  }

  /// Notes the version of the key resolver, and closes the store if it has other keys.
  private func adopt(_ store: CacheStore) async throws(CacheError) {
    do throws(CacheError) {
      try await store.adopt(keyResolver: keyResolver)
    } catch {
      try? store.close()
      throw error
    }
  }

  private func file() async throws -> CacheStore? {
    let path = configuration.path ?? "cache.db"
    do {
      var options = CacheStore.SQLiteOptions()
      options.memory = configuration.memory?.bytes
      options.ageGranularity = ageGranularity
      options.report = { [logger] in logger.warning("\($0)") }
      let store = try CacheStore.sqlite(path: path, options: options)
      try await adopt(store)
      guard configuration.isRequired, store.isReadOnly else { return store }
      try store.close()
      throw CacheError(
        .readOnly,
        "the cache \(path) can only be read, and the pipeline requires its store; change the "
          + "permissions of the file and its directory, or remove `required`")
    } catch let error as CacheError where error.isStoreFailure {
      let folder = (path as NSString).deletingLastPathComponent
      let hasFolder = FileManager.default.fileExists(atPath: folder.isEmpty ? "." : folder)
      guard !configuration.isRequired, hasFolder else { throw error }
      logger.warning("running without the cache: \(error)")
      return nil
    }
  }
}
