import Foundation
import GQLRunSupport
import GRDB

extension SQLiteStore {
  public func read(
    _ operation: PreparedOperation, options: ReadOptions
  ) async throws(CacheError) -> StoreAnswer {
    do {
      let (activity, seed) = (activity, segmentSeed)
      // What is kept in memory has no times.
      guard let front = activity.front, !options.checksAges else {
        return try await pool.read { [damage] db in
          let edits = activity.hasLayers ? try Self.snapshot(db, activity) { $0 } : []
          let types = activity.concreteTypes
          StoredTypes.learn(types, for: operation.plan, in: db, damage)
          let answer =
            options.checksAges
            ? try Self.answer(
              operation, TimedSQLiteSource(db, damage), types, edits, options, seed)
            : try Self.answer(operation, SQLiteSource(db, damage), types, edits, options, seed)
          if edits.isEmpty { Self.wonder(about: answer, damage, db) }
          return answer
        }
      }
      // All from memory, or all from the file: both are one state of the file.
      let known = try activity.reading {
        try front.read(operation, under: $0, options, seed: seed, types: activity.concreteTypes)
      }
      if let known { return known }
      return try await pool.read { [damage] db in
        let (edits, version) = try Self.snapshot(db, activity) { ($0, front.version) }
        let types = activity.concreteTypes
        StoredTypes.learn(types, for: operation.plan, in: db, damage)
        let records = RecordTable()
        let source = PromotingSource(
          SQLiteSource(db, damage), into: records, limit: front.maxSize / 2)
        let answer = try Self.answer(operation, source, types, edits, options, seed)
        if edits.isEmpty { Self.wonder(about: answer, damage, db) }
        activity.changing { front.promote(records, version: version) }
        return answer
      }
    } catch {
      throw SQLiteFile.describe(error, "read the cache", path)
    }
  }

  /// A response brings every record that it refers to. One that is not there, though nobody removed any,
  /// may be there under a damaged key.
  private static func wonder(about answer: StoreAnswer, _ damage: DamageLog, _ db: Database) {
    guard case .miss(let miss) = answer.result, miss.field == nil else { return }
    if (try? SQLiteSchema.mayHaveRemovals(in: db)) == false { damage.noteLostRecord() }
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

  /// What belongs to the state that this connection sees from now on: the optimistic layers, above all.
  private static func snapshot<Value>(
    _ db: Database, _ activity: StoreActivity, _ body: ([StoreEdit]) -> Value
  ) throws -> Value {
    try activity.reading { edits in
      // The first query of a transaction decides what it sees: https://sqlite.org/isolation.html
      _ = try Int.fetchOne(db, sql: "SELECT 1 FROM meta LIMIT 1")
      return body(edits)
    }
  }

  /// Finds out whether others have written to the file since the last call, and if so lets every
  /// watcher look again and forgets what is kept in memory.
  ///
  /// What stores of this process write is known without it. What other processes write is seen by
  /// reads at once, unless records are kept in memory (``Options/memory``), and by watchers only with
  /// this call: whoever shares a file with other processes makes it now and then, or before a read
  /// that must be up to date. It costs a few microseconds.
  ///
  /// - Returns: Whether others have written, another store of this process included; always `true` for
  ///   a store that can only read, and at the first call.
  @discardableResult
  public func refresh() async throws(CacheError) -> Bool {
    if !isReadOnly {
      do {
        // https://sqlite.org/pragma.html#pragma_data_version: commits of this connection do not count.
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

/// What SQLite said last of the commits of others.
final class DataVersion: Sendable {
  private let last = Locked<Int?>(nil)

  func isNew(_ version: Int?) -> Bool {
    last.withLock { last in
      defer { last = version }
      return last != version
    }
  }
}
