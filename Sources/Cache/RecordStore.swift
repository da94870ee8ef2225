/// Where normalized records live: in memory or in a SQLite file.
///
/// Every store passes the same contract test. A response is written in one transaction: other readers
/// see the state before it, or all of it.
public protocol RecordStore: Sendable {
  /// The seed of segment names in this store.
  var segmentSeed: UInt64 { get }

  /// Whether a response is handed over only when it has ended, however large it is.
  var takesWholeResponses: Bool { get }

  /// Who watches this store, and what lies above its records.
  var activity: StoreActivity { get }

  /// Starts the transaction of one response. One at a time: others wait.
  func begin() async throws(CacheError) -> any RecordTransaction

  /// Answers an operation from the records and the optimistic layers above them, or says which field is
  /// missing or too old.
  func read(
    _ operation: PreparedOperation, options: ReadOptions
  ) async throws(CacheError) -> StoreAnswer

  /// Says field by field what an operation finds in the records, without optimistic layers, and why not.
  func explain(
    _ operation: PreparedOperation, options: ReadOptions, showing detail: CacheExplanation.Detail
  ) async throws(CacheError) -> CacheExplanation

  /// The record with `key` in the dump format, or `nil`. Joins the parts of `QUERY_ROOT`.
  func record(forKey key: String) async throws(CacheError) -> String?

  /// Calls `write` with the pieces of the dump: one JSON object per line and record, sorted by key.
  func dump(_ write: @escaping @Sendable (UnsafeRawBufferPointer) throws -> Void) async throws

  func statistics() async throws(CacheError) -> StoreStatistics

  /// Returns when everything that was committed before would survive a power cut, where the store is
  /// durable. Does nothing in a store that ends with the process.
  func sync() async throws(CacheError)

  /// Removes every record and every optimistic layer. Responses that were asked for before are not
  /// written any more: after a logout, nothing of the former user comes back.
  func clear() async throws(CacheError)

  /// Removes records, or fields of records, in one transaction. References to what is gone stay, and
  /// are misses.
  func remove(_ selection: RecordSelection) async throws(CacheError) -> RemovalSummary

  /// Removes, in one transaction, every record and segment that no field of the query root reaches.
  ///
  /// - Parameter date: Root fields received before it, in seconds since 1970, are removed first, so
  ///   that what only they reach goes as well; `nil` keeps all.
  func collectGarbage(rootsBefore date: Int?) async throws(CacheError) -> RemovalSummary

  /// Removes, in one transaction, records until no more than `bytes` bytes of keys and text are left:
  /// those used longest ago first in memory, those received longest ago first in a file.
  func trim(to bytes: Int) async throws(CacheError) -> RemovalSummary
}

extension RecordStore {
  /// Answers an operation from the records, or says which field is missing.
  public func read(_ operation: PreparedOperation) async throws(CacheError) -> CacheReadResult {
    try await read(operation, options: ReadOptions()).result
  }

  public func sync() async throws(CacheError) {}
}

/// One response on its way into a store.
public protocol RecordTransaction: Sendable {
  /// Joins staged records with the stored ones.
  ///
  /// - Returns: The memory of an earlier batch that is no longer needed, to be filled again.
  func merge(_ records: RecordBatch) async throws(CacheError) -> RecordBatch?
  /// Takes back the nulls of errors among what was merged.
  func resolve(_ nulls: NullResolutionRequest) async throws(CacheError)
  /// Removes records and fields. What is not there is no error.
  func remove(_ removals: [RecordRemoval]) async throws(CacheError)
  /// Answers an operation from the records as this transaction has made them, without optimistic layers.
  func read(_ operation: PreparedOperation) async throws(CacheError) -> CacheReadResult
  /// Makes everything visible, durably where the store is durable.
  ///
  /// - Parameter layer: The optimistic layer that this replaces; it goes at the same moment.
  func commit(settling layer: OptimisticLayer?) async throws(CacheError) -> WriteSummary
  /// Leaves the store as it was before ``RecordStore/begin()``.
  func rollback() async
}

extension RecordTransaction {
  /// Makes everything visible, durably where the store is durable.
  public func commit() async throws(CacheError) -> WriteSummary { try await commit(settling: nil) }
}

/// Staged records on their way into a store.
public struct RecordBatch: Sendable {
  package let table: RecordTable
  /// When the response was received, in seconds since 1970.
  let received: UInt32
  /// Whether the nulls in it are facts. In a response that has not ended they may be those of errors:
  /// then the values they replace are kept beside them until the commit.
  let nullsAreFacts: Bool
  /// The keys of records that already hold such nulls.
  let tentative: [[UInt8]]
  /// The records that hold pages to be joined with stored lists at the commit; `nil` for none.
  var paging: Paging?
  /// Which types and fields the response had, with its last batch.
  var shapes: TypeShapes?

  /// Records whose nulls are facts, received when the first of them was.
  package init(_ table: RecordTable) {
    self.init(table, received: table.firstReceived, nullsAreFacts: true, tentative: [])
  }

