import GQLRunPostgres

/// The tables of queues, in the first schema of the search path.
///
/// A user that owns only this schema can create them: there are no extensions, functions or triggers.
enum QueueSchema {
  /// The version of the tables: the number of steps that created them.
  static var version: Int { steps.count }

  /// Creates the tables if there are none, and updates those of an older version.
  static func migrate(_ connection: PostgresConnection) throws {
    let encoding = try connection.run("SELECT current_setting('server_encoding')").text(0, 0)
    guard encoding == "UTF8" else {
      throw JournalError(
        "the database \(connection.database) has the encoding \(encoding); create one with the encoding UTF8 for the "
          + "queue")
    }
    guard try connection.run("SELECT current_schema()").isNull(0, 0) == false else {
      throw JournalError(
        "the database \(connection.database) has no schema for the tables of the queue: create the first schema of "
          + "the user's search_path")
    }
    try connection.transaction {
      // Several processes may start at the same moment.
      try connection.run("SELECT pg_advisory_xact_lock(5139820715)")
      let found = try installed(connection) ?? 0
      guard found < version else { return }
      for statement in steps[found...].joined() { try connection.run(statement) }
      try connection.run("DELETE FROM gq_version")
      try connection.run("INSERT INTO gq_version VALUES ($1)", .int(version))
    }
  }

  /// Throws if there are no tables, or those of another version.
  static func check(_ connection: PostgresConnection) throws {
    guard let found = try installed(connection) else {
      throw JournalError(
        "there is no queue in \(connection.database); create it with `gqlrun batch init`")
    }
    guard found == version else {
      throw JournalError(
        "the queue in \(connection.database) was created by an older gqlrun (version \(found) of its tables, this one "
          + "needs \(version)); update it with `gqlrun batch init`, and restart workers of the older one"
      )
    }
  }

  /// The version of the tables; `nil` if there are none.
  ///
  /// - Throws: ``JournalError`` if a newer gqlrun created them.
  private static func installed(_ connection: PostgresConnection) throws -> Int? {
    guard try connection.run("SELECT to_regclass('gq_version') IS NULL").int(0, 0) == 0 else {
      return nil
    }
    let found = try connection.run("SELECT version FROM gq_version")
    guard found.count == 1 else {
      throw JournalError(
        "the table gq_version of \(connection.database) has \(found.count) rows instead of one (unchanged); choose "
          + "another schema")
    }
    let number = found.int(0, 0)
    guard (1...version).contains(number) else {
      throw JournalError(
        "the queue in \(connection.database) was created by a newer gqlrun (version \(number) of its tables, "
          + "this one supports \(version); unchanged); update gqlrun or choose another database or schema"
      )
    }
    return number
  }

  /// The statements that lead from each version to the next one, beginning without tables.
  static let steps = [first, second]

