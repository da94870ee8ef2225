/// The records of a complete response, before they are committed.
public struct PendingWrite: Sendable {
  private enum Content: Sendable {
    case open(any RecordTransaction)
    case staged(RecordBatch)
  }

  private let content: Content
  private let store: any RecordStore
  private var epoch: Int

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
    switch content {
    case .staged(let batch): try await store.write(batch, since: epoch, settling: layer)
    case .open(let transaction):
      try await store.finish(transaction, since: epoch, settling: layer)
    }
  }

  /// Commits the records: they become visible at once.
  ///
  /// Writes nothing if the store was cleared after the response was requested.
  public func commit() async throws(CacheError) -> WriteSummary { try await commit(settling: nil) }

  /// The same records, of a response that was requested after as many clearings of the store.
  func requested(at epoch: Int) -> PendingWrite {
    var write = self
    write.epoch = epoch
    return write
  }

  /// Discards the records; the store is unchanged.
  public func rollback() async {
    if case .open(let transaction) = content { await transaction.rollback() }
  }
}
