/// How long data stays fresh after it was received.
///
/// The rule of a field overrides that of its type, which overrides the general one. A rule may name
/// an interface if the schema is known. Data without a rule never expires.
///
/// Times are whole seconds, as in records. As in HTTP caching, data is stale when its age reaches
/// its `max_age`: https://www.rfc-editor.org/rfc/rfc9111#section-4.2
public struct AgeRules: Sendable, Hashable {
  /// The default max age; `nil`, the default, means no limit.
  public var maxAge: Duration?
  /// The max age by type name.
  public var types: [String: Duration]
  /// The max age by type and field name, for all arguments of the field.
  public var fields: [String: [String: Duration]]

  /// Creates rules.
  public init(
    maxAge: Duration? = nil, types: [String: Duration] = [:],
    fields: [String: [String: Duration]] = [:]
  ) {
    self.maxAge = maxAge
    self.types = types
    self.fields = fields
  }

  /// Whether nothing ever becomes stale.
  public var isEmpty: Bool { maxAge == nil && types.isEmpty && fields.values.allSatisfy(\.isEmpty) }

  /// How many seconds the stored time of unchanged data may lag: a sixteenth of the shortest
  /// `max_age`, or a minute without one.
  ///
  /// Unchanged data gets a new time only after that period, so that a refresh without changes
  /// writes nothing. Data becomes stale at most this much too early, never too late.
  public var granularity: Int {
    let all = [maxAge].compactMap { $0 } + types.values + fields.values.flatMap(\.values)
    return all.min().map { Self.seconds($0) / 16 } ?? Self.defaultGranularity
  }

  /// The granularity without rules, in seconds.
  public static let defaultGranularity = 60

  /// The max age of a field in objects of `type`, in seconds.
  func limit(of field: String, type: String, facts: TypeFacts?) -> Int? {
    let rule =
      rule(fields, for: type, facts: facts) { $0[field] } ?? rule(types, for: type, facts: facts) {
        $0
      } ?? maxAge
    return rule.map(Self.seconds)
  }

  private func rule<Rule>(
    _ rules: [String: Rule], for type: String, facts: TypeFacts?,
    duration: (Rule) -> Duration?
  ) -> Duration? {
    if let own = rules[type].flatMap(duration) { return own }
    guard let facts, !rules.isEmpty else { return nil }
    // Of several interfaces, the shortest limit applies.
    return rules.filter { $0.key != type && facts.isPossible(type, for: $0.key) == true }
      .compactMap { duration($0.value) }.min()
  }

  /// Whole seconds, rounded up, so that a short duration is at least one second.
  static func seconds(_ duration: Duration) -> Int {
    let (seconds, attoseconds) = duration.components
    return Int(clamping: max(seconds, 0)) + (attoseconds > 0 ? 1 : 0)
  }
}

/// Why data is stale.
public struct Staleness: Sendable, Hashable, CustomStringConvertible {
  /// Seconds since it was received; `nil` if that is in the future.
  public var age: Int?
  /// The max age, in seconds.
  public var maxAge: Int

  /// Creates a reason.
  public init(age: Int?, maxAge: Int) {
    self.age = age
    self.maxAge = maxAge
  }

  /// The age and the max age: `received 7 min ago, max_age 5 min`.
  public var description: String {
    guard let age else {
      return "received in the future, so the clock was set back, max_age \(Self.text(maxAge))"
    }
    return "received \(Self.text(age)) ago, max_age \(Self.text(maxAge))"
  }

  /// Formats a number of seconds: `7 min`, `2 h 5 min`, `3 d`.
  public static func text(_ seconds: Int) -> String {
    let units = [("d", 86_400), ("h", 3600), ("min", 60), ("s", 1)]
    guard let first = units.firstIndex(where: { seconds >= $0.1 }) else { return "0 s" }
    var parts = ["\(seconds / units[first].1) \(units[first].0)"]
    if first + 1 < units.count {
      let rest = seconds % units[first].1 / units[first + 1].1
      if rest > 0 { parts.append("\(rest) \(units[first + 1].0)") }
    }
    return parts.joined(separator: " ")
  }
}

/// The limits of the fields of object plans, computed once per plan and type.
struct AgeLimits {
  struct Entry {
    var typename: [UInt8]
    var limits: [Int?]
  }

  let options: ReadOptions
  let facts: TypeFacts?
  private(set) var entries: [Int32: [Entry]] = [:]

  /// The limit of the field with `index` in `object`, for objects of type `typename`.
  mutating func limit(of index: Int, in object: ObjectPlan, numbered plan: Int32, typename: Bytes)
    -> Int?
  {
    for entry in entries[plan] ?? [] where typename.equals(entry.typename) {
      return entry.limits[index]
    }
    let type = typename.string
    let limits = (0..<object.fieldCount).map { number -> Int? in
      let field = object.fields[number]
      // The type of an object never expires.
      return field.isTypename
        ? nil : options.ages.limit(of: field.name, type: type, facts: facts)
    }
    // A limit, because a server may have any number of types.
    if (entries[plan]?.count ?? 0) >= 64 { entries[plan] = [] }
    entries[plan, default: []].append(Entry(typename: typename.array, limits: limits))
    return limits[index]
  }
}

extension FieldPlan {
  /// The field's name, without its arguments.
  var name: String {
    let stored = storedPrefix[1..<max(storedPrefix.count - 2, 1)]
    let end = (0..<stored.count).first { stored[$0] == UInt8(ascii: "(") } ?? stored.count
    return stored[0..<end].string
  }
}
