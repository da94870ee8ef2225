import GQLRunPostgres

/// The tables of a cache in PostgreSQL, in the first schema of the search path.
enum PostgresSchema {
  /// The version of the tables.
  static let version = 1

  /// Creates the tables if there are none.
  ///
  /// - Returns: The seed of the hash that names list segments.
  /// - Throws: ``CacheError/Code/foreignDatabase`` for tables of a newer version.
  static func open(_ connection: PostgresConnection) throws -> UInt64 {
    let encoding = try connection.run("SELECT current_setting('server_encoding')").text(0, 0)
    guard encoding == "UTF8" else {
      throw CacheError(
        .storage,
        "cannot open the cache in PostgreSQL: the database \(connection.database) has the encoding \(encoding); "
          + "create one with the encoding UTF8")
    }
    if try connection.run("SELECT to_regclass('gqlrun_cache') IS NULL").int(0, 0) == 1 {
      try create(connection)
    }
    let rows = try connection.run("SELECT version, segment_seed FROM gqlrun_cache")
    guard rows.count == 1 else {
      throw CacheError(
        .damagedDatabase,
        "the table gqlrun_cache of \(connection.database) has \(rows.count) rows instead of one; drop the tables "
          + "gqlrun_cache, gqlrun_record and gqlrun_type to begin with an empty cache")
    }
    let found = rows.int(0, 0)
    guard found == version else {
      throw CacheError(
        .foreignDatabase,
        "the cache in \(connection.database) was created by a newer gqlrun (version \(found) of its tables, this one "
          + "supports \(version); unchanged); update gqlrun or choose another database or schema")
    }
    return UInt64(bitPattern: Int64(rows.int(0, 1)))
  }

  private static func create(_ connection: PostgresConnection) throws(PostgresError) {
    try connection.run("BEGIN")
    do throws(PostgresError) {
      // Several processes may start at the same moment. CREATE TABLE IF NOT EXISTS alone can fail then.
      try connection.run("SELECT pg_advisory_xact_lock(5139820714)")
      try connection.run(
        """
        CREATE TABLE IF NOT EXISTS gqlrun_cache (
          version int NOT NULL, segment_seed bigint NOT NULL, changes bigint NOT NULL DEFAULT 0)
        """)
      try connection.run(
        """
        CREATE TABLE IF NOT EXISTS gqlrun_record (
          key bytea PRIMARY KEY, data text NOT NULL, received bigint NOT NULL, ages text)
        """)
      try connection.run("CREATE TABLE IF NOT EXISTS gqlrun_type (name text PRIMARY KEY)")
      try connection.run(
        """
        INSERT INTO gqlrun_cache (version, segment_seed)
        SELECT $1::int8::int, $2 WHERE NOT EXISTS (SELECT FROM gqlrun_cache)
        """, .int(version), .int(Int(truncatingIfNeeded: UInt64.random(in: 0 ... .max))))
      try connection.run("COMMIT")
    } catch {
      _ = try? connection.run("ROLLBACK")
      throw error
    }
  }
}
