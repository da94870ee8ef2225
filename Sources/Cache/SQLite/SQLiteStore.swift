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
  let group = GroupCommit()
  /// See ``FreshDatabase``.
  let minFreshBytes: Int
  private let maxHousekeepingLog: Int
  private let registration: Registration
  /// The size of the write-ahead log after the last checkpoint.
  private let logSize = Locked(0)

  /// Opens the cache at `path`; creates it if it does not exist and the options permit writing.
  ///
  /// - Parameters:
  ///   - path: The path of the database file.
  ///   - options: How it is opened.
  /// - Throws: ``CacheError``: `foreignDatabase` for a file of another program (which is not
  ///   changed), `damagedDatabase`, `busy`, `storage` if it cannot be opened or created.
  package init(path: String, options: Options = Options()) throws(CacheError) {
    let opened: SQLiteOpening.Opened
    do {
      opened = try SQLiteOpening.open(path, options)
    } catch {
      throw SQLiteFile.describe(error, action: "open the cache", path: path)
    }
    self.path = path
    pool = opened.connections
    segmentSeed = opened.seed
    isReadOnly = opened.isReadOnly
    collectsChanges = options.collectsChanges
    ageGranularity = options.ageGranularity
    minFreshBytes = options.minFreshBytes
    maxHousekeepingLog = options.maxHousekeepingLog
    registration = Registration(name: opened.name, lock: opened.lock)
    activity = SharedActivities.activity(ofFile: path)
    activity.concreteTypes.add(opened.types)
    if let memory = options.memory { activity.keepInMemory(memory) }
    versions = DataVersion()
    damage = DamageLog(path: path, lock: opened.lock, report: options.report)
    gate = WriteLock(
      opened.lock, path: path, isReadOnly: opened.isReadOnly, maxWait: options.maxWait,
      clock: options.clock)
  }

  /// The registration of a store in ``OpenDatabases`` and at the presence lock; ends when the store is
  /// closed or released.
  private final class Registration: Sendable {
    let name: String
    let lock: DatabaseLock?
    private let state = Locked(State())

    private struct State {
      var isLeft = false
      /// Whether ``exclude()`` holds the lock; then ``admit()`` releases it.
      var isExclusive = false
    }

    init(name: String, lock: DatabaseLock?) {
      self.name = name
      self.lock = lock
    }

    deinit { leave() }

    func exclude() -> Bool {
      state.withLock { state in
        guard !state.isLeft, case .locked? = lock?.tryLock(.presence, exclusively: true) else {
          return false
        }
        state.isExclusive = true
        return true
      }
    }

    func admit() {
      state.withLock { state in
        state.isExclusive = false
        if state.isLeft {
          lock?.unlock(.presence)
        } else {
          _ = lock?.tryLock(.presence, exclusively: false)
        }
      }
    }

    func leave() {
      let isFirst = state.withLock { state in
        if state.isLeft { return false }
        state.isLeft = true
        if !state.isExclusive { lock?.unlock(.presence) }
        return true
      }
      if isFirst { OpenDatabases.shared.leave(name) }
    }
  }

  /// The path without symbolic links.
  var canonicalPath: String { registration.name }

  /// Prevents other stores and processes from opening the file, until ``admitOthers()``.
  ///
  /// - Returns: `false` if one has it open, or if this store is closed.
  func excludeOthers() -> Bool { registration.exclude() }

  func admitOthers() { registration.admit() }

  // MARK: Reading

  /// Starts a transaction; waits for the write lock.
  package func begin() async throws(CacheError) -> any RecordTransaction {
    try await gate.acquire()
    let transaction = SQLiteTransaction(store: self)
    do {
      try await pool.writeWithoutTransaction { try $0.beginTransaction(.immediate) }
    } catch {
      await transaction.rollback()
      throw SQLiteFile.describe(error, action: "start writing to the cache", path: path)
    }
    return transaction
  }

  package func write(
    _ records: RecordBatch, since epoch: Int, settling layer: OptimisticLayer?
  ) async throws(CacheError) -> WriteSummary {
    // Only a transaction of its own can write to a new file.
    guard records.table.liveBytes < minFreshBytes else {
      return try await finish(try await begin(), with: records, since: epoch, settling: layer)
    }
    return try await group.write(records, since: epoch, settling: layer, in: self)
  }

  package func scan<Result: Sendable>(
    reportsDamage: Bool, _ work: @escaping @Sendable (any RecordScan) throws -> Result
  ) async throws -> Result {
    do {
      return try await pool.read { [damage] db in
        try work(SQLiteScan(db: db, damage: reportsDamage ? damage : DamageLog()))
      }
    } catch let error as DatabaseError {
      throw SQLiteFile.describe(error, action: "read the cache", path: path)
    }
  }

  package func fileSizes() -> (file: Int?, log: Int?) {
    let log = FilePath.size(of: registration.name + "-wal")
    return (FilePath.size(of: registration.name) + log, log)
  }

  // MARK: Housekeeping

  /// Removes all records and overwrites their data in the file.
  package func clear() async throws(CacheError) {
    try await gate.acquire()
    defer { gate.release() }
    // Records may have been removed even if an error occurred.
    defer { activity.noteCleared() }
    do {
      try await pool.writeWithoutTransaction { db in
        try db.inTransaction(.immediate) {
          try TypeViews.removeAll(db)
          try db.run("DELETE FROM records")
          try SQLiteSchema.forgetRemovals(in: db)
          return .commit
        }
        // Removed data must not be readable in the file, so it is rewritten.
        try db.run("VACUUM")
      }
      // The log contains the data as well; it is emptied when no reader uses the old state.
      _ = try await pool.checkpoint(waiting: true)
    } catch {
      throw SQLiteFile.describe(error, action: "clear the cache", path: path)
    }
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
      throw SQLiteFile.describe(
        error, action: "make durable what was written to the cache", path: path)
    }
  }

  /// Moves committed pages from the write-ahead log to the database file, as far as readers permit.
  package func checkpoint() async throws(CacheError) {
    try await gate.acquire()
    try await checkpointHoldingGate()
  }

  private func checkpointHoldingGate() async throws(CacheError) {
    defer { gate.release() }
    do {
      let isEmpty = try await pool.checkpoint()
      let size = isEmpty ? 0 : FilePath.size(of: registration.name + "-wal")
      logSize.withLock { $0 = size }
    } catch {
      throw SQLiteFile.describe(error, action: "checkpoint the cache", path: path)
    }
  }

  /// Starts a checkpoint in the background if the write-ahead log has grown by 4 MiB since the last
  /// one.
  ///
  /// Only the holder of the lock runs a checkpoint, never while a response is written: concurrent
  /// writers and checkpoints can damage the log of SQLite before 3.51.3
  /// (https://sqlite.org/wal.html).
  func checkpointIfLarge() {
    let size = FilePath.size(of: registration.name + "-wal")
    let growth = logSize.withLock { last in
      // A smaller log was restarted.
      if size < last { last = 0 }
      return size - last
    }
    guard growth > 4 << 20 else { return }
    Task {
      // If the lock is not free, the next checkpoint moves the pages.
      guard await gate.acquireIfFree() else { return }
      try? await checkpointHoldingGate()
    }
  }

  /// Closes the file. The store cannot be used afterwards.
  package func close() throws(CacheError) {
    do { try pool.close() } catch {
      throw SQLiteFile.describe(error, action: "close the cache", path: path)
    }
    registration.leave()
  }
}

