import Foundation
import GQLRunSupport
import GRDB

extension SQLiteStore {
  /// Reads an operation from the cache; see ``CacheStore``.
  package func read(
    _ operation: PreparedOperation, options: ReadOptions
  ) async throws(CacheError) -> StoreAnswer {
    do {
      let (activity, seed) = (activity, segmentSeed)
      // The memory tier has no times.
      guard let tier = activity.memoryTier, !options.checksAges else {
        return try await pool.read { [damage] db in
          let edits = activity.hasLayers ? try Self.snapshot(db, activity) { $0 } : []
          let types = activity.concreteTypes
          StoredTypes.learn(types, for: operation.plan, in: db, damage)
          let answer =
            options.checksAges
            ? try Self.answer(
              operation, TimedSQLiteSource(db, damage), types, edits, options, seed)
            : try Self.answer(operation, SQLiteSource(db, damage), types, edits, options, seed)
          if edits.isEmpty { Self.reportLostRecords(answer, damage, db) }
          return answer
        }
      }
      // Either all from memory or all from the file: both are one state of the file.
      let known = try activity.reading {
        try tier.read(operation, under: $0, options, seed: seed, types: activity.concreteTypes)
      }
      if let known { return known }
      return try await pool.read { [damage] db in
        let (edits, version) = try Self.snapshot(db, activity) { ($0, tier.version) }
        let types = activity.concreteTypes
        StoredTypes.learn(types, for: operation.plan, in: db, damage)
        let records = RecordTable()
        let source = RememberingSource(
          SQLiteSource(db, damage), into: records, limit: tier.maxSize / 2)
        let answer = try Self.answer(operation, source, types, edits, options, seed)
        if edits.isEmpty { Self.reportLostRecords(answer, damage, db) }
        activity.changing { tier.promote(records, version: version) }
        return answer
      }
    } catch {
      throw SQLiteFile.describe(error, "read the cache", path)
    }
  }

  /// A response contains every record it refers to, so a missing record although none was removed
  /// may have a damaged key.
  private static func reportLostRecords(_ answer: StoreAnswer, _ damage: DamageLog, _ db: Database)
  {
    guard case .miss(let miss) = answer.result, miss.field == nil else { return }
    if (try? SQLiteSchema.mayHaveRemovals(in: db)) == false { damage.reportLostRecord() }
  }

  private static func answer<Source: RecordSource>(
    _ operation: PreparedOperation, _ source: Source, _ types: ConcreteTypes, _ edits: [StoreEdit],
    _ options: ReadOptions, _ seed: UInt64
  ) throws(CacheError) -> StoreAnswer {
    if edits.isEmpty {
      return try RecordReader(operation.plan, source: source, types: types, options: options).read()
    }
    let layered = LayeredSource(source, edits: edits, seed: seed)
    return try RecordReader(operation.plan, source: layered, types: types, options: options).read()
  }

  /// Reads the state of this connection's snapshot, with the optimistic layers that belong to it.
  private static func snapshot<Value: Sendable>(
    _ db: Database, _ activity: StoreActivity, _ body: ([StoreEdit]) -> Value
  ) throws -> Value {
    try activity.reading { edits in
      // The first query of a transaction determines its snapshot: https://sqlite.org/isolation.html
      _ = try Int.fetchOne(db, sql: "SELECT 1 FROM meta LIMIT 1")
      return body(edits)
    }
  }

  @discardableResult
  package func refresh() async throws(CacheError) -> Bool {
    if !isReadOnly {
      do {
        // https://sqlite.org/pragma.html#pragma_data_version: excludes commits of this connection.
        let version = try await pool.writeWithoutTransaction { db in
          try Int.fetchOne(db, sql: "PRAGMA data_version")
        }
        guard versions.isNew(version) else { return false }
      } catch {
        throw SQLiteFile.describe(error, "look for changes of the cache", path)
      }
    }
    activity.noteUnknownChanges()
    return true
  }
}

/// The last `data_version` of SQLite.
final class DataVersion: Sendable {
  private let last = Locked<Int?>(nil)

  func isNew(_ version: Int?) -> Bool {
    last.withLock { last in
      defer { last = version }
      return last != version
    }
  }
}