  private static let first = [
    "CREATE TABLE gq_version (version int NOT NULL)",
    "CREATE SEQUENCE gq_lease",
    """
    CREATE TABLE gq_run (
      id uuid PRIMARY KEY, name text NOT NULL, manifest text NOT NULL, sha bytea NOT NULL,
      state text NOT NULL DEFAULT 'open', started_at timestamptz NOT NULL DEFAULT clock_timestamp())
    """,
    """
    CREATE TABLE gq_worker (
      id uuid PRIMARY KEY, run uuid NOT NULL REFERENCES gq_run, host text NOT NULL,
      step bigint NOT NULL DEFAULT 0, started_at timestamptz NOT NULL DEFAULT now(),
      seen_at timestamptz NOT NULL DEFAULT now(), ended_at timestamptz)
    """,
    "CREATE INDEX gq_worker_run ON gq_worker (run)",
    // No foreign key: it would lock the run's row for each of millions of tasks.
    """
    CREATE TABLE gq_task (
      run uuid NOT NULL, id bytea NOT NULL, op text NOT NULL, key text NOT NULL,
      variables text NOT NULL, state text NOT NULL DEFAULT 'queued', attempt int NOT NULL DEFAULT 0,
      lease bigint, worker uuid, run_at timestamptz NOT NULL DEFAULT now(),
      page int NOT NULL DEFAULT 0, requests int NOT NULL DEFAULT 0, http int,
      ended float8 NOT NULL DEFAULT 0, ms float8 NOT NULL DEFAULT 0,
      bytes bigint NOT NULL DEFAULT 0, records bigint NOT NULL DEFAULT 0, cursor text, error text,
      PRIMARY KEY (run, id)) WITH (fillfactor = 70)
    """,
    "CREATE INDEX gq_task_queued ON gq_task (run, run_at, id) WHERE state = 'queued'",
    "CREATE INDEX gq_task_leased ON gq_task (worker) WHERE state IN ('leased', 'sent')",
    """
    CREATE TABLE gq_segment (
      worker uuid NOT NULL REFERENCES gq_worker, path text NOT NULL, position bigint NOT NULL,
      records bigint NOT NULL, checksum bigint NOT NULL, PRIMARY KEY (worker, path))
    """,
    """
    CREATE TABLE gq_budget (
      credential text PRIMARY KEY, remaining float8, paused_until timestamptz,
      updated_at timestamptz NOT NULL DEFAULT now())
    """,
  ]
  private static let second = [
    "ALTER TABLE gq_run ADD COLUMN added text[] NOT NULL DEFAULT '{}'",
    "ALTER TABLE gq_task ADD COLUMN uploads text, ADD COLUMN captured text",
    """
    ALTER TABLE gq_budget ADD COLUMN points float8, ADD COLUMN most float8,
      ADD COLUMN per_second float8, ADD COLUMN resets_at timestamptz,
      ADD COLUMN reported_at timestamptz
    """,
    // Beside gq_worker, whose row the transactions of results change.
    """
    CREATE TABLE gq_share (
      worker uuid PRIMARY KEY REFERENCES gq_worker, credential text NOT NULL,
      points float8 NOT NULL)
    """,
    "CREATE TABLE gq_token (name text PRIMARY KEY, contents bytea, written_at timestamptz)",
  ]
}

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
    var lines = names(entry).map { "\($0.quotedForSQL) text" }
    if !entry.key.isEmpty { lines.append("PRIMARY KEY (\(SQLText.list(entry.key)))") }
    try connection.run(
      "CREATE TABLE IF NOT EXISTS \(entry.table.quotedForSQL) (\(lines.joined(separator: ", ")))")
    _ = try QueueTable(entry, connection)
  }

  /// Reads the types of the columns.
  ///
  /// - Throws: ``JournalError`` if the table or a column does not exist, or no unique index has the key.
  init(_ entry: SinkPlan.Entry, _ connection: PostgresConnection) throws {
    self.entry = entry
    let table = entry.table.quotedForSQL
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
    let names = SQLText.list(columns.map(\.name))
    let arrays = columns.indices.map { "$\($0 + 1)::text[]" }.joined(separator: ", ")
    let values = columns.map { "\($0.name.quotedForSQL)::\($0.type)" }.joined(separator: ", ")
    let from = "FROM unnest(\(arrays)) WITH ORDINALITY AS r(\(names), \"#\")"
    let insert = "INSERT INTO \(table) (\(names))"
    guard !key.isEmpty else { return "\(insert) SELECT \(values) \(from)" }
    let sortKeys = key.map { "r.\($0.quotedForSQL)" }.joined(separator: ", ")
    return "\(insert) SELECT DISTINCT ON (\(sortKeys)) \(values) \(from) "
      + "ORDER BY \(sortKeys), \"#\" DESC" + SQLText.replacing(columns.map(\.name), key: key)
  }

  private var emptyColumns: [PostgresValue] { columns.map { _ in .texts([]) } }

  func write(_ rows: [[SQLValue]], _ connection: PostgresConnection) throws {
    // Each statement has all columns as arrays, in memory once more.
    for start in stride(from: 0, to: rows.count, by: Self.maxRows) {
      let group = rows[start..<min(start + Self.maxRows, rows.count)]
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
