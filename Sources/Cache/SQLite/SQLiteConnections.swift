import GRDB
import GRDBSQLite

/// The connections of one store to its file: several that read, and one that writes.
///
/// Readers see the last committed state and never wait. The writing connection is used by the holder of
/// the ``WriteLock`` only.
final class SQLiteConnections: Sendable {
  private let readers: DatabasePool
  /// `nil` when the file can only be read.
  private let writer: DatabaseQueue?
  private let path: String
  private let lock: DatabaseLock?

  /// - Parameters:
  ///   - target: The file as SQLite is to find it.
  ///   - version: The version of its tables.
  init(
    _ target: String, path: String, version: Int, isWritable: Bool, lock: DatabaseLock?
  ) throws {
    self.path = path
    self.lock = lock
    writer = isWritable ? try Self.writer(target) : nil
    var configuration = Self.configuration(version: version)
    configuration.readonly = true
    configuration.maximumReaderCount = 4
    readers = try DatabasePool(path: target, configuration: configuration)
  }

  /// A connection that writes, apart from all others.
  static func writer(_ target: String) throws -> DatabaseQueue {
    var configuration = Self.configuration(version: SQLiteSchema.steps.count)
    configuration.allowsUnsafeTransactions = true
    configuration.prepareDatabase { db in
      // Checkpoints come after a commit, not inside it. A commit that a power cut takes back is fetched
      // again: https://sqlite.org/pragma.html#pragma_synchronous
      try db.execute(sql: "PRAGMA wal_autocheckpoint = 0; PRAGMA synchronous = NORMAL")
      try MergeFunctions.register(in: db)
    }
    return try DatabaseQueue(path: target, configuration: configuration)
  }

  private static func configuration(version: Int) -> Configuration {
    var configuration = Configuration()
    // Of our own stores and processes one writes at a time; this is for other programs.
    configuration.busyMode = .timeout(10)
    configuration.prepareDatabase { db in
      // https://www.sqlite.org/security.html: a file from elsewhere must not run code of its schema.
      try db.execute(
        sql: """
          PRAGMA trusted_schema = OFF;
          PRAGMA cell_size_check = ON;
          PRAGMA cache_size = -4096;
          PRAGMA temp_store = MEMORY;
          """)
      if let stand = SQLiteSchema.standIn(forVersion: version) { try db.execute(sql: stand) }
    }
    return configuration
  }

  // MARK: Access

  func read<Value: Sendable>(
    _ body: @escaping @Sendable (Database) throws -> Value
  ) async throws -> Value {
    try await noting { try await self.readers.read(body) }
  }

  func read<Value>(_ body: (Database) throws -> Value) throws -> Value {
    do { return try readers.read(body) } catch { throw noted(error) }
  }

  func writeWithoutTransaction<Value: Sendable>(
    _ body: @escaping @Sendable (Database) throws -> Value
  ) async throws -> Value {
    guard let writer else { throw CacheError.readOnly(path) }
    return try await noting { try await writer.writeWithoutTransaction(body) }
  }

  private func noting<Value: Sendable>(
    _ body: @Sendable () async throws -> Value
  ) async throws -> Value {
    do { return try await body() } catch { throw noted(error) }
  }

  /// Remembers damage, so that whoever opens the file next shall check it.
  private func noted(_ error: any Error) -> any Error {
    if let error = error as? DatabaseError, error.isDamage { lock?.setSuspect(true) }
    return error
  }

  /// Moves what was committed into the database file, as far as readers allow, without waiting for them.
  ///
  /// - Returns: Whether the write-ahead log is empty now.
  func checkpoint(waiting: Bool = false) async throws -> Bool {
    try await writeWithoutTransaction { db in
      var (frames, moved) = (Int32(0), Int32(0))
      if !waiting { sqlite3_busy_timeout(db.sqliteConnection, 0) }
      defer { sqlite3_busy_timeout(db.sqliteConnection, 10_000) }
      // https://sqlite.org/c3ref/wal_checkpoint_v2.html: PASSIVE waits for nobody.
      var code = sqlite3_wal_checkpoint_v2(
        db.sqliteConnection, nil, SQLITE_CHECKPOINT_PASSIVE, &frames, &moved)
      if code == SQLITE_OK, waiting || frames == moved {
        code = sqlite3_wal_checkpoint_v2(
          db.sqliteConnection, nil, SQLITE_CHECKPOINT_TRUNCATE, &frames, &moved)
      } else if code == SQLITE_OK {
        return false
      }
      // A reader stands in the way: the next checkpoint will do it.
      if code & 0xff == SQLITE_BUSY || code & 0xff == SQLITE_LOCKED { return false }
      guard code == SQLITE_OK else {
        throw DatabaseError(
          resultCode: ResultCode(rawValue: code), message: db.lastErrorMessage)
      }
      return true
    }
  }

  func close() throws {
    try readers.close()
    // Last, as it is the one that can clean up.
    try writer?.close()
  }
}

extension DatabaseError {
  /// Whether SQLite found the file damaged.
  var isDamage: Bool { resultCode == .SQLITE_CORRUPT || resultCode == .SQLITE_NOTADB }
}
