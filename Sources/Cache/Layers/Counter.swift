import GQLRunSupport

/// Generates numbers that are unique in the process.
final class Counter: Sendable {
  private let last = Locked<UInt64>(0)

  func next() -> UInt64 {
    last.withLock {
      $0 += 1
      return $0
    }
  }
}
