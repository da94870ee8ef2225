import Foundation
import GRDB
import GRDBSQLite

/// The transaction of one response on a SQLite file.
///
/// Batches are written on the writer connection's queue while the next bytes of the response are
/// parsed; at most one batch waits.
actor SQLiteTransaction: RecordTransaction {
  private let store: SQLiteStore
  private var changes: ResponseChanges
  private var inFlight: Task<Void, any Error>?
  /// The batch that is being written, or the last one.
  private var written: RecordBatch?
  /// The written keys, if there is a memory tier.
  private var keys: WrittenKeys?
  /// The new file that the response is written to, if the database was empty.
  private var fresh: FreshDatabase?
  /// The first error of a write; all later accesses throw it. SQLite has undone the statement, the whole transaction,
  /// or, in a new file, nothing.
  private var failure: CacheError?
  /// Whether nothing was written yet.
  private var isFirst = true
  private var isOpen = true

  init(store: SQLiteStore) {
    self.store = store
    changes = ResponseChanges(in: store)
    keys = store.activity.memoryTier.map { WrittenKeys(limit: $0.maxSize / 8) }
  }

  deinit {
    guard isOpen else { return }
    // No batch is being written, because its task holds this transaction.
    let (store, fresh) = (store, fresh)
    Task { await Self.rollback(store, fresh) }
  }

  func merge(_ records: RecordBatch) async throws(CacheError) -> RecordBatch? {
    try await settle()
    // No longer read once it is written.
    let spent = written
    written = records
    changes.add(records, store.activity, noting: &keys)
    let (store, collection, isFirst) = (store, changes.collection, isFirst)
    self.isFirst = false
    inFlight = Task {
      if isFirst, records.table.liveBytes >= store.minFreshBytes {
        fresh = try await onWriter { try FreshDatabase.make(for: store, $0) }
      }
      let log = try await onWriter { db in
        try RecordWriter(
          db, store: store, collection: collection, nullsAreTentative: !records.nullsAreFacts,
          received: records.received
        ).write(records)
      }
      self.changes.add(log)
      fresh?.startWriting()
    }
    return spent
  }

  /// Calls `body` with the connection to which the response is written.
  private func onWriter<Result: Sendable>(
    _ body: @escaping @Sendable (Database) throws -> Result
  ) async throws -> Result {
    guard let fresh else { return try await store.pool.writeWithoutTransaction(body) }
    return try await fresh.queue.writeWithoutTransaction(body)
  }

  /// Waits for the batch that is being written.
  private func settle() async throws(CacheError) {
    if let failure { throw failure }
    do {
      try await inFlight?.value
      inFlight = nil
    } catch {
      inFlight = nil
      throw failed(error)
    }
  }

  private func failed(_ error: any Error) -> CacheError {
    let described = SQLiteFile.describe(error, action: "write to the cache", path: store.path)
    failure = described
    return described
  }

  /// Runs `body` with a writer, after the batch that is being written.
  private func write<Result: Sendable>(
    _ body: @escaping @Sendable (RecordWriter) throws -> Result
  ) async throws(CacheError) -> Result {
    try await settle()
    let (store, collection, received) = (store, changes.collection, changes.received)
    do {
      return try await onWriter { db in
        try body(
          RecordWriter(
            db, store: store, collection: collection, nullsAreTentative: false, received: received))
      }
    } catch {
      throw failed(error)
    }
  }

  func resolve(_ nulls: NullResolution) async throws(CacheError) {
    let (resolved, errors) = try await write { writer in
      let (resolved, errors) = try writer.pool.read { before in
        let records = StoredRecords(writer, before: before)
        nulls.run(records)
        if let failure = records.failure { throw failure }
        return (records.resolved, records.errors)
      }
      return (resolved, try writer.write(RecordBatch(errors)))
    }
    changes.add(resolved)
    changes.add(errors)
  }

  func remove(_ removals: [RecordRemoval]) async throws(CacheError) {
    let targets = try removals.map { (removal) throws(CacheError) in try removal.target() }
    for target in targets { target.key.withBytes { keys?.add($0) } }
    changes.add(try await write { try $0.remove(targets) })
  }

  func read(
    _ operation: PreparedOperation, options: ReadOptions
  ) async throws(CacheError) -> StoreAnswer {
    try await settle()
    do {
      let types = store.activity.concreteTypes
      return try await onWriter { db in
        SQLiteConcreteTypes.learn(types, for: operation.plan, in: db)
        return try RecordReader(
          operation.plan, source: SQLiteSource(db: db), types: types, options: options
        ).read()
      }
    } catch {
      throw SQLiteFile.describe(error, action: "read the cache", path: store.path)
    }
  }

  func commit(settling layer: OptimisticLayer?) async throws(CacheError) -> WriteSummary {
    try await settle()
    let (store, changes, keys, fresh) = (store, changes, keys, fresh)
    let finish: @Sendable (Database) throws -> (WriteSummary, NewRecords) = { db in
      var changes = changes
      let writer = try changes.writer(on: db, of: store)
      let summary = try changes.finish(writer, in: store)
      return (summary, try NewRecords(keys, store: store, records: writer.records))
    }
    // A separate task: cancelling the caller must not interrupt the commit.
    let committing = Task {
      if let fresh { return try await Self.commit(fresh, to: store, settling: layer, finish) }
      return try await store.pool.writeWithoutTransaction { db in
        let (summary, new) = try finish(db)
        return (summary, try new.show(in: store, settling: [layer]) { try db.commit() })
      }
    }
    do {
      let (summary, settled) = try await committing.value
      isOpen = false
      store.activity.post(summary)
      store.activity.post(settled)
      store.gate.release()
      store.checkpointIfLarge()
      return summary
    } catch {
      await rollback()
      throw SQLiteFile.describe(error, action: "commit to the cache", path: store.path)
    }
  }

  /// Commits a response that is in a new file.
  private static func commit(
    _ fresh: FreshDatabase, to store: SQLiteStore, settling layer: OptimisticLayer?,
    _ finish: @escaping @Sendable (Database) throws -> (WriteSummary, NewRecords)
  ) async throws -> (WriteSummary, [OptimisticLayer.Content?]) {
    let (summary, new) = try await fresh.queue.writeWithoutTransaction { db in
      let result = try finish(db)
      try db.commit()
      return result
    }
    try await fresh.complete()
    let shown = try await fresh.replace(store) { replace in
      try new.show(in: store, settling: [layer], replace)
    }
    if let shown { return (summary, shown) }
    let settled = try await store.pool.writeWithoutTransaction { db in
      try fresh.copyRows(to: db)
      return try new.show(in: store, settling: [layer]) { try db.commit() }
    }
    fresh.discard()
    return (summary, settled)
  }

  func rollback() async {
    guard isOpen else { return }
    isOpen = false
    let (store, inFlight) = (store, inFlight)
    // A separate task, as for commits: the database rejects access from a cancelled task.
    await Task {
      _ = await inFlight?.result
      await Self.rollback(store, fresh)
    }.value
  }

  private static func rollback(_ store: SQLiteStore, _ fresh: FreshDatabase?) async {
    if let fresh {
      fresh.discard()
      // Its transaction may have been committed.
      store.views.forget()
    }
    // If the rollback fails, SQLite has already rolled back.
    try? await store.pool.writeWithoutTransaction { db in
      if db.isInsideTransaction { try db.rollback() }
    }
    store.gate.release()
  }
}
