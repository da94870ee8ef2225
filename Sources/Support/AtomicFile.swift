package import Foundation

/// Writes files that appear under their name only when they are complete.
package enum AtomicFile {
  /// Replaces the file at `path`, or fails without changing it.
  ///
  /// Writes a temporary file in the same folder, syncs it, renames it, and syncs the folder. The
  /// folder must exist.
  ///
  /// - Parameter permissions: The permissions of the new file, before the umask is applied.
  package static func write(
    _ bytes: [UInt8], to path: String, permissions: mode_t
  ) throws(SystemError) {
    let part = "\(path).\(getpid())-\(UInt32.random(in: 0 ... .max)).part"
    let descriptor = open(
      part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, permissions)
    guard descriptor >= 0 else { throw SystemError("write", path) }
    var code = SystemIO.writeAll(bytes, to: descriptor)
    if code == 0, fsync(descriptor) != 0 { code = errno }
    if close(descriptor) != 0, code == 0 { code = errno }
    if code == 0, rename(part, path) != 0 { code = errno }
    guard code == 0 else {
      unlink(part)
      throw SystemError("write", path, code)
    }
    syncFolder(of: path)
  }

  /// Makes a rename in the folder of `path` durable, on file systems that need it.
  package static func syncFolder(of path: String) {
    let descriptor = open(FilePath.folder(of: path), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { return }
    fsync(descriptor)
    close(descriptor)
  }
}
