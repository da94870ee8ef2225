public import GQLRunJSON

/// The result of reading an operation from a store.
public struct StoreAnswer: Sendable {
  /// A hit or a miss.
  public var result: CacheReadResult
  /// The first field of a hit that is older than its `max_age` and was accepted nevertheless.
  public var stale: CacheMiss?
  /// What the result depends on; only if it was requested.
  public var dependencies: Dependencies?
  /// The stored errors of the fields that are null in a hit, as entries of a response's `errors`, in the order of the
  /// fields: with the paths of the operation that is read, and without locations. Only with
  /// ``ErrorReadPolicy/replay``.
  public var errors: [JSONValue] = []
  /// What was decided by the stored fields, because there is no schema: for each type condition, which objects satisfy
  /// it. Empty for a miss.
  public var warnings: [String] = []

  /// Creates an answer.
  public init(
    _ result: CacheReadResult, stale: CacheMiss? = nil, dependencies: Dependencies? = nil
  ) {
    self.result = result
    self.stale = stale
    self.dependencies = dependencies
  }
}

/// The changes of a transaction. Segments of long lists are not counted as records.
///
/// If the store does not collect changes, a record that occurs in several batches of a large
/// response is counted once per batch.
public struct WriteSummary: Sendable, Hashable {
  /// Records that did not exist before.
  public var newRecords = 0
  /// Records with at least one changed field.
  public var changedRecords = 0
  /// Unchanged records.
  public var unchangedRecords = 0
  /// Removed records.
  public var removedRecords = 0
  /// The changed fields, as record key and stored field name; all fields of new and removed
  /// records.
  public var changes: Set<FieldChange> = []
  /// The fields whose stored errors were added, replaced or removed. Their values may be unchanged.
  public var errors: Set<FieldChange> = []
  /// Whether ``changes`` is complete: the store collects changes or has watchers, and there are not
  /// too many.
  public var changesAreKnown = false
  /// Warnings for the user: pages that could not be joined.
  public var warnings: [String] = []

  /// Creates an empty summary.
  public init() {}

  /// The changes of this write and of the next one.
  func adding(_ next: WriteSummary) -> WriteSummary {
    var sum = self
    sum.addCounts(of: next)
    sum.changes.formUnion(next.changes)
    sum.errors.formUnion(next.errors)
    sum.changesAreKnown = changesAreKnown && next.changesAreKnown
    sum.warnings += next.warnings
    return sum
  }

  /// Adds the numbers of records of another one.
  mutating func addCounts(of other: WriteSummary) {
    newRecords += other.newRecords
    changedRecords += other.changedRecords
    unchangedRecords += other.unchangedRecords
    removedRecords += other.removedRecords
  }

  /// Adds changed fields of a record, by their quoted stored keys, or changed positions of its errors.
  mutating func note(_ fields: some Sequence<[UInt8]>, of key: Bytes) {
    if ErrorRecord.isErrors(key: key) {
      errors.insert(fields, of: key)
    } else {
      changes.insert(fields, of: key)
    }
  }
}

/// A field of a record whose value a write changed.
///
/// Keys and names are compared as UTF-8 bytes; Swift's string equality would consider `é` as one
/// and as two code points equal.
public struct FieldChange: Sendable, Hashable {
  /// The key of the record.
  public var recordKey: String
  /// The stored name of the field.
  public var field: String

  /// Creates a change.
  public init(recordKey: String, field: String) {
    self.recordKey = recordKey
    self.field = field
  }

  /// Whether both name the same field of the same record, byte for byte.
  public static func == (left: Self, right: Self) -> Bool {
    left.recordKey.utf8.elementsEqual(right.recordKey.utf8)
      && left.field.utf8.elementsEqual(right.field.utf8)
  }

  /// Adds the bytes of the names.
  public func hash(into hasher: inout Hasher) {
    for byte in recordKey.utf8 { hasher.combine(byte) }
    hasher.combine(UInt8(0xff))
    for byte in field.utf8 { hasher.combine(byte) }
  }
}

extension FieldChange {
  /// Creates a change from the quoted stored key; root records are split into record and field.
  init(key: Bytes, quotedField: Bytes) {
    var scratch = ByteStack(capacity: 64)
    let field = RecordText.withUnescaped(quotedField, scratch: &scratch) { $0.string }
    let isRoot = key.hasPrefix("QUERY_ROOT.")
    self.init(recordKey: isRoot ? RootRecord.queryKey : key.string, field: field)
  }
}

extension Set<FieldChange> {
  /// Inserts fields of a record by their quoted stored keys, or the fields that positions of its errors are in.
  mutating func insert(_ fields: some Sequence<[UInt8]>, of key: Bytes) {
    if let owner = ErrorRecord.owner(of: key) {
      for position in fields {
        let change = position.withBytes { ErrorRecord.change(of: owner, position: $0) }
        if let change { insert(change) }
      }
      return
    }
    for field in fields {
      field.withBytes { _ = insert(FieldChange(key: key, quotedField: $0)) }
    }
  }

