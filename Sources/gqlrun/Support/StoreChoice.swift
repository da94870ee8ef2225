import ArgumentParser
import Foundation
import GQLRunCache
import GQLRunJSON
import GQLRunPlugins
import GQLRunSupport

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
    let isURL =
      text.contains("://")
      || ["memory:", "sqlite:", "postgres:", "postgresql:"].contains { text.hasPrefix($0) }
    guard !isURL, !text.hasSuffix("/") else { return false }
    return text.contains("/") || namesDatabase(text) || FileManager.default.fileExists(atPath: text)
  }

  /// Whether a file with this name is a SQLite database.
  static func namesDatabase(_ name: String) -> Bool {
    [".db", ".sqlite", ".sqlite3"].contains { name.hasSuffix($0) }
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
      if mustExist { _ = try InputReader(path, "the cache", flags: O_NONBLOCK) }
      var options = CacheStore.SQLiteOptions()
      options.access = access
      options.ageGranularity = ageGranularity
      options.report = report
      do {
        return try .sqlite(path: path, options: options)
      } catch {
        // A file that cannot be opened is bad input; one that fails later is a failure.
        guard error.code == .storage || error.code == .readOnly else { throw error }
        throw Failure(
          .badInput,
          "\(error.message); name another file with --store sqlite:PATH, or use --store memory")
      }
    }
  }
}

extension CacheStore {
  /// Runs `body`, then closes the store, even if `body` throws.
  // The optimizer of Swift 6.3 crashes if it inlines this.
  @inline(never)
  func close<Result>(after body: (CacheStore) async throws -> Result) async throws -> Result {
    let result: Result
    do {
      result = try await body(self)
    } catch {
      try? close()
      throw error
    }
    try close()
    return result
  }
}

/// The files whose programs may run: their paths, with the hashes of their contents when they were
/// trusted.
///
/// A file that has changed since is not trusted, nor is a copy of it. The list has one line of JSON
/// for each file, is readable only by its owner, and is stored in `$XDG_STATE_HOME/gqlrun/trusted`
/// or `~/.local/state/gqlrun/trusted`.
struct TrustStore {
  /// A file with the hash of its contents.
  struct Item: Hashable {
    /// The absolute path without symbolic links.
    var path: String
    var hash: String

    init(_ path: String, _ bytes: [UInt8]) {
      self.path = TrustStore.resolved(path)
      hash = DocumentHash.sha256(String(decoding: bytes, as: UTF8.self))
    }

    fileprivate init?(_ value: JSONValue) {
      guard let path = value["file"]?.stringValue, let hash = value["sha256"]?.stringValue else {
        return nil
      }
      self.path = path
      self.hash = hash
    }

    fileprivate var line: String {
      JSONValue.object(["file": .string(path), "sha256": .string(hash)]).jsonText() + "\n"
    }
  }

  let path: String

  init() throws {
    // https://specifications.freedesktop.org/basedir-spec/latest/#variables
    if let state = EnvironmentVariables.value(of: "XDG_STATE_HOME"), state.hasPrefix("/") {
      path = state + "/gqlrun/trusted"
    } else if let home = FilePath.home {
      path = home + "/.local/state/gqlrun/trusted"
    } else {
      throw Failure(
        .failed,
        "there is no folder for the list of trusted files: set HOME or XDG_STATE_HOME, or use --allow-exec"
      )
    }
  }

  func items() throws -> [Item] {
    guard let bytes = try SystemIO.readExistingFile(path, limit: 16 << 20) else { return [] }
    return bytes.split(separator: UInt8(ascii: "\n")).compactMap { line in
      (try? JSONValue(parsing: Array(line))).flatMap { Item($0) }
    }
  }

  func add(_ items: [Item]) async throws {
    let paths = Set(items.map(\.path))
    _ = try await change { $0.filter { !paths.contains($0.path) } + items }
  }

  /// Removes the files with these paths; returns the paths that were in the list.
  ///
  /// A file may have been deleted, or replaced by a symbolic link, since it was trusted.
  func remove(_ paths: [String]) async throws -> [String] {
    let paths = Set(
      paths.flatMap { path -> [String] in
        let folder = FilePath.real(FilePath.folder(of: path))
        let name = path.split(separator: "/").last ?? ""
        return [Self.resolved(path), FilePath.real(path), "\(folder)/\(name)"]
      })
    let items = try await change { $0.filter { !paths.contains($0.path) } }
    return items.map(\.path).filter { paths.contains($0) }
  }

  /// Replaces the list while no other process does, and returns what it was.
  private func change(_ changed: ([Item]) -> [Item]) async throws -> [Item] {
    try PrivateFile.makeFolder(of: path)
    let lock = try FileLock(FilePath.behindLink(path) + ".lock")
    try await lock.lock { try await Task.sleep(for: FileLock.interval) }
    defer { lock.release() }
    let items = try items()
    try PrivateFile.write(Array(changed(items).map(\.line).joined().utf8), to: path)
    return items
  }

  /// The absolute path of a file without symbolic links; the unchanged path if there is no such
  /// file.
  static func resolved(_ path: String) -> String { FilePath.withoutLinks(path) ?? path }
}
