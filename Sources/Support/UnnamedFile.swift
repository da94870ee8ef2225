import Foundation

/// Temporary files without a name, readable only by this process.
package enum UnnamedFile {
  /// Opens a new file in `TMPDIR`, or else `/tmp`, which vanishes when its descriptor is closed.
  ///
  /// - Throws: An error with the folder as its path.
  package static func create() throws(SystemError) -> Int32 {
    let folder = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
    var template = Array("\(folder)/gqlrun.XXXXXX".utf8CString)
    let descriptor = mkstemp(&template)
    guard descriptor >= 0 else { throw SystemError("create a temporary file in", folder) }
    unlink(template)
    // Programs that plugins start have no use for it.
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    return descriptor
  }
}
