import Foundation
import GQLRunSupport
import GRDB

/// Opens a database file: validates its origin, version and integrity.
///
/// 1. The header is read before SQLite opens the file.
/// 2. The store acquires the shared presence lock. If it is the only user and the last one did not
/// shut down
///    cleanly, the file is checked; a damaged file is renamed.
/// 3. Tables are created or migrated.
struct SQLiteOpening {
  let path: String
  let options: SQLiteStore.Options
  /// The path without symbolic links, of which the names of the log and lock files are derived.
  private let name: String
  private let lock: DatabaseLock?
  /// The version in the header; the current version if the header was not read because this process
  /// already has the file open. The write-ahead log may contain a newer one.
  private let headerVersion: Int
  /// Whether files may be created and changed.
  private var isWritable: Bool
  /// The URI for a file whose log cannot be created.
  private var uriWithoutLog: String?

  /// The parts that a store keeps.
  struct Opened {
    var connections: SQLiteConnections
    var name: String
    var lock: DatabaseLock?
    var seed: UInt64
    /// The concrete types that its records met.
    var types: [String]
    var isReadOnly: Bool
  }

  private struct Damage: Error { var reason: String }

  static func open(_ path: String, _ options: SQLiteStore.Options) throws -> Opened {
    let mayWrite = options.access == .readWrite
    var cannotMake: CacheError?
    var version = SQLiteSchema.steps.count
    var isShared = false
    let name = try OpenDatabases.shared.enter(path) {
      version = Int(try SQLiteFile.check(path))
      isShared = SQLiteFile.isShared(path)
      guard mayWrite else { return }
      do { try SQLiteFile.make(path) } catch let error as CacheError { cannotMake = error }
    }
    do {
      if let cannotMake, access(name, F_OK) != 0 { throw cannotMake }
      let opening = try SQLiteOpening(path, options: options, name: name, headerVersion: version)
      let opened = try opening.run()
      if isShared {
        options.report(
          StoreNotice(
            .shared,
            "every user of this machine can read the cache \(path); `chmod o-rwx \(path)` changes that",
            path: path))
      }
      return opened
    } catch {
      OpenDatabases.shared.leave(name)
      throw error
    }
  }

  private init(
    _ path: String, options: SQLiteStore.Options, name: String, headerVersion: Int
  ) throws {
    self.path = path
    self.headerVersion = headerVersion
    self.options = options
    self.name = name
    lock = try DatabaseLock(of: name)
    isWritable = lock?.isWritable == true && access(name, W_OK) == 0
  }

  private func run() throws -> Opened {
    let isAlone = try acquirePresence()
    do {
      return try opened(isAlone)
    } catch let damage as Damage {
      return try afterDamage(damage, isAlone)
    } catch let error as DatabaseError where error.isDamage {
      return try afterDamage(Damage(reason: error.message ?? "reported by SQLite"), isAlone)
    }
  }

  private func opened(_ isAlone: Bool, isNew: Bool = false) throws -> Opened {
    if isAlone, isWritable {
      // Of a process that was killed while it wrote it.
      SQLiteFile.removeReplacement(SQLiteFile.replacement(of: name))
      if needsCheck { try check() }
    }
    let version = isNew ? 0 : headerVersion
    let result: Opened
    var isWithoutLog = false
    do { result = try connect(version) } catch let error as DatabaseError where error.isOutOfSpace {
      result = try withoutLog(version, after: error)
      isWithoutLog = true
    }
    if isAlone { _ = lock?.tryLock(.presence, exclusively: false) }
    if result.isReadOnly, options.access == .readWrite, !isWithoutLog {
      options.report(
        StoreNotice(
          .readOnly,
          "the cache \(path) can only be read, so nothing new is stored: the file or its directory "
            + "is not writable", path: path))
    }
    return result
  }

  /// Opens only for reading a file beside which SQLite cannot create its log.
  ///
  /// The lock for writing is shared until the store is closed: a reader without a log does not notice what others write.
  private func withoutLog(_ version: Int, after error: DatabaseError) throws -> Opened {
    guard case .locked? = lock?.tryLock(.writing, exclusively: false) else { throw error }
    var reading = self
    reading.isWritable = false
    reading.uriWithoutLog = SQLiteFile.uriWithoutLog(of: name)
    guard reading.uriWithoutLog != nil, let opened = try? reading.connect(version) else {
      lock?.unlock(.writing)
      throw error
    }
    options.report(
      StoreNotice(
        .readOnly,
        "the cache \(path) can only be read, so nothing new is stored: the log beside it cannot be created "
          + "(\(error.message ?? "disk I/O error")); free space on the disk, or raise the limit on file sizes",
        path: path))
    return opened
  }

