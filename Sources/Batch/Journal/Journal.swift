import Dispatch
import Foundation
import GQLRunJSON
import GQLRunSupport
import GRDB
import Synchronization

/// The journal of a run: the state of each task and the progress of the sinks.
///
/// A SQLite database that loses no acknowledged transaction (`synchronous=FULL`). One connection
/// writes; a lock file beside the database excludes a second run. A transaction commits task states
/// and sink positions together.
final class Journal: Sendable {
  let path: String
  /// The row numbers of tasks that this run recorded and that are not finished.
  let openRows = Locked<[TaskID: Int64]>([:])
  private let hasIndex = Atomic(false)
  private let queue: DatabaseQueue
  private let lock: FileLock?

  static let applicationID: Int32 = 0x6771_6a72  // "gqjr"
  static let schemaVersion: Int32 = 4

  /// Opens a journal, or creates it if it does not exist.
  ///
  /// - Parameter isReadOnly: Opens an existing journal for reading, possibly while a run writes it.
  init(path: String, isReadOnly: Bool = false) throws {
    self.path = path
    lock = isReadOnly ? nil : try Self.lock(path)
    var configuration = Configuration()
    configuration.busyMode = .timeout(10)
    do {
      if isReadOnly {
        try Self.configureReader(&configuration, of: path)
      } else {
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Errno.last("cannot make the journal \(path)") }
        Foundation.close(descriptor)
        configuration.prepareDatabase { db in
          try db.execute(
            sql: """
              PRAGMA journal_mode = WAL;
              PRAGMA synchronous = FULL;
              PRAGMA trusted_schema = OFF;
              PRAGMA wal_autocheckpoint = 8000;
              """)
        }
      }
      queue = try DatabaseQueue(path: path, configuration: configuration)
      if !isReadOnly { try queue.inDatabase { try Self.prepare($0) } }
      try queue.inDatabase { db in
        guard try Int32.fetchOne(db, sql: "PRAGMA application_id") == Self.applicationID else {
          throw JournalError(
            "\(path) is not a journal of a batch run (unchanged); move it or choose another journal folder"
          )
        }
        guard try Int32.fetchOne(db, sql: "PRAGMA user_version") ?? 0 <= Self.schemaVersion else {
          throw JournalError("\(path) was written by a newer gqlrun; update gqlrun to use it")
        }
        if !isReadOnly { try Self.migrate(db) }
      }
    } catch let error as DatabaseError {
      throw JournalError(
        "the journal \(path) cannot be used: \(error.message ?? "SQLite error \(error.resultCode)")"
      )
    }
  }

  /// Calls `body` with the path of a journal in a temporary folder, which only this user can read.
  static func withTemporaryPath<Value>(_ body: (String) throws -> Value) throws -> Value {
    let folder = FileManager.default.temporaryDirectory
      .appendingPathComponent("gqlrun-queue-\(UUID().uuidString)").path
    try SystemIO.createFolder(folder, permissions: 0o700)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    return try body("\(folder)/run.journal")
  }

  /// Configures a connection that only reads.
  ///
  /// The connection may write where the files allow it: SQLite removes the files `-wal` and `-shm` when the
  /// last such connection is closed, and a read-only one leaves those that it created.
  /// https://www.sqlite.org/wal.html#read_only_databases
  private static func configureReader(_ configuration: inout Configuration, of path: String) throws
  {
    guard FileManager.default.fileExists(atPath: path) else {
      throw JournalError("the journal \(path) does not exist")
    }
    let folder = (path as NSString).deletingLastPathComponent
    configuration.readonly =
      access(path, W_OK) != 0 || access(folder.isEmpty ? "." : folder, W_OK) != 0
    configuration.prepareDatabase { db in
      try db.execute(sql: "PRAGMA query_only = ON; PRAGMA trusted_schema = OFF")
    }
  }

  /// Locks the journal at `path` for this run.
  private static func lock(_ path: String) throws -> FileLock {
    do throws(SystemError) {
      let lock = try FileLock(path + ".lock")
      if try lock.tryLock() { return lock }
    } catch {
      throw StoppedByStorage(message: "\(error)")
    }
    throw JournalError(
      "another run is using the journal \(path); wait for it, or start without --resume")
  }

  /// Creates the tables of a new journal.
  ///
  /// Tasks are stored in order of arrival. Their ids are hashes, so inserting them into an index
  /// writes to random pages; the index is created on the first lookup (``index()``). A checkpoint
  /// then copies the changes of many steps.
  private static func prepare(_ db: Database) throws {
    guard try Int.fetchOne(db, sql: "SELECT count(*) FROM sqlite_schema") == 0 else { return }
    try db.inTransaction(.exclusive) {
      try db.execute(
        sql: """
          CREATE TABLE tasks (
            id BLOB NOT NULL, op INTEGER NOT NULL, key TEXT NOT NULL,
            state INTEGER NOT NULL, page INTEGER NOT NULL, attempts INTEGER NOT NULL,
            http INTEGER, ended REAL NOT NULL, ms REAL NOT NULL, bytes INTEGER NOT NULL,
            records INTEGER NOT NULL, cursor TEXT, error TEXT
          );
          CREATE TABLE operations (number INTEGER PRIMARY KEY, id TEXT NOT NULL);
          CREATE TABLE captures (
            op INTEGER NOT NULL, key TEXT NOT NULL, data TEXT NOT NULL, PRIMARY KEY (op, key)
          ) WITHOUT ROWID;
          CREATE TABLE bookmarks (name TEXT NOT NULL PRIMARY KEY, op INTEGER NOT NULL,
            data TEXT NOT NULL) WITHOUT ROWID;
          CREATE TABLE sinks (
            path TEXT NOT NULL PRIMARY KEY, position INTEGER NOT NULL, records INTEGER NOT NULL,
            header TEXT, published INTEGER NOT NULL, checksum INTEGER
          ) WITHOUT ROWID;
          \(outputsTable)
          \(gapsTable)
          CREATE TABLE meta (name TEXT NOT NULL PRIMARY KEY, value) WITHOUT ROWID;
          PRAGMA application_id = \(applicationID);
          PRAGMA user_version = \(schemaVersion);
          """)
      return .commit
    }
  }

  /// All outputs of the run: files, tables of databases, the cache.
  private static let outputsTable = """
    CREATE TABLE outputs (
      path TEXT NOT NULL, name TEXT NOT NULL, format TEXT NOT NULL, takes TEXT NOT NULL, identity TEXT,
      step INTEGER NOT NULL, records INTEGER NOT NULL, PRIMARY KEY (path, name)
    ) WITHOUT ROWID;
    """

  /// The times in which events of subscriptions may have been missed.
  private static let gapsTable = """
    CREATE TABLE gaps (
      op INTEGER NOT NULL, key TEXT NOT NULL, events INTEGER NOT NULL, since REAL NOT NULL,
      until REAL NOT NULL, cause TEXT
    );
    """

  /// Migrates a journal of an earlier version.
  private static func migrate(_ db: Database) throws {
    guard try Int32.fetchOne(db, sql: "PRAGMA user_version") ?? 0 < schemaVersion else { return }
    let hasChecksum = try db.columns(in: "sinks").contains { $0.name == "checksum" }
    let hasOutputs = try db.tableExists("outputs")
    let hasGaps = try db.tableExists("gaps")
    try db.inTransaction(.exclusive) {
      if !hasChecksum { try db.execute(sql: "ALTER TABLE sinks ADD COLUMN checksum INTEGER") }
      if !hasOutputs { try db.execute(sql: outputsTable) }
      if !hasGaps { try db.execute(sql: gapsTable) }
      try db.execute(sql: "PRAGMA user_version = \(schemaVersion)")
      return .commit
    }
  }

  /// Whether task ids are indexed.
  var isIndexed: Bool { hasIndex.load(ordering: .acquiring) }

  /// Indexes task ids unless they are indexed, on a thread that may block.
  ///
  /// A new run with distinct rows never looks up a task and needs no index: maintaining it for a
  /// million ids takes three times as long as all other writes.
  func index() async throws {
    guard !isIndexed else { return }
    try await withCheckedThrowingContinuation { continuation in
      DispatchQueue.global().async { continuation.resume(with: Result { try self.makeIndex() }) }
    }
  }

  func makeIndex() throws {
    try write { db in
      // Index pages are accessed in random order.
      try db.execute(
        sql: """
          PRAGMA cache_size = -16000;
          CREATE UNIQUE INDEX IF NOT EXISTS tasks_id ON tasks (id);
          """)
    }
    hasIndex.store(true, ordering: .releasing)
  }

  /// Closes the file. The journal cannot be used afterwards.
  func close() {
    try? queue.close()
    lock?.release()
  }

  /// Whether the run has ended and needs no `--resume`.
  func hasFinished() throws -> Bool {
    try !(meta("ended") ?? "").isEmpty && (meta("stop") ?? "").isEmpty
  }

  func read<Result>(_ body: (Database) throws -> Result) throws -> Result {
    do {
      return try queue.inDatabase(body)
    } catch let error as DatabaseError {
      throw JournalError(
        "the journal \(path) cannot be read: \(error.message ?? "\(error.resultCode)")")
    }
  }

  /// Runs a transaction; it is durable when the method returns.
  func write(_ body: (Database) throws -> Void) throws {
    do {
      try queue.inTransaction(.immediate) { db in
        try body(db)
        return .commit
      }
    } catch let error as DatabaseError {
      throw StoppedByStorage(
        message: "the journal \(path) cannot be written: \(error.message ?? "\(error.resultCode)")")
    }
  }
}

