import GRDB
import GRDBSQLite

/// A statement that is run for one row after the other.
///
/// Its values go to SQLite as they are. As arguments of GRDB's, each would be put into a box and an array first,
/// which takes longer than to write the row.
struct RowStatement {
  private let statement: Statement
  private let handle: SQLiteStatement
  private let db: Database
  private var place: Int32 = 0

  init(_ db: Database, sql: String) throws {
    statement = try db.cachedStatement(sql: sql)
    handle = statement.sqliteStatement
    self.db = db
    sqlite3_reset(handle)
    // What an earlier use left.
    sqlite3_clear_bindings(handle)
  }

  /// Binds the next value.
  mutating func bind(_ value: Int64?) {
    place += 1
    guard let value else {
      sqlite3_bind_null(handle, place)
      return
    }
    sqlite3_bind_int64(handle, place, value)
  }

  mutating func bind(_ value: Int?) { bind(value.map { Int64($0) }) }

  mutating func bind(_ value: Double) {
    place += 1
    sqlite3_bind_double(handle, place, value)
  }

  mutating func bind(_ value: String?) {
    place += 1
    guard let value else {
      sqlite3_bind_null(handle, place)
      return
    }
    value.withCString {
      _ = sqlite3_bind_text64(
        handle, place, $0, UInt64(value.utf8.count), Self.copied, UInt8(SQLITE_UTF8))
    }
  }

  mutating func bind(_ value: TaskID) {
    place += 1
    // As its bytes are written: the higher ones first.
    withUnsafeBytes(of: (value.high.bigEndian, value.low.bigEndian)) {
      _ = sqlite3_bind_blob64(handle, place, $0.baseAddress, UInt64($0.count), Self.copied)
    }
  }

  /// Runs the statement with the values that were bound since the last time.
  mutating func run() throws {
    assert(place == sqlite3_bind_parameter_count(handle), "a value is missing")
    place = 0
    let code = sqlite3_step(handle)
    let message = code == SQLITE_DONE ? nil : db.lastErrorMessage
    sqlite3_reset(handle)
    guard code == SQLITE_DONE else {
      throw DatabaseError(resultCode: ResultCode(rawValue: code), message: message)
    }
  }

  /// SQLite keeps a copy: SQLITE_TRANSIENT, https://www.sqlite.org/c3ref/c_static.html
  private static var copied: sqlite3_destructor_type {
    unsafeBitCast(-1, to: sqlite3_destructor_type.self)
  }
}
