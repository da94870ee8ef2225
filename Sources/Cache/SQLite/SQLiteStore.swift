import Foundation
import GQLRunSupport
import GRDB
import GRDBSQLite

/// Records in a SQLite file that any SQLite tool can read.
///
/// One connection writes, several read the last committed state (write-ahead log). A response is one
/// transaction. Several stores and processes may use one file: readers never wait, and writers wait for
/// each other, for a bounded time. The file carries this program's application id and a schema version,
/// and is readable by its owner only.
public final class SQLiteStore: RecordStore {
  public struct Options: Sendable {
    public enum Access: Sendable, Hashable {
      /// Reads and writes. Where the file or its directory can only be read, reads, and says so.
      case readWrite
      /// Reads a file that is there, and changes nothing in it.
      case readOnly
    }

    public enum DamagePolicy: Sendable, Hashable {
      /// A damaged database is renamed to `<path>.damaged-<time>`, and an empty one made in its place.
      case rebuild
      /// A damaged database is an error.
      case refuse
    }

    public var access = Access.readWrite
    /// What becomes of a database that is found damaged when it is opened. ``DamagePolicy/rebuild`` by
    /// default: a cache can be filled again.
    public var damage = DamagePolicy.rebuild
    /// How long a write waits for another store or process that writes to the same file. 10 seconds by
    /// default.
    public var maximumWait = Duration.seconds(10)
    /// Whether every write tells which fields changed. By default it does so only while somebody
    /// watches.
    public var collectsChanges = false
    /// How many bytes of records are kept in memory, too, so that what was written or read last is read
    /// without the file. `nil`, the default, for none. Stores of one process on one file share them.
    public var memory: Int?
    /// How many seconds the times of unchanged records may lag behind, so that writing them again
    /// writes nothing. A minute by default; 0 is exact.
    public var ageGranularity = AgeRules.defaultGranularity
    /// Called with what the user should know, from any thread. Does nothing by default.
    public var report: @Sendable (StoreNotice) -> Void = { _ in }
    /// What waiting is measured by.
    var clock: any Clock<Duration> = ContinuousClock()

    public init() {}
  }

  public let segmentSeed: UInt64
  public let takesWholeResponses = false
  /// The path of the database file.
  public let path: String
  /// Whether nothing can be written.
  public let isReadOnly: Bool
  let pool: SQLiteConnections
  let gate: WriteLock
  let collectsChanges: Bool
  /// How many seconds the times of unchanged records may lag behind; see ``AgeRules/granularity``.
  public let ageGranularity: Int
  let damage: DamageLog
  public let activity: StoreActivity
  let versions: DataVersion
  let views = KnownViews()
  private let place: Place
  private let log = LogGrowth()

  /// Opens the cache at `path`, and makes it when it is not there.
  ///
  /// - Parameter collectsChanges: Whether every write tells which fields changed. By default it does so
  ///   only while somebody watches.
  /// - Throws: ``CacheError``: `foreignDatabase` for a file that is not ours (it is left untouched),
  ///   `damagedDatabase`, `busy`, `storage` when it cannot be opened or made.
  public convenience init(path: String, collectsChanges: Bool = false) throws(CacheError) {
    var options = Options()
    options.collectsChanges = collectsChanges
    try self.init(path: path, options: options)
  }

  /// Opens the cache at `path`, and makes it when it is not there and may be written.
  ///
  /// After a user that did not end well, a process that was killed for one, the file is checked, which
  /// takes time in proportion to its size. Otherwise opening takes milliseconds.
  ///
  /// - Throws: ``CacheError``: `foreignDatabase` for a file that is not ours (it is left untouched),
  ///   `damagedDatabase`, `busy`, `storage` when it cannot be opened or made.
  public init(path: String, options: Options) throws(CacheError) {
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
    place = Place(name: opened.name, lock: opened.lock)
    activity = SharedActivities.activity(ofFile: path)
    activity.concreteTypes.add(opened.types)
    if let memory = options.memory { activity.keepInMemory(memory) }
    versions = DataVersion()
    damage = DamageLog(path: path, lock: opened.lock, report: options.report)
    gate = WriteLock(
      opened.lock, path: path, isReadOnly: opened.isReadOnly, maximumWait: options.maximumWait,
      clock: options.clock)
  }

  /// The place among those who have the file open; left when the store is closed or gone.
  private final class Place: Sendable {
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

