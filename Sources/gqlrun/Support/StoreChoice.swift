import ArgumentParser
import Foundation
import GQLRunCache

/// The store of records: in memory, a SQLite file, or a PostgreSQL database.
enum StoreChoice: Sendable {
  case memory
  case sqlite(String)
  /// The URL of a database.
  case postgres(String)

  /// Reads the argument of `--store`.
  ///
  /// - Throws: `ValidationError` for text that is neither a store nor certainly a path.
  init(argument: String) throws {
    if argument == "memory" {
      self = .memory
    } else if argument.hasPrefix("sqlite:"), argument.count > 7 {
      self = .sqlite(String(argument.dropFirst(7)))
    } else if argument.hasPrefix("postgresql://") || argument.hasPrefix("postgres://") {
      self = .postgres(argument)
    } else if Self.isPath(argument) {
      self = .sqlite(argument)
    } else {
      throw ValidationError(
        "write memory, sqlite:PATH, postgresql://…, or the path of a file with an ending such as .db"
      )
    }
  }

  /// Whether the text without `sqlite:` can only be the path of a file.
  private static func isPath(_ text: String) -> Bool {
    let isURL = text.contains("://") || text.hasPrefix("memory:") || text.hasPrefix("sqlite:")
    guard !isURL, !text.hasSuffix("/") else { return false }
    return text.contains("/") || [".db", ".sqlite", ".sqlite3"].contains { text.hasSuffix($0) }
      || FileManager.default.fileExists(atPath: text)
  }

  /// Opens the store.
  ///
  /// - Parameters:
  ///   - mustExist: Whether a missing file is an error instead of being created.
  ///   - access: Whether the file may be written.
  ///   - ageGranularity: See ``AgeRules/granularity``.
  ///   - report: Called with events of the file.
  /// - Throws: ``Failure`` if the file cannot be used as a cache.
  func open(
    mustExist: Bool = false, access: CacheStore.SQLiteOptions.Access = .readWrite,
    ageGranularity: Int = AgeRules.defaultGranularity,
    report: @escaping @Sendable (StoreNotice) -> Void = { Terminal.warning($0.message) }
  ) async throws -> CacheStore {
    switch self {
    case .memory: return .memory()
    case .postgres(let url):
      var options = CacheStore.PostgresOptions(url: url)
      options.ageGranularity = ageGranularity
      do {
        return try await .postgres(options)
      } catch {
        throw Failure(error.code == .storage ? .unreachable : .badInput, error.message)
      }
    case .sqlite(let path):
      if mustExist { _ = try InputFile(path, "the cache") }
      return try Self.open(
        path, access: access, ageGranularity: ageGranularity, report: report)
    }
  }

  /// Opens a file; throws a ``Failure`` that explains why it cannot be the cache.
  static func open(
    _ path: String, access: CacheStore.SQLiteOptions.Access = .readWrite,
    ageGranularity: Int = AgeRules.defaultGranularity,
    report: @escaping @Sendable (StoreNotice) -> Void = { Terminal.warning($0.message) }
  ) throws -> CacheStore {
    var options = CacheStore.SQLiteOptions()
    options.access = access
    options.ageGranularity = ageGranularity
    options.report = report
    do {
      return try CacheStore.sqlite(path: path, options: options)
    } catch {
      // A file that cannot be opened is bad input; one that fails later is a failure.
      guard error.code == .storage || error.code == .readOnly else { throw error }
      throw Failure(
        .badInput,
        "\(error.message); name another file with --store sqlite:PATH, or use --store memory")
    }
  }
}
