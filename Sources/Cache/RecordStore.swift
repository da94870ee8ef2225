/// A store of normalized records: in memory or in a SQLite file.
///
/// Every store passes the same contract tests. A response is written in one transaction: other
/// readers see the previous state, or all of the response.
public protocol RecordStore: Sendable {
  /// The seed of the hash that names list segments.
  var segmentSeed: UInt64 { get }

  /// Whether a response is merged only when it is complete, regardless of its size.
  var takesWholeResponses: Bool { get }

  /// The watchers and optimistic layers of the store.
  var activity: StoreActivity { get }

  /// Starts a transaction for one response. Transactions run one at a time: others wait.
  func begin() async throws(CacheError) -> any RecordTransaction

  /// Reads an operation from the records and optimistic layers. The result is a hit, or a miss with
  /// the first field that is missing or stale.
  func read(
    _ operation: PreparedOperation, options: ReadOptions
  ) async throws(CacheError) -> StoreAnswer

  /// Explains field by field what an operation finds in the records, without optimistic layers.
  func explain(
    _ operation: PreparedOperation, options: ReadOptions, showing detail: CacheExplanation.Detail
  ) async throws(CacheError) -> CacheExplanation

  /// The record with `key` in the dump format; `nil` if there is none. Combines the records of
  /// `QUERY_ROOT`.
  func record(forKey key: String) async throws(CacheError) -> String?

  /// Calls `write` with the chunks of the dump: one JSON object per line and record, sorted by key.
  func dump(_ write: @escaping @Sendable (UnsafeRawBufferPointer) throws -> Void) async throws

  /// The number and size of the records.
  func statistics() async throws(CacheError) -> StoreStatistics

  /// Waits until all committed transactions are durable. Does nothing for a store in memory.
  func sync() async throws(CacheError)

  /// Removes every record and every optimistic layer. Responses that were requested before are not
  /// written, so that after a logout no data of the previous user returns.
  func clear() async throws(CacheError)

  /// Removes records, or fields of records, in one transaction. References to removed records
  /// remain, and are misses.
  func remove(_ selection: RecordSelection) async throws(CacheError) -> RemovalSummary

  /// Removes every record and segment that no field of the query root reaches, in one transaction.
  ///
  /// - Parameter date: Removes root fields that were received before this time first, in seconds
  ///   since 1970; `nil` keeps all.
  func collectGarbage(rootsBefore date: Int?) async throws(CacheError) -> RemovalSummary

  /// Removes records in one transaction until at most `bytes` bytes of keys and texts remain: the
  /// least recently used first in memory, the least recently received first in a file.
  func trim(to bytes: Int) async throws(CacheError) -> RemovalSummary
}

extension RecordStore {
  /// Reads an operation from the records and optimistic layers, with default options.
  public func read(_ operation: PreparedOperation) async throws(CacheError) -> CacheReadResult {
    try await read(operation, options: ReadOptions()).result
  }

  /// Does nothing.
  public func sync() async throws(CacheError) {}
}

/// The transaction of one response.
public protocol RecordTransaction: Sendable {
  /// Merges staged records into the stored ones.
  ///
  /// - Returns: The memory of an earlier batch, for reuse.
  func merge(_ records: RecordBatch) async throws(CacheError) -> RecordBatch?
  /// Restores the values that were replaced by nulls of errors.
  func resolve(_ nulls: NullResolutionRequest) async throws(CacheError)
  /// Removes records and fields. Ignores those that do not exist.
  func remove(_ removals: [RecordRemoval]) async throws(CacheError)
  /// Reads an operation from the records including this transaction's changes, without optimistic
  /// layers.
  func read(_ operation: PreparedOperation) async throws(CacheError) -> CacheReadResult
  /// Makes the changes visible, durably if the store is durable.
  ///
  /// - Parameter layer: The optimistic layer that the changes replace; it is removed at the same
  ///   moment.
  func commit(settling layer: OptimisticLayer?) async throws(CacheError) -> WriteSummary
  /// Discards the changes.
  func rollback() async
}

extension RecordTransaction {
  /// Makes the changes visible, durably if the store is durable.
  public func commit() async throws(CacheError) -> WriteSummary { try await commit(settling: nil) }
}

/// Staged records that are merged into a store.
public struct RecordBatch: Sendable {
  package let table: RecordTable
  /// When the response was received, in seconds since 1970.
  let received: UInt32
  /// Whether the nulls are final. Before the end of a response, they may be caused by errors; the
  /// values they replace are then kept until the commit.
  let nullsAreFacts: Bool
  /// The keys of records with such tentative nulls.
  let tentative: [[UInt8]]
  /// The records with pages to join with stored lists at the commit; `nil` for none.
  var paging: Paging?
  /// The types and fields of the response; only in its last batch.
  var shapes: TypeShapes?

  /// Records with final nulls, with the receive time of the first one.
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

/// The errors whose nulls are reverted.
public struct NullResolutionRequest: Sendable {
  package let resolution: NullResolution

  package init(_ resolution: NullResolution) { self.resolution = resolution }
}

/// The result of reading an operation from a store.
public struct StoreAnswer: Sendable {
  /// A hit or a miss.
  public var result: CacheReadResult
  /// The first field of a hit that is older than its `max_age` and was accepted nevertheless.
  public var stale: CacheMiss?
  /// What the result depends on; only if it was requested.
  public var dependencies: Dependencies?

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
  /// Whether ``changes`` is complete: the store collects changes or has watchers, and there are not
  /// too many.
  public var changesAreKnown = false
  /// Warnings for the user: pages that could not be joined.
  public var warnings: [String] = []

  /// Creates an empty summary.
  public init() {}
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

/// The number and size of a store's records.
public struct StoreStatistics: Sendable, Hashable {
  /// Records; `QUERY_ROOT` counts as one, segments are not counted.
  public var records = 0
  /// Bytes of keys and record texts.
  public var bytes = 0
  /// Segments of long lists.
  public var segments = 0
  /// Records and bytes per type (the part of the key before the colon).
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

  /// The missing or stale field, its record and its response path.
  public var description: String {
    if let staleness, let field {
      return "the field \(field) of \(recordKey) in the cache is stale: \(staleness), selected at "
        + path
    }
    return field.map { "the cache has no field \($0) of \(recordKey), selected at \(path)" }
      ?? "the cache has no record \(recordKey), selected at \(path)"
  }
}
