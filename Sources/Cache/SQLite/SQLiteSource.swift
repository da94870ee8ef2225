import GRDB
import GRDBSQLite

/// Records of a SQLite file for a reader: one prepared statement per depth, so that a record's text
/// stays valid while the records it refers to are read.
struct SQLiteSource: RecordSource {
  private let db: Database
  private let statements = OpenStatements()
  private let damage: DamageLog?
  private(set) var failure: CacheError?

  /// - Parameter damage: Told of damaged records, which count as missing.
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
        damage?.notePage(key)
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
      damage?.note(key)
      return nil
    }
    return text
  }

  private mutating func prepare() -> Bool {
    do {
      // A comment makes the statements of different depths different to GRDB's cache.
      let statement = try db.cachedStatement(
        sql: "SELECT data, checksum FROM records WHERE key = ? -- depth \(statements.handles.count)"
      )
      statements.append(statement)
      return true
    } catch {
      failure = failure ?? CacheError(.storage, "cannot read the cache: \(error)")
      return false
    }
  }
}

/// Statements that stand on a row; reset when the read is over, or their snapshot would stay open.
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