extension SQLiteStore {
  /// Reads an operation from the cache; see ``CacheStore``.
  package func read(
    _ operation: PreparedOperation, options: ReadOptions
  ) async throws(CacheError) -> StoreAnswer {
    do {
      // The memory tier has no times and no errors.
      guard let tier = activity.memoryTier, !options.checksAges, options.errors == .refuse else {
        return try await pool.read { [self] db in
          let edits = activity.hasLayers ? try Self.snapshot(db, activity: activity) { $0 } : []
          return try answer(
            operation, from: SQLiteSource(db: db, damage: damage), db, under: edits,
            options: options)
        }
      }
      // Either all from memory or all from the file: both are one state of the file.
      let known = try activity.reading { edits throws(CacheError) -> StoreAnswer? in
        let source = tier.source()
        let known = try answer(operation, from: source, under: edits, options: options)
        return source.isIncomplete ? nil : known
      }
      if let known { return known }
      return try await pool.read { [self] db in
        let (edits, version) = try Self.snapshot(db, activity: activity) { ($0, tier.version) }
        let records = RecordTable()
        let source = RememberingSource(
          base: SQLiteSource(db: db, damage: damage), records: records, limit: tier.maxSize / 2)
        let answer = try answer(operation, from: source, db, under: edits, options: options)
        activity.changing { tier.promote(records, version: version) }
        return answer
      }
    } catch {
      throw SQLiteFile.describe(error, action: "read the cache", path: path)
    }
  }

