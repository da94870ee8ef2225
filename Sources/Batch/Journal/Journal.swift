import Dispatch
import Foundation
import GQLRunJSON
import GQLRunPipeline
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
  static let schemaVersion: Int32 = 6

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
        guard FileManager.default.fileExists(atPath: path) else {
          throw JournalError("the journal \(path) does not exist")
        }
        configuration = .reader(of: path)
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
      }
    } catch let error as DatabaseError {
      throw JournalError(
        "the journal \(path) cannot be used: \(error.message ?? "SQLite error \(error.resultCode)")"
      )
    }
  }

  /// Calls `body` with a new journal in a temporary folder, which only this user can read.
  static func withTemporary<Value>(_ body: (Journal) throws -> Value) throws -> Value {
    let folder = FileManager.default.temporaryDirectory
      .appendingPathComponent("gqlrun-queue-\(UUID().uuidString)").path
    try SystemIO.createFolder(folder, permissions: 0o700)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let journal = try Journal(path: "\(folder)/run.journal")
    defer { journal.close() }
    return try body(journal)
  }

  /// Locks the journal at `path` for this run.
  private static func lock(_ path: String) throws -> FileLock {
    let lock = try StoppedByStorage.wrapping { () throws(SystemError) in
      try FileLock(path + ".lock")
    }
    guard try StoppedByStorage.wrapping(lock.tryLock) else {
      throw JournalError(
        "another run is using the journal \(path); wait for it, or start without --resume")
    }
    return lock
  }

  /// Creates the tables of a new journal, and those that a journal of an earlier version does not have.
  ///
  /// Tasks are stored in order of arrival. Their ids are hashes, so inserting them into an index
  /// writes to random pages; the index is created on the first lookup (``index()``). A checkpoint
  /// then copies the changes of many steps.
  private static func prepare(_ db: Database) throws {
    let isNew = try Int.fetchOne(db, sql: "SELECT count(*) FROM sqlite_schema") == 0
    guard
      try isNew
        || Int32.fetchOne(db, sql: "PRAGMA application_id") == applicationID
          && Int32.fetchOne(db, sql: "PRAGMA user_version") ?? 0 < schemaVersion
    else { return }
    try db.inTransaction(.exclusive) {
      try db.execute(
        sql: """
          CREATE TABLE IF NOT EXISTS tasks (
            id BLOB NOT NULL, op INTEGER NOT NULL, key TEXT NOT NULL,
            state INTEGER NOT NULL, page INTEGER NOT NULL, attempts INTEGER NOT NULL,
            http INTEGER, ended REAL NOT NULL, ms REAL NOT NULL, bytes INTEGER NOT NULL,
            records INTEGER NOT NULL, cursor TEXT, error TEXT
          );
          -- The cursors that grow, in parts. Their tasks have none of their own.
          CREATE TABLE IF NOT EXISTS cursors (
            id BLOB NOT NULL, part INTEGER NOT NULL, text TEXT NOT NULL, PRIMARY KEY (id, part)
          ) WITHOUT ROWID;
          CREATE TABLE IF NOT EXISTS operations (number INTEGER PRIMARY KEY, id TEXT NOT NULL);
          CREATE TABLE IF NOT EXISTS captures (
            op INTEGER NOT NULL, key TEXT NOT NULL, data TEXT NOT NULL, PRIMARY KEY (op, key)
          ) WITHOUT ROWID;
          CREATE TABLE IF NOT EXISTS bookmarks (name TEXT NOT NULL PRIMARY KEY, op INTEGER NOT NULL,
            data TEXT NOT NULL) WITHOUT ROWID;
          CREATE TABLE IF NOT EXISTS sinks (
            path TEXT NOT NULL PRIMARY KEY, position INTEGER NOT NULL, records INTEGER NOT NULL,
            header TEXT, published INTEGER NOT NULL, checksum INTEGER
          ) WITHOUT ROWID;
          -- All outputs of the run: files, tables of databases, the cache.
          CREATE TABLE IF NOT EXISTS outputs (
            path TEXT NOT NULL, name TEXT NOT NULL, format TEXT NOT NULL, takes TEXT NOT NULL, identity TEXT,
            step INTEGER NOT NULL, records INTEGER NOT NULL, repeated INTEGER NOT NULL DEFAULT 0,
            PRIMARY KEY (path, name)
          ) WITHOUT ROWID;
          -- The rows that files of tables have: the number of the operation, and the name of the table.
          CREATE TABLE IF NOT EXISTS row_keys (
            op INTEGER NOT NULL, tbl TEXT NOT NULL, key TEXT NOT NULL, parent TEXT NOT NULL,
            PRIMARY KEY (op, tbl, key, parent)
          ) WITHOUT ROWID;
          -- The times in which events of subscriptions may have been missed.
          CREATE TABLE IF NOT EXISTS gaps (
            op INTEGER NOT NULL, key TEXT NOT NULL, events INTEGER NOT NULL, since REAL NOT NULL,
            until REAL NOT NULL, cause TEXT
          );
          CREATE TABLE IF NOT EXISTS meta (name TEXT NOT NULL PRIMARY KEY, value) WITHOUT ROWID;
          PRAGMA application_id = \(applicationID);
          PRAGMA user_version = \(schemaVersion);
          """)
      if try !db.columns(in: "sinks").contains(where: { $0.name == "checksum" }) {
        try db.execute(sql: "ALTER TABLE sinks ADD COLUMN checksum INTEGER")
      }
      if try !db.columns(in: "outputs").contains(where: { $0.name == "repeated" }) {
        try db.execute(
          sql: "ALTER TABLE outputs ADD COLUMN repeated INTEGER NOT NULL DEFAULT 0")
      }
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
    try await DispatchQueue.global().run { try self.makeIndex() }
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

  /// Removes the journal of a run that was refused. It cannot be used afterwards.
  func remove() {
    try? queue.close()
    for end in ["", "-wal", "-shm", ".lock"] { unlink(path + end) }
    lock?.release()
  }

  /// Closes the file, as the end of the last reference does. The journal cannot be used afterwards.
  func close() {
    try? queue.close()
    lock?.release()
  }

  deinit { close() }

  /// Whether the run has ended and needs no `--resume`.
  func hasFinished() throws -> Bool { try hasEnded() && (meta("stop") ?? "").isEmpty }

  /// Whether the run has ended or was stopped.
  func hasEnded() throws -> Bool { try !(meta("ended") ?? "").isEmpty }

  /// The state of the run for people.
  func runState() throws -> String {
    guard try hasEnded() else { return "running, or killed" }
    let stop = try meta("stop") ?? ""
    return stop.isEmpty ? "ended" : "stopped: \(StopReason(rawValue: stop)?.text ?? stop)"
  }

  func read<Result>(_ body: (Database) throws -> Result) throws -> Result {
    do {
      return try queue.inDatabase(body)
    } catch let error as DatabaseError {
      throw JournalError(
        "the journal \(path) cannot be read: \(error.message ?? "\(error.resultCode)")")
    } catch is RowDecodingError {
      throw damaged
    }
  }

  /// The error for a value that no version of the program writes, such as text in a column of numbers.
  private var damaged: JournalError {
    JournalError(
      "the journal \(path) is damaged: a value does not have the type of its column; "
        + "restore the file, or start without --resume")
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
    } catch is RowDecodingError {
      throw damaged
    }
  }
}

