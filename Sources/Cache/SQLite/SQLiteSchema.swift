import GRDB
import GRDBSQLite

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// The tables of the database file and the migrations from older versions.
///
/// The version is the file's `user_version`; an empty file has version 0. Each migration step is
/// SQL for one version. All steps run in one transaction, so a process that is killed leaves the
/// file unchanged.
enum SQLiteSchema {
  /// `GQLR`: the `PRAGMA application_id` of gqlrun's files.
  static let applicationID: Int32 = 0x4751_4c52

  /// The schema version of this program.
  static var version: Int32 { Int32(steps.count) }

  /// Step `n` migrates version `n` to `n + 1`. Released steps are never changed.
  static let steps: [String] = [
    """
    CREATE TABLE records (
      key TEXT NOT NULL PRIMARY KEY,
      received INTEGER NOT NULL,
      data TEXT NOT NULL,
      checksum INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE meta (name TEXT NOT NULL PRIMARY KEY, value) WITHOUT ROWID;
    INSERT INTO meta VALUES ('segment_seed', random());
    """,
    // `ages`: the receive times of fields that are older than the record's `received`, as a JSON
    // object of Unix seconds by stored field key; NULL if all fields are as old as the record.
    // `views` and `view_columns`: the definition of each type's view.
    """
    ALTER TABLE records ADD COLUMN ages TEXT;
    CREATE TABLE views (
      type TEXT NOT NULL PRIMARY KEY,
      name TEXT NOT NULL,
      prefix TEXT NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE view_columns (
      type TEXT NOT NULL,
      position INTEGER NOT NULL,
      field TEXT NOT NULL,
      holds_objects INTEGER NOT NULL,
      PRIMARY KEY (type, position)
    ) WITHOUT ROWID;
    """,
  ]

  /// Creates the tables in an empty file, and migrates those of an older version.
  ///
  /// - Throws: ``CacheError/Code/foreignDatabase`` for a file of a newer version, which is not
  ///   changed.
  static func migrate(_ path: String, steps: [String] = Self.steps) throws {
    if try makeBeside(path, steps) { return }
    var configuration = Configuration()
    configuration.busyMode = .timeout(10)
    let queue = try DatabaseQueue(path: path, configuration: configuration)
    defer { try? queue.close() }
    try queue.writeWithoutTransaction { db in
      if try version(of: db, path, newest: steps.count) == steps.count { return }
      // Measured: 1.5 to 1.8 times faster than pages of 4 KiB for records of a few hundred bytes.
      // Has no effect on a file with pages.
      try db.execute(sql: "PRAGMA page_size = 16384")
      try db.inTransaction(.exclusive) {
        // Another process may have migrated the file already.
        let version = try version(of: db, path, newest: steps.count)
        guard version < steps.count else { return .commit }
        return try take(steps, from: version, db)
      }
      try db.execute(sql: "PRAGMA journal_mode = WAL")
    }
  }

  /// Creates a new database beside an empty file and renames it: atomically, and with one wait for
  /// the disk where SQLite's own transactions need eight.
  ///
  /// - Returns: Whether it was possible; if not, nothing has changed.
  private static func makeBeside(_ path: String, _ steps: [String]) throws -> Bool {
    var status = stat()
    guard stat(path, &status) == 0, status.st_size == 0,
      access(path + "-wal", F_OK) != 0, access(path + "-journal", F_OK) != 0,
      let fresh = SQLiteFile.makeReplacement(of: path)
    else { return false }
    defer { unlink(fresh) }
    let queue = try DatabaseQueue(path: fresh)
    try queue.writeWithoutTransaction { db in
      // No other process uses this file before it is complete.
      try db.execute(
        sql: "PRAGMA page_size = 16384; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF")
      try db.inTransaction(.exclusive) {
        try take(steps, from: 0, db)
      }
      try db.execute(sql: "PRAGMA journal_mode = WAL")
    }
    try queue.close()
    // Closed before it is opened under its final name: closing would release the locks of the
    // process.
    guard (try? SQLiteFile.syncFile(fresh)) != nil else { return false }
    return rename(fresh, path) == 0
  }

  /// Creates the tables of this version in an empty database, in its transaction.
  static func create(in db: Database) throws { _ = try take(steps, from: 0, db) }

  /// The names and SQL of all tables, views and indexes.
  static func definitions(in db: Database) throws -> [Row] {
    try Row.fetchAll(db, sql: "SELECT name, sql FROM sqlite_schema ORDER BY name")
  }

