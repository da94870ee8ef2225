import GQLRunPostgres

extension PostgresStore {
  /// Removes all records and optimistic layers.
  package func clear() async throws(CacheError) {
    try await lock()
    do {
      try await connections.write(continuing: true) { connection in
        // Unlike DELETE it leaves nothing of the data in the table's file.
        try connection.run("TRUNCATE gqlrun_record, gqlrun_type")
        try Self.noteChange(connection)
        try connection.run("COMMIT")
      }
    } catch {
      activity.noteCleared()
      await rollback()
      throw Self.describe(error, "clear the cache")
    }
    activity.noteCleared()
    await rollback()
  }

  package func remove(_ selection: RecordSelection) async throws(CacheError) -> RemovalSummary {
    try await housekeep("remove records of the cache") { await $0.remove(selection) }
  }

  /// Removes records that no root field or redirect reaches. All records are in memory meanwhile.
  package func collectGarbage(
    rootsBefore date: Int?, keeping prefixes: Set<String>
  ) async throws(CacheError) -> RemovalSummary {
    try await housekeep("collect the garbage of the cache") {
      await $0.collectGarbage(rootsBefore: date, keeping: prefixes)
    }
  }

  /// Removes the records that were received first. All records are in memory meanwhile.
  package func trim(to bytes: Int) async throws(CacheError) -> RemovalSummary {
    try await housekeep("trim the cache") { await $0.trim(to: bytes) }
  }

  /// Edits all records as a store in memory does.
  private func housekeep(
    _ action: String, _ edit: @Sendable (MemoryStore) async -> RemovalSummary
  ) async throws(CacheError) -> RemovalSummary {
    try await lock()
    do {
      var change = try await connections.write(continuing: true) {
        try PostgresChange(everythingOf: $0)
      }
      let memory = MemoryStore(
        change.after, collectsChanges: collectsChanges || activity.isWatched)
      let summary = await edit(memory)
      change.after = await memory.table
      try await connections.write(continuing: true) { [change] connection in
        try change.write(connection, granularity: 0)
        try Self.noteChange(connection)
        try connection.run("COMMIT")
      }
      await rollback()
      activity.post(summary)
      return summary
    } catch {
      await rollback()
      throw Self.describe(error, action)
    }
  }
}
