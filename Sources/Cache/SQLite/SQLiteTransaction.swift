import Foundation
import GRDB
import GRDBSQLite

/// One response on its way into a SQLite file.
///
/// Batches are written on the writer connection's own queue while the next bytes of the response are
/// parsed; at most one batch waits.
actor SQLiteTransaction: RecordTransaction {
  private let store: SQLiteStore
  private let collection: ChangeCollection
  private var inFlight: Task<Void, any Error>?
  /// The batch that is being written, or was last.
  private var written: RecordBatch?
  private var log: TransactionLog
  private var pages: [Paging] = []
  /// What was written, while records are kept in memory, too.
  private var keys: WrittenKeys?
  private var shapes: TypeShapes?
  private var isOpen = true
  /// When the response was received.
  private var received: UInt32 { written?.received ?? 0 }

  init(store: SQLiteStore) {
    self.store = store
    collection = store.collectsChanges ? .all : store.activity.isWatched ? .bounded : .none
    log = TransactionLog(collection)
    keys = store.activity.front.map { WrittenKeys(limit: $0.maxSize / 8) }
  }

  deinit {
    guard isOpen else { return }
    let (store, inFlight) = (store, inFlight)
    Task { await Self.rollback(store, after: inFlight) }
  }

  func merge(_ records: RecordBatch) async throws(CacheError) -> RecordBatch? {
    try await settle()
    // Written, so that nobody reads it any more.
    let spent = written
    written = records
    if keys != nil { for index in records.table.live { keys?.add(records.table.key(at: index)) } }
    if let paging = records.paging {
      pages.append(paging)
      for key in paging.keys { key.withUnsafeBufferPointer { keys?.add(Bytes($0)) } }
    }
    shapes = records.shapes ?? shapes
    let (store, collection) = (store, collection)
    inFlight = Task {
      let log = try await store.pool.writeWithoutTransaction { db in
        try RecordWriter(
          db, store, collection, nullsAreTentative: !records.nullsAreFacts,
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
      throw SQLiteFile.describe(error, "write to the cache", store.path)
    }
  }

  func resolve(_ nulls: NullResolutionRequest) async throws(CacheError) {
    try await settle()
    let (store, collection, received) = (store, collection, received)
    do {
      let resolved = try await store.pool.writeWithoutTransaction { db in
        let records = StoredRecords(
          db, pool: store.pool,
          writer: try RecordWriter(
            db, store, collection, nullsAreTentative: false, received: received))
        nulls.resolution.run(records)
        if let failure = records.failure { throw failure }
        return records.resolved
      }
      for (key, fields) in resolved { log.noteResolved(key, fields) }
    } catch {
      throw SQLiteFile.describe(error, "write to the cache", store.path)
    }
  }

  func remove(_ removals: [RecordRemoval]) async throws(CacheError) {
    try await settle()
    var targets: [(key: [UInt8], field: [UInt8]?)] = []
    for removal in removals {
      let target = try removal.target()
      targets.append(target)
      target.key.withUnsafeBufferPointer { keys?.add(Bytes($0)) }
    }
    let (store, collection, received) = (store, collection, received)
    do {
      let log = try await store.pool.writeWithoutTransaction { [targets] db in
        try RecordWriter(
          db, store, collection, nullsAreTentative: false, received: received
        ).remove(targets)
      }
      self.log.add(log)
    } catch {
      throw SQLiteFile.describe(error, "write to the cache", store.path)
    }
  }

  func read(_ operation: PreparedOperation) async throws(CacheError) -> CacheReadResult {
    try await settle()
    do {
      return try await store.pool.writeWithoutTransaction { db in
        try RecordReader(operation.plan, source: SQLiteSource(db)).read().result
      }
    } catch {
      throw SQLiteFile.describe(error, "read the cache", store.path)
    }
  }

  func commit(settling layer: OptimisticLayer?) async throws(CacheError) -> WriteSummary {
    try await settle()
    let (store, log, collection, shapes, keys) = (store, log, collection, shapes, keys)
    let (pages, received) = (pages, received)
    // A task of its own: cancelling the caller's must not leave a transaction half ended.
    let committing = Task {
      try await store.pool.writeWithoutTransaction { db in
        var log = log
        let writer = try RecordWriter(
          db, store, collection, nullsAreTentative: false, received: received)
        // Nulls first: what is joined must be what it will be.
        let summary = try log.finish(
          StoredRecords(db, pool: store.pool, writer: writer), joining: pages)
        if let shapes { try store.views.update(db, shapes) }
        return (summary, try Self.commit(db, store, keys, writer, settling: layer))
      }
    }
    do {
      let (summary, settled) = try await committing.value
      isOpen = false
      store.activity.post(summary)
      store.activity.post([settled])
      await store.gate.release()
      store.checkpointIfLarge()
      return summary
    } catch {
      await rollback()
      throw SQLiteFile.describe(error, "commit to the cache", store.path)
    }
  }

  /// Commits so that what others see changes in one step: the file, what is kept of it in memory, and
  /// the layers above it.
  ///
  /// - Returns: What was settled.
  private static func commit(
    _ db: Database, _ store: SQLiteStore, _ keys: WrittenKeys?, _ writer: RecordWriter,
    settling layer: OptimisticLayer?
  ) throws -> OptimisticLayer.Content? {
    let front = store.activity.front
    if front == nil, layer == nil {
      try db.commit()
      return nil
    }
    var records: [(key: [UInt8], text: [UInt8]?)]?
    if let front, let keys, !keys.areTooMany {
      records = try keys.records(size: front.maxSize / 2) { try writer.text(of: $0) }
    }
    return try store.activity.changing {
      try db.commit()
      if let records { front?.replace(records) } else { front?.clear() }
      return layer.flatMap { store.activity.take($0) }
    }
  }

  func rollback() async {
    guard isOpen else { return }
    isOpen = false
    let (store, inFlight) = (store, inFlight)
    // A task of its own, as for commits: a cancelled task's access to the database would be refused.
    await Task { await Self.rollback(store, after: inFlight) }.value
  }

  private static func rollback(_ store: SQLiteStore, after inFlight: Task<Void, any Error>?) async {
    _ = await inFlight?.result
    // A failed rollback leaves nothing open: SQLite has rolled back by itself.
    try? await store.pool.writeWithoutTransaction { db in
      if db.isInsideTransaction { try db.rollback() }
    }
    await store.gate.release()
  }
}

/// Writes staged records into the records table, on the writer connection.
struct RecordWriter {
  private let db: Database
  private let functions: MergeFunctions
  private let upsert: OpaquePointer
  private let select: OpaquePointer
  private let collection: ChangeCollection
  private let nullsAreTentative: Bool
  private let times: TimeMerge
  private let damage: DamageLog
  let seed: UInt64
  /// Keeps the prepared statements.
  private let statements: [Statement]

  init(
    _ db: Database, _ store: SQLiteStore, _ collection: ChangeCollection, nullsAreTentative: Bool,
    received: UInt32
  ) throws {
    self.db = db
    self.nullsAreTentative = nullsAreTentative
    self.collection = collection
    seed = store.segmentSeed
    damage = store.damage
    functions = try MergeFunctions.state(of: db)
    functions.collectsChanges = collection != .none
    functions.nullsAreTentative = nullsAreTentative
    times = TimeMerge(received: received, granularity: UInt32(clamping: store.ageGranularity))
    functions.times = times
    // Unchanged records whose times are near enough are not even merged.
    let upsert = try db.cachedStatement(
      sql: """
        INSERT INTO records (key, received, data, checksum) VALUES (?1, ?2, ?3, ?4)
        ON CONFLICT (key) DO UPDATE SET
          received = gqlrun_merged_received(),
          data = gqlrun_merged(),
          checksum = gqlrun_merged_checksum(),
          ages = gqlrun_merged_ages()
        WHERE (
          data IS NOT excluded.data OR checksum IS NOT excluded.checksum OR ages IS NOT NULL
          OR received NOT BETWEEN ?5 AND ?6
        ) AND gqlrun_merge(key, data, excluded.data, checksum, received, ages)
        """)
    let select = try db.cachedStatement(
      sql: "SELECT data, checksum, received, ages FROM records WHERE key = ?1")
    statements = [upsert, select]
    self.upsert = upsert.sqliteStatement
    self.select = select.sqliteStatement
    let near = Int64(max(times.granularity, 1) - 1)
    sqlite3_bind_int64(self.upsert, 5, Int64(received) - near)
    sqlite3_bind_int64(self.upsert, 6, Int64(received) + near)
  }

  /// Writes a batch in key order, so that neighbours land on the same pages.
  func write(_ batch: RecordBatch) throws -> TransactionLog {
    var log = TransactionLog(collection)
    let table = batch.table
    for index in table.sortedByKey() {
      try write(table.key(at: index), table.text(at: index), &log)
    }
    for key in batch.tentative { log.noteTentative(key) }
    return log
  }

  private func write(_ key: Bytes, _ text: Bytes, _ log: inout TransactionLog) throws {
    functions.prepare()
    // Segments are named after what they hold: a known one is the same.
    if Segments.isSegment(key: key) { return try put(key, text) }
    let before = sqlite3_total_changes(db.sqliteConnection)
    try put(key, text)
    let isWritten = sqlite3_total_changes(db.sqliteConnection) != before
    if functions.needsSegments { return try mergeWithSegments(key, text, &log) }
    if functions.hasTentativeNulls { log.noteTentative(key.array) }
    if functions.differs {
      log.noteChanged(key, functions.changed)
    } else if isWritten && !functions.wasMerged {
      log.noteNew(key, text)
    } else {
      log.noteUnchanged(key)
    }
  }

  /// Inserts or merges one record.
  func put(_ key: Bytes, _ text: Bytes) throws {
    SQLiteText.bind(upsert, 1, key)
    sqlite3_bind_int64(upsert, 2, Int64(times.received))
    SQLiteText.bind(upsert, 3, text)
    sqlite3_bind_int64(upsert, 4, SQLiteText.checksum(key: key, text: text))
    let code = sqlite3_step(upsert)
    sqlite3_reset(upsert)
    if functions.isDamaged { damage.note(key) }
    guard code == SQLITE_DONE else {
      throw DatabaseError(resultCode: ResultCode(rawValue: code), message: db.lastErrorMessage)
    }
  }

  /// The stored text of a record, its checksum verified: a damaged record counts as missing.
  func text(of key: Bytes) throws -> [UInt8]? {
    SQLiteText.bind(select, 1, key)
    defer { sqlite3_reset(select) }
    let code = sqlite3_step(select)
    if code == SQLITE_DONE { return nil }
    guard code == SQLITE_ROW else {
      throw DatabaseError(resultCode: ResultCode(rawValue: code), message: db.lastErrorMessage)
    }
    let text = SQLiteText.column(select, 0)
    guard sqlite3_column_int64(select, 1) == SQLiteText.checksum(key: key, text: text) else {
      damage.note(key)
      return nil
    }
    return text.array
  }

  /// The times of a record; those of this response when it is not there.
  func times(of key: Bytes) throws -> RecordTimes {
    SQLiteText.bind(select, 1, key)
    defer { sqlite3_reset(select) }
    guard sqlite3_step(select) == SQLITE_ROW else { return RecordTimes(received: times.received) }
    return SQLiteText.times(select, 2)
  }

  /// Replaces a record's text; its times stay as they are unless others are given.
  func replace(_ key: Bytes, _ text: Bytes, _ times: RecordTimes? = nil) throws {
    try db.execute(
      sql: "UPDATE records SET data = CAST(? AS TEXT), checksum = ? WHERE key = CAST(? AS TEXT)",
      arguments: [
        Data(text.buffer), SQLiteText.checksum(key: key, text: text), Data(key.buffer),
      ])
    if let times { try setTimes(key, times) }
  }

  func setTimes(_ key: Bytes, _ times: RecordTimes) throws {
    try db.execute(
      sql: """
        UPDATE records SET received = ?, ages = CAST(NULLIF(?, x'') AS TEXT)
        WHERE key = CAST(? AS TEXT)
        """,
      arguments: [Int64(times.received), Data(times.ages), Data(key.buffer)])
  }

  /// Removes records and fields.
  func remove(_ targets: [(key: [UInt8], field: [UInt8]?)]) throws -> TransactionLog {
    try SQLiteSchema.noteRemovals(in: db)
    var log = TransactionLog(collection)
    for (key, field) in targets {
      try key.withUnsafeBufferPointer { bytes in
        guard let text = try text(of: Bytes(bytes)) else { return }
        guard let field else {
          try remove(Bytes(bytes))
          return log.noteRemoved(key, text)
        }
        let rest = RecordText.removing(field, from: text)
        if rest == text { return }
        let times = try times(of: Bytes(bytes))
        try rest.withUnsafeBufferPointer { rest in
          try replace(
            Bytes(bytes), Bytes(rest), times.replacing([], in: Bytes(rest)))
        }
        log.noteChanged(Bytes(bytes), [field])
      }
    }
    return log
  }

  /// Removes a record.
  func remove(_ key: Bytes) throws {
    try db.execute(
      sql: "DELETE FROM records WHERE key = CAST(? AS TEXT)", arguments: [Data(key.buffer)])
  }

  private func mergeWithSegments(
    _ key: Bytes, _ text: Bytes, _ log: inout TransactionLog
  ) throws {
    guard let old = try self.text(of: key) else {
      try replace(key, text, RecordTimes(received: times.received))
      return log.noteNew(key, text)
    }
    let oldTimes = try times(of: key)
    let segments = StoredSegments(self, seed: seed)
    var merge = Merge(nullsAreTentative: nullsAreTentative, access: segments)
    var merged = ByteStack(capacity: text.count + 64)
    var changed: [[UInt8]] = []
    let differs = old.withUnsafeBufferPointer { old in
      merge.records(old: Bytes(old), new: text, into: &merged) { changed.append($0.array) }
    }
    if let failure = segments.failure { throw failure }
    let newTimes = old.withUnsafeBufferPointer { old in
      times.times(
        old: Bytes(old), oldTimes, new: text, merged: merged.all, differs: differs)
    }
    guard differs else {
      if let newTimes { try setTimes(key, newTimes) }
      return log.noteUnchanged(key)
    }
    if merge.hasTentativeNulls { log.noteTentative(key.array) }
    try replace(key, merged.all, newTimes)
    log.noteChanged(key, changed)
  }
}

/// Segments in the records table.
final class StoredSegments: SegmentAccess {
  private let writer: RecordWriter
  private let seed: UInt64
  private(set) var failure: (any Error)?

  init(_ writer: RecordWriter, seed: UInt64) {
    self.writer = writer
    self.seed = seed
  }

  func segment(key: [UInt8]) -> [UInt8]? {
    do {
      return try key.withUnsafeBufferPointer { try writer.text(of: Bytes($0)) }
    } catch {
      failure = failure ?? error
      return nil
    }
  }

  func removeSegment(key: [UInt8]) {
    do {
      try key.withUnsafeBufferPointer { try writer.remove(Bytes($0)) }
    } catch {
      failure = failure ?? error
    }
  }

  func addSegment(elements: Bytes) -> UInt64 {
    var name = hashBytes(elements.start, elements.count, seed: seed)
    var text = ByteStack(capacity: elements.count + 2)
    text.append(UInt8(ascii: "["))
    text.append(elements)
    text.append(UInt8(ascii: "]"))
    do {
      while true {
        var key = ByteStack(capacity: 64)
        Segments.appendKey(name, to: &key)
        guard let known = try writer.text(of: key.all) else {
          try writer.put(key.all, text.all)
          return name
        }
        if text.all.equals(known) { return name }
        name &+= 1
      }
    } catch {
      failure = failure ?? error
      return name
    }
  }
}
