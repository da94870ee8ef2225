import Foundation
import GRDB
import GRDBSQLite

/// Records in a SQLite file that any SQLite tool can read.
///
/// One connection writes, several read the last committed state (write-ahead log). A response is one
/// transaction. The file carries this program's application id and a schema version, and is readable
/// by its owner only.
public final class SQLiteStore: RecordStore {
  public let segmentSeed: UInt64
  public let takesWholeResponses = false
  /// The path of the database file.
  public let path: String
  let pool: DatabasePool
  let gate = WriterGate()
  let collectsChanges: Bool
  public let activity: StoreActivity

  /// Opens the cache at `path`, and makes it when it is not there.
  ///
  /// - Parameter collectsChanges: Whether every write tells which fields changed. By default it does so
  ///   only while somebody watches.
  /// - Throws: ``CacheError``: `foreignDatabase` for a file that is not ours (it is left untouched),
  ///   `damagedDatabase`, `storage` when it cannot be opened or made.
  public init(path: String, collectsChanges: Bool = false) throws(CacheError) {
    self.path = path
    self.collectsChanges = collectsChanges
    let version = try SQLiteFile.check(path)
    do {
      try SQLiteFile.prepare(path, version: version)
      pool = try DatabasePool(path: path, configuration: Self.configuration)
      segmentSeed = try pool.read { db in
        _ = try SQLiteSchema.version(of: db, path)
        let seed = try Int64.fetchOne(db, sql: "SELECT value FROM meta WHERE name = 'segment_seed'")
        guard let seed else {
          throw CacheError(
            .damagedDatabase, "the cache \(path) has lost its metadata; remove it to start anew",
            place: path)
        }
        return UInt64(bitPattern: seed)
      }
      activity = SharedActivities.activity(ofFile: path)
    } catch {
      throw SQLiteFile.describe(error, "open the cache", path)
    }
  }

  private static var configuration: Configuration {
    var configuration = Configuration()
    configuration.busyMode = .timeout(10)
    configuration.maximumReaderCount = 4
    configuration.allowsUnsafeTransactions = true
    configuration.prepareDatabase { db in
      // https://www.sqlite.org/security.html: a file from elsewhere must not run code of its schema.
      try db.execute(
        sql: """
          PRAGMA trusted_schema = OFF;
          PRAGMA cell_size_check = ON;
          PRAGMA cache_size = -4096;
          PRAGMA temp_store = MEMORY;
          """)
      if !db.configuration.readonly {
        // Checkpoints come after a commit, not inside it.
        try db.execute(sql: "PRAGMA wal_autocheckpoint = 0")
        try MergeFunctions.register(in: db)
      }
    }
    return configuration
  }

  // MARK: Reading

  public func begin() async throws(CacheError) -> any RecordTransaction {
    await gate.acquire()
    let transaction = SQLiteTransaction(store: self)
    do {
      try await pool.writeWithoutTransaction { try $0.beginTransaction(.immediate) }
    } catch {
      await transaction.rollback()
      throw SQLiteFile.describe(error, "start writing to the cache", path)
    }
    return transaction
  }

  public func read(
    _ operation: PreparedOperation, options: ReadOptions
  ) async throws(CacheError) -> StoreAnswer {
    do {
      let activity = activity
      let seed = segmentSeed
      return try await pool.read { db in
        let edits = try activity.hasLayers ? Self.snapshot(db, activity) : []
        let source = SQLiteSource(db)
        if edits.isEmpty {
          return try RecordReader(operation.plan, source: source, options: options).read()
        }
        let layered = LayeredSource(source, edits: edits, seed: seed)
        return try RecordReader(operation.plan, source: layered, options: options).read()
      }
    } catch {
      throw SQLiteFile.describe(error, "read the cache", path)
    }
  }

  /// The optimistic layers that belong to the state this connection sees from now on.
  private static func snapshot(_ db: Database, _ activity: StoreActivity) throws -> [StoreEdit] {
    try activity.reading { edits in
      // The first query of a transaction decides what it sees: https://sqlite.org/isolation.html
      _ = try Int.fetchOne(db, sql: "SELECT 1 FROM meta LIMIT 1")
      return edits
    }
  }

