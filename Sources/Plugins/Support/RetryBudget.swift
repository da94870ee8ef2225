import GQLRunSupport

/// Limits retries to a small share of all requests, so that a failing server does not get more
/// load.
///
/// Every operation adds `share` of a retry; the first few retries are free, so that a single
/// operation can use them. If every request fails, the load stays below `1 + share` after
/// `freeRetries / share` operations.
final class RetryBudget: Sendable {
  static let freeRetries = 10
  /// Beyond this number of operations, the older half is no longer counted.
  private static let window = 1_000

  private let share: Double
  private let counts = Locked<(operations: Int, retries: Int)>((0, 0))

  /// - Parameter share: From 0 to 1.
  init(share: Double) { self.share = share }

  func noteOperation() {
    counts.withLock { counts in
      counts.operations += 1
      guard counts.operations >= Self.window else { return }
      counts.operations /= 2
      counts.retries /= 2
    }
  }

  /// Takes a retry from the budget; `false` if there is none.
  func takeRetry() -> Bool {
    counts.withLock { counts in
      let next = counts.retries + 1
      guard next <= Self.freeRetries || Double(next) < share * Double(counts.operations) else {
        return false
      }
      counts.retries = next
      return true
    }
  }
}
