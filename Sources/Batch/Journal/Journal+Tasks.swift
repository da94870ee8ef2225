import Foundation
import GQLRunJSON
import GQLRunSupport
import GRDB

/// The journal's record of a task.
struct TaskRecord: Sendable {
  var state: TaskState
  /// The number of pages written.
  var page: Int
  var attempts: Int
  /// When the task finished, in seconds since 1970.
  var ended: Double
  /// The cursor or offset of the next page.
  var cursor: String?
  /// The duration of all requests so far.
  var milliseconds = 0.0
  var bytes = 0
  var records = 0
}

/// The change recorded when a page of a task, or the whole task, has finished.
struct TaskUpdate: Sendable {
  var id: TaskID
  var operation: Int
  var key: String
  var state: TaskState
  var page = 0
  var attempts = 0
  var http: Int?
  /// When the task finished, in seconds since 1970.
  var ended = 0.0
  /// The duration of all requests so far.
  var milliseconds = 0.0
  var bytes = 0
  var records = 0
  var cursor: String?
  var error: String?
  /// The lease under which the task is executed; see ``TaskItem/lease``.
  var lease = 0
}

extension TaskUpdate {
  /// Whether the task is finished; false for a mutation that is about to be sent.
  var isFinal: Bool { state != .running && state != .queued && ended > 0 }
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
  func task(_ id: TaskID) throws -> TaskRecord? {
    if !isIndexed { try makeIndex() }
    return try read { db in
      let statement = try db.cachedStatement(
        sql: """
          SELECT state, page, attempts, ended, cursor, ms, bytes, records FROM tasks WHERE id = ?
          """)
      guard let row = try GRDB.Row.fetchOne(statement, arguments: [Data(id.bytes)]) else {
        return nil
      }
      return TaskRecord(
        state: TaskState(rawValue: row[0]) ?? .queued, page: row[1], attempts: row[2],
        ended: row[3], cursor: row[4], milliseconds: row[5], bytes: row[6], records: row[7])
    }
  }

  /// Calls `body` with the id of every task and its end time, in seconds since 1970.
  func forEachTask(_ body: (TaskID, Double) -> Void) throws {
    try read { db in
      let rows = try GRDB.Row.fetchCursor(db, sql: "SELECT id, ended FROM tasks")
      while let row = try rows.next() {
        let id: Data = row[0]
        body(TaskID(id), row[1])
      }
    }
  }

  /// The counts of one operation, or of all.
  func counts(operation: Int? = nil) throws -> TaskCounts {
    try read { db in
      var counts = TaskCounts()
      let filter = operation.map { " WHERE op = \($0)" } ?? ""
      let rows = try GRDB.Row.fetchCursor(
        db, sql: "SELECT state, count(*) FROM tasks\(filter) GROUP BY state")
      while let row = try rows.next() {
        if let state = TaskState(rawValue: row[0]) { counts.byState[state] = row[1] }
      }
      return counts
    }
  }

  func sinks() throws -> [String: SinkPosition] {
    try read { db in
      var result: [String: SinkPosition] = [:]
      for row in try GRDB.Row.fetchAll(db, sql: "SELECT * FROM sinks") {
        result[row["path"]] = SinkPosition(
          path: row["path"], position: row["position"], records: row["records"],
          file: row["header"], isPublished: row["published"],
          checksum: row.hasColumn("checksum")
            ? (row["checksum"] as Int64?).map { Checksum(UInt32(truncatingIfNeeded: $0)) } : nil)
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
      return rows.map { row in
        let data: String = row[1]
        var object = (try? JSONValue(parsing: data))?.objectValue ?? JSONObject()
        object["key"] = .string(row[0])
        return object
      }
    }
  }

  func bookmarks() throws -> [String: (operation: Int, value: JSONValue)] {
    try read { db in
      var result: [String: (operation: Int, value: JSONValue)] = [:]
      for row in try GRDB.Row.fetchAll(db, sql: "SELECT name, op, data FROM bookmarks") {
        let data: String = row[2]
        result[row[0]] = (row[1], (try? JSONValue(parsing: data)) ?? .null)
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

  func operationNames() throws -> [Int: String] {
    try read { db in
      var names: [Int: String] = [:]
      for row in try GRDB.Row.fetchAll(db, sql: "SELECT number, id FROM operations") {
        names[row[0]] = row[1]
      }
      return names
    }
  }
}

/// The changes that are recorded in one transaction.
struct JournalStep: Sendable {
  var tasks: [TaskUpdate] = []
  var captures: [(operation: Int, key: String, data: String)] = []
  var bookmarks: [String: (operation: Int, value: JSONValue)] = [:]
  var sinks: [SinkPosition] = []
  var tables: [TablePosition] = []
  var gaps: [EventGap] = []
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
        task.bind(update.cursor)
        task.bind(update.error)
        try task.run()
        open[update.id] = update.isFinal ? nil : db.lastInsertedRowID
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
      for table in step.tables {
        try db.cachedStatement(
          sql: "UPDATE outputs SET step = ?, records = ? WHERE path = ? AND name = ?"
        ).execute(arguments: [table.step, table.records, table.path, table.name])
      }
      for gap in step.gaps { try Self.insert(gap, db) }
    }
    openRows.withLock { $0 = open }
  }
}
