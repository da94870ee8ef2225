import Foundation
import GQLRunSupport
import GRDB

/// A database that sinks write to: one connection for all tables, and one transaction per step.
final class TableFile {
  let path: String
  private let queue: DatabaseQueue
  private var isOpen = false

  /// - Parameter mustExist: Whether an earlier part of the run has written to the database.
  init(path: String, base: OutputPath, mustExist: Bool = false) throws {
    self.path = path
    guard !mustExist || FileManager.default.fileExists(atPath: path) else {
      throw StoppedByStorage(
        refusing:
          "cannot continue \(path): there is no such file, and the journal recorded rows in it: "
          + "restore the database, or start without --resume")
    }
    try FileSink.makeFolder(of: path)
    guard (try? base.resolve(base.relative(path))) != nil else {
      throw StoppedByStorage(message: "\(path) lies outside of the manifest's folder")
    }
    var configuration = Configuration()
    configuration.busyMode = .timeout(30)
    // A transaction stays open from the first row of a step to its end.
    configuration.allowsUnsafeTransactions = true
    configuration.prepareDatabase { db in
      try db.execute(sql: "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL")
    }
    do {
      queue = try DatabaseQueue(path: path, configuration: configuration)
    } catch {
      throw Self.problem(path, error)
    }
  }

  /// The first table that must not be written without the user's consent, with the reason; `nil` if
  /// all tables are new or were created by a batch.
  ///
  /// A batch creates an index named after each of its tables.
  static func foreign(_ path: String, tables: [String]) -> (index: Int, reason: String)? {
    guard let status = FileStatus(path), status.size > 0 else { return nil }
    var configuration = Configuration()
    configuration.readonly = true
    configuration.busyMode = .timeout(10)
    do {
      return try DatabaseQueue(path: path, configuration: configuration).read { db in
        let application = try Int32.fetchOne(db, sql: "PRAGMA application_id") ?? 0
        guard application == 0 else {
          return (
            0, "the database \(path) belongs to an application (application_id \(application))"
          )
        }
        for (index, table) in tables.enumerated() where try isForeign(db, table) {
          return (
            index, "the table `\(table)` of \(path) already exists, and was not created by a batch"
          )
        }
        return nil
      }
    } catch {
      return (
        0,
        "\(path) already exists, and cannot be used as a SQLite database: \(problem(path, error))"
      )
    }
  }

  private static func isForeign(_ db: Database, _ table: String) throws -> Bool {
    let isThere =
      try Bool.fetchOne(
        db, sql: "SELECT count(*) > 0 FROM sqlite_schema WHERE lower(name) = lower(?)",
        arguments: [table]) ?? false
    let isOurs =
      try Bool.fetchOne(
        db,
        sql:
          "SELECT count(*) > 0 FROM sqlite_schema WHERE type = 'index' AND lower(tbl_name) = lower(?1) "
          + "AND lower(substr(name, 1, length(?2))) = lower(?2)",
        arguments: [table, "gqlrun_\(table)_"]) ?? false
    return isThere && !isOurs
  }

  /// Compares a table with what a journal recorded, without changing it.
  static func verify(_ path: String, table: String, step: Int, journal: String) throws {
    var configuration = Configuration()
    configuration.readonly = true
    configuration.busyMode = .timeout(10)
    do {
      try DatabaseQueue(path: path, configuration: configuration).read { db in
        let name = try String.fetchOne(
          db, sql: "SELECT owner FROM \(TableMarker.tableName) WHERE name = ? AND journal = ?",
          arguments: [table, journal])
        let marker = TableMarker(
          table: table,
          columns: try String.fetchAll(
            db, sql: "SELECT name FROM pragma_table_info(?)", arguments: [table]),
          owner: TableMarker.Owner(name: name ?? "", journal: journal))
        _ = try marker.verified(db, path: path, step: step)
      }
    } catch {
      throw problem(path, error)
    }
  }

  /// Runs `body` in the transaction of the step.
  func change<Result>(_ body: (Database) throws -> Result) throws -> Result {
    do {
      return try queue.inDatabase { db in
        if !isOpen {
          try db.beginTransaction(.immediate)
          isOpen = true
        }
        return try body(db)
      }
    } catch {
      throw Self.problem(path, error)
    }
  }

  /// Commits the step durably.
  func sync() throws {
    guard isOpen else { return }
    do {
      try queue.inDatabase { try $0.commit() }
      isOpen = false
    } catch {
      throw Self.problem(path, error)
    }
  }

  func close() {
    if isOpen { try? queue.inDatabase { try $0.rollback() } }
    isOpen = false
    try? queue.close()
  }

  static func problem(_ path: String, _ error: any Error) -> any Error {
    guard let error = error as? DatabaseError else { return error }
    return StoppedByStorage(
      message: "cannot write \(path): \(error.message ?? "SQLite error \(error.resultCode)")")
  }
}

