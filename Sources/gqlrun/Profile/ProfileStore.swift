import ArgumentParser
import Foundation
import GQLRunCache

/// A store to measure. Database files are created for the runs and removed afterwards; existing
/// files are never changed.
enum ProfileStore: Sendable, Hashable, ExpressibleByArgument {
  case memory
  /// A file in the folder of the path, so that its disk is measured; without a path, in the folder
  /// for temporary files.
  case sqlite(String?)

  init?(argument: String) {
    switch argument {
    case "memory": self = .memory
    case "sqlite": self = .sqlite(nil)
    default:
      guard argument.hasPrefix("sqlite:"), argument.count > 7 else { return nil }
      self = .sqlite(String(argument.dropFirst(7)))
    }
  }

  var label: String {
    switch self {
    case .memory: "memory"
    case .sqlite(nil): "sqlite"
    case .sqlite(let path?): "sqlite:\(path)"
    }
  }

  /// The path of a new file in the given file's folder.
  private func scratchPath() -> String? {
    guard case .sqlite(let path) = self else { return nil }
    let name = "gqlrun-profile-\(getpid())-\(UInt32.random(in: 0 ... .max)).db"
    guard let path else {
      return FileManager.default.temporaryDirectory.appendingPathComponent(name).path
    }
    let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? ""
    return folder + name
  }

  /// Opens a new store for one run, and closes and removes it afterwards.
  func withStore<Result>(
    _ body: (
      _ store: CacheStore, _ files: [String], _ sync: (@Sendable () async throws -> Void)?
    )
      async throws -> Result
  ) async throws -> Result {
    guard let path = scratchPath() else { return try await body(.memory(), [], nil) }
    let files = Self.suffixes.map { path + $0 }
    for file in files { PartialFiles.add(file) }
    defer {
      for file in files {
        unlink(file)
        PartialFiles.remove(file)
      }
    }
    let store = try StoreChoice.open(path)
    do {
      let result = try await body(store, files) { try await store.checkpoint() }
      try store.close()
      return result
    } catch {
      try? store.close()
      throw error
    }
  }

  private static let suffixes = ["", "-wal", "-shm", "-lock"]
}