  /// Reads an operation from the file.
  private func answer(
    _ operation: PreparedOperation, from source: some RecordSource, _ db: Database,
    under edits: [StoreEdit], options: ReadOptions
  ) throws(CacheError) -> StoreAnswer {
    SQLiteConcreteTypes.learn(activity.concreteTypes, for: operation.plan, in: db, damage)
    let answer = try answer(operation, from: source, under: edits, options: options)
    // A response contains every record it refers to, so a missing record although none was removed
    // may have a damaged key.
    if case .miss(let miss) = answer.result, miss.field == nil, edits.isEmpty,
      (try? SQLiteSchema.mayHaveRemovals(in: db)) == false
    {
      damage.requestCheck()
    }
    return answer
  }

  /// Reads the state of this connection's snapshot, with the optimistic layers that belong to it.
  private static func snapshot<Value: Sendable>(
    _ db: Database, activity: StoreActivity, body: ([StoreEdit]) -> Value
  ) throws -> Value {
    try activity.reading { edits in
      // The first query of a transaction determines its snapshot: https://sqlite.org/isolation.html
      _ = try db.integer("SELECT 1 FROM meta LIMIT 1")
      return body(edits)
    }
  }

  @discardableResult
  package func refresh() async throws(CacheError) -> Bool {
    if !isReadOnly {
      do {
        // https://sqlite.org/pragma.html#pragma_data_version: excludes commits of this connection.
        let version = try await pool.writeWithoutTransaction { db in
          try db.integer("PRAGMA data_version").map { Int($0) }
        }
        guard versions.isNew(version) else { return false }
      } catch {
        throw SQLiteFile.describe(error, action: "look for changes of the cache", path: path)
      }
    }
    activity.noteUnknownChanges()
    return true
  }
}

/// The last `data_version` of SQLite.
final class DataVersion: Sendable {
  private let last = Locked<Int?>(nil)

  /// Makes the next version new, because it is counted by another connection.
  func forget() { last.withLock { $0 = nil } }

  func isNew(_ version: Int?) -> Bool {
    last.withLock { last in
      defer { last = version }
      return last != version
    }
  }
}

extension SQLiteStore {
  /// Removes the files of a store; see ``CacheStore/removeFiles(at:)``.
  package static func removeFiles(at path: String) throws(CacheError) {
    // The log and the lock are beside the file that a link leads to.
    let name = FilePath.withoutLinks(path)
    let lock = try DatabaseLock(of: name ?? path)
    var files = ["-wal", "-shm", ""].map { (name ?? path) + $0 }
    if let name, name != path { files.append(path) }
    if let lock, case .locked = lock.tryLock(.presence, exclusively: true) {
      files += [lock.path, SQLiteFile.replacement(of: name ?? path)]
    }
    for file in files where unlink(file) != 0 && errno != ENOENT {
      throw CacheError(
        .storage,
        "the file \(file) of the cache cannot be removed: \(String(cString: strerror(errno)))",
        path: path)
    }
  }
}

extension SQLiteStore {
  /// Writes a compact copy of the database to `path`, as one file without a write-ahead log.
  ///
  /// - Throws: ``CacheError``; `storage` if a file already exists at `path`.
  package func copy(to path: String) async throws(CacheError) {
    // Reads the last committed state, so the log is not required for the copy.
    try await writing("copy the cache to \(path):") { db in
      try db.execute(sql: "VACUUM INTO ?", arguments: [path])
    }
  }

  /// Runs `body` on the connection that writes, while no other store writes.
  ///
  /// - Parameter progress: What `body` has removed for good, for its errors.
  private func writing<Result: Sendable>(
    _ action: String, progress: RemovalProgress? = nil,
    _ body: @escaping @Sendable (Database) throws -> Result
  ) async throws(CacheError) -> Result {
    try await gate.acquire()
    defer { gate.release() }
    do { return try await pool.writeWithoutTransaction(body) } catch {
      let removed = progress?.removed.records ?? 0
      throw SQLiteFile.describe(
        error, action: action, path: path,
        state: removed == 0 ? "the cache is unchanged" : "\(removed) records are removed already")
    }
  }

  package func run(
    _ task: HousekeepingTask, _ progress: RemovalProgress
  ) async throws(CacheError) -> RemovalSummary {
    let (summary, gaps) = try await writing(task.action, progress: progress) { [self] db in
      let free = try FreshDatabase.freeBytes(of: db)
      let log = RemovalLog(activity.collection(all: collectsChanges), progress)
      try db.beginTransaction(.immediate)
      do {
        let hadRemovals = try SQLiteSchema.mayHaveRemovals(in: db)
        try SQLiteSchema.recordRemovals(in: db)
        let records = try SQLiteHousekeeping(db) { try self.continueIfLarge(db, log) }
        try task.run(on: records, log)
        if !hadRemovals, !task.leavesDanglingReferences { try SQLiteSchema.forgetRemovals(in: db) }
        try commit(db, log)
        let freed = try FreshDatabase.freeBytes(of: db) - free
        return (log.summary, max(log.summary.bytes - freed, 0))
      } catch {
        if db.isInsideTransaction { try? db.rollback() }
        throw error
      }
    }
    checkpointIfLarge()
    if case .remove = task { return summary }
    try await compact(gaps: gaps)
    return summary
  }

