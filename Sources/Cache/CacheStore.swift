/// A store of normalized records: in memory, or in a SQLite file.
///
/// ```swift
/// let store = try CacheStore.sqlite(path: "cache.db")
/// if case .hit(let body) = try await store.read(operation) {
///   print(String(decoding: try body.bytes(), as: UTF8.self))
/// }
/// ```
/// A ``ResponseNormalizer`` writes responses to a store; ``transaction(_:)`` edits it. A response
/// is written in one transaction: other readers see the previous state, or all of the response.
/// Copies of a value are the same store.
public struct CacheStore: Sendable {
  package let records: any RecordStore

  package init(_ records: any RecordStore) { self.records = records }

  // MARK: Opening

  /// Creates an empty store in memory, which ends with the process.
  ///
  /// - Parameter maxSize: The maximum size of keys and record texts, in bytes. Beyond it, the least
  ///   recently used records are evicted, and are cache misses afterwards. `nil`, the default, means
  ///   no limit.
  public static func memory(maxSize: Int? = nil) -> CacheStore {
    CacheStore(MemoryStore(maxSize: maxSize))
  }

  /// Opens the store in the SQLite file at `path`; creates it if it does not exist and the options
  /// permit writing.
  ///
  /// Any SQLite tool can read the file, which only its owner can access. Several stores and
  /// processes may use it: readers never wait; writers wait for each other, for a limited time.
  ///
  /// Opening takes milliseconds. If the last user did not shut down cleanly, for example because
  /// its process was killed, the file is checked, which takes time proportional to its size.
  ///
  /// - Throws: ``CacheError``: `foreignDatabase` for a file of another program (which is not
  ///   changed), `damagedDatabase`, `busy`, `storage` if it cannot be opened or created.
  public static func sqlite(
    path: String, options: SQLiteOptions = SQLiteOptions()
  ) throws(CacheError) -> CacheStore {
    CacheStore(try SQLiteStore(path: path, options: options))
  }

  /// Closes the file. The store cannot be used afterwards. Does nothing for a store in memory.
  public func close() throws(CacheError) { try records.close() }

  /// Whether the file can only be read.
  public var isReadOnly: Bool { records.isReadOnly }

  /// Notes the version of the key resolver whose keys the store has; `nil` for none.
  ///
  /// A store without records takes any version. `PipelineClient` calls it when it opens a store.
  ///
  /// - Throws: ``CacheError``: `otherKeys` if the store has records with the keys of another version,
  ///   `busy`, `storage`.
  public func adopt(keyResolver version: String?) async throws(CacheError) {
    try await records.adopt(keyResolver: version)
  }

  // MARK: Reading

  /// Reads an operation from the records and optimistic layers, with default options.
  public func read(_ operation: PreparedOperation) async throws(CacheError) -> CacheReadResult {
    try await read(operation, options: ReadOptions()).result
  }

  /// Reads an operation from the records and optimistic layers. The result is a hit, or a miss with
  /// the first field that is missing or stale.
  public func read(
    _ operation: PreparedOperation, options: ReadOptions
  ) async throws(CacheError) -> StoreAnswer {
    try await records.read(operation, options: options)
  }

  /// Explains field by field what an operation finds in the records, without optimistic layers.
  public func explain(
    _ operation: PreparedOperation, options: ReadOptions, showing detail: CacheExplanation.Detail
  ) async throws(CacheError) -> CacheExplanation {
    try await records.explain(operation, options: options, showing: detail)
  }

  /// The record with `key` in the dump format; `nil` if there is none. Combines the records of
  /// `QUERY_ROOT`.
  public func record(forKey key: String) async throws(CacheError) -> String? {
    try await records.record(forKey: key)
  }

  /// Calls `write` with the chunks of the dump: one JSON object per line and record, sorted by key.
  public func dump(
    _ write: @escaping @Sendable (UnsafeRawBufferPointer) throws -> Void
  ) async throws {
    try await records.dump(write)
  }

  /// The number and size of the records.
  public func statistics() async throws(CacheError) -> StoreStatistics {
    try await records.statistics()
  }

  // MARK: Removing

  /// Removes every record and every optimistic layer, and overwrites their data in the file.
  ///
  /// Responses that were requested before are not written, so that after a logout no data of the
  /// previous user returns.
  public func clear() async throws(CacheError) { try await records.clear() }

