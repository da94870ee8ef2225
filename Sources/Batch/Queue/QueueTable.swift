import GQLRunPostgres

/// Writes rows into a table of the queue's database.
struct QueueTable {
  private let entry: SinkPlan.Entry
  /// The columns with their types, as PostgreSQL writes them.
  private let columns: [(name: String, type: String)]
  private let statement: String
  /// The transaction that began the run, for comparisons of ages. It distinguishes rows of the run from those of earlier
  /// runs, whose transactions are older.
  private let begun: PostgresValue

  /// Creates the table if it does not exist: that of a sink with columns of text. A table that exists keeps its types.
  static func create(_ entry: SinkPlan.Entry, _ connection: PostgresConnection) throws {
    try QueueSchema.whileLocked(connection) {
      if let relation = entry.relation {
        try create(entry, relation: relation, connection)
      } else if try types(of: entry.table.quotedForSQL, connection).isEmpty {
        // `IF NOT EXISTS` would look into the first schema of the search path only.
        var lines = entry.allColumns.map { "\($0.quotedForSQL) text" }
        if !entry.key.isEmpty { lines.append("PRIMARY KEY (\(SQLText.list(entry.key)))") }
        try connection.run(
          "CREATE TABLE \(entry.table.quotedForSQL) (\(lines.joined(separator: ", ")))")
      }
    }
    _ = try QueueTable(entry, connection)
  }

  /// Throws if the table does not exist, and a run has written rows into it, which a new table would not have.
  static func requireWritten(
    _ entry: SinkPlan.Entry, by run: String, of manifest: Manifest, _ connection: PostgresConnection
  ) throws {
    guard try types(of: entry.table.quotedForSQL, connection).isEmpty else { return }
    let written = try connection.run(
      """
      SELECT EXISTS (
        SELECT FROM gq_task WHERE run = $1::uuid AND op = ANY ($2::text[]) AND records > 0)
      """, .text(run), .texts(entry.takes.keys.sorted().map { Array($0.utf8) }))
    guard written.int(0, 0) == 0 else {
      throw JournalError(
        "there is no table `\(entry.table)` in \(connection.database), and the run of `\(manifest.name)` has written "
          + "rows into it: restore the table, or begin a new run with \(manifest.beginning)")
    }
  }

  /// Creates one of the tables of an operation, or adds the columns that it does not have yet.
  private static func create(
    _ entry: SinkPlan.Entry, relation: TableRelation, _ connection: PostgresConnection
  ) throws {
    let table = entry.table.quotedForSQL
    let known = try types(of: table, connection)
    guard known.isEmpty else {
      // A table that no run has created stays as it is.
      if let missing = TableDefinition.ownColumns.first(where: { known[$0] == nil }) {
        throw JournalError(
          "the table `\(entry.table)` of \(connection.database) already exists, and no run has created it for rows: it "
            + "has no column `\(missing)`; give the rows another table with `as: { \(relation.derivedName): … }` "
            + "(--as \(relation.derivedName)=…)")
      }
      // A change waits for the workers that write.
      for column in relation.table.columns where known[column.name] == nil {
        try connection.run(
          "ALTER TABLE \(table) ADD COLUMN \(column.name.quotedForSQL) \(column.kind.typeInPostgreSQL)"
        )
      }
      return
    }
    let parent = relation.parent.map {
      " REFERENCES \($0.quotedForSQL) (\"_key\") DEFERRABLE INITIALLY DEFERRED"
    }
    let lines =
      [
        "\"_key\" text NOT NULL", "\"_parent\" text\(parent ?? "")", "\"_position\" bigint",
      ] + relation.table.columns.map { "\($0.name.quotedForSQL) \($0.kind.typeInPostgreSQL)" }
      + ["PRIMARY KEY (\(SQLText.list(entry.key)))"]
    try connection.run("CREATE TABLE \(table) (\(lines.joined(separator: ", ")))")
    // A primary key has an index of its own, and a foreign key has none.
    try connection.run("CREATE INDEX ON \(table) (\"\(relation.isShared ? "_key" : "_parent")\")")
    if let coordinate = relation.table.coordinate {
      try connection.run("COMMENT ON TABLE \(table) IS '\(coordinate)'")
    }
    for column in relation.table.columns {
      guard let coordinate = column.coordinate else { continue }
      try connection.run(
        "COMMENT ON COLUMN \(table).\(column.name.quotedForSQL) IS '\(coordinate)'")
    }
  }

