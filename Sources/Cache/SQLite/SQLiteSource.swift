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
    SQLiteText.bind(handle, 1, key)
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

/// Reads records from a SQLite file with their times.
struct TimedSQLiteSource: RecordSource {
  static var hasTimes: Bool { true }
  private var base: SQLiteSource
  var failure: CacheError? { base.failure }

  init(_ db: Database, _ damage: DamageLog? = nil) { base = SQLiteSource(db, damage) }

  mutating func text(key: Bytes, depth: Int) -> Bytes? { base.text(key: key, depth: depth) }

  func times(depth: Int) -> RecordTimes { base.times(depth: depth) }
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
