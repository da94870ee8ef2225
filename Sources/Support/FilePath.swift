package import Foundation

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

  /// The path of a file of a kind: `mine.pipeline.yaml` for `mine`, `mine.yaml`, `mine.pipeline` and `mine.pipeline.yml`.
  ///
  /// - Parameter kind: What is in front of `.yaml` in names of the kind, such as `pipeline`.
  package static func yamlFile(_ path: String, kind: String) -> String {
    let suffix = ".\(kind).yaml"
    let ending = [suffix, ".\(kind).yml", ".\(kind)", ".yaml", ".yml"].first { path.hasSuffix($0) }
    return String(path.dropLast(ending?.count ?? 0)) + suffix
  }

  /// The file of a kind that may be meant by a path that does not exist; `nil` if there is none.
  ///
  /// - Parameter kind: The kind, as in ``yamlFile(_:kind:)``.
  package static func yamlFile(meantBy path: String, kind: String) -> String? {
    let file = yamlFile(path, kind: kind)
    let manager = FileManager.default
    return !manager.fileExists(atPath: path) && manager.fileExists(atPath: file) ? file : nil
  }

  /// Whether `path` is a folder, or a link to one.
  package static func isFolder(_ path: String) -> Bool {
    status(of: path).map { $0.st_mode & S_IFMT == S_IFDIR } ?? false
  }

  /// Whether `path` is a pipe, or a link to one.
  package static func isPipe(_ path: String) -> Bool {
    status(of: path).map { $0.st_mode & S_IFMT == S_IFIFO } ?? false
  }

  /// The status of a file, or of the one that a link leads to; `nil` if there is none.
  package static func status(of path: String) -> stat? {
    var status = stat()
    return stat(path, &status) == 0 ? status : nil
  }

  /// The size of a file in bytes; 0 if it does not exist.
  ///
  /// A cache asks for it after each commit: Foundation's attributes would read the names of the file's owner and group,
  /// too.
  package static func size(of path: String) -> Int { status(of: path).map { Int($0.st_size) } ?? 0 }
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

extension FilePath {
  /// The absolute path of a file without symbolic links; `nil` if there is no such file.
  package static func withoutLinks(_ path: String) -> String? {
    guard let resolved = realpath(path, nil) else { return nil }
    defer { free(resolved) }
    return String(cString: resolved)
  }

  /// `paths` without those of the files that `others` name, also with other paths.
  package static func paths(_ paths: [String], without others: [String]) -> [String] {
    let others = Set(others.map { withoutLinks($0) ?? $0 })
    return paths.filter { !others.contains(withoutLinks($0) ?? $0) }
  }

  /// The path of the file that a symbolic link leads to, for a file that is replaced: the link remains. The unchanged path
  /// if it is no link, or one into a folder that does not exist.
  package static func behindLink(_ path: String) -> String {
    var status = stat()
    guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFLNK else { return path }
    let target = real(path)
    return isFolder(folder(of: target)) ? target : path
  }

  /// The absolute path that symbolic links lead to, whether or not there is a file.
  package static func real(_ path: String) -> String {
    let absolute =
      path.hasPrefix("/") ? path : "\(FileManager.default.currentDirectoryPath)/\(path)"
    var pending = Array(absolute.split(separator: "/").map(String.init).reversed())
    var done = ""
    // As many as Linux follows.
    var remainingLinks = 40
    while let part = pending.popLast() {
      if part == "." { continue }
      if part == ".." {
        done = String(done[..<(done.lastIndex(of: "/") ?? done.startIndex)])
        continue
      }
      let next = "\(done)/\(part)"
      guard remainingLinks > 0,
        let link = try? FileManager.default.destinationOfSymbolicLink(atPath: next)
      else {
        done = next
        continue
      }
      remainingLinks -= 1
      if link.hasPrefix("/") { done = "" }
      pending += link.split(separator: "/").map(String.init).reversed()
    }
    return done.isEmpty ? "/" : done
  }

  /// The folder of the repository that a file belongs to: the nearest one above it that contains `.git`, below the home
  /// folder; without one, the folder of the file.
  package static func repository(of file: String, home: String?) -> String {
    let start = real(folder(of: file))
    let home = home.map { real($0) }
    var folder = start
    while folder != "/", folder != home {
      if FileManager.default.fileExists(atPath: "\(folder)/.git") { return folder }
      folder = self.folder(of: folder)
    }
    return start
  }

