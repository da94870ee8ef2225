/// Keeps retries a small share of all requests, so that a server in trouble is not given more work.
///
/// Every operation adds `share` of a retry; the first few retries are free, so that somebody who runs
/// one operation has them all. With every request failing, the load stays below `1 + share` once
/// there are `freeRetries / share` operations.
actor RetryBudget {
  static let freeRetries = 10
  /// Above so many operations the older half counts no more.
  private static let window = 1_000

  private let share: Double
  private var operations = 0
  private var retries = 0

  /// - Parameter share: From 0 to 1.
  init(share: Double) { self.share = share }

  func noteOperation() {
    operations += 1
    guard operations >= Self.window else { return }
    operations /= 2
    retries /= 2
  }

  /// Takes a retry, if there is one.
  func takeRetry() -> Bool {
    let next = retries + 1
    guard next <= Self.freeRetries || Double(next) < share * Double(operations) else {
      return false
    }
    retries = next
    return true
  }
}
