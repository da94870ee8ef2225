import Foundation
import GRDB

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
    return try? Int64.fetchOne(db, sql: "SELECT max(\(rowID)) FROM \(table.quotedForSQLite)")
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

extension String {
  /// The name as a quoted identifier of SQLite.
  var quotedForSQLite: String {
    "\"" + replacingOccurrences(of: "\"", with: "\"\"") + "\""
  }

  /// The text with ASCII letters in lower case, as SQLite compares names.
  var asciiLowercased: String {
    String(decoding: utf8.map { (0x41...0x5A).contains($0) ? $0 + 0x20 : $0 }, as: UTF8.self)
  }
}
