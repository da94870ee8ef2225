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
    try whileLocked(connection) {
      let found = try installed(connection) ?? 0
      guard found < version else { return }
      for statement in steps[found...].joined() { try connection.run(statement) }
      try connection.run("DELETE FROM gq_version")
      try connection.run("INSERT INTO gq_version VALUES ($1)", .int(version))
    }
  }

  /// Changes tables in a transaction. Several processes may start at the same moment.
  static func whileLocked(
    _ connection: PostgresConnection, _ body: () throws -> Void
  ) throws {
    try connection.transaction {
      try connection.run("SELECT pg_advisory_xact_lock(5139820715)")
      try body()
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
    guard try connection.hasTable("gq_version") else { return nil }
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
  static let steps = [first, second, third, fourth, fifth]

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
  private static let third = ["ALTER TABLE gq_task ADD COLUMN row_values text"]
  private static let fourth = [
    // The transaction that began the run, and what operations with `since` start from.
    "ALTER TABLE gq_run ADD COLUMN begun bigint NOT NULL DEFAULT 0, ADD COLUMN since text",
    // The highest values in the rows of each worker, beside gq_worker, whose row the transactions of results change.
    """
    CREATE TABLE gq_since (
      worker uuid NOT NULL REFERENCES gq_worker, name text NOT NULL, value text NOT NULL,
      PRIMARY KEY (worker, name))
    """,
    "CREATE TABLE IF NOT EXISTS gqlrun_since (name text PRIMARY KEY, value text NOT NULL)",
  ]
  private static let fifth = [
    // The cursors that grow, in parts. Their tasks have none of their own.
    """
    CREATE TABLE gq_cursor (
      run uuid NOT NULL, id bytea NOT NULL, part bigint NOT NULL, text text NOT NULL,
      PRIMARY KEY (run, id, part))
    """
  ]
}
