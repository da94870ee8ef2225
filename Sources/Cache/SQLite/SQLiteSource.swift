import Foundation
import GRDB
import GRDBSQLite

/// Reads records from a SQLite file with one prepared statement per depth, so that a record's text
/// stays valid while the records it refers to are read.
struct SQLiteSource: RecordSource {
  let db: Database
  private let statements = OpenStatements()
  /// Collects damaged records, which are treated as missing.
  var damage: DamageLog?
  private(set) var failure: CacheError?

  mutating func text(key: Bytes, depth: Int) -> Bytes? {
    while depth >= statements.handles.count {
      guard prepare() else { return nil }
    }
    let handle = statements.handles[depth]
    sqlite3_reset(handle)
    SQLiteText.bind(handle, index: 1, bytes: key)
    let code = sqlite3_step(handle)
    if code == SQLITE_DONE { return nil }
    guard code == SQLITE_ROW else {
      if code & 0xff == SQLITE_CORRUPT {
        damage?.reportUnreadablePage(key)
        return nil
      }
      let kind: CacheError.Code =
        switch code & 0xff {
        case SQLITE_NOTADB: .damagedDatabase
        // GRDB interrupts the statement of a task that is cancelled.
        case SQLITE_INTERRUPT: .cancelled
        default: .storage
        }
      failure =
        failure
        ?? CacheError(
          kind,
          "cannot read the cache: \(db.lastErrorMessage ?? "SQLite error \(code)")")
      return nil
    }
    let text = SQLiteText.column(handle, 0)
    guard sqlite3_column_int64(handle, 1) == SQLiteText.checksum(key: key, text: text) else {
      damage?.reportMismatch(key)
      return nil
    }
    return text
  }

  func times(depth: Int) -> RecordTimes { SQLiteText.times(statements.handles[depth], 2) }

  var hasErrors: Bool {
    let sql = "SELECT 1 FROM records WHERE key >= '$errors:' AND key < '$errors;' LIMIT 1"
    // A file that cannot be read is reported by the read of its records.
    return (try? db.integer(sql)) != nil
  }

  private mutating func prepare() -> Bool {
    do {
      // The comment makes the statements of different depths different for GRDB's cache.
      let statement = try db.cachedStatement(
        sql: """
          SELECT data, checksum, received, ages FROM records WHERE key = ? \
          -- depth \(statements.handles.count)
          """)
      statements.append(statement)
      return true
    } catch {
      failure = failure ?? CacheError(.storage, "cannot read the cache: \(error)")
      return false
    }
  }
}

/// Statements with a current row. They must be reset after the read; otherwise their snapshot stays
/// open.
private final class OpenStatements {
  private var statements: [Statement] = []
  private(set) var handles: [OpaquePointer] = []

  func append(_ statement: Statement) {
    statements.append(statement)
    handles.append(statement.sqliteStatement)
  }

  deinit {
    for handle in handles { sqlite3_reset(handle) }
  }
}

/// The records of a file by key, on the connection that writes.
struct SQLiteRecords {
  let db: Database
  private let damage: DamageLog?
  /// Keeps the prepared statement alive.
  private let statement: Statement
  private let select: OpaquePointer

  /// - Parameter damage: Collects damaged records, which are treated as missing.
  init(_ db: Database, _ damage: DamageLog? = nil) throws {
    self.db = db
    self.damage = damage
    statement = try db.cachedStatement(
      sql: "SELECT data, checksum, received, ages FROM records WHERE key = ?1")
    select = statement.sqliteStatement
  }

  /// The stored text of a record; `nil` if it is missing or does not match its checksum.
  func text(of key: Bytes) throws -> [UInt8]? {
    SQLiteText.bind(select, index: 1, bytes: key)
    defer { sqlite3_reset(select) }
    guard try SQLiteText.step(select) else { return nil }
    let text = SQLiteText.column(select, 0)
    guard sqlite3_column_int64(select, 1) == SQLiteText.checksum(key: key, text: text) else {
      damage?.reportMismatch(key)
      return nil
    }
    return text.array
  }

  /// The times of a record; `nil` if it is missing.
  func times(of key: Bytes) throws -> RecordTimes? {
    SQLiteText.bind(select, index: 1, bytes: key)
    defer { sqlite3_reset(select) }
    return try SQLiteText.step(select) ? SQLiteText.times(select, 2) : nil
  }

