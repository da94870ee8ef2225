import Cache

/// A store that keeps nothing and gives the memory of each batch back at once: what normalizing costs
/// without a store.
struct DiscardingStore: RecordStore {
  let segmentSeed: UInt64 = 0x9E37_79B9_7F4A_7C15
  let takesWholeResponses = false

  func begin() async throws(CacheError) -> any RecordTransaction { Transaction() }

  func read(_ operation: PreparedOperation) async throws(CacheError) -> CacheReadResult {
    throw CacheError(.storage, "cannot read from a store that keeps nothing")
  }

  func record(forKey key: String) async throws(CacheError) -> String? { nil }

  func dump(_ write: @escaping @Sendable (UnsafeRawBufferPointer) throws -> Void) async throws {}

  func statistics() async throws(CacheError) -> StoreStatistics { StoreStatistics() }

  func clear() async throws(CacheError) {}

  private struct Transaction: RecordTransaction {
    func merge(_ records: RecordBatch) async throws(CacheError) -> RecordBatch? { records }
    func resolve(_ nulls: NullResolutionRequest) async throws(CacheError) {}
    func commit() async throws(CacheError) -> WriteSummary { WriteSummary() }
    func rollback() async {}
  }
}
