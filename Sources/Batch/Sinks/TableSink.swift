import Foundation
import GQLRunCache
import GQLRunJSON
import GQLRunPipeline
import GQLRunSupport
import GRDB

/// A database that sinks write to: one connection for all tables, and one transaction per step.
final class TableFile {
  let path: String
  private let queue: DatabaseQueue
  private let name: DatabaseName
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
    queue = try Self.wrapping(path) {
      let queue = try DatabaseQueue(path: path, configuration: configuration)
      // SQLite creates the log with the first access.
      _ = try queue.inDatabase { try Int.fetchOne($0, sql: "SELECT count(*) FROM sqlite_schema") }
      return queue
    }
    name = DatabaseName(path)
    try checkName()
  }

  /// - Throws: ``StoppedByStorage`` if the database was removed or replaced: the rows would be lost.
  private func checkName() throws {
    guard name.state() == .kept else { throw StoppedByStorage.lost(path) }
  }

  /// The first table that must not be written without the user's consent, with the reason; `nil` if
  /// all tables are new or were created by a batch.
  ///
  /// A batch creates an index named after each of its tables.
  static func foreign(_ path: String, tables: [String]) -> (index: Int, reason: String)? {
    guard let status = FileStatus(path), status.size > 0 else { return nil }
    do {
      return try DatabaseQueue.reading(path) { db in
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
    try Bool.fetchOne(
      db,
      sql: """
        SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE lower(name) = lower(?1))
          AND NOT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'index'
            AND lower(tbl_name) = lower(?1) AND lower(substr(name, 1, length(?2))) = lower(?2))
        """, arguments: [table, "gqlrun_\(table)_"]) ?? false
  }

  /// Compares a table with what a journal recorded, without changing it.
  static func verify(_ path: String, table: String, step: Int, journal: String) throws {
    try wrapping(path) {
      try DatabaseQueue.reading(path) { db in
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
    }
  }

  /// Runs `body` in the transaction of the step.
  func change<Result>(_ body: (Database) throws -> Result) throws -> Result {
    try Self.wrapping(path) {
      try queue.inDatabase { db in
        if !isOpen {
          try checkName()
          try db.beginTransaction(.immediate)
          isOpen = true
        }
        return try body(db)
      }
    }
  }

  /// Runs `body` in the transaction of the step. If it throws, its changes are removed.
  func attempt(_ body: () throws -> Void) throws {
    try change { try $0.execute(sql: "SAVEPOINT outcome") }
    do {
      try body()
      try change { try $0.execute(sql: "RELEASE outcome") }
    } catch {
      try? change { try $0.execute(sql: "ROLLBACK TO outcome; RELEASE outcome") }
      throw error
    }
  }

  /// Commits the step durably.
  func sync() throws {
    guard isOpen else { return }
    try checkName()
    try Self.wrapping(path) { try queue.inDatabase { try $0.commit() } }
    isOpen = false
  }

  deinit {
    if isOpen { try? queue.inDatabase { try $0.rollback() } }
    try? name.close(queue)
  }

  /// The result of `body`, whose error becomes one of the run.
  static func wrapping<Value>(_ path: String, _ body: () throws -> Value) throws -> Value {
    do { return try body() } catch { throw problem(path, error) }
  }

  private static func problem(_ path: String, _ error: any Error) -> any Error {
    if error is RowDecodingError {
      return StoppedByStorage(
        message:
          "cannot write \(path): a value of the table \(TableMarker.tableName) does not have the type of its "
          + "column; restore the database, or start without --resume")
    }
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

  /// The configuration of a connection that reads a journal or an output.
  ///
  /// The connection may write where the files allow it. SQLite removes the files `-wal` and `-shm` when the last such
  /// connection is closed, and a read-only one leaves those that it created
  /// (https://www.sqlite.org/wal.html#read_only_databases). An interrupted run may have left a transaction that SQLite has
  /// to undo first, which needs such a connection, too (https://www.sqlite.org/lockingv3.html#hot_journals).
  static func reader(of path: String) -> Self {
    var configuration = reading
    configuration.readonly =
      access(path, W_OK) != 0 || access(FilePath.folder(of: path), W_OK) != 0
    configuration.prepareDatabase { db in
      try db.execute(sql: "PRAGMA query_only = ON; PRAGMA trusted_schema = OFF")
    }
    return configuration
  }
}

extension DatabaseQueue {
  /// Reads an output.
  static func reading<Value>(
    _ path: String, _ body: (Database) throws -> Value
  ) throws -> Value {
    try DatabaseQueue(path: path, configuration: .reader(of: path)).read(body)
  }
}

/// A sink that writes rows into a table of a SQLite database.
///
/// With a key, a record replaces the one with the same key. Without a key, rows carry their task,
/// and rows of an earlier attempt of the task are deleted first. Either way, a task that is
/// repeated after a crash leaves each record once.
///
/// One of the tables of an operation has a row of its run for each key. The row ids distinguish it from rows of earlier
/// runs: all rows of the run have higher ids than the table had before it.
final class TableSink {
  /// The rows of the run.
  struct Counts: Sendable, Equatable {
    /// The rows of the run; of the tables of an operation, without those that the run has already.
    var records = 0
    /// The rows that the run had already.
    var repeated = 0
  }

  private let file: TableFile
  private let entry: SinkPlan.Entry
  private let table: String
  /// The columns with that of the task.
  private let columns: [String]
  private let key: [String]
  /// The pages of tasks whose earlier rows were deleted in this step.
  private var cleared: Set<String> = []
  private let marker: TableMarker
  private var hasChanged = false
  private var step: Int
  /// The highest row id of earlier runs.
  private let base: Int64
  /// What the step has added so far, too.
  private(set) var counts: Counts

  /// Opens or creates the table.
  ///
  /// - Parameter recorded: The journal's record of the table; `nil` at the start of a run.
  /// - Throws: ``StoppedByStorage`` if the table cannot be used or differs from what the journal
  ///   recorded.
  init(
    _ file: TableFile, _ entry: SinkPlan.Entry, owner: TableMarker.Owner,
    recorded: OutputRecord? = nil
  ) throws {
    self.file = file
    self.entry = entry
    table = entry.table
    key = entry.key
    columns = entry.allColumns
    let marker = TableMarker(table: table, columns: columns, owner: owner)
    self.marker = marker
    guard entry.relation == nil || marker.rowID != nil else {
      throw StoppedByStorage(
        refusing:
          "cannot write the table `\(table)` of \(file.path): its columns hide the names of row ids; give one of `rowid`, "
          + "`_rowid_` and `oid` an alias in the document")
    }
    counts = recorded?.counts ?? Counts()
    let step = recorded?.step ?? 0
    (self.step, base) = try file.change { [columns] db in
      let found = step > 0 ? try marker.verified(db, path: file.path, step: step) : nil
      try TableCreation(entry: entry, columns: columns).create(db, path: file.path)
      guard let found else { return (0, try marker.begin(db)) }
      // The rows of a sink have a key, or their task.
      let known = entry.relation == nil ? found.step : step
      return (found.step, try marker.resume(db, found, after: known))
    }
  }

  /// Adds rows to the transaction of the step.
  ///
  /// - Parameter unit: Identifies the page of the task, for a table without a key.
  /// - Throws: ``RefusedRow`` for a row of a second parent.
  func append(_ rows: [[SQLValue]], unit: String) throws {
    guard !rows.isEmpty || key.isEmpty && !cleared.contains(unit) else { return }
    hasChanged = true
    try file.change { db in
      if key.isEmpty, cleared.insert(unit).inserted { try clear(unit, db) }
      let relation = entry.relation
      var statement = try RowStatement(db, sql: insertion)
      for row in rows {
        try statement.run(row)
        guard let relation, db.changesCount == 0 else {
          counts.records += 1
          continue
        }
        if try replace(with: row, relation, in: db) {
          counts.records += 1
        } else {
          counts.repeated += 1
        }
      }
    }
  }

  /// Deletes the rows of an earlier attempt. The first page of a task deletes those of all pages.
  private func clear(_ unit: String, _ db: Database) throws {
    let range = unit.hasSuffix(".1") ? (unit.dropLast(1), unit.dropLast(2) + "/") : nil
    try db.cachedStatement(
      sql: "DELETE FROM \(table.quotedForSQL) WHERE _task = ?1 OR (_task > ?2 AND _task < ?3)"
    ).execute(arguments: [unit, range.map { String($0.0) }, range.map { String($0.1) }])
  }

  /// Replaces the row with the same key. Returns whether it is one of an earlier run.
  private func replace(
    with row: [SQLValue], _ relation: TableRelation, in db: Database
  ) throws -> Bool {
    let object = row[0].text ?? ""
    var query = try RowStatement(db, sql: selection)
    let found = try query.rows(relation.isShared ? [row[1], row[0]] : [row[0]])
    guard let known = found.first, case .integer(let id) = known[0] else {
      throw StoppedByStorage(
        message: "cannot write \(file.path): the table `\(table)` refused the row `\(object)`")
    }
    let isOfRun = id > base
    if isOfRun, !relation.isShared, known[1] != row[1] {
      throw RefusedRow(
        message: relation.secondParent(object, first: known[1].text, second: row[1].text))
    }
    var values = row
    if !isOfRun {
      guard let next = try marker.next(db) else {
        throw StoppedByStorage(
          message:
            "cannot write \(file.path): `\(table)` has a row with the highest row id; write to another database, or "
            + "give that row a lower id")
      }
      values.append(.integer(next))
    }
    values.append(.integer(id))
    var statement = try RowStatement(db, sql: isOfRun ? replacement : adoption)
    try statement.run(values)
    return !isOfRun
  }

  /// Ends the step within its transaction. Returns its number and the rows if any were added.
  func endStep() throws -> (step: Int, counts: Counts)? {
    cleared.removeAll(keepingCapacity: true)
    guard hasChanged else { return nil }
    hasChanged = false
    step += 1
    try file.change { [step] db in try marker.write(db, step: step) }
    return (step, counts)
  }

  /// Forgets what an outcome added, whose rows were removed again.
  func restore(_ counts: Counts) { self.counts = counts }

  // MARK: Statements

  private lazy var insertion: String = {
    let names = SQLText.list(columns)
    let marks = columns.map { _ in "?" }.joined(separator: ", ")
    let insert = "INSERT INTO \(table.quotedForSQL) (\(names)) VALUES (\(marks))"
    return insert
      + (entry.relation == nil
        ? SQLText.replacing(entry.columns, key: key)
        : " ON CONFLICT (\(SQLText.list(key))) DO NOTHING")
  }()

  /// Finds the row with a key.
  private lazy var selection =
    "SELECT \(marker.rowID ?? "rowid"), _parent FROM \(table.quotedForSQL) WHERE "
    + key.map { "\($0.quotedForSQL) = ?" }.joined(separator: " AND ")

  /// Replaces a row of the run.
  private lazy var replacement = update(columns.map(\.quotedForSQL))

  /// Replaces a row of an earlier run, which becomes one of this run.
  private lazy var adoption = update(columns.map(\.quotedForSQL) + [marker.rowID ?? "rowid"])

  private func update(_ columns: [String]) -> String {
    let values = columns.map { "\($0) = ?" }.joined(separator: ", ")
    return "UPDATE \(table.quotedForSQL) SET \(values) WHERE \(marker.rowID ?? "rowid") = ?"
  }
}

/// A row that a table refuses: the task that has it fails.
struct RefusedRow: Error {
  var message: String
}

/// A row per record, for sinks that write tables.
struct TableRows: ResultFormat {
  let emit: ResultPath?
  let columns: RecordColumns
  /// The indices of the key columns.
  let key: [Int]
  let usage: ColumnUsage?
  /// The value of a column.
  let cell: @Sendable (JSONValue?) -> SQLValue
  /// Whether a text may have a NUL character.
  let storesNUL: Bool

  var mayRefuse: Bool { !key.isEmpty || columns.mayRefuse || !storesNUL }

  func pieces(of outcome: Outcome, _ write: (SinkPiece) throws -> Void) throws {
    var found = Array(repeating: false, count: columns.columns.count)
    defer { usage?.note(found) }
    try outcome.data?.forEachValue(at: emit) { record in
      var cells = try columns.cells(
        of: JSONValue(parsing: record), row: outcome.rowValues, &found
      ).map(cell)
      for index in key {
        if case .null = cells[index] {
          throw TaskProblem(
            "a record has no value for the key column `\(columns.names[index])`; "
              + "select it, or choose another key")
        }
      }
      for (name, cell) in zip(columns.names, cells) where !storesNUL {
        guard case .text(let text) = cell, text.utf8.contains(0) else { continue }
        throw TaskProblem(
          "the column `\(name)` of a record has a NUL character, which PostgreSQL cannot store; leave it out with "
            + "`columns`, or write the records to a file")
      }
      if key.isEmpty { cells.append(.text(outcome.update.unit)) }
      try write(.row(cells))
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

  /// The state of a table.
  struct Found {
    /// The last step of this run in the database.
    var step: Int
    /// The highest row id before the run.
    var base: Int64
    /// The highest row id before the last step.
    var before: Int64
  }

  /// The table that contains the markers of a database.
  static let tableName = "gqlrun_outputs"

  let table: String
  let owner: Owner
  /// A name of the row id that no column shadows; `nil` if there is none.
  let rowID: String?

  init(table: String, columns: [String], owner: Owner) {
    self.table = table
    self.owner = owner
    let names = Set(columns.map(\.asciiLowercased))
    rowID = ["rowid", "_rowid_", "oid"].first { !names.contains($0) }
  }

  /// The state of the table after the last step of this run in the database.
  ///
  /// - Parameter step: The last step in the journal; the database may be one step ahead.
  func verified(_ db: Database, path: String, step: Int) throws -> Found {
    guard try Self.exists(db, table), try Self.exists(db, Self.tableName),
      let row = try GRDB.Row.fetchOne(
        db, sql: "SELECT * FROM \(Self.tableName) WHERE name = ? AND owner = ?",
        arguments: [table, owner.name]),
      try row.decode(String?.self, forColumn: "journal") == owner.journal
    else {
      throw refusal(path, "it is not the one that the earlier part of the run wrote")
    }
    let found = try row.count(of: "step")
    guard found >= step else {
      throw refusal(path, "it is older than the journal, which recorded later rows")
    }
    if let top = try row.decode(Int64?.self, forColumn: "top"), try self.top(db) ?? 0 < top {
      throw refusal(path, "rows that the journal recorded were removed")
    }
    // Absent if an older version began the run.
    func number(_ name: String) throws -> Int64? {
      row.hasColumn(name) ? try row.decode(Int64?.self, forColumn: name) : nil
    }
    return Found(step: found, base: try number("base") ?? 0, before: try number("before") ?? 0)
  }

  /// The highest row id before the run of the journal; `nil` without a record of the run.
  func base(_ db: Database) throws -> Int64? {
    guard try Self.exists(db, Self.tableName) else { return nil }
    return try Int64.fetchOne(
      db, sql: "SELECT base FROM \(Self.tableName) WHERE name = ? AND journal = ?",
      arguments: [table, owner.journal])
  }

  /// Records that a run begins with the table as it is. Returns the highest row id.
  func begin(_ db: Database) throws -> Int64 {
    try Self.create(db)
    let top = try top(db)
    try db.execute(
      sql: """
        INSERT OR REPLACE INTO \(Self.tableName) (name, owner, journal, step, top, base, before)
        VALUES (?, ?, ?, 0, ?, ?, ?)
        """, arguments: [table, owner.name, owner.journal, top, top ?? 0, top ?? 0])
    return top ?? 0
  }

  /// Records a step.
  func write(_ db: Database, step: Int) throws {
    try db.cachedStatement(
      sql:
        "UPDATE \(Self.tableName) SET step = ?, before = top, top = ? WHERE name = ? AND owner = ?"
    ).execute(arguments: [step, try top(db), table, owner.name])
  }

  /// Continues a run. Returns the highest row id before it.
  ///
  /// Rows of a step that the journal did not record become rows of earlier runs: their task is repeated, and they count
  /// when they are written again.
  func resume(_ db: Database, _ found: Found, after step: Int) throws -> Int64 {
    try Self.create(db)
    guard found.step > step, let rowID else { return found.base }
    let name = table.quotedForSQL
    let ids = try Int64.fetchAll(
      db, sql: "SELECT \(rowID) FROM \(name) WHERE \(rowID) > ?", arguments: [found.before])
    for id in ids {
      try db.execute(
        sql: """
          UPDATE \(name) SET \(rowID) = (SELECT min(0, min(\(rowID))) - 1 FROM \(name)) WHERE \(rowID) = ?
          """, arguments: [id])
    }
    let top = try top(db)
    // The next row id is the highest one and 1.
    let base = min(found.base, top ?? found.base)
    try db.execute(
      sql: """
        UPDATE \(Self.tableName) SET top = ?, base = ? WHERE name = ? AND owner = ?
        """, arguments: [top, base, table, owner.name])
    return base
  }

  /// Creates the table of markers. Those of older versions lack columns.
  private static func create(_ db: Database) throws {
    try db.execute(
      sql: """
        CREATE TABLE IF NOT EXISTS \(tableName) (
          name TEXT NOT NULL, owner TEXT NOT NULL, journal TEXT NOT NULL, step INTEGER NOT NULL,
          top INTEGER, base INTEGER, before INTEGER, PRIMARY KEY (name, owner)
        ) WITHOUT ROWID
        """)
    let columns = try db.columns(in: tableName).map(\.name)
    for column in ["base", "before"] where !columns.contains(column) {
      try db.execute(sql: "ALTER TABLE \(tableName) ADD COLUMN \(column) INTEGER")
    }
  }

  /// The row id of the next row; `nil` if the table has the highest one.
  func next(_ db: Database) throws -> Int64? {
    let (next, isTooLarge) = (try top(db) ?? 0).addingReportingOverflow(1)
    return isTooLarge ? nil : next
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
  var quotedForSQL: String { QuotedText.sqlIdentifier(self) }

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
  /// Whether a text may have a NUL character; `true` by default.
  static var storesNUL: Bool { get }
  /// Why the table cannot have this name; `nil` if it can.
  static func problem(withName name: String) -> String?
}

extension TableSettings {
  static var storesNUL: Bool { true }

  /// The columns of an operation's table.
  func columns(of operation: BatchOperation) -> RecordColumns {
    guard !operation.columns.areGiven else { return operation.columns }
    let names = operation.columns.names
    return RecordColumns(paths: names + key.map(\.value).filter { !names.contains($0) })
  }

  func output(of operation: BatchOperation, at path: String) throws(TaskProblem) -> SinkOutput? {
    let key = key.map(\.value)
    let columns = columns(of: operation)
    let name = Self.name + (key.isEmpty ? "" : " key " + key.joined(separator: ","))
    return SinkOutput(
      entry: SinkPlan.Entry(
        path: path, format: FileFormat(name: name), isTable: true,
        table: try TextTemplate.filled(table.value, operation.id), columns: columns.names, key: key),
      records: TableRows(
        emit: operation.emit, columns: columns,
        key: key.compactMap { columns.names.firstIndex(of: $0) },
        usage: columns.areGiven ? ColumnUsage(columns.names) : nil, cell: { Self.cell($0) },
        storesNUL: Self.storesNUL))
  }

  func check(
    _ operations: [BatchOperation], at location: FileLocation, loader: inout ManifestLoader
  ) {
    checkTables(of: operations, at: location, &loader)
  }

  /// Checks the names of the tables and the columns of the key.
  func checkTables(
    of operations: [BatchOperation], at location: FileLocation, _ loader: inout ManifestLoader
  ) {
    _ = loader.textTemplate(table, known: .operationID)
    loader.checkFields(of: operations, Self.name, location: location)
    loader.checkPaths(
      key, name: "key", of: operations.filter { !$0.columns.areGiven }, mustFitAll: true)
    for operation in operations where operation.columns.areGiven {
      for column in key where !operation.columns.names.contains(column.value) {
        let meant = operation.columns.columns.first { $0.source.description == column.value }?.name
        loader.report(
          .path, message: "`\(column.value)` of `key` is no column of `\(operation.id)`",
          location: column.location,
          hint: meant.map { "did you mean `\($0)`?" }
            ?? loader.hint(for: column.value, among: operation.columns.names))
      }
    }
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
