import GQLRunSupport

/// Values that are made once for each key, up to a maximum.
final class Memo<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  private let values = Locked<[Key: Value]>([:])
  private let maxCount: Int
  private let startsAgain: Bool

  /// - Parameter startsAgain: Whether all values are removed for a key above the maximum; otherwise its value is made
  ///   each time.
  init(maxCount: Int, startsAgain: Bool = false) {
    self.maxCount = maxCount
    self.startsAgain = startsAgain
  }

  /// The value of a key; `make` is called without a lock.
  func value<Failure: Error>(
    of key: Key, make: () throws(Failure) -> Value
  ) throws(Failure) -> Value {
    if let known = values.withLock({ $0[key] }) { return known }
    let made = try make()
    values.withLock { values in
      if startsAgain, values.count >= maxCount { values.removeAll() }
      if values.count < maxCount { values[key] = made }
    }
    return made
  }
}
