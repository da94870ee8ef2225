import ArgumentParser
import Cache

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
  ///   - ageGranularity: See ``AgeRules/granularity``.
  func open(
    mustExist: Bool = false, ageGranularity: Int = AgeRules.defaultGranularity
  ) throws -> any RecordStore {
    switch self {
    case .memory: return MemoryStore()
    case .sqlite(let path):
      if mustExist { _ = try InputFile(path, "the cache") }
      return try Self.open(path, ageGranularity: ageGranularity)
    }
  }

  /// Opens a file, or says why it cannot be the cache.
  ///
  /// - Parameter memory: How many bytes of records are kept in memory, too.
  static func open(
    _ path: String, memory: Int? = nil, ageGranularity: Int = AgeRules.defaultGranularity
  ) throws -> SQLiteStore {
    do {
      var options = SQLiteStore.Options()
      options.memory = memory
      options.ageGranularity = ageGranularity
      return try SQLiteStore(path: path, options: options)
    } catch {
      // A file that cannot be opened is bad input; one that fails later is a failure.
      guard error.code == .storage else { throw error }
      throw Failure(
        .badInput,
        "\(error.message); name another file with --store sqlite:PATH, or use --store memory")
    }
  }
}
