/// How an operation is read from a store.
public struct ReadOptions: Sendable, Hashable {
  /// Which data is accepted past its `max_age`.
  public enum Stale: Sendable, Hashable {
    /// Stale data is accepted up to this duration past its `max_age`.
    case upTo(Duration)
    /// Stale data of any age is accepted.
    case whatever
  }

  /// Which dependencies of the result are collected.
  public enum Tracking: Sendable, Hashable {
    /// None.
    case none
    /// Hashes, sufficient to detect whether a change affects the result.
    case fingerprints
    /// The names of records and fields as well.
    case names
  }

  /// Which dependencies are collected. `none` by default, which has no cost.
  public var tracking: Tracking
  /// The max ages. Without rules, the default, ages have no cost.
  public var ages: AgeRules
  /// Which stale data is accepted. `.upTo(.zero)`, the default, accepts only fresh data.
  public var stale: Stale
  /// The current time, in seconds since 1970.
  public var now: Int

  /// Creates options.
  public init(
    tracking: Tracking = .none, ages: AgeRules = AgeRules(), stale: Stale = .upTo(.zero),
    now: Int = 0
  ) {
    self.tracking = tracking
    self.ages = ages
    self.stale = stale
    self.now = now
  }

  var checksAges: Bool { !ages.isEmpty }

  /// The maximum number of seconds that a time may be in the future, because clocks of machines
  /// differ.
  static let tolerance = 60

  /// The age of data received at `time`, in seconds; `nil` if that is in the future, because the
  /// clock was set back.
  func age(of time: UInt32) -> Int? {
    let age = now - Int(time)
    return age < -Self.tolerance ? nil : max(age, 0)
  }

  /// Why data received at `time` is stale, and whether it is accepted; `nil` if it is fresh.
  func staleness(of time: UInt32, limit: Int) -> (staleness: Staleness, isAccepted: Bool)? {
    let age = age(of: time)
    if let age, age < limit { return nil }
    let staleness = Staleness(age: age, maxAge: limit)
    switch stale {
    case .whatever: return (staleness, true)
    case .upTo(let more):
      return (staleness, age.map { $0 - limit < AgeRules.seconds(more) } ?? false)
    }
  }
}
