/// Field by field, how a store answers an operation.
public struct CacheExplanation: Sendable, Hashable {
  /// How much of long lists is included.
  public enum Detail: Sendable, Hashable {
    /// Every element.
    case everything
    /// The first element, and up to this number of other elements with missing or stale fields. The
    /// others are counted.
    case problems(Int)
  }

  /// The status of a field.
  public enum Status: String, Sendable, Hashable {
    /// The field is in the cache.
    case hit
    /// Older than its `max_age`, but accepted by `max_stale`.
    case accepted
    /// Older than its `max_age`.
    case stale
    /// The field is not in the cache.
    case missing
    /// A missing field of a fragment, which without a schema is assumed not to apply.
    case leftOut = "left-out"
  }

  /// One selected field.
  public struct Field: Sendable, Hashable {
    /// The response path.
    public var path: String
    /// The alias of the field, or its name.
    public var responseKey: String
    /// The key of the record that contains the field.
    public var recordKey: String
    /// The stored name of the field, with its arguments.
    public var field: String
    /// Whether the field is in the cache, and fresh.
    public var status: Status
    /// When the field was received, in seconds since 1970; `nil` if it is missing.
    public var received: Int?
    /// Seconds since then; `nil` if it is missing or the time is in the future.
    public var age: Int?
    /// The max age in seconds, if a rule applies.
    public var maxAge: Int?
    /// The cache keys of the records that a redirect leads to; empty if the field has no redirect, or is
    /// answered from its stored value.
    public var redirect: [String] = []
    /// What the field contains.
    public var value = Value.leaf
    /// The selected fields of an object.
    public var fields: [Field] = []

    /// Whether the field or one below it is missing or stale.
    public var hasProblem: Bool {
      status == .missing || status == .stale || fields.contains(where: \.hasProblem)
        || value.hasProblem
    }
  }

  /// The content of a field.
  public indirect enum Value: Sendable, Hashable {
    /// A scalar or enum value, or null.
    case leaf, null
    /// An object without identity, stored in its parent.
    case object
    /// An object in a separate record, with its key.
    case reference(String)
    /// A reference to a missing record, with its key.
    case missingRecord(String)
    /// A list: its length, the included elements, and the number of omitted complete ones.
    case list(count: Int, elements: [Element], leftOut: Int)
    /// A value that cannot have the selected fields.
    case unfit

    var hasProblem: Bool {
      switch self {
      case .missingRecord, .unfit: true
      case .list(_, let elements, _): elements.contains(where: \.hasProblem)
      default: false
      }
    }
  }

  /// An element of a list.
  public struct Element: Sendable, Hashable {
    /// The index in the list.
    public var index: Int
    /// What the element contains.
    public var value: Value
    /// The selected fields of an object.
    public var fields: [Field]

    var hasProblem: Bool { value.hasProblem || fields.contains(where: \.hasProblem) }
  }

  /// The fields of the root.
  public var fields: [Field] = []
  /// The number of fields of each status, included or not; a missing record counts as one missing
  /// field.
  public var counts: [Status: Int] = [:]
  /// The number of incomplete list elements that are not included.
  public var omittedProblems = 0
  /// Redirects that would answer missing fields, because the records that their arguments identify are stored.
  public var proposals: [RedirectProposal] = []

  /// Whether a read answers the operation from the cache.
  public var isHit: Bool { counts[.missing, default: 0] + counts[.stale, default: 0] == 0 }
}
