import GRDB

extension SQLiteStore {
  /// Compares the version of the key resolver with that of the file, in the row `key_resolver` of its
  /// table `meta`. An empty file takes the given one.
  package func adopt(keyResolver version: String?) async throws(CacheError) {
    let action = "compare the key resolver of the cache"
    do {
      let isKnown = try await pool.read { [path] db in
        try Self.hasKeys(of: version, db, path)
      }
      if isKnown || isReadOnly { return }
    } catch {
      throw SQLiteFile.describe(error, action, path)
    }
    try await gate.acquire()
    defer { gate.release() }
    do {
      try await pool.writeWithoutTransaction { [path] db in
        try db.inTransaction(.immediate) {
          // Another process may have written meanwhile.
          guard try !Self.hasKeys(of: version, db, path) else { return .commit }
          try db.execute(sql: "DELETE FROM meta WHERE name = 'key_resolver'")
          if let version {
            try db.execute(
              sql: "INSERT INTO meta VALUES ('key_resolver', ?)", arguments: [version])
          }
          return .commit
        }
      }
    } catch {
      throw SQLiteFile.describe(error, action, path)
    }
  }

  /// Whether the file has this version; `false` for an empty file with another one.
  private static func hasKeys(
    of version: String?, _ db: Database, _ path: String
  ) throws -> Bool {
    let stored = try String.fetchOne(
      db, sql: "SELECT value FROM meta WHERE name = 'key_resolver'")
    if stored == version { return true }
    guard try Int.fetchOne(db, sql: "SELECT 1 FROM records LIMIT 1") == nil else {
      throw CacheError.otherResolver(path, stored: stored, own: version)
    }
    return false
  }
}