  public func begin() async throws(CacheError) -> any RecordTransaction {
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

  public func record(forKey key: String) async throws(CacheError) -> String? {
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

  public func dump(
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

  public func statistics() async throws(CacheError) -> StoreStatistics {
    do {
      var statistics = try await pool.read { db in
        var statistics = StoreStatistics()
        let damage = DamageLog()
        try Self.forEachRecord(db, damage) { statistics.count(key: $0, textCount: $1.count) }
        statistics.damagedRecords = damage.count
        return statistics
      }
      statistics.logBytes = Self.size(of: place.name + "-wal")
      statistics.fileBytes = Self.size(of: place.name) + Self.size(of: place.name + "-wal")
      return statistics
    } catch {
      throw SQLiteFile.describe(error, "read the cache", path)
    }
  }

  private static func size(of path: String) -> Int {
    let attributes = try? FileManager.default.attributesOfItem(atPath: path)
    return (attributes?[.size] as? NSNumber)?.intValue ?? 0
  }

  /// Calls `body` with every sound record in the order of the keys' bytes.
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
      if compareKeys(key, last.all) { damage?.noteOrder(key) }
      last.truncate(to: 0)
      last.append(key)
      let text = SQLiteText.column(handle, 1)
      guard sqlite3_column_int64(handle, 2) == SQLiteText.checksum(key: key, text: text) else {
        damage?.note(key)
        continue
      }
      try body(key, text)
    }
  }

  // MARK: Keeping house

  public func clear() async throws(CacheError) {
    try await gate.acquire()
    do {
      try await pool.writeWithoutTransaction { db in
        try db.inTransaction(.immediate) {
          try TypeViews.removeAll(db)
          try db.execute(sql: "DELETE FROM records")
          try SQLiteSchema.forgetRemovals(in: db)
          return .commit
        }
        // What was cleared shall not be readable in the file: it is written anew.
        try db.execute(sql: "VACUUM")
      }
      // The log has it, too, and it is emptied when nobody reads the old state any more.
      _ = try await pool.checkpoint(waiting: true)
    } catch {
      // Records may be gone even so.
      activity.noteCleared()
      gate.release()
      throw SQLiteFile.describe(error, "clear the cache", path)
    }
    activity.noteCleared()
    gate.release()
  }

  /// Returns when everything that was committed before would survive a power cut.
  ///
  /// A commit itself does not wait for the disk (`synchronous=NORMAL`). It stands in the write-ahead log
  /// until a checkpoint, which waits for the disk before and after it moves a page: so waiting for the
  /// log is enough, and stands in nobody's way. https://sqlite.org/pragma.html#pragma_synchronous
  public func sync() async throws(CacheError) {
    do {
      try SQLiteFile.sync(place.name + "-wal")
    } catch {
      throw SQLiteFile.describe(error, "make durable what was written to the cache", path)
    }
  }

  /// Moves what was committed from the write-ahead log into the database file, as far as readers allow.
  ///
  /// Waits for no reader: what one stands in the way of, the next checkpoint moves, or the last store
  /// that closes the file.
  public func checkpoint() async throws(CacheError) {
    try await gate.acquire()
    try await checkpointHoldingGate()
  }

  private func checkpointHoldingGate() async throws(CacheError) {
    do {
      let isEmpty = try await pool.checkpoint()
      log.note(isEmpty ? 0 : Self.size(of: place.name + "-wal"))
    } catch {
      gate.release()
      throw SQLiteFile.describe(error, "checkpoint the cache", path)
    }
    gate.release()
  }

  /// Starts a checkpoint in the background when the write-ahead log has grown by 4 MiB since the last.
  ///
  /// Only the holder of the lock checkpoints, never while a response is being written: several writers
  /// and checkpoints at a time can damage the log of SQLite before 3.51.3 (https://sqlite.org/wal.html).
  func checkpointIfLarge() {
    guard log.hasGrown(to: Self.size(of: place.name + "-wal"), by: 4 << 20) else { return }
    Task {
      // What cannot be done now, the next one will do.
      guard await gate.acquireIfFree() else { return }
      try? await checkpointHoldingGate()
    }
  }

  /// Closes the file. The store cannot be used afterwards.
  public func close() throws(CacheError) {
    do { try pool.close() } catch { throw SQLiteFile.describe(error, "close the cache", path) }
    place.leave()
  }
}

/// How large the write-ahead log was after the last checkpoint.
private final class LogGrowth: Sendable {
  private let size = Locked(0)

  func note(_ now: Int) { size.withLock { $0 = now } }

  func hasGrown(to now: Int, by growth: Int) -> Bool {
    size.withLock { size in
      // It began anew.
      if now < size { size = 0 }
      return now - size > growth
    }
  }
}