  public func record(forKey key: String) async throws(CacheError) -> String? {
    do {
      return try await pool.read { db in
        var source = SQLiteSource(db)
        let text = try RecordLookup.text(
          of: key, in: { try Self.forEachRecord(db, $0) }, source: SQLiteSource(db)
        ) { source.text(key: $0, depth: 1) }
        if let failure = source.failure { throw failure }
        return text
      }
    } catch {
      throw SQLiteFile.describe(error, "read the cache", path)
    }
  }

  public func dump(
    _ write: @escaping @Sendable (UnsafeRawBufferPointer) throws -> Void
  ) async throws {
    try await pool.read { db in
      var writer = DumpWriter(source: SQLiteSource(db), write: write)
      try Self.forEachRecord(db) { try writer.add(key: $0, text: $1) }
      try writer.finish()
    }
  }

  public func statistics() async throws(CacheError) -> StoreStatistics {
    do {
      var statistics = try await pool.read { db in
        var statistics = StoreStatistics()
        try Self.forEachRecord(db) { statistics.count(key: $0, textCount: $1.count) }
        return statistics
      }
      statistics.fileBytes = ["", "-wal"].compactMap { suffix in
        let attributes = try? FileManager.default.attributesOfItem(atPath: path + suffix)
        return (attributes?[.size] as? NSNumber)?.intValue
      }.reduce(0, +)
      return statistics
    } catch {
      throw SQLiteFile.describe(error, "read the cache", path)
    }
  }

  /// Calls `body` with every record in the order of the keys' bytes.
  private static func forEachRecord(_ db: Database, _ body: (Bytes, Bytes) throws -> Void) throws {
    let statement = try db.makeStatement(
      sql: "SELECT key, data, checksum FROM records ORDER BY key")
    let handle = statement.sqliteStatement
    defer { sqlite3_reset(handle) }
    while true {
      let code = sqlite3_step(handle)
      if code == SQLITE_DONE { return }
      guard code == SQLITE_ROW else {
        throw DatabaseError(resultCode: ResultCode(rawValue: code), message: db.lastErrorMessage)
      }
      let key = SQLiteText.column(handle, 0)
      let text = SQLiteText.column(handle, 1)
      guard sqlite3_column_int64(handle, 2) == SQLiteText.checksum(key: key, text: text) else {
        throw SQLiteText.mismatch(key)
      }
      try body(key, text)
    }
  }

  // MARK: Keeping house

  public func clear() async throws(CacheError) {
    await gate.acquire()
    do {
      try await pool.writeWithoutTransaction { db in
        // What was cleared shall not be readable in the file.
        try db.execute(sql: "PRAGMA secure_delete = ON; DELETE FROM records; VACUUM")
        try db.execute(sql: "PRAGMA secure_delete = OFF")
        try db.checkpoint(.truncate)
      }
    } catch {
      // Records may be gone even so.
      activity.noteCleared()
      await gate.release()
      throw SQLiteFile.describe(error, "clear the cache", path)
    }
    activity.noteCleared()
    await gate.release()
  }

  /// Moves what was committed from the write-ahead log into the database file.
  public func checkpoint() async throws(CacheError) {
    await gate.acquire()
    do {
      _ = try await pool.writeWithoutTransaction { try $0.checkpoint(.truncate) }
    } catch {
      await gate.release()
      // Another process reads or writes: it, or the next one, will do it.
      if (error as? DatabaseError)?.resultCode == .SQLITE_BUSY { return }
      throw SQLiteFile.describe(error, "checkpoint the cache", path)
    }
    await gate.release()
  }

  /// Starts a checkpoint in the background when the write-ahead log has grown large.
  ///
  /// Only this connection checkpoints, never while a response is being written: several writers and
  /// checkpoints at a time can damage the log of SQLite before 3.51.3 (https://sqlite.org/wal.html).
  func checkpointIfLarge() {
    let attributes = try? FileManager.default.attributesOfItem(atPath: path + "-wal")
    guard let size = (attributes?[.size] as? NSNumber)?.intValue, size > 4 << 20 else { return }
    Task {
      // What it cannot do now, the next one will.
      try? await checkpoint()
    }
  }

  /// Closes the file. The store cannot be used afterwards.
  public func close() throws(CacheError) {
    do { try pool.close() } catch { throw SQLiteFile.describe(error, "close the cache", path) }
  }
}