/// A sink that writes rows into a table of a SQLite database.
///
/// With a key, a record replaces the one with the same key. Without a key, rows carry their task,
/// and rows of an earlier attempt of the task are deleted first. Either way, a task that is
/// repeated after a crash leaves each record once.
final class TableSink {
  private let file: TableFile
  private let table: String
  private let columns: [String]
  private let key: [String]
  /// The pages of tasks whose earlier rows were deleted in this step.
  private var cleared: Set<String> = []
  private let marker: TableMarker
  private var hasChanged = false
  private var step: Int
  private var records: Int

  /// Opens or creates the table.
  ///
  /// - Parameter recorded: The journal's record of the table; `nil` at the start of a run.
  /// - Throws: ``StoppedByStorage`` if the table cannot be used or differs from what the journal
  ///   recorded.
  init(
    _ file: TableFile, table: String, columns: [String], key: [String], owner: TableMarker.Owner,
    recorded: OutputRecord? = nil
  ) throws {
    self.file = file
    self.table = table
    self.columns = columns
    self.key = key
    let all = key.isEmpty ? columns + ["_task"] : columns
    let marker = TableMarker(table: table, columns: all, owner: owner)
    self.marker = marker
    step = recorded?.step ?? 0
    records = recorded?.records ?? 0
    step = try file.change { [step] db in
      let found = step > 0 ? try marker.verified(db, path: file.path, step: step) : 0
      let definitions = all.map { $0.quotedForSQLite }.joined(separator: ", ")
      try db.execute(sql: "CREATE TABLE IF NOT EXISTS \(table.quotedForSQLite) (\(definitions))")
      // SQLite ignores the case of ASCII letters in names.
      let known = Set(
        try String.fetchAll(
          db, sql: "SELECT lower(name) FROM pragma_table_info(?)", arguments: [table]))
      for column in all where !known.contains(column.asciiLowercased) {
        try db.execute(
          sql: "ALTER TABLE \(table.quotedForSQLite) ADD COLUMN \(column.quotedForSQLite)")
      }
      let name = "gqlrun_\(table)_\(key.isEmpty ? "_task" : key.joined(separator: "_"))"
      let on = (key.isEmpty ? ["_task"] : key).map { $0.quotedForSQLite }.joined(separator: ", ")
      try db.execute(
        sql: "CREATE \(key.isEmpty ? "" : "UNIQUE ")INDEX IF NOT EXISTS \(name.quotedForSQLite) "
          + "ON \(table.quotedForSQLite) (\(on))")
      if found == 0 { try marker.write(db, step: 0) }
      return found
    }
  }

  /// Adds a row to the transaction of the step.
  func append(_ row: [SQLValue], unit: String) throws {
    hasChanged = true
    records += 1
    try file.change { db in
      if key.isEmpty, cleared.insert(unit).inserted {
        // The first page of a task deletes all rows of its earlier attempts.
        let range = unit.hasSuffix(".1") ? (unit.dropLast(1), unit.dropLast(2) + "/") : nil
        try db.cachedStatement(
          sql:
            "DELETE FROM \(table.quotedForSQLite) WHERE _task = ?1 OR (_task > ?2 AND _task < ?3)"
        ).execute(arguments: [unit, range.map { String($0.0) }, range.map { String($0.1) }])
      }
      let values: [(any DatabaseValueConvertible)?] = row.map { Self.argument($0) }
      try db.cachedStatement(sql: insertion).execute(arguments: StatementArguments(values))
    }
  }

  /// Ends the step within its transaction. Returns the new position if rows were added.
  func endStep(_ name: String) throws -> TablePosition? {
    cleared.removeAll(keepingCapacity: true)
    guard hasChanged else { return nil }
    hasChanged = false
    step += 1
    try file.change { [step] db in try marker.write(db, step: step) }
    return TablePosition(path: name, name: table, step: step, records: records)
  }

  private lazy var insertion: String = {
    let all = key.isEmpty ? columns + ["_task"] : columns
    let names = all.map { $0.quotedForSQLite }.joined(separator: ", ")
    let marks = all.map { _ in "?" }.joined(separator: ", ")
    let insert = "INSERT INTO \(table.quotedForSQLite) (\(names)) VALUES (\(marks))"
    guard !key.isEmpty else { return insert }
    let others = columns.filter { !key.contains($0) }
    let conflict = "ON CONFLICT (\(key.map { $0.quotedForSQLite }.joined(separator: ", "))) DO "
    guard !others.isEmpty else { return "\(insert) \(conflict)NOTHING" }
    let updates = others.map { "\($0.quotedForSQLite) = excluded.\($0.quotedForSQLite)" }
    return "\(insert) \(conflict)UPDATE SET \(updates.joined(separator: ", "))"
  }()

  private static func argument(_ value: SQLValue) -> (any DatabaseValueConvertible)? {
    switch value {
    case .null: nil
    case .integer(let number): number
    case .real(let number): number
    case .text(let text): text
    }
  }
}
