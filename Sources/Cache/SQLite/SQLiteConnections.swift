import GQLRunSupport
import GRDB
import GRDBSQLite

/// The connections of one store to its file: several readers and one writer.
///
/// Readers see the last committed state and never wait. Only the holder of the ``WriteLock`` uses
/// the writer.
final class SQLiteConnections: Sendable {
  private final class Open: Sendable {
    let readers: Readers
    /// `nil` if the file is read-only.
    let writer: DatabaseQueue?
    private let name: DatabaseName
    private let path: String

    init(_ target: String, path: String, version: Int, isWritable: Bool) throws {
      self.path = path
      name = DatabaseName(path)
      writer = isWritable ? try SQLiteConnections.writer(target) : nil
      readers = Readers(target, path: path, name: name, version: version)
    }

    /// The writer, if the file can be written and still has its name.
    func checkedWriter() throws -> DatabaseQueue {
      guard let writer else { throw CacheError.readOnly(path) }
      try SQLiteConnections.check(name, path)
      return writer
    }

    func close() throws {
      try readers.close()
      // The writer is closed last, because it removes the log.
      if let writer { try name.close(writer) }
    }

    /// Like ``close()``, but waits for readers on the queue of the writer, and not on a thread of the concurrency runtime, of
    /// which there may be only one.
    func closeWithoutBlocking() async throws {
      try await writer?.writeWithoutTransaction { [readers] _ in try readers.close() }
      try close()
    }
  }

  /// - Throws: ``CacheError`` if another file has the name. A connection that is opened then would find the log of the open
  ///   file beside the other one, and apply it; what is written would be lost. A removed file is used until it is closed.
  private static func check(_ name: DatabaseName, _ path: String) throws {
    guard name.state() == .replaced else { return }
    throw CacheError(
      .storage,
      "another file has replaced the cache \(path) while it was open, and what was stored since then is not in it: "
        + "run the command again, and replace a cache only while no program uses it", path: path)
  }

  /// Connections that read: as many as there are reads at the same time, up to a limit.
  ///
  /// GRDB's pool has a connection more, and asks for the version of the schema before each read.
  private final class Readers: Sendable {
    private struct State {
      var all: [DatabaseQueue] = []
      var idle: [DatabaseQueue] = []
      /// The number of connections that are being opened.
      var openingCount = 0
      var isClosed = false

      /// The connection of a read; `.some(nil)` if it opens one, and `nil` if it waits.
      mutating func take(maxCount: Int) throws -> DatabaseQueue?? {
        if isClosed { throw SQLiteConnections.closed }
        if let idle = idle.popLast() { return .some(idle) }
        guard all.count + openingCount < maxCount else { return nil }
        openingCount += 1
        return .some(nil)
      }
    }

    /// The maximum number of connections for reads that can wait.
    private static let maxCount = 4

    private let state = Monitor(State(), isInOrder: true)
    /// Held while a connection is opened, for which ``close()`` waits: one that is opened while the file is replaced would
    /// create the log of the old file under the name of the new one's.
    private let opening = Locked(())
    private let target: String
    private let path: String
    private let name: DatabaseName
    private let version: Int

    init(_ target: String, path: String, name: DatabaseName, version: Int) {
      self.target = target
      self.path = path
      self.name = name
      self.version = version
    }

    func read<Value: Sendable>(
      _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws -> Value {
      let reader = try await state.take { try $0.take(maxCount: Self.maxCount) } ?? open()
      defer { state.update { $0.idle.append(reader) } }
      return try await reader.unsafeRead { try Self.read($0, body) }
    }

    /// Reads on a connection more, if all are in use: the caller may have a connection that others wait for.
    func read<Value>(_ body: (Database) throws -> Value) throws -> Value {
      let known = try state.withLock { try $0.take(maxCount: .max) }
      let reader = try (known ?? nil) ?? open()
      defer { state.update { $0.idle.append(reader) } }
      return try reader.unsafeRead { try Self.read($0, body) }
    }

    private static func read<Value>(
      _ db: Database, _ body: (Database) throws -> Value
    ) throws -> Value {
      // Left by a read that was interrupted until its end.
      if let connection = db.sqliteConnection, sqlite3_get_autocommit(connection) == 0 {
        try db.step("ROLLBACK")
      }
      try db.step("BEGIN")
      defer {
        do { try db.step("COMMIT") } catch { try? db.step("ROLLBACK") }
      }
      return try body(db)
    }

    private func open() throws -> DatabaseQueue {
      do {
        return try opening.withLock { _ in
          let new = Result { () throws -> DatabaseQueue in
            if state.withLock({ $0.isClosed }) { throw SQLiteConnections.closed }
            try SQLiteConnections.check(name, path)
            var configuration = SQLiteConnections.configuration(version: version)
            configuration.readonly = true
            // GRDB would ask a connection that was closed whether it has a transaction.
            configuration.allowsUnsafeTransactions = true
            return try DatabaseQueue(path: target, configuration: configuration)
          }
          state.withLock { state in
            state.openingCount -= 1
            if case .success(let new) = new { state.all.append(new) }
          }
          return try new.get()
        }
      } catch {
        // A read that waits may open a connection instead.
        state.update { _ in }
        throw error
      }
    }

    /// Closes the connections after their current reads.
    func close() throws {
      state.update { $0.isClosed = true }
      let all = opening.withLock { _ in state.withLock { $0.all } }
      for reader in all { try reader.close() }
    }
  }

