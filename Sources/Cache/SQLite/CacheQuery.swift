import Foundation
import GRDBSQLite

/// A read-only SQL query on the file of a cache.
///
/// The connection is opened for reading, `PRAGMA query_only` is on, and an authorizer rejects
/// everything else: other files, extensions, settings. Not `Sendable`: use it from one task at a
/// time.
public final class CacheQuery {
  /// One value of a row.
  public enum Value: Sendable, Hashable {
    /// SQL `NULL`.
    case null
    /// An integer.
    case integer(Int64)
    /// A floating-point number.
    case real(Double)
    /// A text.
    case text(String)
    /// Binary data.
    case blob([UInt8])
  }

  /// The names of the result columns; names may repeat.
  public let columns: [String]
  private let database: OpaquePointer
  private let statement: OpaquePointer
  private let path: String

  /// Prepares a query.
  ///
  /// - Parameters:
  ///   - path: The path of the cache's file.
  ///   - sql: One SQL statement that only reads.
  /// - Throws: ``CacheError``: `invalidQuery` with the location in the SQL text, `foreignDatabase`,
  ///   `damagedDatabase`, `storage`.
  public init(path: String, sql: String) throws(CacheError) {
    self.path = path
    _ = try SQLiteFile.check(path)
    database = try Self.open(path)
    do throws(CacheError) {
      statement = try Self.prepare(sql, database: database, path: path)
    } catch {
      sqlite3_close_v2(database)
      throw error
    }
    columns = (0..<sqlite3_column_count(statement)).map { [statement] index in
      sqlite3_column_name(statement, index).map { String(cString: $0) } ?? ""
    }
  }

  deinit {
    sqlite3_finalize(statement)
    sqlite3_close_v2(database)
  }

  /// The next row; `nil` at the end.
  public func next() throws(CacheError) -> [Value]? {
    switch sqlite3_step(statement) {
    case SQLITE_DONE: return nil
    case SQLITE_ROW: return (0..<Int32(columns.count)).map { value($0) }
    case let code:
      throw Self.error(code, database: database, path: path, action: "run the query on")
    }
  }

  private func value(_ index: Int32) -> Value {
    switch sqlite3_column_type(statement, index) {
    case SQLITE_INTEGER: return .integer(sqlite3_column_int64(statement, index))
    case SQLITE_FLOAT: return .real(sqlite3_column_double(statement, index))
    case SQLITE_TEXT: return .text(SQLiteText.column(statement, index).string)
    case SQLITE_BLOB:
      guard let start = sqlite3_column_blob(statement, index) else { return .blob([]) }
      return .blob(
        Array(
          UnsafeRawBufferPointer(
            start: start, count: Int(sqlite3_column_bytes(statement, index)))))
    default: return .null
    }
  }

  // MARK: Opening

  private static func open(_ path: String) throws(CacheError) -> OpaquePointer {
    var database: OpaquePointer?
    let name = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
    let immutable = SQLiteFile.immutableURI(of: name)
    var code = sqlite3_open_v2(
      immutable ?? path, &database,
      SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | (immutable == nil ? 0 : SQLITE_OPEN_URI), nil)
    // The type views use JSON functions, which SQLite before 3.44 rejects in an untrusted schema.
    // The authorizer below restricts the schema instead.
    let settings = """
      PRAGMA trusted_schema = ON; PRAGMA cell_size_check = ON; PRAGMA query_only = ON;
      PRAGMA temp_store = FILE;
      """
    if code == SQLITE_OK {
      sqlite3_busy_timeout(database, 10_000)
      code = sqlite3_exec(database, settings, nil, nil, nil)
    }
    guard code == SQLITE_OK, let database else {
      let error = error(code, database: database, path: path, action: "open")
      sqlite3_close_v2(database)
      throw error
    }
    // A misspelled column in quotes is an error, and no text with its name.
    _disableDoubleQuotedStringLiterals(database)
    sqlite3_set_authorizer(database, authorize, nil)
    return database
  }

