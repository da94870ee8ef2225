import Foundation

/// The files of this repository, as the tests of this target read them.
enum Repository {
  /// The top folder: three levels above this file's own folder.
  static let root: String = {
    var parts = #filePath.split(separator: "/", omittingEmptySubsequences: false)
    parts.removeLast(4)
    return parts.joined(separator: "/")
  }()

  /// One text file.
  struct File: Sendable {
    /// Relative to ``Repository/root``.
    let path: String
    let text: String
  }

  /// The names in `folder`, sorted; empty when there is no such folder.
  static func names(in folder: String) -> [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: root + "/" + folder)) ?? []).sorted()
  }

  static func isFolder(_ path: String) -> Bool {
    var isFolder: ObjCBool = false
    return FileManager.default.fileExists(atPath: root + "/" + path, isDirectory: &isFolder)
      && isFolder.boolValue
  }

  static func exists(_ path: String) -> Bool {
    FileManager.default.fileExists(atPath: root + "/" + path)
  }

  /// The text of the file at `path`, or `nil` when it is not there or not UTF-8.
  static func text(_ path: String) -> String? {
    guard let data = FileManager.default.contents(atPath: root + "/" + path) else { return nil }
    return String(bytes: data, encoding: .utf8)
  }

  /// Every text file below `folder` whose path ends with `suffix`, in the order of the paths.
  ///
  /// Leaves out what git leaves out: what was built, resolved, measured or cached.
  static func files(in folder: String = "", suffix: String = "") -> [File] {
    names(in: folder).flatMap { name -> [File] in
      let path = folder.isEmpty ? name : folder + "/" + name
      if isIgnored(path, name) { return [] }
      if isFolder(path) { return files(in: path, suffix: suffix) }
      guard path.hasSuffix(suffix), let text = text(path) else { return [] }
      return [File(path: path, text: text)]
    }
  }

  /// The Swift files of Sources.
  static let sources: [(path: String, source: SwiftSource)] = files(in: "Sources", suffix: ".swift")
    .map { ($0.path, SwiftSource($0.text)) }

  private static func isIgnored(_ path: String, _ name: String) -> Bool {
    [".git", ".swiftpm", ".DS_Store", "Package.resolved"].contains(name)
      || name.hasPrefix(".build")
      || [".db", ".db-wal", ".db-shm"].contains { name.hasSuffix($0) }
      || path == "Benchmarks/results"
  }
}

extension StringProtocol {
  /// Without white space at either end.
  var trimmed: String { trimmingCharacters(in: .whitespacesAndNewlines) }

  var lines: [SubSequence] { split(separator: "\n", omittingEmptySubsequences: false) }
}
