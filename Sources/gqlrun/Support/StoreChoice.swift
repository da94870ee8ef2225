import ArgumentParser
import GQLRunCache

/// Where records are kept.
enum StoreChoice: Sendable, ExpressibleByArgument {
  case memory
  case sqlite(String)

  init?(argument: String) {
    if argument == "memory" {
      self = .memory
    } else if argument.hasPrefix("sqlite:"), argument.count > 7 {
      self = .sqlite(String(argument.dropFirst(7)))
    } else {
      return nil
    }
  }

  /// - Parameters:
  ///   - mustExist: A file that is not there is an error, and is not made.
  ///   - access: Whether the file may be changed.
  ///   - ageGranularity: See ``AgeRules/granularity``.
  ///   - report: Called with what happens to the file, if anything does.
  func open(
    mustExist: Bool = false, access: SQLiteStore.Options.Access = .readWrite,
    ageGranularity: Int = AgeRules.defaultGranularity,
    report: @escaping @Sendable (StoreNotice) -> Void = { Terminal.warning($0.message) }
  ) throws -> any RecordStore {
    switch self {
    case .memory: return MemoryStore()
    case .sqlite(let path):
      if mustExist { _ = try InputFile(path, "the cache") }
      return try Self.open(
        path, access: access, ageGranularity: ageGranularity, report: report)
    }
  }

  /// Opens a file, or says why it cannot be the cache.
  static func open(
    _ path: String, access: SQLiteStore.Options.Access = .readWrite,
    ageGranularity: Int = AgeRules.defaultGranularity,
    report: @escaping @Sendable (StoreNotice) -> Void = { Terminal.warning($0.message) }
  ) throws -> SQLiteStore {
    var options = SQLiteStore.Options()
    options.access = access
    options.ageGranularity = ageGranularity
    options.report = report
    do {
      return try SQLiteStore(path: path, options: options)
    } catch {
      // A file that cannot be opened is bad input; one that fails later is a failure.
      guard error.code == .storage || error.code == .readOnly else { throw error }
      throw Failure(
        .badInput,
        "\(error.message); name another file with --store sqlite:PATH, or use --store memory")
    }
  }
}
