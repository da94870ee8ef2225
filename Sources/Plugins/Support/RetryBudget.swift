import GQLRunSupport

/// Keeps retries a small share of all requests, so that a server in trouble is not given more work.
///
/// Every operation adds `share` of a retry; the first few retries are free, so that somebody who runs
/// one operation has them all. With every request failing, the load stays below `1 + share` once
/// there are `freeRetries / share` operations.
final class RetryBudget: Sendable {
  static let freeRetries = 10
  /// Above so many operations the older half counts no more.
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

  /// Takes a retry, if there is one.
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
