import Foundation
import GQLRunPipeline

/// A lock between processes, held through a file that stands beside what it guards.
///
/// The system lets go of it when the process ends, however it does.
struct FileLock: Sendable {
  let path: String
  /// How often somebody who waits looks again.
  static let interval = Duration.milliseconds(20)

  /// Does work while no other process, and nobody else in this one, holds the lock.
  ///
  /// Waits without an end: whoever calls bounds the time.
  func whileHeld<Value: Sendable>(
    _ clock: ServiceClock, _ work: @Sendable () async throws -> Value
  ) async throws -> Value {
    try PrivateFile.makeFolder(of: path)
    let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw PrivateFile.Failure("lock", path, errno) }
    // Closing it lets go of the lock.
    defer { close(descriptor) }
    while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
      guard errno == EWOULDBLOCK || errno == EINTR else {
        throw PrivateFile.Failure("lock", path, errno)
      }
      try await clock.sleep(for: Self.interval)
    }
    return try await work()
  }
}
