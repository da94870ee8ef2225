import GRDB

/// Creates the table of a SQLite database, and adds columns that it does not have yet.
///
/// The tables of an operation have types, keys, and comments with schema coordinates:
///
/// ```
/// CREATE TABLE "orders" ( /* Customer.orders */
///   "_key" TEXT NOT NULL,
///   "_parent" TEXT REFERENCES "customers" ("_key") DEFERRABLE INITIALLY DEFERRED,
///   "_position" INTEGER,
///   "total" REAL /* Order.total */,
///   PRIMARY KEY ("_key"))
/// ```
///
/// https://www.sqlite.org/foreignkeys.html#fk_deferred
struct TableCreation {
  let entry: SinkPlan.Entry
  /// The columns with that of the task.
  let columns: [String]

  private var name: String { entry.table.quotedForSQL }

  /// - Throws: ``StoppedByStorage`` if there is a table with another primary key.
  func create(_ db: Database, path: String) throws {
    let isThere = try TableMarker.exists(db, entry.table)
    if isThere, entry.relation != nil { try checkKey(db, path: path) }
    if !isThere { try db.execute(sql: statement) }
    // SQLite ignores the case of ASCII letters in names.
    let known = Set(
      try String.fetchAll(
        db, sql: "SELECT lower(name) FROM pragma_table_info(?)", arguments: [entry.table]))
    for (index, column) in columns.enumerated() where !known.contains(column.asciiLowercased) {
      try db.execute(sql: "ALTER TABLE \(name) ADD COLUMN \(definition(index))")
    }
    let index = "gqlrun_\(entry.table)_\(indexed.joined(separator: "_"))"
    try db.execute(
      sql: "CREATE \(isUnique ? "UNIQUE " : "")INDEX IF NOT EXISTS \(index.quotedForSQL) "
        + "ON \(name) (\(SQLText.list(indexed)))")
  }

  /// The columns of the index that also shows that a batch created the table. A primary key has one of its own; a foreign
  /// key has none.
  private var indexed: [String] {
    guard let relation = entry.relation else { return entry.key.isEmpty ? ["_task"] : entry.key }
    return relation.isShared ? ["_key"] : ["_parent"]
  }

  private var isUnique: Bool { entry.relation == nil && !entry.key.isEmpty }

  private var statement: String {
    let definitions = columns.indices.map { definition($0) }
    guard let relation = entry.relation else {
      return "CREATE TABLE \(name) (\(definitions.joined(separator: ", ")))"
    }
    let lines = definitions + ["PRIMARY KEY (\(SQLText.list(entry.key)))"]
    let comment = relation.table.coordinate.map { " /* \($0) */" } ?? ""
    return "CREATE TABLE \(name) (\(comment)\n  \(lines.joined(separator: ",\n  ")))"
  }

  private func definition(_ index: Int) -> String {
    let column = columns[index].quotedForSQL
    guard let relation = entry.relation else { return column }
    switch columns[index] {
    case "_key": return "\(column) TEXT NOT NULL"
    case "_position": return "\(column) INTEGER"
    case "_parent":
      let reference = relation.parent.map {
        " REFERENCES \($0.quotedForSQL) (\"_key\") DEFERRABLE INITIALLY DEFERRED"
      }
      return "\(column) TEXT" + (relation.isShared ? " NOT NULL" : "") + (reference ?? "")
    default: break
    }
    let own = relation.table.columns[index - TableDefinition.ownColumns.count]
    return column + (own.kind.typeInSQLite.map { " \($0)" } ?? "")
      + (own.coordinate.map { " /* \($0) */" } ?? "")
  }

  private func checkKey(_ db: Database, path: String) throws {
    let found = try String.fetchAll(
      db, sql: "SELECT name FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk",
      arguments: [entry.table])
    guard Set(found) != Set(entry.key) else { return }
    func shown(_ key: [String]) -> String { key.isEmpty ? "none" : key.joined(separator: ", ") }
    throw StoppedByStorage(
      refusing:
        "cannot write the table `\(entry.table)` of \(path): its primary key is \(shown(found)), and that of the "
        + "rows is \(shown(entry.key)); write to another database, or remove the table")
  }
}

extension TableColumn.Kind {
  /// The type of a column; `nil` if it takes each value as it is.
  fileprivate var typeInSQLite: String? {
    switch self {
    case .integer: "INTEGER"
    case .real: "REAL"
    case .boolean: "BOOLEAN"
    case .text, .json: "TEXT"
    case .any: nil
    }
  }
}