  private struct State {
    /// `nil` after ``reconnect(_:)``; the next access opens them.
    var open: Open?
    var isClosed = false
  }

  private let state: Locked<State>
  /// Held while the connections are replaced.
  private let replacing = AsyncMutex()
  private let connect: @Sendable () throws -> Open
  private let lock: DatabaseLock?

  /// - Parameters:
  ///   - target: The path or URI for SQLite.
  ///   - version: The schema version of the file.
  init(
    _ target: String, path: String, version: Int, isWritable: Bool, lock: DatabaseLock?
  ) throws {
    self.lock = lock
    connect = { try Open(target, path: path, version: version, isWritable: isWritable) }
    state = Locked(State(open: try connect()))
  }

  /// An additional connection that writes.
  static func writer(_ target: String) throws -> DatabaseQueue {
    var configuration = Self.configuration(version: SQLiteSchema.steps.count)
    configuration.allowsUnsafeTransactions = true
    configuration.prepareDatabase { db in
      // SQLite only reads a file that it cannot open for writing, and each later write would fail.
      guard sqlite3_db_readonly(db.sqliteConnection, "main") == 0 else {
        throw DatabaseError(
          resultCode: .SQLITE_READONLY, message: "attempt to write a readonly database")
      }
      // Checkpoints run after a commit, not inside it. A commit that a power failure reverts is
      // fetched again: https://sqlite.org/pragma.html#pragma_synchronous
      try db.run("PRAGMA wal_autocheckpoint = 0; PRAGMA synchronous = NORMAL")
      try MergeFunctions.register(in: db)
    }
    return try DatabaseQueue(path: target, configuration: configuration)
  }

  private static func configuration(version: Int) -> Configuration {
    var configuration = Configuration()
    // The stores of gqlrun exclude each other by `WriteLock`; this is for other programs.
    configuration.busyMode = .timeout(10)
    // The tables have none, and each connection would execute a statement.
    configuration.foreignKeysEnabled = false
    configuration.prepareDatabase { db in
      // https://www.sqlite.org/security.html: a file of unknown origin must not run code of its
      // schema.
      try db.run(
        """
        PRAGMA trusted_schema = OFF;
        PRAGMA cell_size_check = ON;
        PRAGMA cache_size = -4096;
        PRAGMA temp_store = MEMORY;
        """)
      if let view = SQLiteSchema.compatibilityView(forVersion: version) { try db.run(view) }
    }
    return configuration
  }

  // MARK: Access

  func read<Value: Sendable>(
    _ body: @escaping @Sendable (Database) throws -> Value
  ) async throws -> Value {
    try await noting { try await $0.readers.read(body) }
  }

  func read<Value>(_ body: (Database) throws -> Value) throws -> Value {
    do { return try current().readers.read(body) } catch { throw recordingDamage(error) }
  }

  /// Reads before any other access, so that no transaction is open: with the writer, if there is one, which saves opening
  /// the readers.
  func readFirst<Value>(_ body: (Database) throws -> Value) throws -> Value {
    guard let writer = try current().writer else { return try read(body) }
    return try writer.unsafeRead(body)
  }

  func writeWithoutTransaction<Value: Sendable>(
    _ body: @escaping @Sendable (Database) throws -> Value
  ) async throws -> Value {
    try await noting { try await $0.checkedWriter().writeWithoutTransaction(body) }
  }