  /// Copies all rows and views to a database that has the same tables without records.
  static func copyRows(of source: Database, to target: Database) throws {
    try target.execute(sql: "DELETE FROM meta; DELETE FROM views; DELETE FROM view_columns")
    for table in ["meta", "views", "view_columns", "records"] {
      let rows = try source.makeStatement(sql: "SELECT * FROM \(table)")
      let count = rows.columnCount
      let values = Array(repeating: "?", count: count).joined(separator: ", ")
      let insert = try target.makeStatement(sql: "INSERT INTO \(table) VALUES (\(values))")
      let (from, to) = (rows.sqliteStatement, insert.sqliteStatement)
      defer { sqlite3_reset(from) }
      while try SQLiteText.step(from) {
        for column in 0..<Int32(count) {
          sqlite3_bind_value(to, column + 1, sqlite3_column_value(from, column))
        }
        defer { sqlite3_reset(to) }
        _ = try SQLiteText.step(to)
      }
    }
    let views = try String.fetchAll(
      source, sql: "SELECT sql FROM sqlite_schema WHERE type = 'view'")
    for sql in views { try target.execute(sql: sql) }
  }

  private static func take(
    _ steps: [String], from version: Int, _ db: Database
  ) throws -> Database.TransactionCompletion {
    for step in steps[version...] { try db.execute(sql: step) }
    try db.execute(
      sql: """
        PRAGMA application_id = \(applicationID);
        PRAGMA user_version = \(steps.count);
        """)
    return .commit
  }

  /// Records in the file that records were removed, so that dangling references are normal.
  static func recordRemovals(in db: Database) throws {
    try db.execute(sql: "INSERT OR IGNORE INTO meta VALUES ('removals', 1)")
  }

  static func forgetRemovals(in db: Database) throws {
    try db.execute(sql: "DELETE FROM meta WHERE name = 'removals'")
  }

  /// Whether dangling references are normal, because records were removed.
  static func mayHaveRemovals(in db: Database) throws -> Bool {
    try Int.fetchOne(db, sql: "SELECT 1 FROM meta WHERE name = 'removals'") != nil
  }

  /// SQL that makes a file of an older version readable as the current one, for one connection, if
  /// the file cannot be changed; `nil` if it is not required.
  static func compatibilityView(forVersion version: Int) -> String? {
    guard version == 1 else { return nil }
    // A temporary view shadows the table of the same name: https://sqlite.org/lang_naming.html
    return "CREATE TEMP VIEW records AS SELECT *, NULL AS ages FROM main.records"
  }

  /// The version according to SQLite, which includes the write-ahead log.
  ///
  /// - Throws: ``CacheError/Code/foreignDatabase`` for a version that this program does not
  ///   support.
  static func version(
    of db: Database, _ path: String, newest: Int = Self.steps.count
  ) throws -> Int {
    let version = try Int.fetchOne(db, sql: "PRAGMA user_version") ?? 0
    if version > newest { throw SQLiteFile.newer(path, version: version) }
    guard version >= 0 else {
      throw CacheError(
        .foreignDatabase,
        "\(path) has the invalid schema version \(version) (unchanged); choose another "
          + "file for the cache", path: path)
    }
    return version
  }
}

/// Transfers bytes between records and SQLite statements without copies.
enum SQLiteText {
  /// The text of a column; valid until the next step of the statement.
  @inline(__always)
  static func column(_ statement: OpaquePointer, _ index: Int32) -> Bytes {
    // The pointer before the length: https://www.sqlite.org/c3ref/column_blob.html
    guard let start = sqlite3_column_text(statement, index) else { return .empty }
    return Bytes(start: start, count: Int(sqlite3_column_bytes(statement, index)))
  }

  /// The times of a record whose columns `received` and `ages` start at `index`.
  static func times(_ statement: OpaquePointer, _ index: Int32) -> RecordTimes {
    RecordTimes(
      received: UInt32(clamping: sqlite3_column_int64(statement, index)),
      ages: column(statement, index + 1).array)
  }

  /// Executes a statement up to its next row; returns whether there is one.
  @inline(__always)
  static func step(_ statement: OpaquePointer) throws -> Bool {
    let code = sqlite3_step(statement)
    if code == SQLITE_ROW { return true }
    guard code == SQLITE_DONE else { throw failure(of: statement, code) }
    return false
  }

  @inline(never)
  private static func failure(of statement: OpaquePointer, _ code: Int32) -> DatabaseError {
    DatabaseError(
      resultCode: ResultCode(rawValue: code),
      message: sqlite3_errmsg(sqlite3_db_handle(statement)).map { String(cString: $0) })
  }

  /// Binds bytes that stay valid until after the statement's next step.
  @inline(__always)
  static func bind(_ statement: OpaquePointer, index: Int32, bytes: Bytes) {
    sqlite3_bind_text64(
      statement, index, UnsafeRawPointer(bytes.start).assumingMemoryBound(to: CChar.self),
      UInt64(bytes.count), nil, UInt8(SQLITE_UTF8))
  }

  /// The checksum stored with a record, to detect damaged pages.
  ///
  /// SQLite itself does not detect a zeroed or swapped page.
  @inline(__always)
  static func checksum(key: Bytes, text: Bytes) -> Int64 {
    let keyHash = hashBytes(key.start, key.count, seed: 0x6771_6c72_756e)
    return Int64(bitPattern: hashBytes(text.start, text.count, seed: keyHash))
  }
}