extension GRDB.Row {
  /// A number of attempts, pages, bytes or records of a task.
  ///
  /// Within limits, so that sums of those of a damaged journal do not overflow.
  func count(_ column: Int) throws -> Int { Self.limited(try decode(atIndex: column)) }

  /// A number of records or steps of an output.
  func count(of column: String) throws -> Int { Self.limited(try decode(forColumn: column)) }

  /// A time in seconds or milliseconds.
  ///
  /// Within limits, so that those of a damaged journal can be subtracted and compared.
  func time(_ column: Int) throws -> Double { Self.limited(try decode(atIndex: column)) }

  /// A count within the limits of those of a journal.
  static func limited(_ count: Int) -> Int { Swift.min(Swift.max(count, 0), 1 << 40) }

  /// A time within the limits of those of a journal; one that is not a number is the lower limit.
  static func limited(_ time: Double) -> Double { Swift.min(Swift.max(-1e12, time), 1e12) }
}

/// A journal that cannot be used.
public struct JournalError: Error, Sendable, CustomStringConvertible {
  /// What is wrong.
  public var description: String

  init(_ description: String) { self.description = description }

  /// The result of `body`, whose error becomes one of the run.
  static func wrapping<Value>(_ body: () throws(SystemError) -> Value) throws -> Value {
    do throws(SystemError) { return try body() } catch { throw JournalError(error.description) }
  }
}

