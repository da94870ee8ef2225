/// How an operation is read from a store.
public struct ReadOptions: Sendable, Hashable {
  /// What data past their `max_age` are good for.
  public enum Stale: Sendable, Hashable {
    /// Stale data are accepted until they are so much older than their `max_age`.
    case upTo(Duration)
    /// Stale data are accepted however old they are.
    case whatever
  }

  /// What is told of what the answer depends on.
  public enum Tracking: Sendable, Hashable {
    case none
    /// Enough to find out whether a change concerns the answer.
    case fingerprints
    /// The names of records and fields, too.
    case names
  }

  /// `none` by default, and then it costs nothing.
  public var tracking: Tracking
  /// How old data may be. Without rules, the default, ages cost nothing.
  public var ages: AgeRules
  /// `.upTo(.zero)`, the default, accepts fresh data only.
  public var stale: Stale
  /// The present, in seconds since 1970.
  public var now: Int

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

  /// How far in the future a time may lie: clocks of several machines differ.
  static let tolerance = 60

  /// How old something received at `time` is, in seconds. `nil` for a time in the future: the clock was
  /// set back, and nobody knows.
  func age(of time: UInt32) -> Int? {
    let age = now - Int(time)
    return age < -Self.tolerance ? nil : max(age, 0)
  }

  /// What is wrong with data received at `time`, and whether they are accepted even so.
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