  // MARK: Other users

  /// Acquires the shared presence lock. Returns whether this is the only user; then the lock is
  /// held exclusively.
  private func acquirePresence() throws -> Bool {
    guard let lock else { return false }
    if isWritable {
      switch lock.tryLock(.presence, exclusively: true) {
      case .locked: return true
      case .taken: break
      case .impossible(let reason):
        throw CacheError.cannotLock(path, by: lock.path, reason)
      }
    }
    // Only a process that checks or renames the file holds the lock exclusively.
    if case .taken = lock.lock(.presence, exclusively: false, maxWait: options.maxWait) {
      throw CacheError(
        .busy,
        "cannot open the cache \(path): another process is checking it for damage; try again when it "
          + "is done, or use another file", path: path)
    }
    return false
  }

  // MARK: Damage

  /// Whether the last user did not shut down cleanly: the log still exists, or the lock file
  /// reports damage.
  ///
  /// Reads no data, so that opening takes the same time for every file size.
  private var needsCheck: Bool {
    lock?.isSuspect == true || FilePath.size(of: name + "-wal") > 0
  }

  private func check() throws {
    let queue = try SQLiteConnections.writer(target)
    defer { try? queue.close() }
    let report = try queue.writeWithoutTransaction { db in
      // The quick check does not verify the order of keys.
      try db.text("PRAGMA integrity_check(1)") ?? "no answer"
    }
    guard report == "ok" else { throw Damage(reason: report) }
    lock?.setSuspect(false)
  }

  private func afterDamage(_ damage: Damage, _ isAlone: Bool) throws -> Opened {
    lock?.setSuspect(true)
    let found = "the cache \(path) is damaged (\(damage.reason))"
    guard options.damage == .rebuild, options.access == .readWrite, isWritable else {
      throw CacheError(
        .damagedDatabase, "\(found); remove the file to start with an empty cache", path: path)
    }
    guard isAlone else {
      throw CacheError(
        .damagedDatabase,
        "\(found) and other programs have it open; close them, and it will be renamed and replaced by an empty one",
        path: path)
    }
    // SQLite also calls it damage when the disk fails a read (SQLITE_IOERR_CORRUPTFS). Only a file in which a second, complete
    // check finds damage is replaced.
    do { return try opened(isAlone) } catch is Damage {} catch let error as DatabaseError
      where error.isDamage
    {}
    let aside = try setAside()
    lock?.setSuspect(false)
    try SQLiteFile.make(path)
    let result = try opened(isAlone, isNew: true)
    options.report(
      StoreNotice(
        .rebuilt, "\(found); it was renamed to \(aside), and the cache is now empty", path: path)
    )
    return result
  }

  /// Renames the database and its log; returns the new name.
  private func setAside() throws -> String {
    let formatter = DateFormatter()
    formatter.locale = Locale(identifier: "en_US_POSIX")
    formatter.timeZone = TimeZone(secondsFromGMT: 0)
    formatter.dateFormat = "yyyyMMdd'T'HHmmss'Z'"
    let base = "\(name).damaged-\(formatter.string(from: Date()))"
    var aside = base
    var number = 2
    while access(aside, F_OK) == 0 {
      aside = "\(base)-\(number)"
      number += 1
    }
    // The log first: without its database it is useless, but a database with a wrong log is
    // misread.
    for suffix in ["-wal", "-shm", ""] where access(name + suffix, F_OK) == 0 {
      guard rename(name + suffix, aside + suffix) == 0 else {
        throw CacheError(
          .storage,
          "cannot rename the damaged cache \(path) to \(aside): \(String(cString: strerror(errno)))",
          path: path)
      }
    }
    return aside
  }

  // MARK: Tables

  private func migrate() throws {
    let outcome = lock?.lock(.writing, exclusively: true, maxWait: options.maxWait)
    if case .taken? = outcome {
      throw CacheError.busy(path, lock?.holder ?? "another program", after: options.maxWait)
    }
    defer { lock?.unlock(.writing) }
    try SQLiteSchema.migrate(name)
  }

  // MARK: Connections

