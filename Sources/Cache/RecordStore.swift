/// What a store of normalized records implements; ``CacheStore`` is its public form.
///
/// Every store passes the same contract tests. A response is written in one transaction: other
/// readers see the previous state, or all of the response. The functions that ``CacheStore`` has
/// too are documented there.
package protocol RecordStore: Sendable {
  /// The seed of the hash that names list segments.
  var segmentSeed: UInt64 { get }
  /// Whether a response is merged only when it is complete, regardless of its size.
  var takesWholeResponses: Bool { get }
  /// The watchers and optimistic layers of the store.
  var activity: StoreActivity { get }
  var isReadOnly: Bool { get }

  /// Starts a transaction for one response. Transactions run one at a time: others wait.
  func begin() async throws(CacheError) -> any RecordTransaction

  func adopt(keyResolver version: String?) async throws(CacheError)

  /// Writes a whole response in a transaction of its own.
  ///
  /// Writes nothing if the store was cleared since it had `epoch` clearings.
  func write(
    _ records: RecordBatch, since epoch: Int, settling layer: OptimisticLayer?
  ) async throws(CacheError) -> WriteSummary

  func read(
    _ operation: PreparedOperation, options: ReadOptions
  ) async throws(CacheError) -> StoreAnswer
  /// Runs `work` with all records, as they are at one moment. Dumps, statistics, explanations and single records are
  /// made of this.
  ///
  /// - Parameter reportsDamage: Whether damaged records become notices of the store.
  func scan<Result: Sendable>(
    reportsDamage: Bool, _ work: @escaping @Sendable (any RecordScan) throws -> Result
  ) async throws -> Result
  /// The size of the database and of its log in bytes; `nil` for what the store does not have.
  func fileSizes() async throws(CacheError) -> (file: Int?, log: Int?)

  func clear() async throws(CacheError)
  /// Removes records.
  func run(
    _ task: HousekeepingTask, _ progress: RemovalProgress
  ) async throws(CacheError) -> RemovalSummary

  func sync() async throws(CacheError)
  func checkpoint() async throws(CacheError)
  func refresh() async throws(CacheError) -> Bool
  func copy(to path: String) async throws(CacheError)
  func close() throws(CacheError)
}

extension RecordStore {
  package func write(
    _ records: RecordBatch, since epoch: Int, settling layer: OptimisticLayer?
  ) async throws(CacheError) -> WriteSummary {
    try await finish(try await begin(), with: records, since: epoch, settling: layer)
  }

  /// Commits a transaction, unless the store was cleared since it had `epoch` clearings.
  ///
  /// - Parameter records: The last records of the transaction.
  func finish(
    _ transaction: any RecordTransaction, with records: RecordBatch? = nil, since epoch: Int,
    settling layer: OptimisticLayer?
  ) async throws(CacheError) -> WriteSummary {
    // A clearing waits for transactions, so none can occur from here on.
    guard activity.epoch == epoch else {
      await transaction.rollback()
      if let layer { activity.remove(layer) }
      return WriteSummary()
    }
    do {
      if let records { _ = try await transaction.merge(records) }
      return try await transaction.commit(settling: layer)
    } catch {
      await transaction.rollback()
      throw error
    }
  }
}

/// The records of a store, as they are at one moment.
package protocol RecordScan {
  /// The type of ``source``.
  associatedtype Source: RecordSource
  /// Finds the records that others refer to.
  var source: Source { get }
  /// The records so far that do not match their checksum.
  var damagedRecords: Int { get }
  /// Calls `body` with key and text of every undamaged record, sorted by the bytes of the keys. Not inside
  /// of another scan.
  func forEachRecord(_ body: (Bytes, Bytes) throws -> Void) throws
  /// Notes the type conditions of an operation that are concrete types according to the store.
  func noteTypes(of operation: PreparedOperation, in activity: StoreActivity) throws
}

extension RecordStore {
  /// The record with this key in the dump format; `nil` if there is none.
  package func record(forKey key: String) async throws(CacheError) -> String? {
    try await scanned(reportsDamage: true) { try $0.text(of: key) }
  }

  /// Explains field by field how the cache answers an operation, without optimistic layers.
  package func explain(
    _ operation: PreparedOperation, options: ReadOptions, showing detail: CacheExplanation.Detail
  ) async throws(CacheError) -> CacheExplanation {
    try await scanned(reportsDamage: true) { [activity] records in
      try records.noteTypes(of: operation, in: activity)
      return try records.explain(
        operation.plan, types: activity.concreteTypes, options: options, detail: detail)
    }
  }

