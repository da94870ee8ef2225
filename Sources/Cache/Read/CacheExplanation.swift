/// What an operation finds in a store, field by field.
public struct CacheExplanation: Sendable, Hashable {
  /// How much of long lists is told.
  public enum Detail: Sendable, Hashable {
    /// Every element.
    case everything
    /// The first element, and of the others those that lack something, up to a number. What is left
    /// out is counted.
    case troubles(Int)
  }

  /// What became of a field.
  public enum Status: String, Sendable, Hashable {
    case hit
    /// Older than its `max_age`, and accepted by `max_stale`.
    case accepted
    /// Older than its `max_age`.
    case stale
    case missing
    /// A fragment's field that is not there; without a schema the fragment is taken not to apply.
    case leftOut = "left-out"
  }

  /// One field that the operation asks for.
  public struct Field: Sendable, Hashable {
    /// The response path.
    public var path: String
    public var responseKey: String
    /// The record in which the field is looked for.
    public var recordKey: String
    /// The stored name of the field, with its arguments.
    public var field: String
    public var status: Status
    /// When the field was received, in seconds since 1970; `nil` when it is missing.
    public var received: Int?
    /// Seconds since then; `nil` when it is missing or the time lies in the future.
    public var age: Int?
    /// The limit in seconds, where a rule gives one.
    public var maxAge: Int?
    public var value = Value.leaf
    /// The fields asked for of an object.
    public var fields: [Field] = []

    /// Whether the field, or one below it, is not answered.
    public var hasTrouble: Bool {
      status == .missing || status == .stale || fields.contains(where: \.hasTrouble)
        || value.hasTrouble
    }
  }

  /// What a field holds.
  public indirect enum Value: Sendable, Hashable {
    case leaf, null
    /// An object, stored where it stands.
    case object
    /// An object that is a record of its own.
    case reference(String)
    /// A record that is referred to and not there.
    case missingRecord(String)
    /// A list: its length, the elements that are told, and how many good ones are not.
    case list(count: Int, elements: [Element], leftOut: Int)
    /// Something that cannot have the fields asked for.
    case unfit

    var hasTrouble: Bool {
      switch self {
      case .missingRecord, .unfit: true
      case .list(_, let elements, _): elements.contains(where: \.hasTrouble)
      default: false
      }
    }
  }

  /// An element of a list.
  public struct Element: Sendable, Hashable {
    public var index: Int
    public var value: Value
    public var fields: [Field]

    var hasTrouble: Bool { value.hasTrouble || fields.contains(where: \.hasTrouble) }
  }

  /// The fields of the root.
  public var fields: [Field] = []
  /// How many fields there are of each status, told or not; a record that is not there counts as one
  /// that is missing.
  public var counts: [Status: Int] = [:]
  /// Bad elements of lists that are not told.
  public var untoldTroubles = 0

  /// Whether a read would answer the operation.
  public var isHit: Bool { counts[.missing, default: 0] + counts[.stale, default: 0] == 0 }
}
