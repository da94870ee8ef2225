import GQLRunJSON

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
  /// What fields with stored errors are read as. ``ErrorReadPolicy/refuse`` by default.
  public var errors: ErrorReadPolicy

  /// Creates options.
  public init(
    tracking: Tracking = .none, ages: AgeRules = AgeRules(), stale: Stale = .upTo(.zero),
    now: Int = 0, errors: ErrorReadPolicy = .refuse
  ) {
    self.tracking = tracking
    self.ages = ages
    self.stale = stale
    self.now = now
    self.errors = errors
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

/// The response path of a reader: response keys and list indices.
///
/// Plain memory, because every field with a selection set changes it: an array of enum values would
/// be retained, checked for uniqueness and released at each step.
struct ReadPath: ~Copyable {
  /// A field's key, or a list index if the key is nil.
  struct Step {
    fileprivate var key: UnsafePointer<UInt8>?
    fileprivate var number: Int

    @inline(__always)
    static func field(_ key: Bytes) -> Step { Step(key: key.start, number: key.count) }

    @inline(__always)
    static func index(_ index: Int) -> Step { Step(key: nil, number: index) }

    /// The field's key; `nil` for a list index.
    fileprivate var name: String? { key.map { Bytes(start: $0, count: number).string } }
  }

  private var steps: UnsafeMutablePointer<Step>
  private var capacity = 64
  private(set) var count = 0

  init() { steps = .allocate(capacity: capacity) }

  deinit { steps.deallocate() }

  @inline(__always)
  mutating func append(_ step: Step) {
    if count == capacity { grow() }
    (steps + count).initialize(to: step)
    count &+= 1
  }

  @inline(__always)
  mutating func removeLast() {
    precondition(count > 0)
    count &-= 1
  }

  @inline(__always)
  mutating func replaceLast(_ step: Step) {
    precondition(count > 0)
    steps[count &- 1] = step
  }

  @inline(never)
  private mutating func grow() {
    capacity *= 2
    steps = steps.grown(to: capacity, keeping: count)
  }

  /// The last response key.
  var lastKey: String {
    for index in (0..<count).reversed() {
      if let name = steps[index].name { return name }
    }
    return ""
  }

  /// The path as JSON values: response keys and indices.
  var json: [JSONValue] {
    (0..<count).map { index in
      steps[index].name.map { .string($0) } ?? .number(JSONNumber(steps[index].number))
    }
  }

  /// The path as text: `feed.edges[3].node`.
  var text: String {
    var text = ""
    for index in 0..<count {
      if let name = steps[index].name {
        text += (text.isEmpty ? "" : ".") + name
      } else {
        text += "[\(steps[index].number)]"
      }
    }
    return text
  }
}
