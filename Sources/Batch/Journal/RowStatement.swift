import Foundation
import GRDB
import GRDBSQLite

/// A prepared statement that is executed once per row.
///
/// Binds values directly to SQLite. GRDB would box each argument and collect them in an array,
/// which takes longer than writing the row, and would cut texts at NUL characters.
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

  /// The next value, which is bound if it is null.
  private mutating func advance<Value>(to value: Value?) -> Value? {
    index += 1
    if value == nil { sqlite3_bind_null(handle, index) }
    return value
  }

  /// Binds the next value.
  mutating func bind(_ value: Int64?) {
    guard let value = advance(to: value) else { return }
    sqlite3_bind_int64(handle, index, value)
  }

  mutating func bind(_ value: Int?) { bind(value.map { Int64($0) }) }

  mutating func bind(_ value: Double) {
    index += 1
    sqlite3_bind_double(handle, index, value)
  }

  mutating func bind(_ value: String?) {
    guard let value = advance(to: value) else { return }
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

  /// Executes the statement with values.
  mutating func run(_ values: [SQLValue]) throws {
    bind(values)
    try run()
  }

  private mutating func bind(_ values: [SQLValue]) {
    for value in values {
      switch value {
      case .null: bind(nil as Int64?)
      case .integer(let number): bind(number)
      case .real(let number): bind(number)
      case .text(let text): bind(text)
      }
    }
  }

  /// Executes the statement with the values bound since the last execution.
  mutating func run() throws {
    assert(index == sqlite3_bind_parameter_count(handle), "a value is missing")
    while try next() != nil {}
  }

  /// Executes a query with values, and returns all of its rows.
  mutating func rows(_ values: [SQLValue]) throws -> [[SQLValue]] {
    bind(values)
    var rows: [[SQLValue]] = []
    while let row = try next() { rows.append(row) }
    return rows
  }

  /// The next row of the query with the values bound since the last execution; `nil` after the last one.
  mutating func next() throws -> [SQLValue]? {
    index = 0
    let code = sqlite3_step(handle)
    if code == SQLITE_ROW { return (0..<sqlite3_column_count(handle)).map { value($0) } }
    let message = code == SQLITE_DONE ? nil : db.lastErrorMessage
    sqlite3_reset(handle)
    guard code == SQLITE_DONE else {
      throw DatabaseError(resultCode: ResultCode(rawValue: code), message: message)
    }
    return nil
  }

  /// A value of the current row; the base64 text of a blob.
  private func value(_ column: Int32) -> SQLValue {
    switch sqlite3_column_type(handle, column) {
    case SQLITE_NULL: return .null
    case SQLITE_INTEGER: return .integer(sqlite3_column_int64(handle, column))
    case SQLITE_FLOAT: return .real(sqlite3_column_double(handle, column))
    case SQLITE_BLOB:
      let bytes = sqlite3_column_blob(handle, column)
      let count = Int(sqlite3_column_bytes(handle, column))
      let data = Data(UnsafeRawBufferPointer(start: bytes, count: count))
      return .text(data.base64EncodedString())
    default:
      // By its length: a text may have NUL characters.
      let bytes = sqlite3_column_text(handle, column)
      let count = Int(sqlite3_column_bytes(handle, column))
      return .text(
        String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self))
    }
  }

  /// SQLITE_TRANSIENT, so that SQLite copies the value: https://www.sqlite.org/c3ref/c_static.html
  private static var copied: sqlite3_destructor_type {
    unsafeBitCast(-1, to: sqlite3_destructor_type.self)
  }
}