  /// The types of a table's columns, as PostgreSQL writes them; empty if there is no such table.
  ///
  /// They have no lengths, and a domain is its base type: a cast to `varchar(3)` would cut a text without an error, and the
  /// insertion of a longer one is an error.
  private static func types(
    of table: String, _ connection: PostgresConnection
  ) throws -> [String: String] {
    let rows = try connection.run(
      """
      WITH RECURSIVE base AS (
        SELECT attname::text AS name, atttypid AS type FROM pg_attribute
        WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped
        UNION ALL
        SELECT base.name, t.typbasetype FROM base JOIN pg_type t ON t.oid = base.type
        WHERE t.typtype = 'd')
      SELECT base.name, format_type(base.type, -1) FROM base JOIN pg_type t ON t.oid = base.type
      WHERE t.typtype <> 'd'
      """, .text(table))
    return Dictionary(
      (0..<rows.count).map { (rows.text($0, 0), rows.text($0, 1)) }, uniquingKeysWith: { $1 })
  }

  /// Reads the types of the columns.
  ///
  /// - Parameters:
  ///   - entry: The table.
  ///   - connection: The connection.
  ///   - begun: The transaction that began the run.
  /// - Throws: ``JournalError`` if the table or a column does not exist, or no unique index has the key.
  init(_ entry: SinkPlan.Entry, _ connection: PostgresConnection, begun: Int = 0) throws {
    self.entry = entry
    // Transaction ids in rows have 32 bits.
    self.begun = .text("\(begun & 0xffff_ffff)")
    let table = entry.table.quotedForSQL
    let types = try Self.types(of: table, connection)
    guard !types.isEmpty else {
      throw JournalError(
        "there is no table `\(entry.table)` in \(connection.database); `gqlrun batch init` creates it"
      )
    }
    columns = try entry.allColumns.map { name in
      guard let type = types[name] else {
        throw JournalError(
          "the table `\(entry.table)` of \(connection.database) has no column `\(name)`; add it, or write to another "
            + "table")
      }
      return (name, type)
    }
    var statement = Self.insertion(into: table, columns, key: entry.key)
    if let relation = entry.relation {
      if !relation.isShared {
        statement +=
          " WHERE kept.\"_parent\" IS NOT DISTINCT FROM excluded.\"_parent\" OR NOT "
          + Self.isOfRun(parameter: columns.count + 1)
      }
      statement = "WITH written AS (\(statement) RETURNING 1) SELECT count(*) FROM written"
    }
    self.statement = statement
    // Shows whether a unique index has the key, without writing.
    if !entry.key.isEmpty {
      try connection.run("EXPLAIN \(statement)", parameters: parameters(columns.map { _ in [] }))
    }
  }

  /// The condition that a row was written in the run.
  ///
  /// Statements name the table `kept`, because it may have a name that they give to others, such as `excluded`.
  ///
  /// https://www.postgresql.org/docs/current/ddl-system-columns.html
  private static func isOfRun(parameter: Int) -> String {
    "age(kept.xmin) <= age($\(parameter)::text::xid)"
  }

  /// The parameters of ``statement``.
  private func parameters(_ columns: [[[UInt8]?]]) -> [PostgresValue] {
    let values = columns.map { PostgresValue.texts($0) }
    guard let relation = entry.relation, !relation.isShared else { return values }
    return values + [begun]
  }