  /// The path or URI for SQLite.
  private var target: String {
    uriWithoutLog ?? (isWritable ? name : SQLiteFile.immutableURI(of: name) ?? name)
  }

  private func connect(_ expected: Int) throws -> Opened {
    var version = expected
    if version < SQLiteSchema.steps.count, isWritable, options.access == .readWrite {
      try migrate()
      version = SQLiteSchema.steps.count
    }
    guard version > 0 else {
      let reason =
        options.access == .readOnly
        ? "an empty file, in which nothing is stored"
        : "empty, and the file or its directory is not writable"
      throw CacheError(.storage, "the cache \(path) is \(reason)", path: path)
    }
    let connections = try SQLiteConnections(
      target, path: path, version: version, isWritable: isWritable, lock: lock)
    let mayWrite = isWritable && options.access == .readWrite
    let (actual, seed, types) = try connections.readFirst { db -> (Int, Int64?, [String]) in
      // A copy has no log. Without one, a transaction that reads the state before it waits for itself.
      if mayWrite { try db.run("PRAGMA journal_mode = WAL") }
      let actual = try SQLiteSchema.version(of: db, path)
      guard actual == version else { return (actual, nil, []) }
      let sql = "SELECT value FROM meta WHERE name = 'segment_seed'"
      return (actual, try db.integer(sql), try SQLiteConcreteTypes.all(in: db))
    }
    guard actual == version else {
      // The log contained a newer version than the header.
      try connections.close()
      return try connect(actual)
    }
    guard let seed else { throw Damage(reason: "its metadata is missing") }
    return Opened(
      connections: connections, name: name, lock: lock, seed: UInt64(bitPattern: seed),
      types: types,
      isReadOnly: !isWritable || options.access == .readOnly)
  }
}

extension DatabaseError {
  /// Whether SQLite cannot create, or enlarge, a file.
  fileprivate var isOutOfSpace: Bool {
    let codes: [ResultCode] = [
      .SQLITE_FULL, .SQLITE_CANTOPEN, .SQLITE_IOERR_WRITE, .SQLITE_IOERR_SHMOPEN,
      .SQLITE_IOERR_SHMSIZE, .SQLITE_IOERR_SHMMAP,
    ]
    return codes.contains(extendedResultCode) || codes.contains(resultCode)
  }
}

extension CacheStore {
  /// The options of a store in a SQLite file.
  public struct SQLiteOptions: Sendable {
    /// Whether a store writes to its file.
    public enum Access: Sendable, Hashable {
      /// Reads and writes. If the file or its directory is read-only, only reads, and reports it.
      case readWrite
      /// Reads an existing file, and never changes it.
      case readOnly
    }

    /// How a damaged database is handled.
    public enum DamagePolicy: Sendable, Hashable {
      /// Renames a damaged database to `<path>.damaged-<time>` and creates an empty one.
      case rebuild
      /// Throws an error for a damaged database.
      case refuse
    }

    /// Whether the store writes. ``Access/readWrite`` by default.
    public var access = Access.readWrite
    /// How a database is handled that is damaged when it is opened. ``DamagePolicy/rebuild`` by
    /// default, because the content of a cache can be fetched again.
    public var damage = DamagePolicy.rebuild
    /// The maximum time that a write waits for another store or process that writes to the file. 10
    /// seconds by default.
    public var maxWait = Duration.seconds(10)
    /// Whether every write reports the changed fields. By default, only while there are watchers.
    public var collectsChanges = false
    /// The maximum size of the memory tier, in bytes: the most recently used records, which are
    /// then read without the file. `nil`, the default, for none. Stores of one process on the same
    /// file share it.
    public var memory: Int?
    /// The granularity of record times, in seconds: an unchanged record is not written again within
    /// it. 60 by default; 0 is exact.
    public var ageGranularity = AgeRules.defaultGranularity
    /// Called with notices for the user, from any thread. Does nothing by default.
    public var report: @Sendable (StoreNotice) -> Void = { _ in }
    /// The clock for waiting.
    var clock: any Clock<Duration> = ContinuousClock()
    /// The size of the first batch from which the first response is written to a new file, in bytes.
    var minFreshBytes = FreshDatabase.defaultMinBytes
    /// The size of the write-ahead log from which on housekeeping continues in another transaction, in bytes.
    var maxHousekeepingLog = 32 << 20

    /// Creates the default options.
    public init() {}
  }
}
