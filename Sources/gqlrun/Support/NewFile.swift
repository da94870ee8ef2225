import Foundation
import GQLRunSupport

/// Creates files, and never overwrites one.
enum NewFile {
  /// Throws if there is a file, before work whose result it would get.
  static func checkAbsent(_ path: String) throws {
    guard access(path, F_OK) != 0 else { throw existing(path) }
  }

  private static func existing(_ path: String) -> Failure {
    Failure(.failed, "\(path) already exists (unchanged); choose another name")
  }

  /// Creates a file.
  ///
  /// - Throws: ``Failure`` if the file exists or cannot be written.
  static func create(_ path: String, _ text: String) throws {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else {
      if errno == EEXIST { throw existing(path) }
      throw Failure(.failed, "cannot write \(path): \(String(cString: strerror(errno)))")
    }
    let code = SystemIO.writeAll(Array(text.utf8), to: descriptor)
    guard close(descriptor) == 0, code == 0 else {
      unlink(path)
      throw Failure(
        .failed, "cannot write \(path): \(String(cString: strerror(code == 0 ? errno : code)))")
    }
  }
}
