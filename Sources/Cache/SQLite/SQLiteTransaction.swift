import Foundation
import GRDB
import GRDBSQLite

/// The transaction of one response on a SQLite file.
///
/// Batches are written on the writer connection's queue while the next bytes of the response are
/// parsed; at most one batch waits.
actor SQLiteTransaction: RecordTransaction {
  private let store: SQLiteStore
  private let collection: ChangeCollection
  private var inFlight: Task<Void, any Error>?
  /// The batch that is being written, or the last one.
  private var written: RecordBatch?
  private var log: TransactionLog
  private var pages: [Paging] = []
  private var deltas: [RecordDelta] = []
  /// The written keys, if there is a memory tier.
  private var keys: WrittenKeys?
  private var types: [ResponseTypes] = []
  private var isOpen = true
  /// The receive time of the response.
  private var received: UInt32 { written?.received ?? 0 }

  init(store: SQLiteStore) {
    self.store = store
    collection = store.activity.collection(all: store.collectsChanges)
    log = TransactionLog(collection)
    keys = store.activity.memoryTier.map { WrittenKeys(limit: $0.maxSize / 8) }
  }

  deinit {
    guard isOpen else { return }
    let (store, inFlight) = (store, inFlight)
    Task { await Self.rollback(store, after: inFlight) }
  }

  func merge(_ records: RecordBatch) async throws(CacheError) -> RecordBatch? {
    try await settle()
    // No longer read once it is written.
    let spent = written
    written = records
    if keys != nil {
      // The memory tier has no errors.
      for index in records.table.live where !ErrorRecord.isErrors(key: records.table.key(at: index))
      {
        keys?.add(records.table.key(at: index))
      }
    }
    if let paging = records.paging {
      pages.append(paging)
      for key in paging.keys { key.withBytes { keys?.add($0) } }
    }
    deltas += records.deltas
    for delta in records.deltas { delta.owner.withBytes { keys?.add($0) } }
    if let new = records.types {
      if !types.contains(where: { $0.number == new.number }) { types.append(new) }
      // The schema has these types even if the response is rolled back.
      store.activity.learn(new)
    }
    let (store, collection) = (store, collection)
    inFlight = Task {
      let log = try await store.pool.writeWithoutTransaction { db in
        try RecordWriter(
          db, store: store, collection: collection, nullsAreTentative: !records.nullsAreFacts,
          received: records.received
        ).write(records)
      }
      self.log.add(log)
    }
    return spent
  }

  /// Waits for the batch that is being written.
  private func settle() async throws(CacheError) {
    do {
      try await inFlight?.value
      inFlight = nil
    } catch {
      inFlight = nil
      throw SQLiteFile.describe(error, action: "write to the cache", path: store.path)
    }
  }

  /// Runs `body` with a writer, after the batch that is being written.
  private func write<Result: Sendable>(
    _ body: @escaping @Sendable (RecordWriter) throws -> Result
  ) async throws(CacheError) -> Result {
    try await settle()
    let (store, collection, received) = (store, collection, received)
    do {
      return try await store.pool.writeWithoutTransaction { db in
        try body(
          RecordWriter(
            db, store: store, collection: collection, nullsAreTentative: false, received: received))
      }
    } catch {
      throw SQLiteFile.describe(error, action: "write to the cache", path: store.path)
    }
  }

  func resolve(_ nulls: NullResolution) async throws(CacheError) {
    let (resolved, errors) = try await write { writer in
      let records = StoredRecords(writer)
      nulls.run(records)
      if let failure = records.failure { throw failure }
      return (records.resolved, try writer.write(RecordBatch(records.errors)))
    }
    for (key, fields) in resolved { log.noteResolved(key, fields) }
    log.add(errors)
  }

  func remove(_ removals: [RecordRemoval]) async throws(CacheError) {
    let targets = try removals.map { (removal) throws(CacheError) in try removal.target() }
    for target in targets { target.key.withBytes { keys?.add($0) } }
    log.add(try await write { try $0.remove(targets) })
  }

  func read(_ operation: PreparedOperation) async throws(CacheError) -> CacheReadResult {
    try await settle()
    do {
      let types = store.activity.concreteTypes
      return try await store.pool.writeWithoutTransaction { db in
        SQLiteConcreteTypes.learn(types, for: operation.plan, in: db)
        return try RecordReader(operation.plan, source: SQLiteSource(db), types: types).read()
          .result
      }
    } catch {
      throw SQLiteFile.describe(error, action: "read the cache", path: store.path)
    }
  }

  func commit(settling layer: OptimisticLayer?) async throws(CacheError) -> WriteSummary {
    try await settle()
    let (store, log, collection, types, keys) = (store, log, collection, types, keys)
    let (pages, deltas, received) = (pages, deltas, received)
    // A separate task: cancelling the caller must not interrupt the commit.
    let committing = Task {
      try await store.pool.writeWithoutTransaction { db in
        var log = log
        let writer = try RecordWriter(
          db, store: store, collection: collection, nullsAreTentative: false, received: received)
        // Nulls first, because joined lists depend on them.
        let summary = try log.finish(
          StoredRecords(writer), joining: pages, applying: deltas)
        for types in types { try store.views.update(db, types) }
        return (
          summary, try Self.commit(db, store: store, keys: keys, writer: writer, settling: layer)
        )
      }
    }
    do {
      let (summary, settled) = try await committing.value
      isOpen = false
      store.activity.post(summary)
      store.activity.post([settled])
      store.gate.release()
      store.checkpointIfLarge()
      return summary
    } catch {
      await rollback()
      throw SQLiteFile.describe(error, action: "commit to the cache", path: store.path)
    }
  }

  /// Commits so that all changes become visible at once: in the file, in the memory tier, and in
  /// the optimistic layers.
  ///
  /// - Returns: The result of settling the layer.
  private static func commit(
    _ db: Database, store: SQLiteStore, keys: WrittenKeys?, writer: RecordWriter,
    settling layer: OptimisticLayer?
  ) throws -> OptimisticLayer.Content? {
    let tier = store.activity.memoryTier
    if tier == nil, layer == nil {
      try db.commit()
      return nil
    }
    var records: [(key: [UInt8], text: [UInt8]?)]?
    if let tier, let keys, !keys.areTooMany {
      records = try keys.records(size: tier.maxSize / 2) { try writer.records.text(of: $0) }
    }
    return try store.activity.changing {
      try db.commit()
      if let records { tier?.replace(records) } else { tier?.clear() }
      return layer.flatMap { store.activity.take($0) }
    }
  }

  func rollback() async {
    guard isOpen else { return }
    isOpen = false
    let (store, inFlight) = (store, inFlight)
    // A separate task, as for commits: the database rejects access from a cancelled task.
    await Task { await Self.rollback(store, after: inFlight) }.value
  }

  private static func rollback(_ store: SQLiteStore, after inFlight: Task<Void, any Error>?) async {
    _ = await inFlight?.result
    // If the rollback fails, SQLite has already rolled back.
    try? await store.pool.writeWithoutTransaction { db in
      if db.isInsideTransaction { try db.rollback() }
    }
    store.gate.release()
  }
}
