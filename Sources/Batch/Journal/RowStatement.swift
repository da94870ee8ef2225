import GRDB
import GRDBSQLite

/// A prepared statement that is executed once per row.
///
/// Binds values directly to SQLite. GRDB would box each argument and collect them in an array,
/// which takes longer than writing the row.
struct RowStatement {
  private let statement: Statement
  private let handle: SQLiteStatement
  private let db: Database
  private var index: Int32 = 0

  init(_ db: Database, sql: String) throws {
    statement = try db.cachedStatement(sql: sql)
    handle = statement.sqliteStatement
    self.db = db
    sqlite3_reset(handle)
    // Clears the bindings of an earlier use.
    sqlite3_clear_bindings(handle)
  }

  /// Binds the next value.
  mutating func bind(_ value: Int64?) {
    index += 1
    guard let value else {
      sqlite3_bind_null(handle, index)
      return
    }
    sqlite3_bind_int64(handle, index, value)
  }

  mutating func bind(_ value: Int?) { bind(value.map { Int64($0) }) }

  mutating func bind(_ value: Double) {
    index += 1
    sqlite3_bind_double(handle, index, value)
  }

  mutating func bind(_ value: String?) {
    index += 1
    guard let value else {
      sqlite3_bind_null(handle, index)
      return
    }
    value.withCString {
      _ = sqlite3_bind_text64(
        handle, index, $0, UInt64(value.utf8.count), Self.copied, UInt8(SQLITE_UTF8))
    }
  }

  mutating func bind(_ value: TaskID) {
    index += 1
    // Big-endian, so that blobs sort like the ids.
    withUnsafeBytes(of: (value.high.bigEndian, value.low.bigEndian)) {
      _ = sqlite3_bind_blob64(handle, index, $0.baseAddress, UInt64($0.count), Self.copied)
    }
  }

  /// Executes the statement with the values bound since the last execution.
  mutating func run() throws {
    assert(index == sqlite3_bind_parameter_count(handle), "a value is missing")
    index = 0
    let code = sqlite3_step(handle)
    let message = code == SQLITE_DONE ? nil : db.lastErrorMessage
    sqlite3_reset(handle)
    guard code == SQLITE_DONE else {
      throw DatabaseError(resultCode: ResultCode(rawValue: code), message: message)
    }
  }

  /// SQLITE_TRANSIENT, so that SQLite copies the value: https://www.sqlite.org/c3ref/c_static.html
  private static var copied: sqlite3_destructor_type {
    unsafeBitCast(-1, to: sqlite3_destructor_type.self)
  }
}
