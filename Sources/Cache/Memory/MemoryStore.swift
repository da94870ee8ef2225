import GQLRunSupport

/// A store in memory, which ends with the process.
///
/// With a size limit, the least recently used records are evicted first; a later read that needs
/// one is a cache miss.
package actor MemoryStore: RecordStore {
  /// The seed of the hash that names list segments; random per process.
  package nonisolated let segmentSeed: UInt64 = processSeed
  /// Always true: a response is merged when it is complete.
  package nonisolated let takesWholeResponses = true

  /// The maximum size of keys and record texts, in bytes; `nil` means no limit.
  package let maxSize: Int?
  /// The watchers and optimistic layers of the store.
  package nonisolated let activity = StoreActivity()
  let collectsChanges: Bool
  var table = RecordTable()
  private var use: UInt32 = 0
  private let gate = AsyncMutex()

  /// Creates an empty store.
  ///
  /// - Parameters:
  ///   - maxSize: The maximum size of keys and record texts, in bytes; `nil`, the default, means no
  ///     limit.
  ///   - collectsChanges: Whether every write reports the changed fields. By default, only while
  ///     there are watchers.
  package init(maxSize: Int? = nil, collectsChanges: Bool = false) {
    self.maxSize = maxSize
    self.collectsChanges = collectsChanges
  }

  /// Starts a transaction; waits until other transactions have ended.
  package func begin() async throws(CacheError) -> any RecordTransaction {
    try await acquire()
    return MemoryTransaction(store: self, gate: gate)
  }

  /// Waits until no transaction is open.
  ///
  /// - Throws: ``CacheError`` with the code `cancelled` when the task is cancelled meanwhile.
  private func acquire() async throws(CacheError) {
    do throws(CancellationError) {
      try await gate.acquire()
    } catch {
      throw CacheError(
        .cancelled,
        "cannot write to the cache in memory: the task was cancelled while it waited for the lock")
    }
  }

  /// Reads an operation from the records and optimistic layers; see ``CacheStore``.
  package func read(
    _ operation: PreparedOperation, options: ReadOptions
  ) throws(CacheError) -> StoreAnswer {
    try read(operation, under: activity.edits, options)
  }

  fileprivate func read(
    _ operation: PreparedOperation, under edits: [StoreEdit], _ options: ReadOptions
  ) throws(CacheError) -> StoreAnswer {
    countUse()
    if options.checksAges {
      return try read(
        operation, TimedMemorySource(table: table, use: use), under: edits, options)
    }
    return try read(operation, MemorySource(table: table, use: use), under: edits, options)
  }

  private func read(
    _ operation: PreparedOperation, _ source: some RecordSource, under edits: [StoreEdit],
    _ options: ReadOptions
  ) throws(CacheError) -> StoreAnswer {
    if edits.isEmpty {
      return try RecordReader(
        operation.plan, source: source, types: activity.concreteTypes, options: options
      ).read()
    }
    let layered = LayeredSource(source, edits: edits, seed: segmentSeed)
    return try RecordReader(
      operation.plan, source: layered, types: activity.concreteTypes, options: options
    ).read()
  }

  /// Numbers reads and commits, to find the least recently used records.
  private func countUse() {
    // The largest number marks removed records.
    if use < .max - 1 { use += 1 }
  }

  /// The record with this key in the dump format; `nil` if there is none.
  package func record(forKey key: String) throws(CacheError) -> String? {
    do {
      return try RecordLookup.text(of: key, in: sortedKeys, source: MemorySource(table: table)) {
        self.table.find($0).map { self.table.text(at: $0) }
      }
    } catch let error as CacheError {
      throw error
    } catch {
      throw CacheError(.storage, "\(error)")
    }
  }

  private func sortedKeys(_ body: (Bytes, Bytes) throws -> Void) throws {
    for index in table.sortedByKey() { try body(table.key(at: index), table.text(at: index)) }
  }

  /// Writes all records as JSON lines, sorted by key.
  package func dump(
    _ write: @escaping @Sendable (UnsafeRawBufferPointer) throws -> Void
  ) throws {
    var writer = DumpWriter(source: MemorySource(table: table), write: write)
    try sortedKeys { try writer.add(key: $0, text: $1) }
    try writer.finish()
  }

  /// The number and size of the records.
  package func statistics() -> StoreStatistics {
    var statistics = StoreStatistics()
    for index in table.live {
      statistics.count(key: table.key(at: index), textCount: table.text(at: index).count)
    }
    return statistics
  }

  /// Removes all records and optimistic layers.
  package func clear() async throws(CacheError) {
    try await acquire()
    table = RecordTable()
    activity.noteCleared()
    gate.release()
  }

  // MARK: Writing

  fileprivate func commit(
    _ edits: [StoreEdit], _ pages: [Paging], settling layer: OptimisticLayer?
  ) -> WriteSummary {
    countUse()
    let isWatched = activity.isWatched
    var summary: WriteSummary
    if edits.count == 1, pages.isEmpty, case .records(let batch) = edits[0] {
      summary = put(
        batch, collects: collectsChanges || isWatched && batch.liveCount <= Self.watchedRecords)
    } else {
      summary = applyByHand(edits, pages)
    }
    var evicted = RemovalSummary()
    if let maxSize, table.liveBytes > maxSize {
      evict(to: maxSize / 10 * 9, &evicted, reportsChanges: isWatched)
    }
    tidy()
    // Readers run when this actor is free, so they see all of this or nothing.
    let settled = layer.flatMap { activity.take($0) }
    activity.post(summary)
    activity.post(evicted)
    activity.post([settled])
    return summary
  }

  /// The maximum number of records in a write whose changed fields are collected for watchers.
  private static let watchedRecords = StoreActivity.changeLimit / 10

  private func put(_ batch: RecordTable, collects: Bool) -> WriteSummary {
    var summary = WriteSummary()
    summary.changesAreKnown = collects
    if table.isEmpty && !collects {
      table = batch
      summary.newRecords = batch.liveCount - batch.segmentCount
    } else {
      join(batch, &summary)
    }
    return summary
  }

  /// Applies edits in sequence, and returns the total difference.
  private func applyByHand(_ edits: [StoreEdit], _ pages: [Paging]) -> WriteSummary {
    var before: [[UInt8]: [UInt8]?] = [:]
    for edit in edits {
      edit.forEachKey { key in
        if Segments.isSegment(key: key) { return }
        let key = key.array
        if before[key] == nil { before[key] = .some(text(of: key)) }
      }
    }
    for edit in edits {
      switch edit {
      case .records(let batch):
        _ = put(batch, collects: false)
      case .removals(let removals):
        for (key, field) in removals { remove(key, field) }
      }
    }
    var warnings: [String] = []
    let received = edits.reduce(UInt32(0)) { latest, edit in
      if case .records(let batch) = edit { return max(latest, batch.firstReceived) }
      return latest
    }
    for paging in pages {
      let segments = StagedSegments(table: table, seed: segmentSeed, received: received)
      var join = PageJoin(paging.rules, access: StagedRecords(segments, table: table))
      join.run(paging.keys)
      warnings += join.warnings
    }
    var comparison = RecordComparison()
    for (key, old) in before { comparison.add(key, before: old, after: text(of: key)) }
    var summary = comparison.summary
    summary.warnings = warnings
    return summary
  }

  private func text(of key: [UInt8]) -> [UInt8]? {
    key.withUnsafeBufferPointer { table.find(Bytes($0)).map { table.text(at: $0).array } }
  }

  private func remove(_ key: [UInt8], _ field: [UInt8]?) {
    guard let index = key.withUnsafeBufferPointer({ table.find(Bytes($0)) }) else { return }
    guard let field else { return table.remove(at: index) }
    let rest = RecordText.removing(field, from: table.text(at: index).array)
    replace(index, with: rest)
  }

  private func join(_ batch: RecordTable, _ summary: inout WriteSummary) {
    let segments = StagedSegments(
      table: table, seed: segmentSeed, received: batch.firstReceived)
    // Segments first, because merging lists reads them.
    for onlySegments in [true, false] {
      for index in batch.live {
        let key = batch.key(at: index)
        guard Segments.isSegment(key: key) == onlySegments else { continue }
        join(
          key, batch.hash(at: index), batch.text(at: index),
          received: batch.received(at: index), segments, &summary)
      }
    }
  }

  private func join(
    _ key: Bytes, _ hash: UInt64, _ text: Bytes, received: UInt32, _ segments: StagedSegments,
    _ summary: inout WriteSummary
  ) {
    let isSegment = Segments.isSegment(key: key)
    guard let index = table.find(key, hash: hash) else {
      table.insert(key, hash: hash, text: text, lastUse: use, received: received)
      if isSegment { return }
      summary.newRecords += 1
      if summary.changesAreKnown { recordAll(key, text, &summary) }
      return
    }
    table.touch(at: index, use: use)
    // A segment's key is a hash of its content, so an existing one is equal.
    if isSegment { return table.setReceived(at: index, received) }
    if table.text(at: index).equals(text) {
      table.setReceived(at: index, received)
      summary.unchangedRecords += 1
      return
    }
    var merge = Merge(access: segments)
    var merged = ByteStack(capacity: text.count + 64)
    var changed: [[UInt8]] = []
    let collects = summary.changesAreKnown
    let differs = merge.records(old: table.text(at: index), new: text, into: &merged) { field in
      if collects { changed.append(field.array) }
    }
    let times = TimeMerge(received: received, granularity: 0).times(
      old: table.text(at: index), table.times(at: index), new: text, merged: merged.all,
      differs: differs)
    if let times { table.setTimes(at: index, times) }
    guard differs else {
      summary.unchangedRecords += 1
      return
    }
    table.replace(at: index, text: merged.all)
    summary.changedRecords += 1
    for field in changed {
      field.withUnsafeBufferPointer { note(key, Bytes($0), &summary) }
    }
  }

  private func recordAll(_ key: Bytes, _ text: Bytes, _ summary: inout WriteSummary) {
    var cursor = FieldCursor(text)
    while let field = cursor.next() { note(key, text[field.key], &summary) }
  }

  private func note(_ key: Bytes, _ field: Bytes, _ summary: inout WriteSummary) {
    summary.changes.insert(FieldChange(key: key, quotedField: field))
  }
}

