import GRDB
import GRDBSQLite

/// A set of keys, and a queue of those that were not taken out yet.
///
/// It is a temporary database, of which SQLite keeps 2 MB in memory and the rest in a file without a name:
/// https://sqlite.org/inmemorydb.html#temp_db. Not `Sendable`: it is used by one thread at a time.
final class KeySet {
  private let database: OpaquePointer
  private let insertion: OpaquePointer
  private let lookup: OpaquePointer
  private let sequence: OpaquePointer
  /// The number of the last key that was taken out.
  private var taken: Int64 = 0

  init() throws {
    var database: OpaquePointer?
    let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX
    let code = sqlite3_open_v2("", &database, flags, nil)
    do {
      guard let database else { throw DatabaseError(resultCode: .SQLITE_NOMEM) }
      try SQLiteText.check(code, database)
      // After a failure it is not used again, so that it needs no journal.
      let setup = """
        PRAGMA journal_mode = OFF;
        CREATE TABLE keys (number INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE);
        BEGIN
        """
      try SQLiteText.run(setup, on: database)
      insertion = try Self.statement("INSERT OR IGNORE INTO keys (key) VALUES (?1)", database)
      lookup = try Self.statement("SELECT 1 FROM keys WHERE key = ?1", database)
      sequence = try Self.statement(
        "SELECT number, key FROM keys WHERE number > ?1 ORDER BY number LIMIT ?2", database)
      self.database = database
    } catch {
      sqlite3_close_v2(database)
      throw error
    }
  }

  private static func statement(
    _ sql: String, _ database: OpaquePointer
  ) throws -> OpaquePointer {
    var statement: OpaquePointer?
    try SQLiteText.check(sqlite3_prepare_v2(database, sql, -1, &statement, nil), database)
    guard let statement else { throw DatabaseError(resultCode: .SQLITE_ERROR, sql: sql) }
    return statement
  }

  deinit {
    for statement in [insertion, lookup, sequence] { sqlite3_finalize(statement) }
    sqlite3_close_v2(database)
  }

  /// Adds a key, if the set does not contain it.
  func insert(_ key: Bytes) throws {
    SQLiteText.bind(insertion, index: 1, bytes: key)
    defer { sqlite3_reset(insertion) }
    _ = try SQLiteText.step(insertion)
  }

  /// Whether the set contains a key, taken out of the queue or not.
  func contains(_ key: Bytes) throws -> Bool {
    SQLiteText.bind(lookup, index: 1, bytes: key)
    defer { sqlite3_reset(lookup) }
    return try SQLiteText.step(lookup)
  }

  /// Takes keys out of the queue, up to `maxCount`, in the order in which they were added.
  func next(_ maxCount: Int) throws -> [[UInt8]] {
    sqlite3_bind_int64(sequence, 1, taken)
    sqlite3_bind_int64(sequence, 2, Int64(maxCount))
    defer { sqlite3_reset(sequence) }
    var keys: [[UInt8]] = []
    while try SQLiteText.step(sequence) {
      taken = sqlite3_column_int64(sequence, 0)
      keys.append(SQLiteText.column(sequence, 1).array)
    }
    return keys
  }
}
