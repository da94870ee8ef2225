import Foundation
import GQLRunSupport
import GRDB

/// A database that sinks write into: one connection, whatever the number of tables, and one transaction
/// for each step.
final class TableFile {
  let path: String
  private let queue: DatabaseQueue
  private var isOpen = false

  init(path: String, base: OutputPath) throws {
    self.path = path
    try FileSink.makeFolder(of: path)
    guard (try? base.resolve(FileSink.relative(path, to: base.folder))) != nil else {
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

  /// Works within the transaction of the step.
  func change(_ body: (Database) throws -> Void) throws {
    do {
      try queue.inDatabase { db in
        if !isOpen {
          try db.beginTransaction(.immediate)
          isOpen = true
        }
        try body(db)
      }
    } catch {
      throw Self.problem(path, error)
    }
  }

  /// Makes the step durable.
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

  private static func problem(_ path: String, _ error: any Error) -> any Error {
    guard let error = error as? DatabaseError else { return error }
    return StoppedByStorage(
      message: "cannot write \(path): \(error.message ?? "SQLite error \(error.resultCode)")")
  }
}

/// A sink that writes rows into a table of a SQLite database.
///
/// With a key, a record replaces the one with the same key. Without one, rows carry the task that brought
/// them, and what an earlier attempt of the same task left is taken away first. So a task that is run
/// again after a crash leaves each record once.
final class TableSink {
  private let file: TableFile
  private let table: String
  private let columns: [String]
  private let key: [String]
  /// The pages of tasks whose earlier rows were taken away in this step.
  private var cleared: Set<String> = []

  init(_ file: TableFile, table: String, columns: [String], key: [String]) throws {
    self.file = file
    self.table = table
    self.columns = columns
    self.key = key
    try file.change { db in
      let all = key.isEmpty ? columns + ["_task"] : columns
      let definitions = all.map { QuotedText.sqlIdentifier($0) }.joined(separator: ", ")
      try db.execute(
        sql: "CREATE TABLE IF NOT EXISTS \(QuotedText.sqlIdentifier(table)) (\(definitions))")
      let known = Set(try db.columns(in: table).map(\.name))
      for column in all where !known.contains(column) {
        try db.execute(
          sql:
            "ALTER TABLE \(QuotedText.sqlIdentifier(table)) ADD COLUMN \(QuotedText.sqlIdentifier(column))"
        )
      }
      let name = "gqlrun_\(table)_\(key.isEmpty ? "_task" : key.joined(separator: "_"))"
      let on = (key.isEmpty ? ["_task"] : key).map { QuotedText.sqlIdentifier($0) }.joined(
        separator: ", ")
      try db.execute(
        sql:
          "CREATE \(key.isEmpty ? "" : "UNIQUE ")INDEX IF NOT EXISTS \(QuotedText.sqlIdentifier(name)) "
          + "ON \(QuotedText.sqlIdentifier(table)) (\(on))")
    }
  }

  /// Adds a row to the transaction of the step.
  func append(_ row: [SQLValue], unit: String) throws {
    try file.change { db in
      if key.isEmpty, cleared.insert(unit).inserted {
        // With its first page everything that an earlier run left of the task goes.
        let range = unit.hasSuffix(".1") ? (unit.dropLast(1), unit.dropLast(2) + "/") : nil
        try db.cachedStatement(
          sql:
            "DELETE FROM \(QuotedText.sqlIdentifier(table)) WHERE _task = ?1 OR (_task > ?2 AND _task < ?3)"
        ).execute(arguments: [unit, range.map { String($0.0) }, range.map { String($0.1) }])
      }
      let values: [(any DatabaseValueConvertible)?] = row.map { Self.argument($0) }
      try db.cachedStatement(sql: insertion).execute(arguments: StatementArguments(values))
    }
  }

  /// The step has ended.
  func endStep() { cleared.removeAll(keepingCapacity: true) }

  private lazy var insertion: String = {
    let all = key.isEmpty ? columns + ["_task"] : columns
    let names = all.map { QuotedText.sqlIdentifier($0) }.joined(separator: ", ")
    let marks = all.map { _ in "?" }.joined(separator: ", ")
    let insert = "INSERT INTO \(QuotedText.sqlIdentifier(table)) (\(names)) VALUES (\(marks))"
    guard !key.isEmpty else { return insert }
    let others = columns.filter { !key.contains($0) }
    let conflict =
      "ON CONFLICT (\(key.map { QuotedText.sqlIdentifier($0) }.joined(separator: ", "))) DO "
    guard !others.isEmpty else { return "\(insert) \(conflict)NOTHING" }
    let updates = others.map {
      "\(QuotedText.sqlIdentifier($0)) = excluded.\(QuotedText.sqlIdentifier($0))"
    }
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