  /// Runs `body` with the connection that writes, also if the task is cancelled.
  ///
  /// Only for the holder of the ``WriteLock``, who knows that the connection is not replaced meanwhile.
  ///
  /// - Throws: The connections cannot be opened again, or are read-only. `body` is not called then.
  func writeUninterrupted<Value: Sendable>(
    _ body: @escaping @Sendable (Database) -> Value
  ) async throws -> Value {
    let writer = try current().checkedWriter()
    return await withCheckedContinuation { continuation in
      writer.asyncWriteWithoutTransaction { continuation.resume(returning: body($0)) }
    }
  }

  private func current() throws -> Open {
    try state.withLock { state in
      if state.isClosed { throw Self.closed }
      if let open = state.open { return open }
      let new = try connect()
      state.open = new
      return new
    }
  }

  private static var closed: DatabaseError {
    DatabaseError(resultCode: .SQLITE_MISUSE, message: "Connection is closed")
  }

  private func noting<Value: Sendable>(
    _ body: @Sendable (Open) async throws -> Value
  ) async throws -> Value {
    while true {
      let used = try current()
      do { return try await body(used) } catch {
        guard await wasReplaced(used, error) else { throw recordingDamage(error) }
      }
    }
  }

  /// Whether an access failed because ``reconnect(_:)`` had closed its connection before it began.
  private func wasReplaced(_ used: Open, _ error: any Error) async -> Bool {
    guard (error as? DatabaseError)?.resultCode == .SQLITE_MISUSE,
      (try? await replacing.acquire()) != nil
    else { return false }
    replacing.release()
    return state.withLock { $0.open !== used && !$0.isClosed }
  }

  /// Closes all connections after their current accesses, and calls `body`. The next access opens them again, unless
  /// ``close()`` was called. Other accesses wait meanwhile.
  ///
  /// An open transaction of the writer is rolled back. `body` is not called if a connection cannot be closed.
  func reconnect<Value: Sendable>(_ body: () throws -> Value?) async throws -> Value? {
    try await replacing.acquire()
    defer { replacing.release() }
    let used = try current()
    defer { state.withLock { if !$0.isClosed { $0.open = nil } } }
    do { try await used.closeWithoutBlocking() } catch { return nil }
    return try body()
  }

  /// Records damage, so that the file is checked when it is opened next.
  func recordingDamage(_ error: any Error) -> any Error {
    if let error = error as? DatabaseError, error.isDamage { lock?.setSuspect(true) }
    return error
  }

  /// Moves committed pages from the log to the database file, as far as readers permit, without
  /// waiting.
  ///
  /// - Returns: Whether the write-ahead log is empty.
  func checkpoint(waiting: Bool = false) async throws -> Bool {
    try await writeWithoutTransaction { try Self.checkpoint($0, waiting: waiting) }
  }

  /// Moves pages like ``checkpoint(waiting:)``, on the connection that writes, outside a transaction.
  static func checkpoint(_ db: Database, waiting: Bool = false) throws -> Bool {
    // SQLite's functions must not get a connection that was closed before this block began.
    guard let connection = db.sqliteConnection else { throw closed }
    var (frames, moved) = (Int32(0), Int32(0))
    if !waiting { sqlite3_busy_timeout(connection, 0) }
    defer { sqlite3_busy_timeout(connection, 10_000) }
    // https://sqlite.org/c3ref/wal_checkpoint_v2.html: PASSIVE does not wait.
    var code = sqlite3_wal_checkpoint_v2(
      connection, nil, SQLITE_CHECKPOINT_PASSIVE, &frames, &moved)
    if code == SQLITE_OK, waiting || frames == moved {
      code = sqlite3_wal_checkpoint_v2(
        connection, nil, SQLITE_CHECKPOINT_TRUNCATE, &frames, &moved)
    } else if code == SQLITE_OK {
      return false
    }
    // A reader prevents it; the next checkpoint continues.
    if code & 0xff == SQLITE_BUSY || code & 0xff == SQLITE_LOCKED { return false }
    guard code == SQLITE_OK else {
      throw DatabaseError(resultCode: ResultCode(rawValue: code), message: db.lastErrorMessage)
    }
    return true
  }

  func close() throws {
    let open = state.withLock { state in
      state.isClosed = true
      return state.open
    }
    try open?.close()
  }
}

extension DatabaseError {
  /// Whether SQLite reports a damaged file.
  var isDamage: Bool { resultCode == .SQLITE_CORRUPT || resultCode == .SQLITE_NOTADB }
}
