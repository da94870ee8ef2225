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
      try db.run("PRAGMA page_size = 16384")
      try db.inTransaction(.exclusive) {
        // Another process may have migrated the file already.
        let version = try version(of: db, path, newest: steps.count)
        if version < steps.count { try db.run(script(steps, from: version)) }
        return .commit
      }
      try db.run("PRAGMA journal_mode = WAL")
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
    var database: OpaquePointer?
    let code = sqlite3_open_v2(
      fresh, &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nil)
    do {
      // Closed before it is opened under its final name: closing would release the locks of the
      // process.
      defer { sqlite3_close_v2(database) }
      try SQLiteText.check(code, database)
      // No other process uses this file before it is complete.
      let settings = "PRAGMA page_size = 16384; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF"
      try SQLiteText.run(
        "\(settings); BEGIN EXCLUSIVE; \(script(steps, from: 0)) COMMIT; PRAGMA journal_mode = WAL",
        on: database)
    }
    guard (try? SQLiteFile.syncFile(fresh)) != nil else { return false }
    return rename(fresh, path) == 0
  }

  /// Copies the tables of a database, without their rows, to an empty one.
  ///
  /// - Returns: `false` if the database has other tables, views or indexes; then nothing was copied.
  static func copyTables(of source: Database, to target: Database) throws -> Bool {
    var script = ""
    var names: [String] = []
    try source.forEachRow(of: "SELECT name, sql FROM sqlite_schema ORDER BY name") { row in
      names.append(SQLiteText.column(row, 0).string)
      script += SQLiteText.column(row, 1).string + ";"
    }
    guard names == tables.sorted() else { return false }
    try target.run(script + identification(version: steps.count))
    return true
  }

  private static let tables = ["meta", "views", "view_columns", "records"]

  /// Copies all rows and views to a database that has the same tables without records.
  static func copyRows(of source: Database, to target: Database) throws {
    try target.run("DELETE FROM meta; DELETE FROM views; DELETE FROM view_columns")
    for table in tables {
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
    for view in try source.texts("SELECT sql FROM sqlite_schema WHERE type = 'view'") {
      try target.run(view)
    }
  }

  /// SQL that migrates a file of a version, in its transaction.
  private static func script(_ steps: [String], from version: Int) -> String {
    steps[version...].reduce("") { $0 + $1 + ";" } + identification(version: steps.count)
  }

  /// SQL that marks a file as one of this program with a version.
  private static func identification(version: Int) -> String {
    "PRAGMA application_id = \(applicationID); PRAGMA user_version = \(version);"
  }

  /// Records in the file that records were removed, so that dangling references are normal.
  static func recordRemovals(in db: Database) throws {
    try db.run("INSERT OR IGNORE INTO meta VALUES ('removals', 1)")
  }

  static func forgetRemovals(in db: Database) throws {
    try db.run("DELETE FROM meta WHERE name = 'removals'")
  }

  /// Whether dangling references are normal, because records were removed.
  static func mayHaveRemovals(in db: Database) throws -> Bool {
    try db.integer("SELECT 1 FROM meta WHERE name = 'removals'") != nil
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
    let version = Int(try db.integer("PRAGMA user_version") ?? 0)
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
    guard code == SQLITE_DONE else { throw failure(sqlite3_db_handle(statement), code) }
    return false
  }

  @inline(never)
  private static func failure(_ database: OpaquePointer?, _ code: Int32) -> DatabaseError {
    DatabaseError(
      resultCode: ResultCode(rawValue: code),
      message: sqlite3_errmsg(database).map { String(cString: $0) })
  }

  /// Throws the error of a connection, if `code` is one.
  static func check(_ code: Int32, _ database: OpaquePointer?) throws {
    guard code == SQLITE_OK else { throw failure(database, code) }
  }

  /// Executes SQL statements without parameters, and ignores their rows.
  static func run(_ script: String, on database: OpaquePointer?) throws {
    try check(sqlite3_exec(database, script, nil, nil, nil), database)
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
