import Foundation
import GQLRunSupport

/// The files of this repository, as tests read them.
package enum Repository {
  /// The top folder: two levels above this file's own folder.
  package static let root: String = {
    var parts = #filePath.split(separator: "/", omittingEmptySubsequences: false)
    parts.removeLast(3)
    return parts.joined(separator: "/")
  }()

  /// The folder of data that working copies share: `$GQLRUN_SHARED`, else `../shared`.
  package static let shared =
    ProcessInfo.processInfo.environment["GQLRUN_SHARED"] ?? FilePath.folder(of: root) + "/shared"

  /// One text file.
  package struct File: Sendable {
    /// Relative to ``Repository/root``.
    package let path: String
    package let text: String

    package init(path: String, text: String) {
      self.path = path
      self.text = text
    }
  }

  /// The names in `folder`, sorted; empty when there is no such folder.
  package static func names(in folder: String) -> [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: root + "/" + folder)) ?? []).sorted()
  }

  package static func isFolder(_ path: String) -> Bool {
    var isFolder: ObjCBool = false
    return FileManager.default.fileExists(atPath: root + "/" + path, isDirectory: &isFolder)
      && isFolder.boolValue
  }

  package static func exists(_ path: String) -> Bool {
    FileManager.default.fileExists(atPath: root + "/" + path)
  }

  /// The text of the file at `path`, or `nil` when it is not there or not UTF-8.
  package static func text(_ path: String) -> String? {
    guard let data = FileManager.default.contents(atPath: root + "/" + path) else { return nil }
    return String(bytes: data, encoding: .utf8)
  }

  /// Every text file below `folder` whose path ends with `suffix`, in the order of the paths.
  ///
  /// Leaves out what git leaves out: what was built, resolved, measured or cached; and links, whose files it has already.
  package static func files(in folder: String = "", suffix: String = "") -> [File] {
    names(in: folder).flatMap { name -> [File] in
      let path = folder.isEmpty ? name : folder + "/" + name
      if isIgnored(path, name) || isLink(path) { return [] }
      if isFolder(path) { return files(in: path, suffix: suffix) }
      guard path.hasSuffix(suffix), let text = text(path) else { return [] }
      return [File(path: path, text: text)]
    }
  }

  private static func isLink(_ path: String) -> Bool {
    (try? FileManager.default.destinationOfSymbolicLink(atPath: root + "/" + path)) != nil
  }

  private static func isIgnored(_ path: String, _ name: String) -> Bool {
    [".git", ".swiftpm", ".DS_Store", "Package.resolved"].contains(name)
      || name.hasPrefix(".build")
      || [".db", ".db-wal", ".db-shm"].contains { name.hasSuffix($0) }
      || path == "Benchmarks/results"
  }
}

extension StringProtocol {
  /// Whether another text without zero bytes is in this one: much faster than `contains` where code is not optimized.
  package func includes(_ other: some StringProtocol) -> Bool {
    strstr(String(self), String(other)) != nil
  }

  /// Without white space at either end.
  package var trimmed: String { trimmingCharacters(in: .whitespacesAndNewlines) }

  package var lines: [SubSequence] { split(separator: "\n", omittingEmptySubsequences: false) }
}
