import GRDB
import GRDBSQLite

/// Scripts, and queries of few values.
///
/// GRDB's `fetchOne` and `execute` find by the type of a value how it is converted. The Swift runtime then searches all
/// conformances of the program, four times for each type, which takes a quarter of a millisecond in a new process.
extension Database {
  /// Executes SQL statements without parameters, and ignores their rows.
  func run(_ script: String) throws { try SQLiteText.run(script, on: sqliteConnection) }

  /// Executes one statement, which stays compiled for the next time.
  func step(_ sql: String) throws {
    _ = try withStatement(sql, with: nil) { try SQLiteText.step($0) }
  }

  /// The first column of the first row as a number; `nil` if there is no row, or for NULL.
  func integer(_ sql: String, with arguments: StatementArguments? = nil) throws -> Int64? {
    try first(sql, with: arguments) { sqlite3_column_int64($0, 0) }
  }

  /// The first column of the first row as text; `nil` if there is no row, or for NULL.
  func text(_ sql: String, with arguments: StatementArguments? = nil) throws -> String? {
    try first(sql, with: arguments) { SQLiteText.column($0, 0).string }
  }

  /// The first column of all rows as texts.
  func texts(_ sql: String, with arguments: StatementArguments? = nil) throws -> [String] {
    var texts: [String] = []
    try forEachRow(of: sql, with: arguments) { texts.append(SQLiteText.column($0, 0).string) }
    return texts
  }

  /// Calls `body` with a statement at each row of a query.
  func forEachRow(
    of sql: String, with arguments: StatementArguments? = nil,
    _ body: (OpaquePointer) throws -> Void
  ) throws {
    try withStatement(sql, with: arguments) { handle in
      while try SQLiteText.step(handle) { try body(handle) }
    }
  }

  private func first<Value>(
    _ sql: String, with arguments: StatementArguments?, _ value: (OpaquePointer) -> Value
  ) throws -> Value? {
    try withStatement(sql, with: arguments) { handle in
      guard try SQLiteText.step(handle), sqlite3_column_type(handle, 0) != SQLITE_NULL else {
        return nil
      }
      return value(handle)
    }
  }

  private func withStatement<Result>(
    _ sql: String, with arguments: StatementArguments?,
    _ body: (OpaquePointer) throws -> Result
  ) throws -> Result {
    let statement = try cachedStatement(sql: sql)
    if let arguments { try statement.setArguments(arguments) }
    // A statement with a current row would keep its snapshot open.
    defer { sqlite3_reset(statement.sqliteStatement) }
    return try body(statement.sqliteStatement)
  }
}