  /// Reads an operation from records with the edits of layers or of a transaction above them.
  func answer(
    _ operation: PreparedOperation, from source: some RecordSource, under edits: [StoreEdit],
    options: ReadOptions
  ) throws(CacheError) -> StoreAnswer {
    if options.errors != .refuse, source.hasErrors {
      let timed = TimedSource(source)
      let base: any RecordSource =
        edits.isEmpty ? timed : LayeredSource(timed, edits: edits, seed: segmentSeed)
      return try RecordReader(
        operation.plan, source: ErrorSource(base),
        types: activity.concreteTypes, options: options
      ).read()
    }
    return options.checksAges
      ? try answer(operation, reading: TimedSource(source), under: edits, options)
      : try answer(operation, reading: source, under: edits, options)
  }

  private func answer(
    _ operation: PreparedOperation, reading source: some RecordSource, under edits: [StoreEdit],
    _ options: ReadOptions
  ) throws(CacheError) -> StoreAnswer {
    let types = activity.concreteTypes
    if edits.isEmpty {
      return try RecordReader(operation.plan, source: source, types: types, options: options).read()
    }
    let layered = LayeredSource(source, edits: edits, seed: segmentSeed)
    return try RecordReader(operation.plan, source: layered, types: types, options: options).read()
  }

  /// Writes all records as JSON lines, sorted by key.
  package func dump(
    _ write: @escaping @Sendable (UnsafeRawBufferPointer) throws -> Void
  ) async throws {
    try await scan(reportsDamage: true) { try $0.dump(to: write) }
  }

  /// The number and size of the records.
  package func statistics() async throws(CacheError) -> StoreStatistics {
    var statistics = try await scanned(reportsDamage: false) { records in
      var statistics = StoreStatistics()
      try records.forEachRecord { statistics.count(key: $0, text: $1) }
      statistics.damagedRecords = records.damagedRecords
      return statistics
    }
    (statistics.fileBytes, statistics.logBytes) = try await fileSizes()
    return statistics
  }

  /// A scan whose work fails only as the store does.
  func scanned<Result: Sendable>(
    reportsDamage: Bool, _ work: @escaping @Sendable (any RecordScan) throws -> Result
  ) async throws(CacheError) -> Result {
    do {
      return try await scan(reportsDamage: reportsDamage, work)
    } catch let error as CacheError {
      throw error
    } catch is CancellationError {
      throw CacheError(.cancelled, "cannot read the cache: the task was cancelled")
    } catch {
      throw CacheError(.storage, "cannot read the cache: \(error)")
    }
  }
}

/// The defaults of stores without a file.
extension RecordStore {
  package func fileSizes() async throws(CacheError) -> (file: Int?, log: Int?) { (nil, nil) }
  package var isReadOnly: Bool { false }

  package func adopt(keyResolver version: String?) async throws(CacheError) {}
  package func sync() async throws(CacheError) {}
  package func checkpoint() async throws(CacheError) {}
  package func refresh() async throws(CacheError) -> Bool { false }
  package func copy(to path: String) async throws(CacheError) {
    throw CacheError(
      .storage, "cannot copy a store in memory to \(path); only a store in a file can be copied")
  }
  package func close() throws(CacheError) {}
}

/// The transaction of one response.
package protocol RecordTransaction: Sendable {
  /// Merges staged records into the stored ones.
  ///
  /// - Returns: The memory of an earlier batch, for reuse.
  func merge(_ records: RecordBatch) async throws(CacheError) -> RecordBatch?
  /// Restores the values that were replaced by nulls of errors.
  func resolve(_ nulls: NullResolution) async throws(CacheError)
  /// Removes records and fields. Ignores those that do not exist.
  func remove(_ removals: [RecordRemoval]) async throws(CacheError)
  /// Reads an operation from the records including this transaction's changes, without optimistic
  /// layers.
  func read(
    _ operation: PreparedOperation, options: ReadOptions
  ) async throws(CacheError) -> StoreAnswer
  /// Makes the changes visible, durably if the store is durable.
  ///
  /// - Parameter layer: The optimistic layer that the changes replace; it is removed at the same
  ///   moment.
  func commit(settling layer: OptimisticLayer?) async throws(CacheError) -> WriteSummary
  /// Discards the changes.
  func rollback() async
}

/// Staged records that are merged into a store.
package struct RecordBatch: Sendable {
  package internal(set) var table: RecordTable
  /// When the response was received, in seconds since 1970.
  let received: UInt32
  /// Whether the nulls are final. Before the end of a response, they may be caused by errors; the
  /// values they replace are then kept until the commit.
  let nullsAreFacts: Bool
  /// The keys of records with such tentative nulls.
  let tentative: [[UInt8]]
  /// The records with pages to join with stored lists at the commit; `nil` for none.
  var paging: Paging?
  /// The changes of values inside records, by a later part of a response. Applied at the commit.
  var deltas: [RecordDelta] = []
  /// The types and fields of the response, or of its parts; only in its last batch.
  var types: [ResponseTypes] = []
}

extension RecordBatch {
  /// Records with final nulls, with the receive time of the first one.
  package init(_ table: RecordTable) {
    self.init(table: table, received: table.firstReceived, nullsAreFacts: true, tentative: [])
  }
}