  /// Ends a transaction of housekeeping that has written much, and begins the next one.
  ///
  /// Other stores do not write in between, because the write lock is held.
  private func continueIfLarge(_ db: Database, _ log: RemovalLog) throws {
    guard FilePath.size(of: canonicalPath + "-wal") >= maxHousekeepingLog else { return }
    try commit(db, log)
    _ = try SQLiteConnections.checkpoint(db)
    try db.beginTransaction(.immediate)
  }

  private func commit(_ db: Database, _ log: RemovalLog) throws {
    // The memory tier changes at the moment at which others see the new state of the file.
    try activity.changing {
      try db.commit()
      activity.memoryTier?.clear()
    }
    activity.post(log.endStep())
  }

  /// Returns the space of removed records to the file system, if it is a quarter of the file.
  ///
  /// - Parameter gaps: The space of removed records in pages with others, in bytes.
  private func compact(gaps: Int) async throws(CacheError) {
    do throws(CacheError) { try await gate.acquire() } catch {
      // Another store writes: the records are removed, and their space is reused later.
      if error.code == .busy { return }
      throw error
    }
    defer { gate.release() }
    do {
      try await FreshDatabase.compact(self, gaps: gaps)
      _ = try await pool.checkpoint()
    } catch {
      // Likewise for another program that reads or writes.
      if (error as? DatabaseError)?.resultCode == .SQLITE_BUSY { return }
      throw SQLiteFile.describe(
        error, action: "compact the cache", path: path,
        state: "the records are removed, and their space is reused")
    }
  }
}

extension SQLiteStore {
  /// Compares the version of the key resolver with that of the file, in the row `key_resolver` of its
  /// table `meta`. An empty file takes the given one.
  package func adopt(keyResolver version: String?) async throws(CacheError) {
    let action = "compare the key resolver of the cache"
    do {
      let isKnown = try await pool.read { [path] db in
        try Self.hasKeys(of: version, db, path)
      }
      if isKnown || isReadOnly { return }
    } catch {
      throw SQLiteFile.describe(error, action: action, path: path)
    }
    try await writing(action) { [path] db in
      try db.inTransaction(.immediate) {
        // Another process may have written meanwhile.
        guard try !Self.hasKeys(of: version, db, path) else { return .commit }
        try db.run("DELETE FROM meta WHERE name = 'key_resolver'")
        if let version {
          try db.execute(sql: "INSERT INTO meta VALUES ('key_resolver', ?)", arguments: [version])
        }
        return .commit
      }
    }
  }

  /// Whether the file has this version; `false` for an empty file with another one.
  private static func hasKeys(
    of version: String?, _ db: Database, _ path: String
  ) throws -> Bool {
    let stored = try db.text("SELECT value FROM meta WHERE name = 'key_resolver'")
    if stored == version { return true }
    guard try db.integer("SELECT 1 FROM records LIMIT 1") == nil else {
      throw CacheError.otherResolver(path, stored: stored, own: version)
    }
    return false
  }
}

/// The records of a database in one transaction.
private struct SQLiteScan: RecordScan {
  let db: Database
  let damage: DamageLog

  var source: SQLiteSource { SQLiteSource(db: db, damage: damage) }
  var damagedRecords: Int { damage.count }

  func noteTypes(of operation: PreparedOperation, in activity: StoreActivity) {
    SQLiteConcreteTypes.learn(activity.concreteTypes, for: operation.plan, in: db, damage)
  }

  func forEachRecord(_ body: (Bytes, Bytes) throws -> Void) throws {
    var last = ByteStack(capacity: 256)
    try db.forEachRow(of: "SELECT key, data, checksum FROM records ORDER BY key") { row in
      let key = SQLiteText.column(row, 0)
      if compareKeys(key, last.all) { damage.reportOrder(key) }
      last.truncate(to: 0)
      last.append(key)
      let text = SQLiteText.column(row, 1)
      guard sqlite3_column_int64(row, 2) == SQLiteText.checksum(key: key, text: text) else {
        return damage.reportMismatch(key)
      }
      try body(key, text)
    }
  }
}