/// A sink or journal cannot be written: the run ends, and recorded results are preserved.
public struct StoppedByStorage: Error, Sendable, CustomStringConvertible {
  /// What failed, with the path.
  public var message: String
  /// Whether standard output was closed by its reader, as by `head`.
  public var isClosedOutput = false
  /// Whether the run cannot be resumed because an output differs from what the journal recorded.
  public var isRefusal = false
  /// Whether another run is writing an output.
  var isInUse = false

  /// The message.
  public var description: String { message }

  /// The result of `body`, whose error becomes one of the run.
  static func wrapping<Value>(_ body: () throws(SystemError) -> Value) throws -> Value {
    do throws(SystemError) { return try body() } catch { throw Self(message: error.description) }
  }
}

extension StoppedByStorage {
  /// An output that a resumed run would leave incomplete.
  init(refusing message: String) { self.init(message: message, isRefusal: true) }

  /// The error for an output that has lost its name while it was open.
  static func lost(_ path: String) -> Self {
    Self(
      refusing:
        "\(path) was moved, removed or replaced while the run wrote it: restore what the run has written, or start "
        + "without --resume")
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
    try StoppedByStorage.wrapping { () throws(SystemError) in
      try write(bytes, to: path, permissions: 0o666)
    }
  }
}

/// The record of a task: the change when a page of it, or the whole task, has finished, or the state in which earlier ones
/// left it.
struct TaskUpdate: Sendable {
  var id: TaskID
  var operation: Int
  var key: String
  var state: TaskState
  /// The number of pages written.
  var page = 0
  var attempts = 0
  var http: Int?
  /// When the task finished, in seconds since 1970.
  var ended = 0.0
  /// The duration of all requests so far.
  var milliseconds = 0.0
  var bytes = 0
  var records = 0
  /// The cursor or offset of the next page; with ``part``, a part of it.
  var cursor: String?
  /// The number of the part that ``cursor`` is: it is added to the recorded parts with lower numbers, and replaces the
  /// others. `nil` for a whole cursor.
  var part: Int?
  var error: String?
  /// The lease under which the task is executed; see ``TaskItem/lease``.
  var lease = 0
}

extension TaskUpdate {
  /// Whether the task is finished; false for a mutation that is about to be sent.
  var isFinal: Bool { state != .running && state != .queued && ended > 0 }

  /// Adds the next update of the task, so that this one has the effect of both.
  mutating func add(_ next: TaskUpdate) {
    guard let first = part, let number = next.part, number > first else {
      self = next
      return
    }
    var text = cursor.take() ?? ""
    text += next.cursor ?? ""
    self = next
    (part, cursor) = (first, text)
  }

  /// Whether the task is done without some pages, which `allow_partial` accepts.
  var isPartial: Bool { state == .done && error?.hasPrefix(CompletenessCheck.prefix) == true }
  /// Whether a connection of the task has more pages than were requested.
  var isIncomplete: Bool {
    state == .failed && error?.hasPrefix(CompletenessCheck.prefix) == true
  }

  /// The columns of `tasks` that ``init(_:)`` reads: all but the cursor, which may have parts.
  static let journalColumns =
    "tasks.id, op, key, state, page, attempts, http, ended, ms, bytes, records, error"

  /// Reads the record of a task in a journal.
  init(_ row: GRDB.Row) throws {
    try self.init(
      id: TaskID(row.decode(Data.self, atIndex: 0)), operation: row.decode(atIndex: 1),
      key: row.decode(atIndex: 2), state: TaskState(rawValue: row.decode(atIndex: 3)) ?? .queued,
      page: row.count(4), attempts: row.count(5), http: row.decode(atIndex: 6),
      ended: row.time(7), milliseconds: row.time(8), bytes: row.count(9),
      records: row.count(10), error: row.decode(atIndex: 11))
  }
}

/// The progress of writing a file sink.
struct SinkPosition: Sendable {
  /// The path relative to the manifest's folder; `-` is standard output.
  var path: String
  /// The number of bytes written.
  var position: Int
  var records: Int
  /// For standard output redirected to a file: the identity of the file, and the end of the results
  /// in it.
  var file: String?
  var isPublished = false
  /// The checksum of the bytes before `position`; `nil` in journals of older versions.
  var checksum: Checksum?
}

/// The number of tasks in each state.
public struct TaskCounts: Sendable, Equatable {
  /// The counts by state; states without tasks may be absent.
  public var byState: [TaskState: Int] = [:]

