import GQLRunPostgres

/// Writes rows into a table of the queue's database.
struct QueueTable {
  private let entry: SinkPlan.Entry
  /// The columns with their types, as PostgreSQL writes them.
  private let columns: [(name: String, type: String)]
  private let statement: String

  private static func names(_ entry: SinkPlan.Entry) -> [String] {
    entry.columns + (entry.key.isEmpty ? ["_task"] : [])
  }

  /// Creates the table if it does not exist, with columns of text. A table that exists keeps its types.
  static func create(_ entry: SinkPlan.Entry, _ connection: PostgresConnection) throws {
    var lines = names(entry).map { "\(quoted($0)) text" }
    if !entry.key.isEmpty {
      lines.append("PRIMARY KEY (\(entry.key.map(quoted).joined(separator: ", ")))")
    }
    try connection.run(
      "CREATE TABLE IF NOT EXISTS \(quoted(entry.table)) (\(lines.joined(separator: ", ")))")
    _ = try QueueTable(entry, connection)
  }

  /// Reads the types of the columns.
  ///
  /// - Throws: ``JournalError`` if the table or a column does not exist, or no unique index has the key.
  init(_ entry: SinkPlan.Entry, _ connection: PostgresConnection) throws {
    self.entry = entry
    let table = Self.quoted(entry.table)
    let rows = try connection.run(
      """
      SELECT attname::text, format_type(atttypid, atttypmod) FROM pg_attribute
      WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped
      """, .text(table))
    guard rows.count > 0 else {
      throw JournalError(
        "there is no table `\(entry.table)` in \(connection.database); `gqlrun batch init` creates it"
      )
    }
    let types = Dictionary(
      (0..<rows.count).map { (rows.text($0, 0), rows.text($0, 1)) }, uniquingKeysWith: { $1 })
    columns = try Self.names(entry).map { name in
      guard let type = types[name] else {
        throw JournalError(
          "the table `\(entry.table)` of \(connection.database) has no column `\(name)`; add it, or write to another "
            + "table")
      }
      return (name, type)
    }
    statement = Self.insertion(into: table, columns, key: entry.key)
    // Shows whether a unique index has the key, without writing.
    if !entry.key.isEmpty { try connection.run("EXPLAIN \(statement)", parameters: emptyColumns) }
  }

  /// Rows with the same key in one statement are reduced to the last one. Sorting them by the key makes workers lock
  /// rows in the same order.
  private static func insertion(
    into table: String, _ columns: [(name: String, type: String)], key: [String]
  ) -> String {
    let names = columns.map { quoted($0.name) }
    let arrays = columns.indices.map { "$\($0 + 1)::text[]" }.joined(separator: ", ")
    let values = columns.map { "\(quoted($0.name))::\($0.type)" }.joined(separator: ", ")
    let from =
      "FROM unnest(\(arrays)) WITH ORDINALITY AS r(\(names.joined(separator: ", ")), \"#\")"
    let insert = "INSERT INTO \(table) (\(names.joined(separator: ", ")))"
    guard !key.isEmpty else { return "\(insert) SELECT \(values) \(from)" }
    let keys = key.map(quoted).joined(separator: ", ")
    let sortKeys = key.map { "r.\(quoted($0))" }.joined(separator: ", ")
    let updates = columns.map(\.name).filter { !key.contains($0) }
      .map { "\(quoted($0)) = excluded.\(quoted($0))" }
    return "\(insert) SELECT DISTINCT ON (\(sortKeys)) \(values) \(from) "
      + "ORDER BY \(sortKeys), \"#\" DESC ON CONFLICT (\(keys)) DO "
      + (updates.isEmpty ? "NOTHING" : "UPDATE SET \(updates.joined(separator: ", "))")
  }

  private var emptyColumns: [PostgresValue] { columns.map { _ in .texts([]) } }

  func write(_ rows: [[SQLValue]], _ connection: PostgresConnection) throws {
    // Each statement has all columns as arrays, in memory once more.
    for start in stride(from: 0, to: rows.count, by: Self.mostRows) {
      let group = rows[start..<min(start + Self.mostRows, rows.count)]
      let values = columns.indices.map { column in
        PostgresValue.texts(group.map { Self.bytes($0[column]) })
      }
      do {
        try connection.run(statement, parameters: values)
      } catch {
        guard !error.isConnectionLoss, !error.isContention else { throw error }
        throw JournalError(
          "cannot write the table `\(entry.table)` of \(connection.database): \(error.message) (\(error.state))"
        )
      }
    }
  }

  private static let mostRows = 5_000

  private static func bytes(_ value: SQLValue) -> [UInt8]? {
    switch value {
    case .null: nil
    case .text(let text): Array(text.utf8)
    case .integer(let number): Array("\(number)".utf8)
    case .real(let number): Array("\(number)".utf8)
    }
  }

  static func quoted(_ name: String) -> String {
    "\"\(name.replacing("\"", with: "\"\""))\""
  }
}
