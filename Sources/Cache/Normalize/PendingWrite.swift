/// The records of a response that has ended well, waiting for the decision to keep them.
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

  /// Makes the records visible, all at once.
  ///
  /// When the store was cleared since the response was asked for, nothing is written.
  ///
  /// - Parameter layer: The optimistic layer that guessed this response; it goes at the same moment,
  ///   and when nothing is written, too.
  /// - Throws: ``CacheError``; the layer is still there then.
  public func commit(
    settling layer: OptimisticLayer?
  ) async throws(CacheError) -> WriteSummary {
    let transaction: any RecordTransaction
    switch content {
    case .open(let open): transaction = open
    case .staged: transaction = try await store.begin()
    }
    // A clearing waits for transactions, so from here on there is none in between.
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

  /// Makes the records visible, all at once.
  ///
  /// When the store was cleared since the response was asked for, nothing is written.
  public func commit() async throws(CacheError) -> WriteSummary { try await commit(settling: nil) }

  /// Forgets the records; the store stays as it was.
  public func rollback() async {
    if case .open(let transaction) = content { await transaction.rollback() }
  }
}
