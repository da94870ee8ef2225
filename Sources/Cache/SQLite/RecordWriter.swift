import Foundation
import GRDB
import GRDBSQLite

/// Writes staged records to the records table, on the writer connection.
struct RecordWriter {
  let db: Database
  /// The connections that see the state before the transaction.
  let pool: SQLiteConnections
  private let functions: MergeFunctions
  private let upsert: OpaquePointer
  private let select: OpaquePointer
  private let collection: ChangeCollection
  private let nullsAreTentative: Bool
  private let times: TimeMerge
  private let damage: DamageLog
  let seed: UInt64
  /// Keeps the prepared statements alive.
  private let statements: [Statement]

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
    functions = try MergeFunctions.state(of: db)
    functions.collectsChanges = collection != .none
    functions.nullsAreTentative = nullsAreTentative
    times = TimeMerge(received: received, granularity: UInt32(clamping: store.ageGranularity))
    functions.times = times
    // An unchanged record whose times are recent enough is not merged.
    let upsert = try db.cachedStatement(
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
    let select = try db.cachedStatement(
      sql: "SELECT data, checksum, received, ages FROM records WHERE key = ?1")
    statements = [upsert, select]
    self.upsert = upsert.sqliteStatement
    self.select = select.sqliteStatement
    let near = Int64(max(times.granularity, 1) - 1)
    sqlite3_bind_int64(self.upsert, 5, Int64(received) - near)
    sqlite3_bind_int64(self.upsert, 6, Int64(received) + near)
  }

  /// Writes a batch in key order, so that neighboring keys share pages.
  func write(_ batch: RecordBatch) throws -> TransactionLog {
    var log = TransactionLog(collection)
    let table = batch.table
    for index in table.sortedByKey() {
      try write(table.key(at: index), text: table.text(at: index), log: &log)
    }
    for key in batch.tentative { log.noteTentative(key) }
    return log
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

  /// The stored text of a record; `nil` if it is missing or does not match its checksum.
  func text(of key: Bytes) throws -> [UInt8]? {
    SQLiteText.bind(select, index: 1, bytes: key)
    defer { sqlite3_reset(select) }
    guard try SQLiteText.step(select) else { return nil }
    let text = SQLiteText.column(select, 0)
    guard sqlite3_column_int64(select, 1) == SQLiteText.checksum(key: key, text: text) else {
      damage.reportMismatch(key)
      return nil
    }
    return text.array
  }

  /// The times of a record; those of this response if the record is missing.
  func times(of key: Bytes) throws -> RecordTimes {
    SQLiteText.bind(select, index: 1, bytes: key)
    defer { sqlite3_reset(select) }
    guard sqlite3_step(select) == SQLITE_ROW else { return RecordTimes(received: times.received) }
    return SQLiteText.times(select, 2)
  }

  /// Replaces a record's text; its times are unchanged unless others are given.
  func replace(_ key: Bytes, text: Bytes, times: RecordTimes? = nil) throws {
    try db.execute(
      sql: "UPDATE records SET data = CAST(? AS TEXT), checksum = ? WHERE key = CAST(? AS TEXT)",
      arguments: [
        Data(text.buffer), SQLiteText.checksum(key: key, text: text), Data(key.buffer),
      ])
    if let times { try setTimes(key, times) }
  }

  func setTimes(_ key: Bytes, _ times: RecordTimes) throws {
    try db.execute(
      sql: """
        UPDATE records SET received = ?, ages = CAST(NULLIF(?, x'') AS TEXT)
        WHERE key = CAST(? AS TEXT)
        """,
      arguments: [Int64(times.received), Data(times.ages), Data(key.buffer)])
  }

  /// Removes records and fields.
  func remove(_ targets: [(key: [UInt8], field: [UInt8]?)]) throws -> TransactionLog {
    try SQLiteSchema.recordRemovals(in: db)
    var log = TransactionLog(collection)
    for (key, field) in targets {
      try key.withUnsafeBufferPointer { bytes in
        guard let text = try text(of: Bytes(bytes)) else { return }
        guard let field else {
          try remove(Bytes(bytes))
          return log.noteRemoved(key, text)
        }
        let rest = RecordText.removing(field, from: text)
        if rest == text { return }
        let times = try times(of: Bytes(bytes))
        try rest.withUnsafeBufferPointer { rest in
          try replace(
            Bytes(bytes), text: Bytes(rest), times: times.replacing([], in: Bytes(rest)))
        }
        log.noteChanged(Bytes(bytes), [field])
      }
    }
    return log
  }

  /// Removes a record.
  func remove(_ key: Bytes) throws {
    try db.execute(
      sql: "DELETE FROM records WHERE key = CAST(? AS TEXT)", arguments: [Data(key.buffer)])
  }

  private func mergeWithSegments(
    _ key: Bytes, text: Bytes, log: inout TransactionLog
  ) throws {
    guard let old = try self.text(of: key) else {
      try replace(key, text: text, times: RecordTimes(received: times.received))
      return log.noteNew(key, text)
    }
    let oldTimes = try times(of: key)
    let records = StoredRecords(self)
    var merge = Merge(nullsAreTentative: nullsAreTentative, access: records)
    var merged = ByteStack(capacity: text.count + 64)
    var changed: [[UInt8]] = []
    let differs = old.withUnsafeBufferPointer { old in
      merge.records(old: Bytes(old), new: text, into: &merged) { changed.append($0.array) }
    }
    if let failure = records.failure { throw failure }
    let newTimes = old.withUnsafeBufferPointer { old in
      times.times(
        old: Bytes(old), oldTimes, new: text, merged: merged.all, differs: differs)
    }
    guard differs else {
      if let newTimes { try setTimes(key, newTimes) }
      return log.noteUnchanged(key)
    }
    if merge.hasTentativeNulls { log.noteTentative(key.array) }
    try replace(key, text: merged.all, times: newTimes)
    log.noteChanged(key, changed)
  }
}
