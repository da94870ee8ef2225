import Foundation
import GQLRunSupport

/// Writes a file that appears under its name only when it is complete.
///
/// Symbolic links are followed, and existing files keep their permissions. Anything but a regular
/// file (`/dev/null`, a pipe) is written directly, because it must not be replaced.
final class OutputFile {
  private enum Destination: ~Copyable {
    case file(AtomicFile)
    /// A pipe or a device, by its descriptor.
    case device(Int32)
    case closed
  }

  /// The name as the user gave it, for messages.
  private let name: String
  private var destination: Destination

  /// - Parameter isPrivate: Whether only the owner can read a new file. For archives and copies of
  ///   the cache, which may contain more than the user asked for.
  init(_ path: String, isPrivate: Bool = false) throws {
    guard !path.isEmpty else { throw Failure(.usage, "--output needs the name of a file") }
    name = path
    let target = Self.resolved(path)
    var status = stat()
    let exists = stat(target, &status) == 0
    let kind = status.st_mode & S_IFMT
    if exists, kind == S_IFDIR {
      throw Failure(.failed, "cannot write \(path): it is a directory; name a file in it")
    }
    do throws(SystemError) {
      if exists, kind != S_IFREG {
        let descriptor = open(target, O_WRONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw SystemError("write", path) }
        destination = .device(descriptor)
      } else {
        let file = try AtomicFile(target, permissions: isPrivate ? 0o600 : 0o666)
        PartialFiles.add(file.temporaryPath)
        if exists { file.setPermissions(status.st_mode & 0o777) }
        if exists, isPrivate { Self.warnIfShared(path, status.st_mode) }
        destination = .file(file)
      }
    } catch {
      throw Self.failure(path, error.code)
    }
  }

  deinit {
    switch destination {
    case .file(let file): PartialFiles.remove(file.temporaryPath)
    case .device(let descriptor): close(descriptor)
    case .closed: break
    }
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
    let code: Int32
    switch destination {
    case .file(let file):
      do throws(SystemError) {
        try file.write(bytes)
        code = 0
      } catch {
        code = error.code
      }
    case .device(let descriptor): code = SystemIO.writeAll(bytes, to: descriptor)
    case .closed: code = EBADF
    }
    if code == EPIPE { throw ClosedOutput() }
    guard code == 0 else { throw Self.failure(name, code) }
  }

  /// Completes the file: everything written becomes visible under its name.
  func finish() throws {
    var finished = Destination.closed
    swap(&finished, &destination)
    switch consume finished {
    case .file(var file):
      defer { PartialFiles.remove(file.temporaryPath) }
      do throws(SystemError) { try file.finish() } catch { throw Self.failure(name, error.code) }
    case .device(let descriptor):
      guard close(descriptor) == 0 else { throw Self.failure(name, errno) }
    case .closed: break
    }
  }

  private static func failure(_ name: String, _ code: Int32) -> Failure {
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
