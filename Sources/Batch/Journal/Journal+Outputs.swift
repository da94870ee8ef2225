import Foundation
import GQLRunJSON
import GRDB

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
  /// For a table: the number of records written to it.
  var records = 0

  /// Unique among the outputs of a run.
  var identifier: String { "\(path)\u{0}\(name)" }

  /// The name of the output in messages.
  var shown: String { name.isEmpty ? path : "table `\(name)` of \(path)" }
}

/// The progress of writing a table.
struct TablePosition: Sendable {
  var path: String
  var name: String
  var step: Int
  var records: Int
}

extension Journal {
  /// The outputs of the run, sorted by path; empty in journals of older versions.
  func outputs() throws -> [OutputRecord] {
    try read { db in
      guard try db.tableExists("outputs") else { return [] }
      return try GRDB.Row.fetchAll(db, sql: "SELECT * FROM outputs ORDER BY path, name").map {
        row in
        OutputRecord(
          path: row["path"], name: row["name"], format: row["format"],
          takes: Self.takes(row["takes"]), identity: row["identity"], step: row["step"],
          records: row["records"])
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
          INSERT INTO outputs (path, name, format, takes, identity, step, records)
          VALUES (?, ?, ?, ?, ?, ?, ?)
          ON CONFLICT (path, name) DO UPDATE SET takes = excluded.takes, identity = excluded.identity
          """)
      for output in outputs {
        var takes = JSONObject()
        for (operation, kind) in output.takes { takes[operation] = .string(kind) }
        try statement.execute(arguments: [
          output.path, output.name, output.format, JSONValue.object(takes).canonicalText,
          output.identity, output.step, output.records,
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
