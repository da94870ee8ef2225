import GQLRunPostgres

extension PostgresStore {
  /// Compares the version of the key resolver with that of the database, in the table
  /// `gqlrun_key_resolver`. A cache without records takes the given one.
  package func adopt(keyResolver version: String?) async throws(CacheError) {
    do {
      if try await connections.write({ try Self.hasKeys(of: version, $0) }) { return }
    } catch {
      throw Self.describe(error, "compare the key resolver of the cache")
    }
    try await lock()
    do {
      try await connections.write(continuing: true) { connection in
        // Another process may have written meanwhile.
        if try !Self.hasKeys(of: version, connection) {
          try connection.run(
            "CREATE TABLE IF NOT EXISTS gqlrun_key_resolver (version text NOT NULL)")
          try connection.run("DELETE FROM gqlrun_key_resolver")
          if let version {
            try connection.run("INSERT INTO gqlrun_key_resolver VALUES ($1)", .text(version))
          }
        }
        try connection.run("COMMIT")
      }
    } catch {
      await rollback()
      throw Self.describe(error, "note the key resolver of the cache")
    }
    await rollback()
  }

  /// Whether the cache has this version; `false` for one without records and with another version.
  private static func hasKeys(
    of version: String?, _ connection: PostgresConnection
  ) throws -> Bool {
    var stored: String?
    if try connection.run("SELECT 1 WHERE to_regclass('gqlrun_key_resolver') IS NOT NULL").count > 0
    {
      let rows = try connection.run("SELECT version FROM gqlrun_key_resolver")
      if rows.count > 0 { stored = rows.text(0, 0) }
    }
    if stored == version { return true }
    guard try connection.run("SELECT 1 FROM gqlrun_record LIMIT 1").count == 0 else {
      throw CacheError.otherResolver(connection.database, stored: stored, own: version)
    }
    return false
  }
}
