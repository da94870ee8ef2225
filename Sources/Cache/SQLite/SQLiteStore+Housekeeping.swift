import Foundation
import GRDB
import GRDBSQLite

extension SQLiteStore {
  public func explain(
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

  public func remove(_ selection: RecordSelection) async throws(CacheError) -> RemovalSummary {
    try await housekeep("remove records of the cache") { db, housekeeping in
      try housekeeping.remove(selection, from: db)
    }
  }

  /// The reached keys are collected in a temporary table on disk: memory does not grow with the cache.
  public func collectGarbage(
    rootsBefore date: Int?
  ) async throws(CacheError) -> RemovalSummary {
    let summary = try await housekeep("collect the garbage of the cache") { db, housekeeping in
      try housekeeping.collectGarbage(rootsBefore: date, in: db)
    }
    try await compact()
    return summary
  }

  public func trim(to bytes: Int) async throws(CacheError) -> RemovalSummary {
    let summary = try await housekeep("trim the cache") { db, housekeeping in
      try housekeeping.trim(to: bytes, in: db)
    }
    try await compact()
    return summary
  }

  /// Writes a compact copy of the database, as one file without a write-ahead log, to `path`. A file
  /// that is there already is an error.
  public func copy(to path: String) async throws(CacheError) {
    try await gate.acquire()
    do {
      // The last committed state. The log is not needed for the copy.
      try await pool.writeWithoutTransaction { db in
        try db.execute(sql: "VACUUM INTO ?", arguments: [path])
      }
    } catch {
      gate.release()
      throw SQLiteFile.describe(error, "copy the cache to \(path):", self.path)
    }
    gate.release()
  }

  /// Gives the space of what was removed back to the file system.
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
      // Another process reads or writes: what was removed is removed, and the space is used again.
      if (error as? DatabaseError)?.resultCode == .SQLITE_BUSY { return }
      throw SQLiteFile.describe(error, "compact the cache", path)
    }
    gate.release()
  }

  /// One transaction that removes. Temporary tables go to disk meanwhile.
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
          // What is kept in memory goes at the moment at which others see the file's new state.
          try activity.changing {
            try db.commit()
            activity.front?.clear()
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