  /// The number of tasks in `state`.
  public subscript(state: TaskState) -> Int { byState[state] ?? 0 }
  /// The number of tasks that are done, failed, unknown or skipped.
  public var ended: Int { self[.done] + self[.failed] + self[.unknown] + self[.skipped] }
  /// The number of all tasks.
  public var total: Int { byState.values.reduce(0, +) }
}

extension Journal {
  /// The record of a task. Creates the index on the calling thread unless ``index()`` did before.
  func task(_ id: TaskID) throws -> TaskUpdate? {
    if !isIndexed { try makeIndex() }
    return try read { db in
      let statement = try db.cachedStatement(
        sql: """
          SELECT \(TaskUpdate.journalColumns), coalesce(cursor, (
              SELECT group_concat(text, '') FROM (SELECT text FROM cursors WHERE id = ?1 ORDER BY part)
            ))
          FROM tasks WHERE id = ?1
          """)
      guard let row = try GRDB.Row.fetchOne(statement, arguments: [Data(id.bytes)]) else {
        return nil
      }
      var update = try TaskUpdate(row)
      update.cursor = try row.decode(atIndex: 12)
      return update
    }
  }

  /// Calls `body` with the id of every task and its end time, in seconds since 1970.
  func forEachTask(_ body: (TaskID, Double) -> Void) throws {
    try read { db in
      let rows = try GRDB.Row.fetchCursor(db, sql: "SELECT id, ended FROM tasks")
      while let row = try rows.next() {
        body(TaskID(try row.decode(Data.self, atIndex: 0)), try row.time(1))
      }
    }
  }

  /// Whether tasks have not succeeded and were never sent.
  func hasUnsentTasks() throws -> Bool {
    try read { db in
      try Bool.fetchOne(
        db,
        sql:
          "SELECT EXISTS (SELECT 1 FROM tasks WHERE attempts = 0 AND error IS NOT NULL AND state <> ?)",
        arguments: [TaskState.done.rawValue]) ?? false
    }
  }

  /// Gives the record of a row that could not be sent the id and the key of its task now.
  ///
  /// - Parameter keepsState: Whether it stays failed until its task has ended, as `--only failed` needs it if it is
  ///   interrupted; otherwise it is queued.
  func requeue(_ unsent: TaskID, as item: TaskItem, keepsState: Bool) throws {
    try write { db in
      try db.execute(
        sql: "UPDATE tasks SET id = ?, key = ? WHERE id = ?",
        arguments: [Data(item.id.bytes), item.key, Data(unsent.bytes)])
      guard !keepsState else { return }
      try db.execute(
        sql: "UPDATE tasks SET state = ?, error = NULL WHERE id = ?",
        arguments: [TaskState.queued.rawValue, Data(item.id.bytes)])
    }
  }

  /// The numbers of tasks.
  func counts() throws -> TaskCounts {
    try read { db in
      var counts = TaskCounts()
      let rows = try GRDB.Row.fetchCursor(
        db, sql: "SELECT state, count(*) FROM tasks GROUP BY state")
      while let row = try rows.next() {
        if let state = TaskState(rawValue: try row.decode(atIndex: 0)) {
          counts.byState[state] = try row.decode(atIndex: 1)
        }
      }
      return counts
    }
  }

  func sinks() throws -> [String: SinkPosition] {
    try read { db in
      var result: [String: SinkPosition] = [:]
      for row in try GRDB.Row.fetchAll(db, sql: "SELECT * FROM sinks") {
        let path: String = try row.decode(forColumn: "path")
        let checksum =
          row.hasColumn("checksum") ? try row.decode(Int64?.self, forColumn: "checksum") : nil
        // In a damaged journal, it may be so large that nothing can be added to it.
        let position: Int = try row.decode(forColumn: "position")
        result[path] = try SinkPosition(
          path: path, position: min(position, 1 << 60),
          records: row.count(of: "records"), file: row.decode(forColumn: "header"),
          isPublished: row.decode(forColumn: "published"),
          checksum: checksum.map { Checksum(UInt32(truncatingIfNeeded: $0)) })
      }
      return result
    }
  }

  func captures(operation: Int, key: String) throws -> JSONObject? {
    try read { db in
      try String.fetchOne(
        db, sql: "SELECT data FROM captures WHERE op = ? AND key = ?", arguments: [operation, key])
    }.flatMap { try? JSONValue(parsing: $0).objectValue }
  }