  /// Removes records, or fields of records. References to removed records remain, and are misses.
  ///
  /// A file of a large store is changed in several transactions, whose write-ahead log does not exceed about 64 MB if no
  /// reader keeps an old state. Other readers see the state after each of them; an error or a cancellation undoes the last
  /// one only. Other writers wait. The same applies to ``collectGarbage(rootsBefore:keys:facts:progress:)`` and
  /// ``trim(to:progress:)``. The other stores use one transaction.
  ///
  /// - Parameters:
  ///   - selection: What is removed.
  ///   - progress: Shows how far the removal has come.
  public func remove(
    _ selection: RecordSelection, progress: RemovalProgress = RemovalProgress()
  ) async throws(CacheError) -> RemovalSummary {
    try await run(.remove(selection), progress)
  }

  private func run(
    _ task: HousekeepingTask, _ progress: RemovalProgress
  ) async throws(CacheError) -> RemovalSummary {
    let result = await withTaskCancellationHandler {
      () async -> Result<RemovalSummary, CacheError> in
      do throws(CacheError) { return .success(try await records.run(task, progress)) } catch {
        return .failure(error)
      }
    } onCancel: {
      progress.cancel()
    }
    return try result.get()
  }

  /// Removes every record and segment that neither a field of the query root nor a redirect reaches; see
  /// ``remove(_:progress:)``.
  ///
  /// Reads all records at least twice, and needs about 13 bytes of memory for each record that is kept. A file of
  /// which a quarter is free afterwards is rewritten, unless another store has it open.
  ///
  /// - Parameters:
  ///   - date: Root fields and records of redirects that were received before this time, in seconds since
  ///     1970, do not keep anything; such root fields are removed first. `nil` keeps all.
  ///   - keys: The key rules whose ``KeyRules/redirects`` can be read. All records of the types that a
  ///     redirect returns are reached, because any argument may be read. `nil`, the default, has none.
  ///   - facts: The types of redirects whose rules name none; `nil` if no schema is known.
  ///   - progress: Shows how far the removal has come.
  public func collectGarbage(
    rootsBefore date: Int?, keys: KeyRules? = nil, facts: TypeFacts? = nil,
    progress: RemovalProgress = RemovalProgress()
  ) async throws(CacheError) -> RemovalSummary {
    try await run(
      .collectGarbage(rootsBefore: date, keeping: keys?.redirectPrefixes(facts: facts) ?? []),
      progress)
  }

  /// Removes records until at most `bytes` bytes of keys and texts remain: the least recently used first in memory, the
  /// least recently received first in a file. See ``remove(_:progress:)``.
  ///
  /// Reads all records twice. A file of which a quarter is free afterwards is rewritten, unless another store has it open.
  ///
  /// - Parameters:
  ///   - bytes: The size that remains at most, without that of indexes and free space.
  ///   - progress: Shows how far the removal has come.
  public func trim(
    to bytes: Int, progress: RemovalProgress = RemovalProgress()
  ) async throws(CacheError) -> RemovalSummary {
    try await run(.trim(to: bytes), progress)
  }

  // MARK: Files

  /// Waits until all committed transactions are durable. Does nothing for a store in memory.
  public func sync() async throws(CacheError) { try await records.sync() }

  /// Moves committed pages from the write-ahead log to the database file, as far as readers permit.
  ///
  /// Does not wait for readers: the remaining pages are moved by the next checkpoint, or when the
  /// last store closes the file. Does nothing for a store in memory.
  public func checkpoint() async throws(CacheError) { try await records.checkpoint() }

  /// Checks whether other processes have written to the file. If so, watched operations are read
  /// again and the memory tier is cleared.
  ///
  /// Writes of stores in this process are detected without it. Writes of other processes are
  /// visible to reads immediately, except with a memory tier (``SQLiteOptions/memory``), and to
  /// watchers only after this call. Call it regularly, or before a read that must be current, if
  /// other processes use the file. It takes a few microseconds.
  ///
  /// - Returns: Whether another store has written, including one of this process; always `true` for
  ///   a read-only store and for the first call, always `false` for a store in memory.
  @discardableResult
  public func refresh() async throws(CacheError) -> Bool { try await records.refresh() }

  /// Writes a compact copy of the database to `path`, as one file without a write-ahead log.
  ///
  /// - Throws: ``CacheError``; `storage` if a file already exists at `path`, or if the store is in
  ///   memory.
  public func copy(to path: String) async throws(CacheError) {
    try await records.copy(to: path)
  }

  /// Removes the database at `path` with everything that is beside it: the write-ahead log, its
  /// index, and the lock file.
  ///
  /// The lock file stays while another process has the database open, which would otherwise no
  /// longer exclude a third one. Close stores of this process first.
  ///
  /// - Throws: ``CacheError`` with code `storage` that names the file that cannot be removed.
  public static func removeFiles(at path: String) throws(CacheError) {
    try SQLiteStore.removeFiles(at: path)
  }
}
