import GQLRunCache

/// A store that tells when it is made durable.
struct WatchedStore: RecordStore {
  let base: any RecordStore
  let onSync: @Sendable () async throws(CacheError) -> Void

  var segmentSeed: UInt64 { base.segmentSeed }
  var takesWholeResponses: Bool { base.takesWholeResponses }
  var activity: StoreActivity { base.activity }

  func sync() async throws(CacheError) {
    try await onSync()
    try await base.sync()
  }

  func begin() async throws(CacheError) -> any RecordTransaction { try await base.begin() }

  func read(
    _ operation: PreparedOperation, options: ReadOptions
  ) async throws(CacheError) -> StoreAnswer {
    try await base.read(operation, options: options)
  }

  func scan<Result: Sendable>(
    reportsDamage: Bool, _ work: @escaping @Sendable (any RecordScan) throws -> Result
  ) async throws -> Result {
    try await base.scan(reportsDamage: reportsDamage, work)
  }

  func clear() async throws(CacheError) { try await base.clear() }

  func run(
    _ task: HousekeepingTask, _ progress: RemovalProgress
  ) async throws(CacheError) -> RemovalSummary {
    try await base.run(task, progress)
  }
}
