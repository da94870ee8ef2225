import Foundation
import GQLRunSupport

/// Confines outputs to the manifest's folder: no absolute paths, no `..`, no symbolic links out of
/// it.
struct OutputPath {
  let folder: String

  struct Refused: Error {
    var reason: String
  }

  /// Resolves a path of the manifest against its folder.
  ///
  /// Opening the file checks the path again, since a link may have been created in between.
  func resolve(_ path: String) throws(Refused) -> String {
    guard !path.isEmpty, !path.hasPrefix("/") else {
      throw Refused(reason: "name it relative to the manifest")
    }
    let parts = path.split(separator: "/")
    guard !parts.contains(".."), !path.utf8.contains(0) else {
      throw Refused(reason: "`..` would lead out of the manifest's folder")
    }
    // SQLite takes `file:` for a URL, which may lead anywhere, and `:memory:` for no file.
    let isSpecial = path.hasPrefix("file:") || path.hasPrefix(":")
    let full = folder == "." && !isSpecial ? path : "\(folder)/\(path)"
    let base = FilePath.withoutLinks(folder) ?? folder
    var existing = full
    var status = stat()
    while lstat(existing, &status) != 0, let slash = existing.lastIndex(of: "/") {
      existing = String(existing[..<slash])
    }
    if lstat(existing, &status) != 0 { existing = folder }
    let target = FilePath.withoutLinks(existing) ?? existing
    guard target == base || base == "/" || target.hasPrefix(base + "/") else {
      throw Refused(reason: "a symbolic link leads out of the manifest's folder")
    }
    if lstat(existing, &status) == 0, status.st_mode & S_IFMT == S_IFLNK,
      access(existing, F_OK) != 0
    {
      throw Refused(reason: "it is a symbolic link to nothing")
    }
    return full
  }

  /// The path of the file that a path in the folder leads to, for a file that is replaced as a whole: a symbolic link to it
  /// remains. A link that leads out of the folder is replaced itself.
  func target(_ path: String) -> String {
    guard (try? resolve(relative(path))) != nil else { return path }
    return FilePath.behindLink(path)
  }

  /// The path relative to the folder, the same from every working directory.
  func relative(_ path: String) -> String {
    path.hasPrefix(folder + "/") ? String(path.dropFirst(folder.count + 1)) : path
  }

  /// The inverse of ``relative(_:)``, for messages.
  func shown(_ relative: String) -> String {
    folder == "." || relative == "-" || relative.hasPrefix("/") ? relative : "\(folder)/\(relative)"
  }

  /// Replaces the characters of a template's value that a path component cannot have.
  static func component(_ text: String) -> String {
    let safe = String(
      text.unicodeScalars.map { scalar in
        scalar == "/" || scalar.value < 0x20 || scalar == "\\" ? "_" : Character(scalar)
      })
    return safe == ".." || safe == "." || safe.isEmpty ? "_" : safe
  }
}