  /// The values that the needs of a task captured, by operation: those of the same key, or of an operation without rows.
  ///
  /// - Parameter numbers: The journal's number of each operation, by index.
  func captures(
    of needs: [Int], in manifest: Manifest, _ numbers: [Int], key: String
  ) throws -> [String: JSONObject] {
    var result: [String: JSONObject] = [:]
    for need in needs where !manifest.operations[need].capture.isEmpty {
      result[manifest.operations[need].id] =
        try captures(operation: numbers[need], key: key)
        ?? captures(operation: numbers[need], key: "")
    }
    return result
  }

  /// The next rows captured by an operation, at most `limit`, each with its `key`.
  func captures(operation: Int, after key: String?, limit: Int) throws -> [JSONObject] {
    try read { db in
      let rows = try GRDB.Row.fetchAll(
        db,
        sql: """
          SELECT key, data FROM captures WHERE op = ?1 AND (?2 IS NULL OR key > ?2)
          ORDER BY key LIMIT ?3
          """, arguments: [operation, key, limit])
      return try rows.map { row in
        let data: String = try row.decode(atIndex: 1)
        var object = (try? JSONValue(parsing: data))?.objectValue ?? JSONObject()
        object["key"] = .string(try row.decode(atIndex: 0))
        return object
      }
    }
  }

  func bookmarks() throws -> [String: (operation: Int, value: JSONValue)] {
    try read { db in
      var result: [String: (operation: Int, value: JSONValue)] = [:]
      for row in try GRDB.Row.fetchAll(db, sql: "SELECT name, op, data FROM bookmarks") {
        let data: String = try row.decode(atIndex: 2)
        try result[row.decode(atIndex: 0)] = (
          row.decode(atIndex: 1), (try? JSONValue(parsing: data)) ?? .null
        )
      }
      return result
    }
  }

  func meta(_ name: String) throws -> String? {
    try read {
      try String.fetchOne($0, sql: "SELECT value FROM meta WHERE name = ?", arguments: [name])
    }
  }

  func set(_ values: [String: String]) throws {
    try write { db in
      for (name, value) in values {
        try db.execute(sql: "INSERT OR REPLACE INTO meta VALUES (?, ?)", arguments: [name, value])
      }
    }
  }

  /// The numbers of the operations in the given order; new operations get a number.
  func register(_ ids: [String]) throws -> [Int] {
    var numbers: [Int] = []
    try write { db in
      for id in ids {
        if let known = try Int.fetchOne(
          db, sql: "SELECT number FROM operations WHERE id = ?", arguments: [id])
        {
          numbers.append(known)
        } else {
          try db.execute(sql: "INSERT INTO operations (id) VALUES (?)", arguments: [id])
          numbers.append(Int(db.lastInsertedRowID))
        }
      }
    }
    return numbers
  }

  /// The ids of the operations, in the order of their numbers.
  func operationNames() throws -> [String] {
    try read { try String.fetchAll($0, sql: "SELECT id FROM operations ORDER BY number") }
  }
}

/// The changes that are recorded in one transaction.
struct JournalStep: Sendable {
  var tasks: [TaskUpdate] = []
  var captures: [(operation: Int, key: String, data: String)] = []
  var bookmarks: [String: (operation: Int, value: JSONValue)] = [:]
  var sinks: [SinkPosition] = []
  /// The tables of SQLite databases that have changed.
  var tables: [OutputID: (step: Int, counts: TableSink.Counts)] = [:]
  var gaps: [EventGap] = []
  /// The rows that were added to files of tables, and how many were not, because the file had them.
  var keys: [RowKeys.Key] = []
  var repeated: [OutputID: Int] = [:]

  /// Adds the state of a task. Several of one task in a row are joined.
  mutating func add(_ update: TaskUpdate) {
    if tasks.last?.id == update.id {
      tasks[tasks.count - 1].add(update)
    } else {
      tasks.append(update)
    }
  }
}

