import Foundation
import GQLRunJSON
import GQLRunLanguage
import GQLRunPipeline
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
    do {
      return try DatabaseQueue(path: path, configuration: .reading).read { db in
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
    do {
      try DatabaseQueue(path: path, configuration: .reading).read { db in
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

extension Configuration {
  /// The configuration of a connection that only reads, and waits for writers.
  static var reading: Self {
    var configuration = Self()
    configuration.readonly = true
    configuration.busyMode = .timeout(10)
    return configuration
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
      try db.execute(
        sql: "CREATE TABLE IF NOT EXISTS \(table.quotedForSQL) (\(SQLText.list(all)))")
      // SQLite ignores the case of ASCII letters in names.
      let known = Set(
        try String.fetchAll(
          db, sql: "SELECT lower(name) FROM pragma_table_info(?)", arguments: [table]))
      for column in all where !known.contains(column.asciiLowercased) {
        try db.execute(
          sql: "ALTER TABLE \(table.quotedForSQL) ADD COLUMN \(column.quotedForSQL)")
      }
      let name = "gqlrun_\(table)_\(key.isEmpty ? "_task" : key.joined(separator: "_"))"
      let on = SQLText.list(key.isEmpty ? ["_task"] : key)
      try db.execute(
        sql: "CREATE \(key.isEmpty ? "" : "UNIQUE ")INDEX IF NOT EXISTS \(name.quotedForSQL) "
          + "ON \(table.quotedForSQL) (\(on))")
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
            "DELETE FROM \(table.quotedForSQL) WHERE _task = ?1 OR (_task > ?2 AND _task < ?3)"
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
    let names = SQLText.list(all)
    let marks = all.map { _ in "?" }.joined(separator: ", ")
    let insert = "INSERT INTO \(table.quotedForSQL) (\(names)) VALUES (\(marks))"
    return insert + SQLText.replacing(columns, key: key)
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

/// A row per record, for sinks that write tables.
struct TableRows: ResultFormat {
  let emit: ResultPath?
  let columns: RecordColumns
  /// The indices of the key columns.
  let key: [Int]
  /// The value of a column.
  let cell: @Sendable (JSONValue?) -> SQLValue

  var mayRefuse: Bool { !key.isEmpty || columns.mayRefuse }

  func pieces(
    of data: (any ResultData)?, line: [UInt8], task: @autoclosure () -> String,
    _ write: (SinkPiece) throws -> Void
  ) throws {
    var found = Array(repeating: false, count: columns.paths.count)
    try data?.forEachValue(at: emit) { record in
      var row = try columns.cells(of: JSONValue(parsing: record), &found).map(cell)
      for index in key {
        if case .null = row[index] {
          throw TaskProblem(
            "a record has no value for the key column `\(columns.paths[index]?.description ?? "")`; "
              + "select it, or choose another key")
        }
      }
      if key.isEmpty { row.append(.text(task())) }
      try write(.row(row))
    }
  }
}

/// The row in which a database records which run wrote a table, and up to which step.
///
/// It changes in the transaction that adds the rows, so a database that was replaced, restored from
/// an older copy or emptied does not match the journal.
struct TableMarker: Sendable {
  /// The run that owns the rows.
  struct Owner: Sendable {
    /// The name of the manifest, with the shard.
    var name: String
    /// The identity of the journal.
    var journal: String
  }

  /// The table that contains the markers of a database.
  static let tableName = "gqlrun_outputs"

  let table: String
  let owner: Owner
  /// A name of the row id that no column shadows; `nil` if there is none.
  private let rowID: String?

  init(table: String, columns: [String], owner: Owner) {
    self.table = table
    self.owner = owner
    let names = Set(columns.map(\.asciiLowercased))
    rowID = ["rowid", "_rowid_", "oid"].first { !names.contains($0) }
  }

  /// The last step of this run in the database.
  ///
  /// - Parameter step: The last step in the journal; the database may be one step ahead.
  func verified(_ db: Database, path: String, step: Int) throws -> Int {
    guard try Self.exists(db, table), try Self.exists(db, Self.tableName),
      let row = try GRDB.Row.fetchOne(
        db, sql: "SELECT journal, step, top FROM \(Self.tableName) WHERE name = ? AND owner = ?",
        arguments: [table, owner.name]),
      row["journal"] == owner.journal
    else {
      throw refusal(path, "it is not the one that the earlier part of the run wrote")
    }
    let found: Int = row["step"]
    guard found >= step else {
      throw refusal(path, "it is older than the journal, which recorded later rows")
    }
    if let top = row["top"] as Int64?, try self.top(db) ?? 0 < top {
      throw refusal(path, "rows that the journal recorded were removed")
    }
    return found
  }

  /// Records a step.
  func write(_ db: Database, step: Int) throws {
    if step == 0 {
      try db.execute(
        sql: """
          CREATE TABLE IF NOT EXISTS \(Self.tableName) (
            name TEXT NOT NULL, owner TEXT NOT NULL, journal TEXT NOT NULL, step INTEGER NOT NULL,
            top INTEGER, PRIMARY KEY (name, owner)
          ) WITHOUT ROWID
          """)
    }
    try db.cachedStatement(
      sql:
        "INSERT OR REPLACE INTO \(Self.tableName) (name, owner, journal, step, top) VALUES (?, ?, ?, ?, ?)"
    ).execute(arguments: [table, owner.name, owner.journal, step, try top(db)])
  }

  /// The highest row id; `nil` for an empty table or one without row ids.
  private func top(_ db: Database) throws -> Int64? {
    guard let rowID else { return nil }
    return try? Int64.fetchOne(db, sql: "SELECT max(\(rowID)) FROM \(table.quotedForSQL)")
  }

  private func refusal(_ path: String, _ reason: String) -> StoppedByStorage {
    StoppedByStorage(
      refusing:
        "cannot continue the table `\(table)` of \(path): \(reason); restore the database, or start "
        + "without --resume")
  }

  static func exists(_ db: Database, _ table: String) throws -> Bool {
    try Bool.fetchOne(
      db,
      sql: "SELECT count(*) > 0 FROM sqlite_schema WHERE type = 'table' AND lower(name) = lower(?)",
      arguments: [table]) ?? false
  }
}

/// Parts of statements that SQLite and PostgreSQL have in common.
enum SQLText {
  /// Names as a list of quoted identifiers.
  static func list(_ names: [String]) -> String {
    names.map(\.quotedForSQL).joined(separator: ", ")
  }

  /// The end of an insertion of rows that replace those with the same key; empty without a key.
  static func replacing(_ columns: [String], key: [String]) -> String {
    guard !key.isEmpty else { return "" }
    let updates = columns.filter { !key.contains($0) }
      .map { "\($0.quotedForSQL) = excluded.\($0.quotedForSQL)" }
    return " ON CONFLICT (\(list(key))) DO "
      + (updates.isEmpty ? "NOTHING" : "UPDATE SET \(updates.joined(separator: ", "))")
  }
}

extension String {
  /// The name as a quoted identifier of SQL.
  ///
  /// Bytes, because a quotation mark and a combining character after it are one `Character`.
  var quotedForSQL: String {
    "\"\(String(decoding: utf8.flatMap { $0 == 0x22 ? [$0, $0] : [$0] }, as: UTF8.self))\""
  }

  /// The text with ASCII letters in lower case, as SQLite compares names.
  var asciiLowercased: String {
    String(decoding: utf8.map { (0x41...0x5A).contains($0) ? $0 + 0x20 : $0 }, as: UTF8.self)
  }
}

/// A sink that writes one row per record into a table: what the kinds of databases have in common.
protocol TableSettings: Sink {
  /// The table, which may contain `{{op}}`.
  var table: Located<String> { get }
  /// The columns that identify a record.
  var key: [Located<String>] { get }
  /// The location of the option `key`.
  var keyLocation: FileLocation { get }

  /// The value of a cell.
  static func cell(_ value: JSONValue?) -> SQLValue
  /// Why the table cannot have this name; `nil` if it can.
  static func problem(withName name: String) -> String?
}

extension TableSettings {
  /// The columns of an operation's table.
  func columns(of operation: BatchOperation) -> [String] {
    operation.columns + key.map(\.value).filter { !operation.columns.contains($0) }
  }

  func output(of operation: BatchOperation, at path: String) throws(TaskProblem) -> SinkOutput? {
    let key = key.map(\.value)
    let columns = columns(of: operation)
    let name = Self.name + (key.isEmpty ? "" : " key " + key.joined(separator: ","))
    return SinkOutput(
      format: FileFormat(name: name),
      records: TableRows(
        emit: operation.emit, columns: RecordColumns(columns),
        key: key.compactMap { columns.firstIndex(of: $0) }, cell: { Self.cell($0) }),
      table: SinkOutput.Table(
        name: try TextTemplate.filled(table.value, operation.id), columns: columns, key: key))
  }

  func check(
    _ operations: [BatchOperation], at location: FileLocation, schema: Schema?,
    loader: inout ManifestLoader
  ) {
    checkTables(of: operations, at: location, schema, &loader)
  }

  /// Checks the names of the tables and the columns of the key.
  func checkTables(
    of operations: [BatchOperation], at location: FileLocation, _ schema: Schema?,
    _ loader: inout ManifestLoader
  ) {
    _ = loader.textTemplate(table, known: .operationID)
    loader.checkFields(of: operations, Self.name, location: location, schema: schema)
    loader.checkPaths(key, name: "key", of: operations, schema: schema, mustFitAll: true)
    if Set(key.map(\.value)).count < key.count {
      loader.report(.wrongValue, message: "`key` names a column twice", location: keyLocation)
    }
    for operation in operations {
      guard let name = try? TextTemplate.filled(table.value, operation.id),
        let reason = name.isEmpty ? "it is empty" : Self.problem(withName: name)
      else { continue }
      loader.report(
        .wrongValue, message: "`\(name)` cannot be the name of a table: \(reason)",
        location: table.location,
        hint: "name another table")
    }
  }
}
