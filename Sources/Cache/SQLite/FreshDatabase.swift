import GQLRunSupport
import GRDB
import GRDBSQLite

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// A new database that replaces the one of a store: an empty one with its first response, or one with much free space by a
/// compact copy.
///
/// A write-ahead log writes every page twice, becomes as large as the response, and waits for the disk four times
/// until it is removed. A new file has nothing that a reader or a crash could need, so it has neither log
/// nor journal:
///
/// 1. The first batch of a response to an empty database creates the file `<path>-incomplete`, and the response is
///    written to it. All other connections see the empty database.
/// 2. The commit waits until the file is on disk. If the store is still the only user of the empty database, it
///    closes its connections, renames the new file, and opens it: atomically, since a crash leaves either
///    the empty database or the complete new one.
/// 3. Otherwise the rows are copied to the empty database, through its log.
///
/// The store holds the write lock meanwhile, and its write transaction on the empty database stays open, which
/// excludes other programs that write. A compact copy is written and renamed in the same manner.
final class FreshDatabase: Sendable {
  /// The path of the new file.
  let path: String
  let queue: DatabaseQueue
  /// The database to replace, to notice that it was removed or replaced.
  private let old: FileIdentity
  /// The number of bytes that the disk writes or has written.
  private let started = Locked<off_t>(0)

  /// The size of the first batch from which a response is written to a new file, in bytes.
  ///
  /// Smaller responses are often the first of many, and a log is sufficient for them.
  static let defaultMinBytes = 256 << 10

  private init(path: String, queue: DatabaseQueue, replacing old: FileIdentity) {
    self.path = path
    self.queue = queue
    self.old = old
  }

  /// Creates a new file for a response whose transaction has begun, if its database is empty.
  ///
  /// - Returns: `nil` if the database has content, other users, or permissions that a new file would not have.
  static func make(for store: SQLiteStore, _ db: Database) throws -> FreshDatabase? {
    guard try db.integer("SELECT 1 FROM records LIMIT 1") == nil,
      let (path, empty) = makeFile(for: store)
    else { return nil }
    guard let queue = try? filled(path, from: db) else {
      SQLiteFile.removeReplacement(path)
      return nil
    }
    return FreshDatabase(path: path, queue: queue, replacing: empty)
  }

  /// Creates an empty file beside the database of a store.
  ///
  /// - Returns: Its path, and the database; `nil` if that has other users, or permissions that a new file would not have.
  private static func makeFile(for store: SQLiteStore) -> (path: String, old: FileIdentity)? {
    guard store.excludeOthers() else { return nil }
    store.admitOthers()
    guard let old = FileIdentity(of: store.canonicalPath),
      let path = SQLiteFile.makeReplacement(of: store.canonicalPath)
    else { return nil }
    return (path, old)
  }

  /// Replaces the database of a store by a compact copy, if a quarter of it is free and the store is its only user.
  ///
  /// Only for the holder of the ``WriteLock``. The copy has no log, unlike `VACUUM` of a database that has one.
  ///
  /// - Parameter gaps: The free space in pages that have records, in bytes, as far as it is known.
  static func compact(_ store: SQLiteStore, gaps: Int) async throws {
    let copy = try await store.pool.writeWithoutTransaction { db -> FreshDatabase? in
      let free = try freeBytes(of: db) + gaps
      guard free > 0, free >= FilePath.size(of: store.canonicalPath) / 4,
        let (path, old) = makeFile(for: store)
      else { return nil }
      do {
        let version = try db.integer("PRAGMA data_version")
        try db.execute(sql: "VACUUM INTO ?", arguments: [path])
        // From here on no other program writes; if one has, the copy lacks it.
        try db.beginTransaction(.immediate)
        if try db.integer("PRAGMA data_version") == version {
          return FreshDatabase(
            path: path, queue: try SQLiteConnections.writer(path), replacing: old)
        }
        try db.rollback()
        SQLiteFile.removeReplacement(path)
        return nil
      } catch {
        if db.isInsideTransaction { try? db.rollback() }
        SQLiteFile.removeReplacement(path)
        throw error
      }
    }
    guard let copy else { return }
    // A separate task: in a cancelled one GRDB refuses the rollback, and the transaction would stay open.
    try await Task {
      do {
        try await copy.complete()
        if try await copy.replace(store, showing: { try $0() }) != nil { return }
      } catch {
        await copy.withdraw(from: store)
        throw error
      }
      await copy.withdraw(from: store)
    }.value
  }