extension Journal {
  func record(_ step: JournalStep) throws {
    // Only one actor records, so the rows do not change in between.
    var open = openRows.withLock { $0 }
    try write { db in
      // Without an index, only the row number identifies a task that was recorded before; with one,
      // both.
      var task = try RowStatement(
        db,
        sql: """
          INSERT OR REPLACE INTO tasks (rowid, id, op, key, state, page, attempts, http, ended, ms, bytes,
            records, cursor, error) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
          """)
      for update in step.tasks {
        task.bind(open[update.id])
        task.bind(update.id)
        task.bind(update.operation)
        task.bind(update.key)
        task.bind(update.state.rawValue)
        task.bind(update.page)
        task.bind(update.attempts)
        task.bind(update.http)
        task.bind(update.ended)
        task.bind(update.milliseconds)
        task.bind(update.bytes)
        task.bind(update.records)
        task.bind(update.part == nil ? update.cursor : nil)
        task.bind(update.error)
        try task.run()
        open[update.id] = update.isFinal ? nil : db.lastInsertedRowID
        try Self.recordPart(of: update, in: db)
      }
      for capture in step.captures {
        try db.cachedStatement(sql: "INSERT OR REPLACE INTO captures VALUES (?, ?, ?)")
          .execute(arguments: [capture.operation, capture.key, capture.data])
      }
      for (name, bookmark) in step.bookmarks {
        try db.execute(
          sql: "INSERT OR REPLACE INTO bookmarks VALUES (?, ?, ?)",
          arguments: [name, bookmark.operation, bookmark.value.jsonText()])
      }
      let sink = try db.cachedStatement(
        sql: "INSERT OR REPLACE INTO sinks VALUES (?, ?, ?, ?, ?, ?)")
      for position in step.sinks {
        try sink.execute(arguments: [
          position.path, position.position, position.records, position.file,
          position.isPublished, position.checksum.map { Int64($0.value) },
        ])
      }
      for (id, table) in step.tables {
        try db.cachedStatement(
          sql:
            "UPDATE outputs SET step = ?, records = ?, repeated = ? WHERE path = ? AND name = ?"
        ).execute(arguments: [
          table.step, table.counts.records, table.counts.repeated, id.path, id.table,
        ])
      }
      for gap in step.gaps { try Self.insert(gap, db) }
      try Self.record(step.keys, repeated: step.repeated, in: db)
    }
    openRows.withLock { $0 = open }
  }
}

extension Journal {
  private static func recordPart(of update: TaskUpdate, in db: Database) throws {
    guard let part = update.part else { return }
    let id = Data(update.id.bytes)
    try db.cachedStatement(sql: "DELETE FROM cursors WHERE id = ? AND part >= ?")
      .execute(arguments: [id, part])
    guard let cursor = update.cursor else { return }
    try db.cachedStatement(sql: "INSERT INTO cursors VALUES (?, ?, ?)")
      .execute(arguments: [id, part, cursor])
  }

  /// Records the rows that were added to files of tables.
  private static func record(
    _ keys: [RowKeys.Key], repeated: [OutputID: Int], in db: Database
  ) throws {
    var statement = try RowStatement(db, sql: "INSERT INTO row_keys VALUES (?, ?, ?, ?)")
    for key in keys {
      statement.bind(key.operation)
      statement.bind(key.table)
      statement.bind(key.key.string)
      statement.bind(key.parent.string)
      try statement.run()
    }
    for (output, count) in repeated {
      try db.execute(
        sql: "UPDATE outputs SET repeated = repeated + ? WHERE path = ? AND name = ?",
        arguments: [count, output.path, output.table])
    }
  }

  /// Adds the tasks of another journal; operations that this one does not have are left out.
  func add(tasksOf path: String) throws {
    try read { try $0.execute(sql: "ATTACH DATABASE ? AS other", arguments: [path]) }
    defer { try? read { try $0.execute(sql: "DETACH DATABASE other") } }
    let columns = "key, state, page, attempts, http, ended, ms, bytes, records, cursor, error"
    try write { db in
      do {
        try db.execute(
          sql: """
            INSERT INTO main.tasks (id, op, \(columns))
            SELECT tasks.id, own.number, \(columns) FROM other.tasks AS tasks
            JOIN other.operations AS named ON named.number = tasks.op
            JOIN main.operations AS own ON own.id = named.id ORDER BY tasks.rowid
            """)
        if try Self.otherHas("cursors", db) {
          try db.execute(sql: "INSERT OR IGNORE INTO main.cursors SELECT * FROM other.cursors")
        }
      } catch let error as DatabaseError where error.resultCode == .SQLITE_CORRUPT {
        throw JournalError(
          "the journal \(path) cannot be read: \(error.message ?? "it is damaged")")
      }
    }
  }

  /// Whether the attached journal has a table. Those of older versions do not have all.
  private static func otherHas(_ table: String, _ db: Database) throws -> Bool {
    try Bool.fetchOne(
      db, sql: "SELECT count(*) > 0 FROM other.sqlite_schema WHERE name = ?", arguments: [table])
      ?? false
  }