/// A journal that cannot be used.
public struct JournalError: Error, Sendable, CustomStringConvertible {
  /// What is wrong.
  public var description: String

  init(_ description: String) { self.description = description }
}

/// A sink or journal cannot be written: the run ends, and recorded results are preserved.
public struct StoppedByStorage: Error, Sendable, CustomStringConvertible {
  /// What failed, with the path.
  public var message: String
  /// Whether standard output was closed by its reader, as by `head`.
  public var isClosedOutput = false
  /// Whether the run cannot be resumed because an output differs from what the journal recorded.
  public var isRefusal = false

  /// The message.
  public var description: String { message }

  init(message: String) { self.message = message }

  /// An output that a resumed run would leave incomplete.
  init(refusing message: String) {
    self.message = message
    isRefusal = true
  }
}

/// Converts the error of the last system call.
enum Errno {
  static func last(_ action: String) -> StoppedByStorage {
    StoppedByStorage(message: "\(action): \(String(cString: strerror(errno)))")
  }
}

extension AtomicFile {
  /// Replaces the file at `path` atomically, creating missing folders.
  ///
  /// - Throws: ``StoppedByStorage``; the previous file is then unchanged.
  static func write(_ bytes: [UInt8], to path: String) throws {
    try FileSink.makeFolder(of: path)
    do throws(SystemError) {
      try write(bytes, to: path, permissions: 0o666)
    } catch {
      throw StoppedByStorage(message: "\(error)")
    }
  }
}