  /// Replaces the text and the times of a stored record.
  func replace(_ key: Bytes, text: Bytes, times: RecordTimes) throws {
    let statement = try db.cachedStatement(
      sql: """
        UPDATE records SET data = ?2, checksum = ?3, received = ?4, ages = NULLIF(?5, '')
        WHERE key = ?1
        """)
    let update = statement.sqliteStatement
    try times.ages.withBytes { ages in
      SQLiteText.bind(update, index: 1, bytes: key)
      SQLiteText.bind(update, index: 2, bytes: text)
      sqlite3_bind_int64(update, 3, SQLiteText.checksum(key: key, text: text))
      sqlite3_bind_int64(update, 4, Int64(times.received))
      SQLiteText.bind(update, index: 5, bytes: ages)
      defer { sqlite3_reset(update) }
      _ = try SQLiteText.step(update)
    }
  }

  func remove(_ key: Bytes) throws {
    let deletion = try db.cachedStatement(sql: "DELETE FROM records WHERE key = ?1").sqliteStatement
    SQLiteText.bind(deletion, index: 1, bytes: key)
    defer { sqlite3_reset(deletion) }
    _ = try SQLiteText.step(deletion)
  }
}

/// The records of a file in the transaction of a response which is written in several batches.
final class StoredRecords: RecordAccess {
  private let writer: RecordWriter
  /// A connection that sees the state before the transaction.
  private let before: Database?
  /// The first error of a read or write, if any.
  private(set) var failure: (any Error)?
  /// The restored fields of each record.
  private(set) var resolved: [(key: [UInt8], fields: [[UInt8]])] = []
  /// The errors that were added, as records to write.
  let errors = RecordTable()

  /// - Parameter before: A connection that sees the state before the transaction, for many reads; without it, each read
  ///   has a transaction of its own.
  init(_ writer: RecordWriter, before: Database? = nil) {
    self.writer = writer
    self.before = before
  }

  var segmentSeed: UInt64 { writer.seed }
  var holdsOnlyThisResponse: Bool { false }

  /// The result of `body`; `fallback` if it fails.
  private func noting<Result>(_ fallback: Result, _ body: () throws -> Result) -> Result {
    do { return try body() } catch {
      failure = failure ?? error
      return fallback
    }
  }

  func text(of key: [UInt8]) -> [UInt8]? {
    noting(nil) { try key.withBytes { try writer.records.text(of: $0) } }
  }

  func storeSegment(_ key: Bytes, _ text: Bytes) -> Bool {
    noting(true) {
      if let known = try writer.records.text(of: key) { return text.equals(known) }
      try writer.put(key, text)
      return true
    }
  }

  func removeSegment(_ key: [UInt8]) {
    noting(()) { try key.withBytes { try writer.records.remove($0) } }
  }

  /// Another connection sees the state before the transaction; this one sees its own writes.
  private func readingBefore<Value>(_ body: (Database) throws -> Value) throws -> Value {
    try before.map(body) ?? writer.pool.read(body)
  }

  func recordBefore(key: [UInt8]) -> [UInt8]? {
    noting(nil) {
      try readingBefore { db in
        var source = SQLiteSource(db: db)
        let text = source.text(key: key, depth: 0)?.array
        if let failure = source.failure { throw failure }
        return text
      }
    }
  }

  func addErrors(_ added: StoredErrors, of owner: [UInt8]) {
    StagedRecords(table: errors, seed: segmentSeed, received: writer.received)
      .addErrors(added, of: owner)
  }

  func setRecord(key: [UInt8], text: [UInt8]?, fields: [[UInt8]]) {
    noting(()) {
      try key.withBytes { key in
        guard let text else { return try writer.records.remove(key) }
        let times = try times(key, text: text, fields: fields)
        try text.withBytes { try writer.records.replace(key, text: $0, times: times) }
      }
      if !fields.isEmpty { resolved.append((key, fields)) }
    }
  }

  /// The times of a record after fields changed: those joined with pages of this response, and
  /// those restored to their previous value.
  private func times(
    _ key: Bytes, text: [UInt8], fields: [[UInt8]]
  ) throws -> RecordTimes {
    let now = try writer.storedTimes(of: key)
    if fields.isEmpty { return now }
    if let old = try writer.records.text(of: key),
      let joined = now.joined(old, after: text, lists: fields)
    {
      return joined
    }
    let before = try readingBefore { db in
      var source = SQLiteSource(db: db)
      return source.text(key: key, depth: 0) == nil ? nil : source.times(depth: 0)
    }
    guard let before else { return now }
    let restored = fields.map { field in
      (key: field, time: field.withBytes { before.time(of: $0) })
    }
    return now.replacing(restored, in: text)
  }

  /// The keys of all records that may contain a tentative null.
  func keysWithTentativeNulls() throws -> [[UInt8]] {
    let keys = try Data.fetchAll(
      writer.db,
      sql: """
        SELECT CAST(key AS BLOB) FROM records
        WHERE (instr(data, '{"$null":') > 0 OR instr(data, '{"$segments":') > 0)
          AND substr(key, 1, 9) <> '$segment:'
        """)
    return keys.map { Array($0) }
  }
}
