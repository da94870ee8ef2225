import GRDB

/// What the batches of a response have changed in the transaction of a file, and what is left for its end.
struct ResponseChanges: Sendable {
  let collection: ChangeCollection
  private var log: TransactionLog
  private var pages: [Paging] = []
  private var deltas: [RecordDelta] = []
  private var types: [ResponseTypes] = []
  /// The receive time of the response, in seconds since 1970.
  private(set) var received: UInt32 = 0

  init(in store: SQLiteStore) {
    collection = store.activity.collection(all: store.collectsChanges)
    log = TransactionLog(collection)
  }

  /// Adds a batch that is going to be written.
  ///
  /// - Parameter keys: Takes the keys of its records; `nil` without a memory tier.
  mutating func add(
    _ records: RecordBatch, _ activity: StoreActivity, noting keys: inout WrittenKeys?
  ) {
    received = records.received
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
    for new in records.types {
      if !types.contains(where: { $0.number == new.number }) { types.append(new) }
      // The schema has these types even if the response is rolled back.
      activity.learn(new)
    }
  }

  /// Adds what a batch has changed.
  mutating func add(_ written: TransactionLog) { log.add(written) }

  /// Adds fields that were restored after errors had hidden them.
  mutating func add(_ resolved: [(key: [UInt8], fields: [[UInt8]])]) {
    for (key, fields) in resolved { log.noteResolved(key, fields) }
  }

  /// A writer for the end of the response.
  func writer(on db: Database, of store: SQLiteStore) throws -> RecordWriter {
    try RecordWriter(
      db, store: store, collection: collection, nullsAreTentative: false, received: received)
  }

  /// Ends the response: makes nulls permanent, joins pages, applies deltas, and adds new types to the views.
  ///
  /// - Returns: The changes since the state before the transaction.
  mutating func finish(_ writer: RecordWriter, in store: SQLiteStore) throws -> WriteSummary {
    // Nulls first, because joined lists depend on them.
    let summary = try log.finish(StoredRecords(writer), joining: pages, applying: deltas)
    for types in types { try store.views.update(writer.db, types) }
    return summary
  }
}

/// The written records for the memory tier; `nil` if there are too many.
struct NewRecords: Sendable {
  private let records: [(key: [UInt8], text: [UInt8]?)]?

  /// Reads the records with these keys, before the commit.
  init(_ keys: WrittenKeys?, store: SQLiteStore, records: SQLiteRecords) throws {
    guard let tier = store.activity.memoryTier, let keys, !keys.areTooMany else {
      self.records = nil
      return
    }
    self.records = try keys.records(size: tier.maxSize / 2) { try records.text(of: $0) }
  }

  /// Commits so that all changes become visible at once: in the file, in the memory tier, and in
  /// the optimistic layers.
  ///
  /// - Returns: The result of settling each layer.
  func show(
    in store: SQLiteStore, settling layers: [OptimisticLayer?], _ commit: () throws -> Void
  ) throws -> [OptimisticLayer.Content?] {
    let tier = store.activity.memoryTier
    if tier == nil, layers.allSatisfy({ $0 == nil }) {
      try commit()
      return layers.map { _ in nil }
    }
    return try store.activity.changing {
      try commit()
      if let records { tier?.replace(records) } else { tier?.clear() }
      return layers.map { layer in layer.flatMap { store.activity.take($0) } }
    }
  }
}