  /// Adds the rows that files of tables have by another journal. A row that both have is in the joined file twice.
  ///
  /// - Throws: ``JournalError`` for an object that another parent has already, unless its table is shared.
  func add(rowsOf path: String, _ relations: [TableRelation]) throws {
    try read { try $0.execute(sql: "ATTACH DATABASE ? AS other", arguments: [path]) }
    defer { try? read { try $0.execute(sql: "DETACH DATABASE other") } }
    guard try read({ try Self.otherHas("row_keys", $0) }) else { return }
    let rows = """
      FROM other.row_keys AS theirs JOIN other.operations AS named ON named.number = theirs.op
      JOIN main.operations AS own ON own.id = named.id
      """
    for relation in relations where !relation.isShared {
      let second = try read {
        try GRDB.Row.fetchOne(
          $0,
          sql: """
            SELECT theirs.key, ours.parent, theirs.parent \(rows)
            JOIN main.row_keys AS ours ON ours.op = own.number AND ours.tbl = theirs.tbl
              AND ours.key = theirs.key AND ours.parent <> theirs.parent
            WHERE own.id = ? AND theirs.tbl = ? LIMIT 1
            """, arguments: [relation.operation, relation.table.name])
      }
      guard let second else { continue }
      let texts = try (0..<3).map { try second.decode(String.self, atIndex: $0) }
      throw JournalError(relation.secondParent(texts[0], first: texts[1], second: texts[2]))
    }
    try write {
      try $0.execute(
        sql:
          "INSERT OR IGNORE INTO main.row_keys SELECT own.number, theirs.tbl, theirs.key, theirs.parent \(rows)"
      )
    }
  }

  /// Whether all tasks of an operation are done, and none lacks anything.
  func isComplete(operation: Int) throws -> Bool {
    try read {
      try Bool.fetchOne(
        $0,
        sql: "SELECT count(*) = 0 FROM tasks WHERE op = ? AND (state <> ? OR error IS NOT NULL)",
        arguments: [operation, TaskState.done.rawValue]) ?? false
    }
  }

  /// Throws if the journal is that of another batch: names of journals have only the letters and digits of its name.
  func require(_ manifest: Manifest) throws {
    guard let name = try meta("name"), name != manifest.name else { return }
    throw JournalError(
      "the journal \(path) is that of `\(name)`, and not of `\(manifest.name)`; give one of the two another `name`, or "
        + "another folder with `journal`")
  }

  /// Records the end of a run of a manifest.
  func setEnded(_ manifest: Manifest, at time: Double, stop: StopReason? = nil) throws {
    try set([
      "name": manifest.name, "manifest": manifest.file, "ended": "\(time)",
      "stop": stop?.rawValue ?? "",
    ])
  }
}

/// Identifies an output of a run.
struct OutputID: Hashable, Sendable {
  /// The path; in a journal relative to the manifest's folder.
  var path: String
  /// The table of a database; empty for a file.
  var table = ""
}

/// One output of a run, as the journal records it before the run writes to it.
struct OutputRecord: Sendable, Equatable {
  /// The path relative to the manifest's folder.
  var path: String
  /// The table of a database; empty for a file.
  var name = ""
  /// The kind with all settings that determine the meaning of the bytes: `csv code,name`.
  var format: String
  /// The content written for each operation: `users` → `records user`.
  var takes: [String: String] = [:]
  /// Identifies a cache file; `nil` for other outputs.
  var identity: String?
  /// For a table: the last step of the run that changed it.
  var step = 0
  /// For a table: its rows.
  var counts = TableSink.Counts()

  var id: OutputID { OutputID(path: path, table: name) }

  /// The name of the output in messages.
  var shown: String { name.isEmpty ? path : "table `\(name)` of \(path)" }
}

extension Journal {
  /// The outputs of the run, sorted by path; empty in journals of older versions.
  func outputs() throws -> [OutputRecord] {
    try read { db in
      guard try db.tableExists("outputs") else { return [] }
      return try GRDB.Row.fetchAll(db, sql: "SELECT * FROM outputs ORDER BY path, name").map {
        row in
        try OutputRecord(
          path: row.decode(forColumn: "path"), name: row.decode(forColumn: "name"),
          format: row.decode(forColumn: "format"),
          takes: Self.takes(row.decode(forColumn: "takes")),
          identity: row.decode(forColumn: "identity"), step: row.count(of: "step"),
          counts: TableSink.Counts(
            records: row.count(of: "records"),
            repeated: row.hasColumn("repeated") ? row.count(of: "repeated") : 0))
      }
    }
  }

