import GRDB
import GRDBSQLite

/// Writes staged records to the records table, on the writer connection.
struct RecordWriter {
  let db: Database
  /// The connections that see the state before the transaction.
  let pool: SQLiteConnections
  let records: SQLiteRecords
  private let functions: MergeFunctions
  private let upsert: OpaquePointer
  private let collection: ChangeCollection
  private let nullsAreTentative: Bool
  private let times: TimeMerge
  private let damage: DamageLog
  let seed: UInt64
  /// Keeps the prepared statement alive.
  private let statement: Statement

  init(
    _ db: Database, store: SQLiteStore, collection: ChangeCollection, nullsAreTentative: Bool,
    received: UInt32
  ) throws {
    self.db = db
    pool = store.pool
    self.nullsAreTentative = nullsAreTentative
    self.collection = collection
    seed = store.segmentSeed
    damage = store.damage
    records = try SQLiteRecords(db, damage)
    functions = try MergeFunctions.state(of: db)
    functions.collectsChanges = collection != .none
    functions.nullsAreTentative = nullsAreTentative
    times = TimeMerge(received: received, granularity: UInt32(clamping: store.ageGranularity))
    functions.times = times
    // An unchanged record whose times are recent enough is not merged.
    statement = try db.cachedStatement(
      sql: """
        INSERT INTO records (key, received, data, checksum) VALUES (?1, ?2, ?3, ?4)
        ON CONFLICT (key) DO UPDATE SET
          received = gqlrun_merged_received(),
          data = gqlrun_merged(),
          checksum = gqlrun_merged_checksum(),
          ages = gqlrun_merged_ages()
        WHERE (
          data IS NOT excluded.data OR checksum IS NOT excluded.checksum OR ages IS NOT NULL
          OR received NOT BETWEEN ?5 AND ?6
        ) AND gqlrun_merge(key, data, excluded.data, checksum, received, ages)
        """)
    upsert = statement.sqliteStatement
    let near = Int64(max(times.granularity, 1) - 1)
    sqlite3_bind_int64(upsert, 5, Int64(received) - near)
    sqlite3_bind_int64(upsert, 6, Int64(received) + near)
  }

  /// Writes a batch in key order, so that neighboring keys share pages.
  func write(_ batch: RecordBatch) throws -> TransactionLog {
    var log = TransactionLog(collection)
    let table = batch.table
    let errors = try StoredErrorKeys(db)
    for delta in batch.deltas where delta.owner.withBytes({ errors.mayContain($0) }) {
      try editErrors(&log) { access in delta.removeErrors(access) }
    }
    for index in table.sortedByKey() {
      let (key, text) = (table.key(at: index), table.text(at: index))
      if table.errorCount > 0, ErrorRecord.isErrors(key: key) { continue }
      if errors.mayContain(key) {
        let old = try records.text(of: key)
        try editErrors(&log) { $0.removeErrors(of: key.array, after: text.array, over: old) }
      }
      try write(key, text: text, log: &log)
    }
    // At the end, because records and deltas remove the errors of before.
    if table.errorCount > 0 {
      for index in table.live {
        let (key, text) = (table.key(at: index), table.text(at: index))
        guard let owner = ErrorRecord.owner(of: key) else { continue }
        if errors.mayContain(owner) {
          try editErrors(&log) { $0.makeRoom(forErrors: text, key: key) }
        }
        try write(key, text: text, log: &log)
      }
    }
    for key in batch.tentative { log.noteTentative(key) }
    return log
  }

  /// Removes errors with `edit`, and logs which.
  private func editErrors(
    _ log: inout TransactionLog, _ edit: (StoredRecords) throws -> Void
  ) throws {
    let access = StoredRecords(self)
    try edit(access)
    if let failure = access.failure { throw failure }
    for (key, fields) in access.resolved { log.noteResolved(key, fields) }
  }

  private func write(_ key: Bytes, text: Bytes, log: inout TransactionLog) throws {
    functions.prepare()
    // A segment's key is a hash of its content, so an existing one is equal.
    if Segments.isSegment(key: key) { return try put(key, text) }
    let before = sqlite3_total_changes(db.sqliteConnection)
    try put(key, text)
    let isWritten = sqlite3_total_changes(db.sqliteConnection) != before
    if functions.needsSegments { return try mergeWithSegments(key, text: text, log: &log) }
    if functions.hasTentativeNulls { log.noteTentative(key.array) }
    if functions.differs {
      log.noteChanged(key, functions.changed)
    } else if isWritten && !functions.wasMerged {
      log.noteNew(key, text)
    } else {
      log.noteUnchanged(key)
    }
  }

