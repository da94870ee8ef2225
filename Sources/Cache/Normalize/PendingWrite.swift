/// The records of a complete response, before they are committed.
public struct PendingWrite: Sendable {
  private enum Content: Sendable {
    case open(any RecordTransaction)
    case staged(RecordBatch)
  }

  private let content: Content
  private let store: any RecordStore
  private let epoch: Int

  init(open transaction: any RecordTransaction, store: any RecordStore, epoch: Int) {
    content = .open(transaction)
    self.store = store
    self.epoch = epoch
  }

  init(store: any RecordStore, batch: RecordBatch, epoch: Int) {
    content = .staged(batch)
    self.store = store
    self.epoch = epoch
  }

  /// Commits the records: they become visible at once.
  ///
  /// Writes nothing if the store was cleared after the response was requested.
  ///
  /// - Parameter layer: The optimistic layer for this response; it is removed at the same moment,
  ///   even if nothing is written.
  /// - Throws: ``CacheError``; the layer then remains.
  public func commit(
    settling layer: OptimisticLayer?
  ) async throws(CacheError) -> WriteSummary {
    let transaction: any RecordTransaction
    switch content {
    case .open(let open): transaction = open
    case .staged: transaction = try await store.begin()
    }
    // A clearing waits for transactions, so none can occur from here on.
    guard store.activity.epoch == epoch else {
      await transaction.rollback()
      if let layer { store.activity.remove(layer) }
      return WriteSummary()
    }
    do {
      if case .staged(let batch) = content { _ = try await transaction.merge(batch) }
      return try await transaction.commit(settling: layer)
    } catch {
      await transaction.rollback()
      throw error
    }
  }

  /// Commits the records: they become visible at once.
  ///
  /// Writes nothing if the store was cleared after the response was requested.
  public func commit() async throws(CacheError) -> WriteSummary { try await commit(settling: nil) }

  /// Discards the records; the store is unchanged.
  public func rollback() async {
    if case .open(let transaction) = content { await transaction.rollback() }
  }
}