  /// Inserts all fields of the record `text`.
  mutating func insert(fieldsOf text: Bytes, key: Bytes) {
    if ErrorRecord.isErrors(key: key) { return insert(RecordText.keys(of: text), of: key) }
    var cursor = FieldCursor(text)
    while let field = cursor.next() {
      insert(FieldChange(key: key, quotedField: text[field.key]))
    }
  }
}

/// The number and size of a store's records.
public struct StoreStatistics: Sendable, Hashable {
  /// Records; `QUERY_ROOT` counts as one, segments are not counted.
  public var records = 0
  /// Bytes of keys and record texts.
  public var bytes = 0
  /// Segments of long lists.
  public var segments = 0
  /// Fields with stored errors.
  public var errors = 0
  /// Records and bytes per type: the `__typename` of the record, or the part of its key before the colon.
  public var types: [String: TypeStatistics] = [:]
  /// Records that do not match their checksum; not included in the other counts.
  public var damagedRecords = 0
  /// The size of the database file with its write-ahead log, in bytes; `nil` for stores without a
  /// file.
  public var fileBytes: Int?
  /// The size of the write-ahead log, in bytes.
  public var logBytes: Int?

  /// Creates empty statistics.
  public init() {}

  /// The records of one type.
  public struct TypeStatistics: Sendable, Hashable {
    /// The number of records.
    public var records = 0
    /// Bytes of keys and record texts.
    public var bytes = 0

    /// Creates empty statistics.
    public init() {}
  }

  mutating func count(key: Bytes, text: Bytes) {
    let size = key.count + text.count
    bytes += size
    if Segments.isSegment(key: key) {
      segments += 1
      return
    }
    if ErrorRecord.isErrors(key: key) {
      errors += RecordText.keys(of: text).count
      return
    }
    let type = Self.type(ofKey: key, text: text)
    if type == RootRecord.queryKey && types[type] != nil {
      types[type]?.bytes += size
      return
    }
    records += 1
    types[type, default: .init()].records += 1
    types[type, default: .init()].bytes += size
  }

  /// The `__typename` of a record. Without it, the part of the key before the colon: a type, or a group of types.
  /// `QUERY_ROOT` for a field of the query root.
  static func type(ofKey key: Bytes, text: Bytes) -> String {
    if key.hasPrefix("QUERY_ROOT.") { return RootRecord.queryKey }
    let typename = RecordText.typename(of: text)
    if typename.count > 0 { return typename.string }
    let end = (0..<key.count).first { key.start[$0] == UInt8(ascii: ":") } ?? key.count
    return key[0..<end].string
  }
}

/// The result of reading an operation from the cache.
public enum CacheReadResult: Sendable {
  /// All fields are in the cache: the JSON object of `data` with exactly the selected fields.
  case hit(ResultBody)
  /// A field is missing or stale.
  case miss(CacheMiss)
}

/// The first selected field that the cache does not contain, or that is stale.
public struct CacheMiss: Error, Sendable, Hashable, CustomStringConvertible {
  /// The response path of the field: `feed.edges[3].node.title`.
  public var path: String
  /// The key of the record that lacks the field or is missing itself.
  public var recordKey: String
  /// The stored field name; `nil` if the whole record is missing.
  public var field: String?
  /// The age and max age of the field, if it is stale.
  public var staleness: Staleness?
  /// The deferred fragment that selects the field: its label, or its name. `nil` for other fields.
  public var deferredFragment: String?

  /// The missing or stale field, its record and its response path.
  public var description: String {
    if let staleness, let field {
      return "the field \(field) of \(recordKey) in the cache is stale: \(staleness), selected at "
        + path
    }
    let fragment = deferredFragment.map { " in the deferred fragment \($0)" } ?? ""
    return field.map {
      "the cache has no field \($0) of \(recordKey), selected at \(path)\(fragment)"
    }
      ?? "the cache has no record \(recordKey), selected at \(path)"
  }
}

/// A notice about a store for its user. It is not an error: the operation continues.
public struct StoreNotice: Sendable, Hashable, CustomStringConvertible {
  /// The kind of notice.
  public enum Code: String, Sendable, Hashable {
    /// The database was damaged; it was renamed and replaced by an empty one.
    case rebuilt
    /// A record does not match its checksum. It is treated as missing until it is written again.
    case damagedRecord
    /// The file or its directory is read-only, so nothing is stored.
    case readOnly
    /// The file existed, and every user of the machine can read it. It keeps its permissions.
    case shared
  }

  /// The kind of notice.
  public var code: Code
  /// What was found, and how it was handled.
  public var message: String
  /// The path of the file.
  public var path: String

  /// Creates a notice.
  public init(_ code: Code, _ message: String, path: String) {
    self.code = code
    self.message = message
    self.path = path
  }

  /// The message.
  public var description: String { message }
}
