import Foundation
import GQLRunSupport
import GRDB
import GRDBSQLite

/// A store in a SQLite file that any SQLite tool can read.
///
/// One connection writes, several read the last committed state (write-ahead log). A response is
/// one transaction. Several stores and processes may use the same file: readers never wait; writers
/// wait for each other, for a limited time. The file has this program's application ID and a schema
/// version, and only its owner can read it.
package final class SQLiteStore: RecordStore {
  package typealias Options = CacheStore.SQLiteOptions

  /// The seed of the hash that names list segments; stored in the file.
  package let segmentSeed: UInt64
  /// Always false: a response is written in batches.
  package let takesWholeResponses = false
  /// The path of the database file.
  package let path: String
  /// Whether the store cannot write.
  package let isReadOnly: Bool
  let pool: SQLiteConnections
  let gate: WriteLock
  let collectsChanges: Bool
  /// The granularity of record times, in seconds; see ``AgeRules/granularity``.
  package let ageGranularity: Int
  let damage: DamageLog
  /// The watchers and optimistic layers; shared by the stores of this process on the same file.
  package let activity: StoreActivity
  let versions: DataVersion
  let views = KnownViews()
  private let registration: Registration
  private let log = LogGrowth()

  /// Opens the cache at `path`; creates it if it does not exist.
  ///
  /// - Parameters:
  ///   - path: The path of the database file.
  ///   - collectsChanges: Whether every write reports the changed fields. By default, only while
  ///     there are watchers.
  /// - Throws: ``CacheError``: `foreignDatabase` for a file of another program (which is not
  ///   changed), `damagedDatabase`, `busy`, `storage` if it cannot be opened or created.
  package convenience init(path: String, collectsChanges: Bool = false) throws(CacheError) {
    var options = Options()
    options.collectsChanges = collectsChanges
    try self.init(path: path, options: options)
  }

  /// Opens the cache at `path`; creates it if it does not exist and the options permit writing.
  package init(path: String, options: Options) throws(CacheError) {
    let opened: SQLiteOpening.Opened
    do {
      opened = try SQLiteOpening.open(path, options)
    } catch {
      throw SQLiteFile.describe(error, "open the cache", path)
    }
    self.path = path
    pool = opened.connections
    segmentSeed = opened.seed
    isReadOnly = opened.isReadOnly
    collectsChanges = options.collectsChanges
    ageGranularity = options.ageGranularity
    registration = Registration(name: opened.name, lock: opened.lock)
    activity = SharedActivities.activity(ofFile: path)
    activity.concreteTypes.add(opened.types)
    if let memory = options.memory { activity.keepInMemory(memory) }
    versions = DataVersion()
    damage = DamageLog(path: path, lock: opened.lock, report: options.report)
    gate = WriteLock(
      opened.lock, path: path, isReadOnly: opened.isReadOnly, maximumWait: options.maximumWait,
      clock: options.clock)
  }

  /// The registration of a store in ``OpenFiles`` and at the presence lock; ends when the store is
  /// closed or released.
  private final class Registration: Sendable {
    let name: String
    let lock: DatabaseLock?
    private let isLeft = Locked(false)

    init(name: String, lock: DatabaseLock?) {
      self.name = name
      self.lock = lock
    }

    deinit { leave() }

    func leave() {
      let isFirst = isLeft.withLock { isLeft in
        defer { isLeft = true }
        return !isLeft
      }
      guard isFirst else { return }
      OpenFiles.shared.leave(name)
      lock?.unlock(.presence)
    }
  }

  // MARK: Reading

  /// Starts a transaction; waits for the write lock.
  package func begin() async throws(CacheError) -> any RecordTransaction {
    try await gate.acquire()
    let transaction = SQLiteTransaction(store: self)
    do {
      try await pool.writeWithoutTransaction { try $0.beginTransaction(.immediate) }
    } catch {
      await transaction.rollback()
      throw SQLiteFile.describe(error, "start writing to the cache", path)
    }
    return transaction
  }

  /// The text of the record with this key; `nil` if there is none.
  package func record(forKey key: String) async throws(CacheError) -> String? {
    do {
      return try await pool.read { [damage] db in
        var source = SQLiteSource(db, damage)
        let text = try RecordLookup.text(
          of: key, in: { try Self.forEachRecord(db, damage, $0) }, source: SQLiteSource(db, damage)
        ) { source.text(key: $0, depth: 1) }
        if let failure = source.failure { throw failure }
        return text
      }
    } catch {
      throw SQLiteFile.describe(error, "read the cache", path)
    }
  }

  /// Writes all records as JSON lines, sorted by key.
  package func dump(
    _ write: @escaping @Sendable (UnsafeRawBufferPointer) throws -> Void
  ) async throws {
    do {
      try await pool.read { [damage] db in
        var writer = DumpWriter(source: SQLiteSource(db, damage), write: write)
        try Self.forEachRecord(db, damage) { try writer.add(key: $0, text: $1) }
        try writer.finish()
      }
    } catch let error as DatabaseError {
      throw SQLiteFile.describe(error, "read the cache", path)
    }
  }

  /// The number and size of the records.
  package func statistics() async throws(CacheError) -> StoreStatistics {
    do {
      var statistics = try await pool.read { db in
        var statistics = StoreStatistics()
        let damage = DamageLog()
        try Self.forEachRecord(db, damage) { statistics.count(key: $0, textCount: $1.count) }
        statistics.damagedRecords = damage.count
        return statistics
      }
      statistics.logBytes = Self.size(of: registration.name + "-wal")
      statistics.fileBytes =
        Self.size(of: registration.name) + Self.size(of: registration.name + "-wal")
      return statistics
    } catch {
      throw SQLiteFile.describe(error, "read the cache", path)
    }
  }

  private static func size(of path: String) -> Int {
    let attributes = try? FileManager.default.attributesOfItem(atPath: path)
    return (attributes?[.size] as? NSNumber)?.intValue ?? 0
  }

  /// Calls `body` with every undamaged record, sorted by the bytes of the keys.
  static func forEachRecord(
    _ db: Database, _ damage: DamageLog? = nil, _ body: (Bytes, Bytes) throws -> Void
  ) throws {
    let statement = try db.makeStatement(
      sql: "SELECT key, data, checksum FROM records ORDER BY key")
    let handle = statement.sqliteStatement
    defer { sqlite3_reset(handle) }
    var last = ByteStack(capacity: 256)
    while true {
      let code = sqlite3_step(handle)
      if code == SQLITE_DONE { return }
      guard code == SQLITE_ROW else {
        throw DatabaseError(resultCode: ResultCode(rawValue: code), message: db.lastErrorMessage)
      }
      let key = SQLiteText.column(handle, 0)
      if compareKeys(key, last.all) { damage?.reportOrder(key) }
      last.truncate(to: 0)
      last.append(key)
      let text = SQLiteText.column(handle, 1)
      guard sqlite3_column_int64(handle, 2) == SQLiteText.checksum(key: key, text: text) else {
        damage?.reportMismatch(key)
        continue
      }
      try body(key, text)
    }
  }

  // MARK: Housekeeping

  /// Removes all records and overwrites their data in the file.
  package func clear() async throws(CacheError) {
    try await gate.acquire()
    do {
      try await pool.writeWithoutTransaction { db in
        try db.inTransaction(.immediate) {
          try TypeViews.removeAll(db)
          try db.execute(sql: "DELETE FROM records")
          try SQLiteSchema.forgetRemovals(in: db)
          return .commit
        }
        // Removed data must not be readable in the file, so it is rewritten.
        try db.execute(sql: "VACUUM")
      }
      // The log contains the data as well; it is emptied when no reader uses the old state.
      _ = try await pool.checkpoint(waiting: true)
    } catch {
      // Records may have been removed even if an error occurred.
      activity.noteCleared()
      gate.release()
      throw SQLiteFile.describe(error, "clear the cache", path)
    }
    activity.noteCleared()
    gate.release()
  }

  /// Waits until all committed transactions are durable.
  ///
  /// A commit itself does not wait for the disk (`synchronous=NORMAL`). It is in the write-ahead
  /// log until a checkpoint, which synchronizes before and after it moves a page; so synchronizing
  /// the log is sufficient and blocks no one. https://sqlite.org/pragma.html#pragma_synchronous
  package func sync() async throws(CacheError) {
    do {
      try SQLiteFile.sync(registration.name + "-wal")
    } catch {
      throw SQLiteFile.describe(error, "make durable what was written to the cache", path)
    }
  }

  /// Moves committed pages from the write-ahead log to the database file, as far as readers permit.
  package func checkpoint() async throws(CacheError) {
    try await gate.acquire()
    try await checkpointHoldingGate()
  }

  private func checkpointHoldingGate() async throws(CacheError) {
    do {
      let isEmpty = try await pool.checkpoint()
      log.note(isEmpty ? 0 : Self.size(of: registration.name + "-wal"))
    } catch {
      gate.release()
      throw SQLiteFile.describe(error, "checkpoint the cache", path)
    }
    gate.release()
  }

  /// Starts a checkpoint in the background if the write-ahead log has grown by 4 MiB since the last
  /// one.
  ///
  /// Only the holder of the lock runs a checkpoint, never while a response is written: concurrent
  /// writers and checkpoints can damage the log of SQLite before 3.51.3
  /// (https://sqlite.org/wal.html).
  func checkpointIfLarge() {
    guard log.hasGrown(to: Self.size(of: registration.name + "-wal"), by: 4 << 20) else { return }
    Task {
      // If the lock is not free, the next checkpoint moves the pages.
      guard await gate.acquireIfFree() else { return }
      try? await checkpointHoldingGate()
    }
  }

  /// Closes the file. The store cannot be used afterwards.
  package func close() throws(CacheError) {
    do { try pool.close() } catch { throw SQLiteFile.describe(error, "close the cache", path) }
    registration.leave()
  }
}

/// The size of the write-ahead log after the last checkpoint.
private final class LogGrowth: Sendable {
  private let size = Locked(0)

  func note(_ now: Int) { size.withLock { $0 = now } }

  func hasGrown(to now: Int, by growth: Int) -> Bool {
    size.withLock { size in
      // The log was restarted.
      if now < size { size = 0 }
      return now - size > growth
    }
  }
}
