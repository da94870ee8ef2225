import Foundation

/// Files that only their owner may read and write.
package enum PrivateFile {
  /// The bytes of a file, or `nil` if it does not exist.
  ///
  /// - Parameter limit: The largest size; a larger file is an error.
  package static func read(_ path: String, limit: Int) throws(SystemError) -> [UInt8]? {
    do throws(SystemError) {
      return try SystemIO.readFile(path, limit: limit)
    } catch {
      guard error.code == ENOENT else { throw error }
      return nil
    }
  }

  /// Replaces a file, or fails without changing it. Creates missing folders, accessible to their
  /// owner only.
  package static func write(_ bytes: [UInt8], to path: String) throws(SystemError) {
    try makeFolder(of: path)
    try AtomicFile.write(bytes, to: path, permissions: 0o600)
  }

  /// Appends bytes to a file in one write, so that those of several writers do not mix.
  ///
  /// - Parameter syncs: Whether the bytes are on the disk when this returns. Has no effect on what is no file, such as
  ///   a pipe.
  package static func append(
    _ bytes: [UInt8], to path: String, syncs: Bool = false
  ) throws(SystemError) {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw SystemError("write", path) }
    var code = SystemIO.writeAll(bytes, to: descriptor)
    if syncs, code == 0, fsync(descriptor) != 0, ![EINVAL, EROFS].contains(errno) { code = errno }
    if close(descriptor) != 0, code == 0 { code = errno }
    guard code == 0 else { throw SystemError("write", path, code) }
  }

  /// Creates the folder of `path` and missing folders above it.
  package static func makeFolder(of path: String) throws(SystemError) {
    try SystemIO.createFolder(FilePath.folder(of: path), permissions: 0o700)
  }
}