extension FieldChange {
  /// Creates a change from the quoted stored key; root records are split into record and field.
  init(key: Bytes, quotedField: Bytes) {
    var scratch = ByteStack(capacity: 64)
    let field = RecordText.withUnescaped(quotedField, &scratch) { $0.string }
    let isRoot = key.hasPrefix("QUERY_ROOT.")
    self.init(recordKey: isRoot ? RootRecord.queryKey : key.string, field: field)
  }
}

/// Reads records in memory with their times.
struct TimedMemorySource: RecordSource {
  static var hasTimes: Bool { true }
  let table: RecordTable
  let use: UInt32?
  private var last = -1
  var failure: CacheError? { nil }

  init(table: RecordTable, use: UInt32?) {
    self.table = table
    self.use = use
  }

  mutating func text(key: Bytes, depth: Int) -> Bytes? {
    guard let index = table.find(key) else { return nil }
    if let use { table.touch(at: index, use: use) }
    last = index
    return table.text(at: index)
  }

  func times(depth: Int) -> RecordTimes {
    last < 0 ? RecordTimes(received: 0) : table.times(at: last)
  }
}

struct MemorySource: RecordSource {
  let table: RecordTable
  var use: UInt32?
  var failure: CacheError? { nil }

  init(table: RecordTable, use: UInt32? = nil) {
    self.table = table
    self.use = use
  }

