import Foundation
import GQLRunSupport

/// The database files that stores of this process have open.
///
/// Closing any descriptor of a file releases all locks that the process holds on it, including
/// SQLite's (https://sqlite.org/howtocorrupt.html, 2.2). The header of a file is therefore read
/// only while no store has the file open and none can open it.
final class OpenFiles: Sendable {
  static let shared = OpenFiles()

  private let counts = Locked<[String: Int]>([:])

  /// Registers a store that is about to open the file at `path`; calls `look` first if it is the
  /// only one.
  ///
  /// - Returns: The canonical path of the file, for ``leave(_:)``.
  func enter(_ path: String, _ look: () throws -> Void) throws -> String {
    try counts.withLock { counts in
      let name = Self.canonical(path)
      if counts[name, default: 0] == 0 { try look() }
      // The canonical name of a new file may differ: it may be the target of a link.
      let made = Self.canonical(path)
      counts[made, default: 0] += 1
      return made
    }
  }

  func leave(_ name: String) {
    counts.withLock { counts in
      let left = counts[name, default: 1] - 1
      counts[name] = left > 0 ? left : nil
    }
  }

  /// The path without symbolic links; also for a file that does not exist yet.
  static func canonical(_ path: String) -> String {
    if let resolved = realpath(path, nil) {
      defer { free(resolved) }
      return String(cString: resolved)
    }
    let url = URL(fileURLWithPath: path)
    guard let folder = realpath(url.deletingLastPathComponent().path, nil) else { return path }
    defer { free(folder) }
    return String(cString: folder) + "/" + url.lastPathComponent
  }
}