  private static func takes(_ text: String) -> [String: String] {
    guard let object = (try? JSONValue(parsing: text))?.objectValue else { return [:] }
    return Dictionary(
      object.map { ($0.key, $0.value.stringValue ?? "") }, uniquingKeysWith: { first, _ in first })
  }

  /// Registers outputs. Known outputs keep their progress.
  func register(_ outputs: [OutputRecord]) throws {
    try write { db in
      let statement = try db.cachedStatement(
        sql: """
          INSERT INTO outputs (path, name, format, takes, identity, step, records, repeated)
          VALUES (?, ?, ?, ?, ?, ?, ?, ?)
          ON CONFLICT (path, name) DO UPDATE SET takes = excluded.takes, identity = excluded.identity
          """)
      for output in outputs {
        var takes = JSONObject()
        for (operation, kind) in output.takes { takes[operation] = .string(kind) }
        try statement.execute(arguments: [
          output.path, output.name, output.format, JSONValue.object(takes).canonicalText,
          output.identity, output.step, output.counts.records, output.counts.repeated,
        ])
      }
    }
  }

  /// The identity of this journal, created on first use.
  func identity() throws -> String {
    if let known = try meta("id") { return known }
    let made = UUID().uuidString
    try set(["id": made])
    return made
  }

  /// The ids of the operations with a recorded page or a finished task.
  func operationsWithResults() throws -> Set<String> {
    try read { db in
      try String.fetchSet(
        db,
        sql: """
          SELECT id FROM operations WHERE number IN (
            SELECT DISTINCT op FROM tasks WHERE page > 0 OR state <> 0)
          """)
    }
  }
}

/// A time in which events of a subscription may have been missed, because nothing was connected.
struct EventGap: Sendable, Equatable {
  /// The journal's number of the operation.
  var operation: Int
  var key: String
  /// The number of events of the task before the gap.
  var events: Int
  /// When the connection was lost, in seconds since 1970.
  var since: Double
  /// When the subscription was connected again, in seconds since 1970.
  var until: Double
  /// Why the connection was lost; `nil` for the time between two runs.
  var cause: String?

  /// The operation with the key of the task, if it has one.
  func task(of operation: String) -> String {
    key.isEmpty ? operation : "\(operation) \(key)"
  }

  private func time(_ seconds: Double) -> String {
    Date(timeIntervalSince1970: seconds).formatted(.iso8601)
  }

  /// The gap as a line of JSON with its task, for outputs with events.
  ///
  /// - Parameter id: The operation's id.
  func gapLine(of id: String) -> [UInt8] {
    SubscriptionGap(since: since, lostConnection: true).gapLine(
      cause: cause, until: until,
      others: [
        "op": .string(id), "key": .string(key), "events": .number(JSONNumber(events)),
      ]) + [0x0A]
  }

  /// The gap in words, without its task.
  var text: String {
    "events from \(time(since)) to \(time(until)) may be missing, after "
      + "\(Quantity.count(events, "event")): \(cause ?? "no run was listening")"
  }
}

extension Journal {
  static func insert(_ gap: EventGap, _ db: Database) throws {
    try db.cachedStatement(sql: "INSERT INTO gaps VALUES (?, ?, ?, ?, ?, ?)")
      .execute(arguments: [gap.operation, gap.key, gap.events, gap.since, gap.until, gap.cause])
  }

  /// The number of gaps, and the first ones with the ids of their operations.
  ///
  /// - Parameter limit: The maximum number of gaps.
  func gaps(limit: Int) throws -> (count: Int, first: [(operation: String, gap: EventGap)]) {
    try read { db in
      // Journals of older versions have no gaps.
      guard try db.tableExists("gaps") else { return (0, []) }
      let rows = try GRDB.Row.fetchAll(
        db,
        sql: """
          SELECT operations.id, op, key, events, since, until, cause FROM gaps
          JOIN operations ON operations.number = gaps.op ORDER BY gaps.rowid LIMIT ?
          """, arguments: [limit])
      let first = try rows.map { row in
        (
          operation: try row.decode(String.self, atIndex: 0),
          gap: try EventGap(
            operation: row.decode(atIndex: 1), key: row.decode(atIndex: 2),
            events: row.count(3), since: row.time(4), until: row.time(5),
            cause: row.decode(atIndex: 6))
        )
      }
      return (try Int.fetchOne(db, sql: "SELECT count(*) FROM gaps") ?? 0, first)
    }
  }
}
