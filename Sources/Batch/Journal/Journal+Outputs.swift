import Foundation
import GQLRunJSON
import GRDB

/// One output of a run, as the journal records it before anything is written to it.
struct OutputRecord: Sendable, Equatable {
  /// Relative to the manifest's folder.
  var path: String
  /// The table of a database; empty for a file.
  var name = ""
  /// The kind with everything that decides what its bytes mean: `csv code,name`.
  var format: String
  /// What is written of which operation: `users records user`.
  var takes: [String: String] = [:]
  /// Tells one cache file from another; `nil` for other outputs.
  var identity: String?
  /// Of a table: the last step of the run that changed it.
  var step = 0
  /// Of a table: how many records it was given.
  var records = 0

  /// Tells it from the other outputs of a run.
  var identifier: String { "\(path)\u{0}\(name)" }

  /// The output in messages.
  var shown: String { name.isEmpty ? path : "table `\(name)` of \(path)" }
}

/// How far a table was written.
struct TablePosition: Sendable {
  var path: String
  var name: String
  var step: Int
  var records: Int
}

extension Journal {
  /// The outputs of the run, in the order of their paths; none in journals of older versions.
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

  /// Adds outputs. Of those that are known, how far they were written stays.
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

  /// Tells this journal from every other one; made with the first call.
  func identity() throws -> String {
    if let known = try meta("id") { return known }
    let made = UUID().uuidString
    try set(["id": made])
    return made
  }

  /// The ids of the operations of which a page was recorded or a task has ended.
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
