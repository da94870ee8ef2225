package import GQLRunSupport

extension Locked where Value == Int {
  /// Adds one, and returns the sum.
  package func increment() -> Int {
    withLock { value in
      value += 1
      return value
    }
  }
}
