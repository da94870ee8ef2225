import Foundation
import GQLRunSupport

/// Writes a file that appears under its name only when it is complete.
///
/// Symbolic links are followed, and existing files keep their permissions. Anything but a regular
/// file (`/dev/null`, a pipe) is written directly, because it must not be replaced.
final class OutputFile {
  /// The name as the user gave it, for messages.
  private let name: String
  private let target: String
  /// The temporary file; `nil` when writing directly to the target.
  private let temporary: String?
  private var descriptor: Int32

  /// - Parameter isPrivate: Whether only the owner can read a new file. For archives and copies of
  ///   the cache, which may contain more than the user asked for.
  init(_ path: String, isPrivate: Bool = false) throws {
    guard !path.isEmpty else { throw Failure(.usage, "--output needs the name of a file") }
    name = path
    let target = Self.resolved(path)
    self.target = target
    var status = stat()
    let exists = stat(target, &status) == 0
    let kind = status.st_mode & S_IFMT
    if exists, kind == S_IFDIR {
      throw Failure(.failed, "cannot write \(path): it is a directory; name a file in it")
    }
    if exists, kind != S_IFREG {
      temporary = nil
      descriptor = open(target, O_WRONLY | O_CLOEXEC)
    } else {
      let part = "\(target).\(getpid()).part"
      temporary = part
      descriptor = open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, isPrivate ? 0o600 : 0o666)
      if descriptor >= 0 {
        PartialFiles.add(part)
        if exists { fchmod(descriptor, status.st_mode & 0o777) }
        if exists, isPrivate { Self.warnIfShared(path, status.st_mode) }
      }
    }
    guard descriptor >= 0 else { throw failure(errno) }
  }

  deinit {
    guard descriptor >= 0 else { return }
    close(descriptor)
    discard()
  }

  /// Warns if the permissions of an existing file let other users read the output.
  static func warnIfShared(_ path: String, _ mode: mode_t) {
    guard mode & 0o004 != 0 else { return }
    Terminal.warning(
      "every user of this machine can read \(path); chmod o-rwx \(path) changes that")
  }

  /// Checks that the file can be written, without writing to it.
  static func check(_ path: String) throws {
    var status = stat()
    // Opening and closing a pipe would end its reader's input.
    if stat(resolved(path), &status) == 0, ![S_IFREG, S_IFDIR].contains(status.st_mode & S_IFMT) {
      return
    }
    _ = try OutputFile(path)
  }

  func write(_ bytes: UnsafeRawBufferPointer) throws {
    let code = SystemIO.writeAll(bytes, to: descriptor)
    if code == EPIPE { throw ClosedOutput() }
    guard code == 0 else { throw failure(code) }
  }

  /// Completes the file: everything written becomes visible under its name.
  func finish() throws {
    // Pipes and devices do not support syncing.
    var code: Int32 = temporary != nil && fsync(descriptor) != 0 ? errno : 0
    let closed = close(descriptor)
    if code == 0, closed != 0 { code = errno }
    descriptor = -1
    if code == 0, let temporary, rename(temporary, target) != 0 { code = errno }
    guard code == 0 else {
      discard()
      throw failure(code)
    }
    if let temporary { PartialFiles.remove(temporary) }
  }

  private func discard() {
    guard let temporary else { return }
    unlink(temporary)
    PartialFiles.remove(temporary)
  }

  private func failure(_ code: Int32) -> Failure {
    Failure(.failed, "cannot write \(name): \(String(cString: strerror(code)))")
  }

  /// The target of a symbolic link, even if it does not exist.
  private static func resolved(_ path: String) -> String {
    var path = path
    for _ in 0..<40 {
      guard let link = try? FileManager.default.destinationOfSymbolicLink(atPath: path) else {
        return path
      }
      // The links in /proc are not paths: /dev/stdout may be a pipe.
      if link.hasPrefix("pipe:") || link.hasPrefix("socket:") { return path }
      let folder = path.lastIndex(of: "/").map { path[...$0] } ?? ""
      path = link.hasPrefix("/") ? link : folder + link
    }
    return path
  }
}

/// The temporary files being written, to remove them on an immediate exit.
enum PartialFiles {
  private static let paths = Locked<Set<String>>([])

  static func add(_ path: String) { paths.withLock { _ = $0.insert(path) } }
  static func remove(_ path: String) { paths.withLock { _ = $0.remove(path) } }

  static func removeAll() {
    paths.withLock { paths in
      for path in paths { unlink(path) }
      paths = []
    }
  }
}
