import Foundation

/// An exclusive lock between processes on a whole file, by `flock(2)`.
///
/// Two instances for one file also exclude each other within a process. The system releases the
/// lock when the process ends.
package final class FileLock: Sendable {
  /// The path of the locked file.
  package let path: String
  private let descriptor: Int32

  /// Opens the file at `path` without locking it; creates the file if it does not exist.
  package init(_ path: String) throws(SystemError) {
    self.path = path
    descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw SystemError("lock", path: path) }
  }

  /// Closes the file, which releases the lock.
  deinit { close(descriptor) }

  /// Acquires the lock; `false` if it is held elsewhere.
  package func tryLock() throws(SystemError) -> Bool {
    try Self.tryLock(descriptor, path: path)
  }

  /// Locks an open file until it is closed; `false` if the lock is held elsewhere.
  ///
  /// - Parameter path: The path of the file, for messages.
  package static func tryLock(_ descriptor: Int32, path: String) throws(SystemError) -> Bool {
    while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
      switch errno {
      case EWOULDBLOCK: return false
      case EINTR: continue
      default: throw SystemError("lock", path: path)
      }
    }
    return true
  }

  /// Releases the lock.
  package func release() { _ = flock(descriptor, LOCK_UN) }

  /// The pause between tries to acquire a lock that another process has for a moment.
  package static let interval = Duration.milliseconds(20)

  /// Waits for the lock without a time limit.
  ///
  /// - Parameter pause: Called before each further try; an error that it throws ends the wait.
  package func lock(pause: () async throws -> Void) async throws {
    while try !tryLock() { try await pause() }
  }
}
