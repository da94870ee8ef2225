import GQLRunSupport

/// A server that does not accept requests, while the run waits for it.
public struct Outage: Sendable, Equatable, CustomStringConvertible {
  /// The kinds of outages.
  public enum Kind: Sendable {
    /// The server cannot be reached.
    case unreachable
    /// The server refuses all requests (429, 503).
    case refusing
  }

  /// What the requests fail with.
  public var kind: Kind
  /// The time since the first failed request.
  public var duration: Duration
  /// The time until the run stops, if no request succeeds.
  public var remaining: Duration

  /// Creates an outage.
  ///
  /// - Parameters:
  ///   - kind: What the requests fail with.
  ///   - duration: The time since the first failed request.
  ///   - remaining: The time until the run stops, if no request succeeds.
  public init(_ kind: Kind, duration: Duration, remaining: Duration) {
    self.kind = kind
    self.duration = duration
    self.remaining = remaining
  }

  /// The outage with the remaining time, such as `server unreachable, retrying for 4m32s`. Without
  /// any left, the run ends with the requests in flight.
  public var description: String {
    let problem =
      switch kind {
      case .unreachable: "server unreachable"
      case .refusing: "server refuses requests"
      }
    return remaining > .zero
      ? "\(problem), retrying for \(Quantity.clockTime(remaining.seconds))"
      : "\(problem), last attempts"
  }
}
