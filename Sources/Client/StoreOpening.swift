import Foundation
import GQLRunCache
import GQLRunPipeline
import GQLRunSupport
import Logging

/// Opens the store of a pipeline.
struct StoreOpening: Sendable {
  let pipeline: Pipeline
  let keyResolver: String?
  let logger: Logger

  private var configuration: StoreConfiguration { pipeline.store }

  /// The store; `nil` if the pipeline has none, or if its file cannot be opened and is not
  /// `required`.
  ///
  /// - Throws: `CacheError`; also if the directory of the file does not exist, which is a mistake
  ///   in the pipeline.
  @concurrent func open() async throws -> CacheStore? {
    do throws(CacheError) {
      switch configuration.kind {
      case .none: return nil
      case .memory: return .memory(maxSize: configuration.maxSize?.bytes)
      case .sqlite: return try await file()
      case .postgres: return try await database()
      }
    } catch {
      guard error.isStoreFailure, !configuration.isRequired, hasFolder else { throw error }
      logger.warning("running without the cache: \(error)")
      return nil
    }
  }

  private func database() async throws(CacheError) -> CacheStore {
    var options = CacheStore.PostgresOptions(url: configuration.url ?? "")
    options.ageGranularity = pipeline.allAges.granularity
    return try await adopted(CacheStore.postgres(options))
  }

  /// Notes the version of the key resolver in `store`, and closes it if it has other keys.
  private func adopted(_ store: CacheStore) async throws(CacheError) -> CacheStore {
    do throws(CacheError) {
      try await store.adopt(keyResolver: keyResolver)
      return store
    } catch {
      try? store.close()
      throw error
    }
  }

  private var path: String { configuration.path ?? "cache.db" }

  /// Whether the directory of the file exists.
  private var hasFolder: Bool {
    guard configuration.kind == .sqlite else { return true }
    return FileManager.default.fileExists(atPath: FilePath.folder(of: path))
  }

  private func file() async throws(CacheError) -> CacheStore {
    var options = CacheStore.SQLiteOptions()
    options.memory = configuration.memory?.bytes
    options.ageGranularity = pipeline.allAges.granularity
    options.report = { [logger] in logger.warning("\($0)") }
    let store = try await adopted(CacheStore.sqlite(path: path, options: options))
    guard configuration.isRequired, store.isReadOnly else { return store }
    try store.close()
    throw CacheError(
      .readOnly,
      "the cache \(path) can only be read, and the pipeline requires its store; change the "
        + "permissions of the file and its directory, or remove `required`")
  }
}