  /// The size of the pages that have nothing.
  static func freeBytes(of db: Database) throws -> Int {
    let sql = "SELECT freelist_count * page_size FROM pragma_freelist_count, pragma_page_size"
    return Int(try db.integer(sql) ?? 0)
  }

  /// Removes the file, and ends the transaction on the database that it does not replace.
  private func withdraw(from store: SQLiteStore) async {
    discard()
    // If the rollback fails, SQLite has already rolled back.
    try? await store.pool.writeWithoutTransaction { db in
      if db.isInsideTransaction { try db.rollback() }
    }
  }

  /// Opens a transaction on a new file, with the tables and rows of another database; `nil` if that has other tables.
  private static func filled(_ path: String, from db: Database) throws -> DatabaseQueue? {
    let queue = try SQLiteConnections.writer(path)
    let isFilled = try queue.writeWithoutTransaction { fresh in
      // Without a journal a failed statement cannot be undone: every error discards the file. The size of the cache
      // is counted in pages of the size at this time.
      try fresh.run(
        """
        PRAGMA page_size = 16384;
        PRAGMA cache_size = -4096;
        PRAGMA journal_mode = OFF;
        PRAGMA synchronous = OFF;
        PRAGMA locking_mode = EXCLUSIVE;
        """)
      try fresh.beginTransaction(.exclusive)
      guard try SQLiteSchema.copyTables(of: db, to: fresh) else { return false }
      try SQLiteSchema.copyRows(of: db, to: fresh)
      return true
    }
    guard isFilled else {
      try queue.close()
      return nil
    }
    return queue
  }

  /// Starts to write appended pages to disk, so that the commit waits for few of them.
  func startWriting() {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { return }
    let size = status.st_size
    let start = started.withLock { started in
      guard size - started >= Self.minWrite else { return size }
      defer { started = size }
      return started
    }
    // Pages that are not on disk remain in memory: https://man7.org/linux/man-pages/man2/posix_fadvise.2.html
    if start < size { posix_fadvise(descriptor, start, size - start, POSIX_FADV_DONTNEED) }
  }

  private static let minWrite: off_t = 8 << 20

  /// Completes the file, after its transaction was committed, and waits until it is on disk.
  func complete() async throws {
    try await queue.writeWithoutTransaction { db in
      try db.run("PRAGMA journal_mode = WAL")
    }
    try queue.close()
    try SQLiteFile.syncFile(path)
  }

  /// Replaces the database, if the store is its only user.
  ///
  /// - Parameter showing: Calls its parameter, which renames the file.
  /// - Returns: `nil` if there are other users; then nothing has changed.
  func replace<Result: Sendable>(
    _ store: SQLiteStore, showing: (() throws -> Void) throws -> Result
  ) async throws -> Result? {
    guard store.excludeOthers() else { return nil }
    defer { store.admitOthers() }
    let name = store.canonicalPath
    guard FileIdentity(of: name) == old else { return nil }
    let hasLog = FilePath.size(of: name + "-wal") > 0
    // The version that SQLite counts is that of a connection.
    defer { store.versions.forget() }
    return try await store.pool.reconnect {
      // The log of the old database still exists if another program has it open. It must be gone also after a
      // power failure, because SQLite would apply it to the new file.
      guard access(name + "-wal", F_OK) != 0, access(name + "-shm", F_OK) != 0,
        FileIdentity(of: name) == old
      else { return nil }
      if hasLog { try SQLiteFile.syncFolder(of: name) }
      do {
        let result = try showing {
          guard rename(path, name) == 0 else { throw RenameFailure() }
        }
        SharedActivities.move(store.activity, toFile: name)
        // Before the new file gets a log, which must not remain without it.
        try? SQLiteFile.syncFolder(of: name)
        return result
      } catch is RenameFailure {
        return nil
      }
    }
  }

  private struct RenameFailure: Error {}

  /// Copies all rows to the empty database, in its transaction.
  func copyRows(to db: Database) throws {
    if !db.isInsideTransaction { try db.beginTransaction(.immediate) }
    var configuration = Configuration()
    configuration.readonly = true
    let source = try DatabaseQueue(path: path, configuration: configuration)
    try source.read { try SQLiteSchema.copyRows(of: $0, to: db) }
    try source.close()
  }

  /// Removes the file.
  func discard() {
    try? queue.close()
    SQLiteFile.removeReplacement(path)
  }
}