  /// Whether a path leads into the repository that another file belongs to, or to a standard stream.
  ///
  /// The hooks and settings in `.git` do not belong to it, because git executes them. Hidden files of the home folder do
  /// not, because shells and other programs read some of them when they start. In `/`, only visible files do, and no
  /// file of a folder.
  package static func isInRepository(
    _ path: String, of file: String, home: String? = home
  ) -> Bool {
    if ["/dev/null", "/dev/stdout", "/dev/stderr"].contains(path) { return true }
    let root = repository(of: file, home: home)
    guard let inner = parts(of: path, below: root) else { return false }
    if root == "/", inner.count > 1 { return false }
    let isProject = root != "/" && root != home.map { real($0) }
    return isProject || inner.first?.hasPrefix(".") != true
  }

  /// Whether a path leads into the folder of gqlrun's caches or into that of temporary files. No other program executes
  /// what is there, unlike `~/.cache` itself, which has parts of the profiles of shells.
  package static func isDisposable(_ path: String) -> Bool {
    let caches = EnvironmentVariables.value(of: "XDG_CACHE_HOME").flatMap {
      $0.hasPrefix("/") ? $0 : nil
    }
    return [(caches ?? home.map { "\($0)/.cache" }).map { "\($0)/gqlrun" }, temporary].contains {
      guard let folder = $0 else { return false }
      // A folder that contains the home folder is not only for temporary files.
      if let home, parts(of: home, below: real(folder)) != nil { return false }
      return parts(of: path, below: real(folder)) != nil
    }
  }

  /// The home folder of the user; `nil` if `HOME` names none.
  package static var home: String? {
    EnvironmentVariables.value(of: "HOME").flatMap { $0.hasPrefix("/") ? $0 : nil }
  }

  /// The folder of temporary files: `TMPDIR`, or else `/tmp`.
  package static var temporary: String { EnvironmentVariables.value(of: "TMPDIR") ?? "/tmp" }

  /// The parts of the path that symbolic links lead to, below a folder without links; `nil` if it is elsewhere, or in a
  /// folder `.git`.
  private static func parts(of path: String, below folder: String) -> [Substring]? {
    let parts = real(path).split(separator: "/")
    let start = folder.split(separator: "/")
    guard parts.starts(with: start), !parts.contains(".git") else { return nil }
    return Array(parts.dropFirst(start.count))
  }
}

/// Temporary files without a name, readable only by this process.
package enum UnnamedFile {
  /// Opens a new file in `TMPDIR`, or else `/tmp`, which vanishes when its descriptor is closed.
  ///
  /// - Throws: An error with the folder as its path.
  package static func create() throws(SystemError) -> Int32 {
    let folder = FilePath.temporary
    var template = Array("\(folder)/gqlrun.XXXXXX".utf8CString)
    let descriptor = mkstemp(&template)
    guard descriptor >= 0 else { throw SystemError("create a temporary file in", path: folder) }
    unlink(template)
    // Programs that plugins start have no use for it.
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    return descriptor
  }
}

/// Files that only their owner may read and write.
package enum PrivateFile {
  /// Replaces a file, or the one that a symbolic link leads to, or fails without changing it. Creates
  /// missing folders, accessible to their owner only.
  package static func write(_ bytes: [UInt8], to path: String) throws(SystemError) {
    try makeFolder(of: path)
    try AtomicFile.write(bytes, to: FilePath.behindLink(path), permissions: 0o600)
  }

  /// Appends bytes to a file in one write, so that those of several writers do not mix. Removes what was written of
  /// them when the disk is full. A pipe that no program reads is an error.
  ///
  /// - Parameter syncs: Whether the bytes are on the disk when this returns. Has no effect on what is no file, such as
  ///   a pipe.
  package static func append(
    _ bytes: [UInt8], to path: String, syncs: Bool = false
  ) throws(SystemError) {
    // Opening a pipe would wait for its reader.
    let flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK
    let descriptor = open(path, flags, 0o600)
    guard descriptor >= 0 else { throw SystemError("write", path: path) }
    var status = stat()
    let size = fstat(descriptor, &status) == 0 ? status.st_size : 0
    var written = 0
    var code = bytes.withUnsafeBytes {
      SystemIO.writeAll($0, to: descriptor, written: &written)
    }
    // Unless another writer has appended meanwhile.
    if code != 0, written > 0, fstat(descriptor, &status) == 0,
      status.st_mode & S_IFMT == S_IFREG, status.st_size == size + off_t(written)
    {
      ftruncate(descriptor, size)
    }
    if syncs, code == 0, fsync(descriptor) != 0, ![EINVAL, EROFS].contains(errno) { code = errno }
    if close(descriptor) != 0, code == 0 { code = errno }
    guard code == 0 else { throw SystemError("write", path: path, code: code) }
  }

  /// Creates the folder of `path` and missing folders above it.
  package static func makeFolder(of path: String) throws(SystemError) {
    try SystemIO.createFolder(FilePath.folder(of: path), permissions: 0o700)
  }
}