  /// Rows with the same key in one statement are reduced to the last one: the same in the types of the columns, as `1` and
  /// `1.0` are for a number. Sorting them by the key makes workers lock rows in the same order.
  private static func insertion(
    into table: String, _ columns: [(name: String, type: String)], key: [String]
  ) -> String {
    let names = SQLText.list(columns.map(\.name))
    let arrays = columns.indices.map { "$\($0 + 1)::text[]" }.joined(separator: ", ")
    func value(_ column: (name: String, type: String)) -> String {
      "r.\(column.name.quotedForSQL)::\(column.type)"
    }
    let values = columns.map { value($0) }.joined(separator: ", ")
    let from = "FROM unnest(\(arrays)) WITH ORDINALITY AS r(\(names), \"#\")"
    let insert = "INSERT INTO \(table) AS kept (\(names))"
    guard !key.isEmpty else { return "\(insert) SELECT \(values) \(from)" }
    let sortKeys = columns.filter { key.contains($0.name) }.map { value($0) }.joined(
      separator: ", ")
    return "\(insert) SELECT DISTINCT ON (\(sortKeys)) \(values) \(from) "
      + "ORDER BY \(sortKeys), \"#\" DESC" + SQLText.replacing(columns.map(\.name), key: key)
  }

  /// Adds rows, or replaces those with the same keys.
  func write(_ rows: [[SQLValue]], _ connection: PostgresConnection) throws {
    // Each statement has all columns as arrays, in memory once more.
    for start in stride(from: 0, to: rows.count, by: Self.maxRows) {
      let group = rows[start..<min(start + Self.maxRows, rows.count)]
      let values = columns.indices.map { column in group.map { Self.bytes($0[column]) } }
      let written: PostgresRows
      do {
        written = try connection.run(statement, parameters: parameters(values))
      } catch {
        guard !error.isConnectionLoss, !error.isContention else { throw error }
        throw JournalError(
          "cannot write the table `\(entry.table)` of \(connection.database): \(error.message) (\(error.state))"
        )
      }
      guard let relation = entry.relation, !relation.isShared else { continue }
      let count = Set(group.map { $0[0] }).count
      guard written.int(0, 0) == count else {
        // Another worker has just written one of them under another parent; the next attempt finds it.
        throw PostgresError(
          state: "40001", message: "the table `\(entry.table)` was changed by another worker")
      }
    }
  }

  // MARK: Parents

  /// A row by its object and its parent.
  struct Identity: Hashable {
    var key: SQLValue
    var parent: SQLValue

    init(_ row: [SQLValue]) { (key, parent) = (row[0], row[1]) }

    fileprivate init(key: SQLValue, parent: SQLValue) { (self.key, self.parent) = (key, parent) }
  }

  /// The rows of the run that the table has already: with the objects of other rows; in a shared table, those themselves.
  func known(
    _ rows: [Identity], _ connection: PostgresConnection
  ) throws -> [Identity] {
    guard let relation = entry.relation else { return [] }
    let table = entry.table.quotedForSQL
    let isShared = relation.isShared
    let join = isShared ? " AND kept.\"_parent\" = r.parent" : ""
    var known: [Identity] = []
    for start in stride(from: 0, to: rows.count, by: Self.maxRows) {
      let group = rows[start..<min(start + Self.maxRows, rows.count)]
      let found = try connection.run(
        """
        SELECT kept."_key", kept."_parent"
        FROM (SELECT DISTINCT * FROM unnest($1::text[], $2::text[]) AS u(key, parent)) AS r
        JOIN \(table) AS kept ON kept."_key" = r.key\(join)
        WHERE \(Self.isOfRun(parameter: 3))
        """, .texts(group.map { Self.bytes($0.key) }),
        .texts(group.map { isShared ? Self.bytes($0.parent) : nil }), begun)
      known += (0..<found.count).map { row in
        Identity(
          key: .text(found.text(row, 0)),
          parent: found.isNull(row, 1) ? .null : .text(found.text(row, 1)))
      }
    }
    return known
  }

  private static let maxRows = 5_000

  private static func bytes(_ value: SQLValue) -> [UInt8]? {
    switch value {
    case .null: nil
    case .text(let text): Array(text.utf8)
    case .integer(let number): Array("\(number)".utf8)
    case .real(let number): Array("\(number)".utf8)
    }
  }
}

extension TableColumn.Kind {
  /// The type of a column.
  fileprivate var typeInPostgreSQL: String {
    switch self {
    case .integer: "bigint"
    case .real: "double precision"
    case .boolean: "boolean"
    case .text, .any: "text"
    case .json: "jsonb"
    }
  }
}
