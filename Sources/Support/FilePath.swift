/// Operations on paths as text.
package enum FilePath {
  /// The folder of `path`, without a slash at its end; `.` for a bare name.
  package static func folder(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  /// `path`, which is relative to `folder`, relative to the working directory.
  package static func resolve(_ path: String, in folder: String) -> String {
    if path.hasPrefix("/") || folder == "." { return path }
    let rest = path.hasPrefix("./") ? String(path.dropFirst(2)) : path
    return folder.hasSuffix("/") ? folder + rest : "\(folder)/\(rest)"
  }
}

extension FilePath {
  /// `path` without `.`, `..` and repeated slashes. Does not access the file system.
  package static func normalized(_ path: String) -> String {
    var parts: [Substring] = []
    for part in path.split(separator: "/") where part != "." {
      if part == "..", let last = parts.last, last != ".." {
        parts.removeLast()
      } else {
        parts.append(part)
      }
    }
    return (path.hasPrefix("/") ? "/" : "") + parts.joined(separator: "/")
  }
}
