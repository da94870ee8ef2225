package import Foundation

/// A file that appears under its name only when it is complete.
///
/// It is written to a temporary file in the same folder, which must exist. Without ``finish()``,
/// the temporary file is removed and the file at the path is unchanged.
package struct AtomicFile: ~Copyable {
  package let path: String
  /// The path of the temporary file.
  package let temporaryPath: String
  private var descriptor: Int32

  /// Creates the temporary file.
  ///
  /// - Parameter permissions: The permissions of the new file, before the umask is applied.
  package init(_ path: String, permissions: mode_t) throws(SystemError) {
    self.path = path
    temporaryPath = "\(path).\(getpid())-\(UInt32.random(in: 0 ... .max)).part"
    descriptor = open(
      temporaryPath, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, permissions)
    guard descriptor >= 0 else { throw SystemError("write", path: path) }
  }

  deinit {
    guard descriptor >= 0 else { return }
    close(descriptor)
    unlink(temporaryPath)
  }

  /// Sets the permissions of the file, whatever the umask is.
  package func setPermissions(_ permissions: mode_t) { fchmod(descriptor, permissions) }

  package func write(_ bytes: UnsafeRawBufferPointer) throws(SystemError) {
    try check(SystemIO.writeAll(bytes, to: descriptor))
  }

  package func write(_ bytes: [UInt8]) throws(SystemError) {
    try check(SystemIO.writeAll(bytes, to: descriptor))
  }

  private func check(_ code: Int32) throws(SystemError) {
    guard code == 0 else { throw SystemError("write", path: path, code: code) }
  }

  /// Makes the file appear: syncs it, renames it, and syncs the folder.
  ///
  /// - Parameters:
  ///   - replaces: Whether to replace a file at the path; otherwise the code of the error is `EEXIST`.
  ///   - isSynced: Whether the file is complete even after a power cut. Without it, a power cut may leave the beginning
  ///     of the file.
  package mutating func finish(
    replacing replaces: Bool = true, isSynced: Bool = true
  ) throws(SystemError) {
    var code: Int32 = !isSynced || fsync(descriptor) == 0 ? 0 : errno
    if close(descriptor) != 0, code == 0 { code = errno }
    descriptor = -1
    if code == 0 { code = replaces ? replace() : appear() }
    if code != 0 { unlink(temporaryPath) }
    try check(code)
    if isSynced { Self.syncFolder(of: path) }
  }

  private func replace() -> Int32 { rename(temporaryPath, path) == 0 ? 0 : errno }

  /// Gives the file its name, unless there is a file of that name.
  ///
  /// - Returns: The error number; 0 without an error.
  private func appear() -> Int32 {
    guard link(temporaryPath, path) != 0 else {
      unlink(temporaryPath)
      return 0
    }
    let code = errno
    // On a file system without hard links, an empty file has the name until the file replaces it.
    guard code == EPERM || code == EOPNOTSUPP || code == ENOSYS else { return code }
    let name = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard name >= 0 else { return errno }
    close(name)
    return replace()
  }

  /// Replaces the file at `path`, or fails without changing it.
  ///
  /// - Parameters:
  ///   - permissions: The permissions of the new file, before the umask is applied.
  ///   - isSynced: See ``finish(replacing:isSynced:)``.
  package static func write(
    _ bytes: [UInt8], to path: String, permissions: mode_t, isSynced: Bool = true
  ) throws(SystemError) {
    var file = try AtomicFile(path, permissions: permissions)
    try file.write(bytes)
    try file.finish(isSynced: isSynced)
  }

  /// Makes a rename in the folder of `path` durable, on file systems that need it.
  package static func syncFolder(of path: String) {
    let descriptor = open(FilePath.folder(of: path), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { return }
    fsync(descriptor)
    close(descriptor)
  }
}
