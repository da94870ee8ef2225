import Foundation
import GRDB
import GRDBSQLite

/// Reads records from a SQLite file with one prepared statement per depth, so that a record's text
/// stays valid while the records it refers to are read.
struct SQLiteSource: RecordSource {
  private let db: Database
  private let statements = OpenStatements()
  private let damage: DamageLog?
  private(set) var failure: CacheError?

  /// - Parameter damage: Collects damaged records, which are treated as missing.
  init(_ db: Database, _ damage: DamageLog? = nil) {
    self.db = db
    self.damage = damage
  }

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
      failure =
        failure
        ?? CacheError(
          code & 0xff == SQLITE_NOTADB ? .damagedDatabase : .storage,
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

/// The records of a file in the transaction of a response which is written in several batches.
final class StoredRecords: RecordAccess {
  private let writer: RecordWriter
  /// The first error of a read or write, if any.
  private(set) var failure: (any Error)?
  /// The restored fields of each record.
  private(set) var resolved: [(key: [UInt8], fields: [[UInt8]])] = []

  init(_ writer: RecordWriter) { self.writer = writer }

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
    noting(nil) { try key.withUnsafeBufferPointer { try writer.text(of: Bytes($0)) } }
  }

  func storeSegment(_ key: Bytes, _ text: Bytes) -> Bool {
    noting(true) {
      if let known = try writer.text(of: key) { return text.equals(known) }
      try writer.put(key, text)
      return true
    }
  }

  func removeSegment(_ key: [UInt8]) {
    noting(()) { try key.withUnsafeBufferPointer { try writer.remove(Bytes($0)) } }
  }

  /// Another connection sees the state before the transaction; this one sees its own writes.
  func recordBefore(key: [UInt8]) -> [UInt8]? {
    noting(nil) {
      try writer.pool.read { db in
        var source = SQLiteSource(db)
        let text = source.text(key: key, depth: 0)?.array
        if let failure = source.failure { throw failure }
        return text
      }
    }
  }

  func setRecord(key: [UInt8], text: [UInt8]?, fields: [[UInt8]]) {
    noting(()) {
      try key.withUnsafeBufferPointer { key in
        guard let text else { return try writer.remove(Bytes(key)) }
        try text.withUnsafeBufferPointer { text in
          let times =
            try fields.isEmpty ? nil : self.times(Bytes(key), text: Bytes(text), fields: fields)
          try writer.replace(Bytes(key), text: Bytes(text), times: times)
        }
      }
      if !fields.isEmpty { resolved.append((key, fields)) }
    }
  }

  /// The times of a record after fields changed: those joined with pages of this response, and
  /// those restored to their previous value.
  private func times(
    _ key: Bytes, text: Bytes, fields: [[UInt8]]
  ) throws -> RecordTimes? {
    let now = try writer.times(of: key)
    if let old = try writer.text(of: key),
      let joined = now.joined(old, after: text.array, lists: fields)
    {
      return joined
    }
    let before = try writer.pool.read { db in
      var source = SQLiteSource(db)
      return source.text(key: key, depth: 0) == nil ? nil : source.times(depth: 0)
    }
    guard let before else { return nil }
    let restored = fields.map { field in
      (key: field, time: field.withBytes { before.time(of: $0) })
    }
    let new = now.replacing(restored, in: text)
    return new == now ? nil : new
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
