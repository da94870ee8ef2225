import Foundation

/// Outputs stay below the folder of the manifest: no `..`, no absolute path, no way out by a link.
struct OutputPath {
  let folder: String

  struct Refused: Error {
    var reason: String
  }

  /// The path of an output as seen from the working directory.
  ///
  /// Checked again when the file is opened, since a link may have come in between.
  func resolve(_ path: String) throws(Refused) -> String {
    guard !path.isEmpty, !path.hasPrefix("/") else {
      throw Refused(reason: "name it relative to the manifest")
    }
    let parts = path.split(separator: "/")
    guard !parts.contains(".."), !path.utf8.contains(0) else {
      throw Refused(reason: "`..` would lead out of the manifest's folder")
    }
    let full = folder == "." ? path : "\(folder)/\(path)"
    let base = Self.real(folder)
    var existing = full
    var status = stat()
    while lstat(existing, &status) != 0, let slash = existing.lastIndex(of: "/") {
      existing = String(existing[..<slash])
    }
    if lstat(existing, &status) != 0 { existing = folder }
    let target = Self.real(existing)
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

  /// The path as seen from the folder, which is the same from every working directory.
  func relative(_ path: String) -> String {
    path.hasPrefix(folder + "/") ? String(path.dropFirst(folder.count + 1)) : path
  }

  /// The opposite of ``relative(_:)``, for messages.
  func shown(_ relative: String) -> String {
    folder == "." || relative == "-" || relative.hasPrefix("/") ? relative : "\(folder)/\(relative)"
  }

  static func real(_ path: String) -> String {
    guard let resolved = realpath(path, nil) else { return path }
    defer { free(resolved) }
    return String(cString: resolved)
  }

  /// Text from a template as one part of a path.
  static func component(_ text: String) -> String {
    let safe = String(
      text.unicodeScalars.map { scalar in
        scalar == "/" || scalar.value < 0x20 || scalar == "\\" ? "_" : Character(scalar)
      })
    return safe == ".." || safe == "." || safe.isEmpty ? "_" : safe
  }
}