  mutating func text(key: Bytes, depth: Int) -> Bytes? {
    guard let index = table.find(key) else { return nil }
    if let use { table.touch(at: index, use: use) }
    return table.text(at: index)
  }
}

private actor MemoryTransaction: RecordTransaction {
  private let store: MemoryStore
  private let gate: AsyncMutex
  private var edits: [StoreEdit] = []
  private var pages: [Paging] = []
  private var isOpen = true

  init(store: MemoryStore, gate: AsyncMutex) {
    self.store = store
    self.gate = gate
  }

  deinit {
    if isOpen { gate.release() }
  }

  func merge(_ records: RecordBatch) -> RecordBatch? {
    edits.append(.records(records.table))
    if let paging = records.paging { pages.append(paging) }
    // What the names of types say of a schema stays true when the response is not kept.
    if let shapes = records.shapes { store.activity.learn(shapes) }
    return nil
  }

  func resolve(_ nulls: NullResolutionRequest) {
    guard case .records(let table)? = edits.last else { return }
    let segments = StagedSegments(
      table: table, seed: store.segmentSeed, received: table.firstReceived)
    nulls.resolution.run(StagedRecords(segments, table: table))
  }

  func remove(_ removals: [RecordRemoval]) throws(CacheError) {
    var targets: [(key: [UInt8], field: [UInt8]?)] = []
    for removal in removals { targets.append(try removal.target()) }
    edits.append(.removals(targets))
  }

  func read(_ operation: PreparedOperation) async throws(CacheError) -> CacheReadResult {
    try await store.read(operation, under: edits, ReadOptions()).result
  }

  func commit(settling layer: OptimisticLayer?) async throws(CacheError) -> WriteSummary {
    isOpen = false
    let summary = await store.commit(edits, pages, settling: layer)
    edits = []
    gate.release()
    return summary
  }

  func rollback() async {
    guard isOpen else { return }
    isOpen = false
    edits = []
    gate.release()
  }
}
