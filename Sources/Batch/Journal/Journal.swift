import Dispatch
import Foundation
import GQLRunJSON
import GQLRunSupport
import GRDB
import Synchronization

/// The journal of a run: which tasks are done, how they went, and how far the sinks were written.
///
/// A SQLite database that loses nothing it acknowledged (`synchronous=FULL`). One connection writes;
/// a lock on a file beside it keeps a second run away. What a transaction says about tasks and about the
/// positions of sinks becomes true together.
final class Journal: Sendable {
  let path: String
  /// The rows of tasks that were recorded here and have not ended.
  let openRows = Locked<[TaskID: Int64]>([:])
  private let hasIndex = Atomic(false)
  private let queue: DatabaseQueue
  private let lock: FileLock?

  static let applicationID: Int32 = 0x6771_6a72  // "gqjr"
  static let schemaVersion: Int32 = 3

  /// Makes a journal, or opens the one that is there.
  ///
  /// - Parameter isReadOnly: Opens it beside a run, to look at it.
  init(path: String, isReadOnly: Bool = false) throws {
    self.path = path
    lock = isReadOnly ? nil : try Self.lock(path)
    var configuration = Configuration()
    configuration.readonly = isReadOnly
    configuration.busyMode = .timeout(10)
    do {
      if !isReadOnly {
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
          throw JournalError("\(path) is no journal of a batch run, so it is left as it is")
        }
        guard try Int32.fetchOne(db, sql: "PRAGMA user_version") ?? 0 <= Self.schemaVersion else {
          throw JournalError("\(path) was made by a newer gqlrun; update gqlrun to use it")
        }
        if !isReadOnly { try Self.migrate(db) }
      }
    } catch let error as DatabaseError {
      throw JournalError(
        "the journal \(path) cannot be used: \(error.message ?? "SQLite error \(error.resultCode)")"
      )
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

  /// Makes the tables of a new journal.
  ///
  /// Tasks are kept in the order they come. Their ids are hashes, an index of which is written all over: it
  /// is made when somebody looks for a task (``index()``). A checkpoint moves what many steps have changed.
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
          CREATE TABLE meta (name TEXT NOT NULL PRIMARY KEY, value) WITHOUT ROWID;
          PRAGMA application_id = \(applicationID);
          PRAGMA user_version = \(schemaVersion);
          """)
      return .commit
    }
  }

  /// Every output that the run writes: files, tables of databases, the cache.
  private static let outputsTable = """
    CREATE TABLE outputs (
      path TEXT NOT NULL, name TEXT NOT NULL, format TEXT NOT NULL, takes TEXT NOT NULL, identity TEXT,
      step INTEGER NOT NULL, records INTEGER NOT NULL, PRIMARY KEY (path, name)
    ) WITHOUT ROWID;
    """

  /// Brings a journal of an earlier version up to date.
  private static func migrate(_ db: Database) throws {
    guard try Int32.fetchOne(db, sql: "PRAGMA user_version") ?? 0 < 3 else { return }
    let hasChecksum = try db.columns(in: "sinks").contains { $0.name == "checksum" }
    let hasOutputs = try db.tableExists("outputs")
    try db.inTransaction(.exclusive) {
      if !hasChecksum { try db.execute(sql: "ALTER TABLE sinks ADD COLUMN checksum INTEGER") }
      if !hasOutputs { try db.execute(sql: outputsTable) }
      try db.execute(sql: "PRAGMA user_version = 3")
      return .commit
    }
  }

  /// Whether ids are in an index.
  var isIndexed: Bool { hasIndex.load(ordering: .acquiring) }

  /// Puts ids into an index, unless they are in one, on a thread that may wait.
  ///
  /// A run that begins anew and whose rows differ never looks for a task, and goes without: a million ids
  /// cost three times as much to keep in order as all the rest.
  func index() async throws {
    guard !isIndexed else { return }
    try await withCheckedThrowingContinuation { continuation in
      DispatchQueue.global().async { continuation.resume(with: Result { try self.makeIndex() }) }
    }
  }

  func makeIndex() throws {
    try write { db in
      // Its pages are asked for in any order.
      try db.execute(
        sql: """
          PRAGMA cache_size = -16000;
          CREATE UNIQUE INDEX IF NOT EXISTS tasks_id ON tasks (id);
          """)
    }
    hasIndex.store(true, ordering: .releasing)
  }

  /// Closes the file. Nothing can be asked afterwards.
  func close() {
    try? queue.close()
    lock?.release()
  }

  func read<Result>(_ body: (Database) throws -> Result) throws -> Result {
    do {
      return try queue.inDatabase(body)
    } catch let error as DatabaseError {
      throw JournalError(
        "the journal \(path) cannot be read: \(error.message ?? "\(error.resultCode)")")
    }
  }

  /// Runs a transaction that is durable when this returns.
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
  public var description: String

  init(_ description: String) { self.description = description }
}

/// A disk that is full, an output that is closed: the run ends, and what was recorded stays.
public struct StoppedByStorage: Error, Sendable, CustomStringConvertible {
  public var message: String
  public var isClosedOutput = false
  /// Whether the run cannot be continued as it is: an output is not what the journal recorded.
  public var isRefusal = false

  public var description: String { message }

  init(message: String) { self.message = message }

  /// An output that a resumed run would leave incomplete.
  init(refusing message: String) {
    self.message = message
    isRefusal = true
  }
}

/// The error of the last system call, in words.
enum Errno {
  static func last(_ action: String) -> StoppedByStorage {
    StoppedByStorage(message: "\(action): \(String(cString: strerror(errno)))")
  }
}

extension AtomicFile {
  /// Replaces the file at `path`, or leaves it as it is. Makes missing folders.
  ///
  /// - Throws: ``StoppedByStorage``
  static func write(_ bytes: [UInt8], to path: String) throws {
    try FileSink.makeFolder(of: path)
    do throws(SystemError) {
      try write(bytes, to: path, permissions: 0o666)
    } catch {
      throw StoppedByStorage(message: "\(error)")
    }
  }
}
