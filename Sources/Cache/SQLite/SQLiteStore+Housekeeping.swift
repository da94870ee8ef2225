import Foundation
import GRDB
import GRDBSQLite

extension SQLiteStore {
  /// Explains how the cache answers an operation; see ``CacheStore``.
  package func explain(
    _ operation: PreparedOperation, options: ReadOptions, showing detail: CacheExplanation.Detail
  ) async throws(CacheError) -> CacheExplanation {
    do {
      return try await pool.read { [damage, types = activity.concreteTypes] db in
        StoredTypes.learn(types, for: operation.plan, in: db, damage)
        let source = TimedSQLiteSource(db, damage)
        var explainer = RecordExplainer(
          operation.plan, source: source, types: types, options: options, detail: detail)
        return try explainer.explain()
      }
    } catch {
      throw SQLiteFile.describe(error, "read the cache", path)
    }
  }

  /// Every record and segment with the times of its fields.
  func recordsWithTimes() async throws -> [(key: [UInt8], text: [UInt8], times: RecordTimes)] {
    try await pool.read { db in
      var records: [(key: [UInt8], text: [UInt8], times: RecordTimes)] = []
      try SQLiteHousekeeping.forEachRow("SELECT key, data, received, ages FROM records", db) {
        records.append(
          (
            SQLiteText.column($0, 0).array, SQLiteText.column($0, 1).array,
            SQLiteText.times($0, 2)
          ))
      }
      return records
    }
  }

  /// Removes the selected records or fields, in one transaction.
  package func remove(_ selection: RecordSelection) async throws(CacheError) -> RemovalSummary {
    try await housekeep("remove records of the cache") { db, housekeeping in
      try housekeeping.remove(selection, from: db)
    }
  }

  /// Removes the records that no root field or redirect reaches. Reached keys are collected in a temporary
  /// table on disk, so memory does not grow with the cache.
  package func collectGarbage(
    rootsBefore date: Int?, keeping prefixes: Set<String>
  ) async throws(CacheError) -> RemovalSummary {
    let summary = try await housekeep("collect the garbage of the cache") { db, housekeeping in
      try housekeeping.collectGarbage(rootsBefore: date, keeping: prefixes, in: db)
    }
    try await compact()
    return summary
  }

  /// Removes the oldest records until the cache has at most `bytes` bytes of record texts.
  package func trim(to bytes: Int) async throws(CacheError) -> RemovalSummary {
    let summary = try await housekeep("trim the cache") { db, housekeeping in
      try housekeeping.trim(to: bytes, in: db)
    }
    try await compact()
    return summary
  }

  /// Writes a compact copy of the database to `path`, as one file without a write-ahead log.
  ///
  /// - Throws: ``CacheError``; `storage` if a file already exists at `path`.
  package func copy(to path: String) async throws(CacheError) {
    try await gate.acquire()
    do {
      // Reads the last committed state, so the log is not required for the copy.
      try await pool.writeWithoutTransaction { db in
        try db.execute(sql: "VACUUM INTO ?", arguments: [path])
      }
    } catch {
      gate.release()
      throw SQLiteFile.describe(error, "copy the cache to \(path):", self.path)
    }
    gate.release()
  }

  /// Returns the space of removed records to the file system.
  private func compact() async throws(CacheError) {
    try await gate.acquire()
    do {
      try await pool.writeWithoutTransaction { db in
        guard try Int.fetchOne(db, sql: "PRAGMA freelist_count") ?? 0 > 0 else { return }
        try db.execute(sql: "VACUUM")
      }
      _ = try await pool.checkpoint()
    } catch {
      gate.release()
      // Another process reads or writes: the records are removed, and their space is reused later.
      if (error as? DatabaseError)?.resultCode == .SQLITE_BUSY { return }
      throw SQLiteFile.describe(error, "compact the cache", path)
    }
    gate.release()
  }

  /// Runs one removing transaction. Temporary tables are stored on disk.
  private func housekeep(
    _ action: String,
    _ work: @escaping @Sendable (Database, inout SQLiteHousekeeping) throws -> Void
  ) async throws(CacheError) -> RemovalSummary {
    try await gate.acquire()
    let collectsChanges = collectsChanges || activity.isWatched
    let activity = activity
    do {
      let summary = try await pool.writeWithoutTransaction { db in
        try db.execute(sql: "PRAGMA temp_store = FILE")
        defer { try? db.execute(sql: "PRAGMA temp_store = MEMORY") }
        var housekeeping = SQLiteHousekeeping(collectsChanges: collectsChanges)
        try db.beginTransaction(.immediate)
        do {
          try work(db, &housekeeping)
          // The memory tier changes at the moment at which others see the new state of the file.
          try activity.changing {
            try db.commit()
            activity.memoryTier?.clear()
          }
        } catch {
          if db.isInsideTransaction { try? db.rollback() }
          throw error
        }
        return housekeeping.summary
      }
      activity.post(summary)
      gate.release()
      checkpointIfLarge()
      return summary
    } catch {
      gate.release()
      throw SQLiteFile.describe(error, action, path)
    }
  }
}