  /// The actions that only read: https://sqlite.org/c3ref/c_alter_table.html
  private static let authorize:
    @convention(c) (
      UnsafeMutableRawPointer?, Int32, UnsafePointer<CChar>?, UnsafePointer<CChar>?,
      UnsafePointer<CChar>?, UnsafePointer<CChar>?
    ) -> Int32 = { _, action, first, second, _, _ in
      switch action {
      case SQLITE_SELECT, SQLITE_READ, SQLITE_RECURSIVE: return SQLITE_OK
      case SQLITE_FUNCTION:
        let name = second.map { String(cString: $0) }
        return ["load_extension", "fts3_tokenizer"].contains(name) ? SQLITE_DENY : SQLITE_OK
      case SQLITE_PRAGMA:
        // Informational pragmas; without a value they change nothing.
        let name = first.map { String(cString: $0).lowercased() } ?? ""
        let readable = ["table_info", "table_xinfo", "table_list", "index_list", "index_info"]
        let readableWithoutValue = [
          "page_count", "page_size", "freelist_count", "user_version", "application_id",
        ]
        return readable.contains(name) || readableWithoutValue.contains(name) && second == nil
          ? SQLITE_OK : SQLITE_DENY
      default: return SQLITE_DENY
      }
    }

  private static func prepare(
    _ sql: String, database: OpaquePointer, path: String
  ) throws(CacheError) -> OpaquePointer {
    var text = sql
    let (code, statement, rest) = text.withUTF8 { bytes in
      bytes.withMemoryRebound(to: CChar.self) { text -> (Int32, OpaquePointer?, String) in
        var statement: OpaquePointer?
        var tail: UnsafePointer<CChar>?
        let code = sqlite3_prepare_v3(
          database, text.baseAddress, Int32(clamping: text.count), 0, &statement, &tail)
        let end = tail.flatMap { tail in text.baseAddress.map { tail - $0 } } ?? text.count
        return (code, statement, String(decoding: bytes[min(end, bytes.count)...], as: UTF8.self))
      }
    }
    guard code == SQLITE_OK else {
      let error = error(code, database: database, path: path, action: "prepare the query for")
      throw error.code == .damagedDatabase
        ? error
        : refused(sqlite3_errmsg(database), code: code, offset: sqlite3_error_offset(database))
    }
    guard let statement else {
      throw CacheError(
        .invalidQuery, "the query is empty; write one such as SELECT key, received FROM records")
    }
    let isMore = rest.contains { !$0.isWhitespace && $0 != ";" } && !isComment(rest, database)
    guard !isMore, sqlite3_stmt_readonly(statement) != 0 else {
      sqlite3_finalize(statement)
      throw isMore
        ? CacheError(
          .invalidQuery, "there is more than one statement; write one",
          byteOffset: sql.utf8.count - rest.utf8.count)
        : CacheError(.invalidQuery, "the query would change something; it can only read")
    }
    return statement
  }

  /// Whether `text` consists of comments only.
  private static func isComment(_ text: String, _ database: OpaquePointer) -> Bool {
    var statement: OpaquePointer?
    defer { sqlite3_finalize(statement) }
    return sqlite3_prepare_v2(database, text, -1, &statement, nil) == SQLITE_OK && statement == nil
  }

  private static func refused(
    _ message: UnsafePointer<CChar>?, code: Int32, offset: Int32
  ) -> CacheError {
    let reason = message.map { String(cString: $0) } ?? "SQLite error \(code)"
    if code & 0xff == SQLITE_AUTH || reason.hasPrefix("not authorized") {
      return CacheError(
        .invalidQuery,
        "the query is not allowed (\(reason)): it can read the tables and views of the cache, and "
          + "nothing else")
    }
    return CacheError(
      .invalidQuery, "the query cannot be read: \(reason)",
      byteOffset: offset >= 0 ? Int(offset) : nil)
  }

  private static func error(
    _ code: Int32, database: OpaquePointer?, path: String, action: String
  ) -> CacheError {
    let reason = database.flatMap { sqlite3_errmsg($0) }.map { String(cString: $0) }
    let message = "cannot \(action) the cache \(path): \(reason ?? "SQLite error \(code)")"
    switch code & 0xff {
    case SQLITE_CORRUPT, SQLITE_NOTADB: return CacheError(.damagedDatabase, message, path: path)
    case SQLITE_BUSY, SQLITE_LOCKED: return CacheError(.busy, message, path: path)
    case SQLITE_ERROR, SQLITE_TOOBIG, SQLITE_RANGE, SQLITE_MISMATCH, SQLITE_AUTH:
      return CacheError(.invalidQuery, message, path: path)
    default: return CacheError(.storage, message, path: path)
    }
  }
}