  /// Inserts or merges one record.
  func put(_ key: Bytes, _ text: Bytes) throws {
    SQLiteText.bind(upsert, index: 1, bytes: key)
    sqlite3_bind_int64(upsert, 2, Int64(times.received))
    SQLiteText.bind(upsert, index: 3, bytes: text)
    sqlite3_bind_int64(upsert, 4, SQLiteText.checksum(key: key, text: text))
    defer { sqlite3_reset(upsert) }
    _ = try SQLiteText.step(upsert)
    if functions.isDamaged { damage.reportMismatch(key) }
  }

  /// When the response was received, in seconds since 1970.
  var received: UInt32 { times.received }

  /// The times of a record; those of this response if the record is missing.
  func storedTimes(of key: Bytes) throws -> RecordTimes {
    try records.times(of: key) ?? RecordTimes(received: times.received)
  }

  /// Removes records and fields.
  func remove(_ targets: [(key: [UInt8], field: [UInt8]?)]) throws -> TransactionLog {
    try SQLiteSchema.recordRemovals(in: db)
    var log = TransactionLog(collection)
    let known = try StoredErrorKeys(db)
    for (key, field) in targets {
      if key.withBytes({ known.mayContain($0) }) {
        try editErrors(&log) { $0.editErrors(of: key) { $0.remaining(without: field) } }
      }
      try key.withBytes { bytes in
        guard let text = try records.text(of: bytes) else { return }
        guard let field else {
          try records.remove(bytes)
          return log.noteRemoved(key, text)
        }
        let rest = RecordText.removing(field, from: text)
        if rest == text { return }
        let times = try storedTimes(of: bytes).replacing([], in: rest)
        try rest.withBytes { try records.replace(bytes, text: $0, times: times) }
        log.noteChanged(bytes, [field])
      }
    }
    return log
  }

  private func mergeWithSegments(
    _ key: Bytes, text: Bytes, log: inout TransactionLog
  ) throws {
    guard let old = try records.text(of: key) else {
      try records.replace(key, text: text, times: RecordTimes(received: times.received))
      return log.noteNew(key, text)
    }
    let oldTimes = try storedTimes(of: key)
    let access = StoredRecords(self)
    var merge = Merge(nullsAreTentative: nullsAreTentative, access: access)
    var merged = ByteStack(capacity: text.count + 64)
    var changed: [[UInt8]] = []
    let differs = old.withBytes { old in
      merge.records(old: old, new: text, into: &merged) { changed.append($0.array) }
    }
    if let failure = access.failure { throw failure }
    let newTimes = old.withBytes {
      times.times(old: $0, oldTimes, new: text, merged: merged.all, differs: differs)
    }
    guard differs else {
      if let newTimes { try records.replace(key, text: merged.all, times: newTimes) }
      return log.noteUnchanged(key)
    }
    if merge.hasTentativeNulls { log.noteTentative(key.array) }
    try records.replace(key, text: merged.all, times: newTimes ?? oldTimes)
    log.noteChanged(key, changed)
  }
}

/// Which records of a file have stored errors, so that writing the others costs no lookup.
private struct StoredErrorKeys {
  /// The keys of the records; `nil` if there are too many to know them.
  private var owners: RecordTable?
  private static let maxKnown = 1000
  private static let selection =
    "SELECT key FROM records WHERE key >= '$errors:' AND key < '$errors;' LIMIT \(maxKnown + 1)"

  init(_ db: Database) throws {
    let known = RecordTable()
    try db.forEachRow(of: Self.selection) { row in
      if let owner = ErrorRecord.owner(of: SQLiteText.column(row, 0)) { known.insertMissing(owner) }
    }
    owners = known.liveCount > Self.maxKnown ? nil : known
  }

  @inline(__always)
  func mayContain(_ key: Bytes) -> Bool {
    guard let owners else { return true }
    return !owners.isEmpty && owners.find(key) != nil
  }
}
