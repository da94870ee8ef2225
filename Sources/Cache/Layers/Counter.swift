import Foundation

/// Numbers that never come twice in a process.
///
/// `@unchecked Sendable`: the number is read and written under the lock.
final class Counter: @unchecked Sendable {
  private let lock = NSLock()
  private var last: UInt64 = 0

  func next() -> UInt64 {
    lock.withLock {
      last += 1
      return last
    }
  }
}