  init(_ table: RecordTable, received: UInt32, nullsAreFacts: Bool, tentative: [[UInt8]]) {
    self.table = table
    self.received = received
    self.nullsAreFacts = nullsAreFacts
    self.tentative = tentative
  }
}

/// The errors whose nulls are to be taken back.
public struct NullResolutionRequest: Sendable {
  package let resolution: NullResolution

  package init(_ resolution: NullResolution) { self.resolution = resolution }
}

/// What a store says to an operation.
public struct StoreAnswer: Sendable {
  public var result: CacheReadResult
  /// The first field of a hit that is older than its `max_age`, and accepted even so.
  public var stale: CacheMiss?
  /// What the result depends on, when that was asked for.
  public var dependencies: Dependencies?

  public init(
    _ result: CacheReadResult, stale: CacheMiss? = nil, dependencies: Dependencies? = nil
  ) {
    self.result = result
    self.stale = stale
    self.dependencies = dependencies
  }
}

/// What a transaction changed. Segments of long lists are no records of their own here.
///
/// A store that does not collect changes counts a record again that comes again in a later part of a
/// response too large to be written at once.
public struct WriteSummary: Sendable, Hashable {
  /// Records that were not there before.
  public var newRecords = 0
  /// Records of which at least one field differs now.
  public var changedRecords = 0
  /// Records that stayed as they were.
  public var unchangedRecords = 0
  /// Records that are gone.
  public var removedRecords = 0
  /// The fields that differ, as record key and stored field name: of new and removed records, all.
  public var changes: Set<FieldChange> = []
  /// Whether ``changes`` was collected: by stores asked to, and while somebody watches, unless there
  /// are too many for that.
  public var changesAreKnown = false
  /// What the reader of the response may want to know: pages that could not be joined.
  public var warnings: [String] = []

  public init() {}
}

/// A field of a record whose value differs after a write.
///
/// Keys and names are equal when their UTF-8 bytes are: Swift's own equality of strings would take
/// `é` in one code point and in two for one id.
public struct FieldChange: Sendable, Hashable {
  public var recordKey: String
  public var field: String

  public init(recordKey: String, field: String) {
    self.recordKey = recordKey
    self.field = field
  }

  public static func == (left: Self, right: Self) -> Bool {
    left.recordKey.utf8.elementsEqual(right.recordKey.utf8)
      && left.field.utf8.elementsEqual(right.field.utf8)
  }

  public func hash(into hasher: inout Hasher) {
    for byte in recordKey.utf8 { hasher.combine(byte) }
    hasher.combine(UInt8(0xff))
    for byte in field.utf8 { hasher.combine(byte) }
  }
}

/// What a store holds.
public struct StoreStatistics: Sendable, Hashable {
  /// Records, where `QUERY_ROOT` counts as one and segments not at all.
  public var records = 0
  /// Bytes of keys and record text.
  public var bytes = 0
  /// Segments of long lists.
  public var segments = 0
  /// Records and bytes per type (the part of the key before the colon).
  public var types: [String: TypeStatistics] = [:]
  /// Records that do not match their checksum. They are in none of the other counts.
  public var damagedRecords = 0
  /// The size of the database file with its write-ahead log, for stores that have one.
  public var fileBytes: Int?
  /// The size of the write-ahead log alone.
  public var logBytes: Int?

  public init() {}

  public struct TypeStatistics: Sendable, Hashable {
    public var records = 0
    public var bytes = 0

    public init() {}
  }

  mutating func count(key: Bytes, textCount: Int) {
    bytes += key.count + textCount
    if Segments.isSegment(key: key) {
      segments += 1
      return
    }
    let isRoot = key.hasPrefix("QUERY_ROOT.")
    let end = (0..<key.count).first { key.start[$0] == UInt8(ascii: ":") } ?? key.count
    let type = isRoot ? RootRecord.queryKey : key[0..<end].string
    if isRoot && types[type] != nil {
      types[type]?.bytes += key.count + textCount
      return
    }
    records += 1
    types[type, default: .init()].records += 1
    types[type, default: .init()].bytes += key.count + textCount
  }
}

/// What the cache says to an operation.
public enum CacheReadResult: Sendable {
  /// Every field is there; the JSON object of `data`, exactly the fields asked for.
  case hit(ResultBody)
  case miss(CacheMiss)
}

/// The first field an operation asks for that the cache does not have, or that is too old.
public struct CacheMiss: Error, Sendable, Hashable, CustomStringConvertible {
  /// The response path of the field: `feed.edges[3].node.title`.
  public var path: String
  /// The record that lacks the field, or that is missing itself.
  public var recordKey: String
  /// The stored field name, or `nil` when the whole record is missing.
  public var field: String?
  /// How old the field is and may be, when it is there and too old.
  public var staleness: Staleness?

  public var description: String {
    if let staleness, let field {
      return "the field \(field) of \(recordKey) in the cache is stale: \(staleness), asked for at "
        + path
    }
    return field.map { "the cache has no field \($0) of \(recordKey), asked for at \(path)" }
      ?? "the cache has no record \(recordKey), asked for at \(path)"
  }
}
