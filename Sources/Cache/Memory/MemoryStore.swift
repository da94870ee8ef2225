import GQLRunSupport

/// A store in memory, which ends with the process.
///
/// With a size limit, the least recently used records are evicted first; a later read that needs
/// one is a cache miss.
package actor MemoryStore: BufferedStore {
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
    try await gate.acquire(toWriteTo: "in memory")
    return BufferedTransaction(store: self)
  }

  /// Writes a whole response without a transaction of its own as an object.
  package func write(
    _ records: RecordBatch, since epoch: Int, settling layer: OptimisticLayer?
  ) async throws(CacheError) -> WriteSummary {
    // Usually free: without a suspension, the task stays on this actor.
    if Task.isCancelled || !gate.tryAcquire() { try await gate.acquire(toWriteTo: "in memory") }
    guard activity.epoch == epoch else {
      gate.release()
      if let layer { activity.remove(layer) }
      return WriteSummary()
    }
    var edits = BufferedEdits()
    edits.add(records, activity)
    return commit(edits, settling: layer)
  }

  /// Reads an operation from the records and optimistic layers; see ``CacheStore``.
  package func read(
    _ operation: PreparedOperation, options: ReadOptions
  ) throws(CacheError) -> StoreAnswer {
    try read(operation, under: activity.edits, options)
  }

  func read(
    _ operation: PreparedOperation, under edits: [StoreEdit], _ options: ReadOptions
  ) throws(CacheError) -> StoreAnswer {
    countUse()
    return try answer(
      operation, from: MemorySource(table: table, use: use), under: edits, options: options)
  }

  /// Numbers reads and commits, to find the least recently used records.
  private func countUse() {
    // The largest number marks removed records.
    if use < .max - 1 { use += 1 }
  }

  package func scan<Result: Sendable>(
    reportsDamage: Bool, _ work: @escaping @Sendable (any RecordScan) throws -> Result
  ) throws -> Result {
    try work(MemoryScan(table: table))
  }

  /// Removes all records and optimistic layers.
  package func clear() async throws(CacheError) {
    try await gate.acquire(toWriteTo: "in memory")
    table = RecordTable()
    activity.noteCleared()
    gate.release()
  }

  // MARK: Writing

  func rollback() { gate.release() }

  func commit(_ changes: BufferedEdits, settling layer: OptimisticLayer?) -> WriteSummary {
    defer { gate.release() }
    countUse()
    let collection = activity.collection(all: collectsChanges)
    var editor = TableEditor(table: table, use: use, seed: segmentSeed)
    let summary = editor.apply(changes.edits, changes.pages, collects: collection)
    table = editor.table
    var evicted = RemovalSummary()
    if let maxSize, table.liveBytes > maxSize {
      // It fails only if it is cancelled, which nothing does here.
      let log = RemovalLog(collection, RemovalProgress())
      try? housekeep(.trim(to: maxSize / 10 * 9), log)
      evicted = log.endStep()
      table = table.compacted()
    }
    tidy()
    // Readers run when this actor is free, so they see all of this or nothing.
    let settled = layer.flatMap { activity.take($0) }
    activity.post(summary)
    activity.post(evicted)
    activity.post([settled])
    return summary
  }
}

/// Reads records in memory.
struct MemorySource: RecordSource {
  let table: RecordTable
  /// The number of the read, by which records are marked as used; `nil` does not affect eviction.
  var use: UInt32?
  private(set) var last = -1
  var failure: CacheError? { nil }
  var hasErrors: Bool { table.errorCount > 0 }

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

extension MemoryStore {
  package func run(
    _ task: HousekeepingTask, _ progress: RemovalProgress
  ) throws(CacheError) -> RemovalSummary {
    let log = RemovalLog(activity.collection(all: collectsChanges), progress)
    defer {
      tidy()
      // After a cancellation, too: what was removed until then remains removed.
      activity.post(log.endStep())
    }
    try housekeep(task, log)
    return log.step
  }

  private func housekeep(_ task: HousekeepingTask, _ log: RemovalLog) throws(CacheError) {
    do {
      try task.run(on: MemoryHousekeeping(table: table), log)
    } catch {
      throw error as? CacheError
        ?? CacheError(.cancelled, "cannot \(task.action): the task was cancelled")
    }
  }

  /// Compacts the table if much of its memory is unused.
  private func tidy() {
    if table.deadBytes > 1 << 20, table.deadBytes > table.liveBytes { table = table.compacted() }
  }
}

/// The records of a table. The least recently used ones have the lowest rank.
private struct MemoryHousekeeping: HousekeepingRecords {
  let table: RecordTable

  var hasSegments: Bool { table.segmentCount > 0 }
  var isSorted: Bool { false }

  func edit(
    prefix: [UInt8], needsTexts: Bool, removed: (Bytes, Bytes) -> Void,
    body: (HousekeepingRecord) throws -> RecordChange
  ) throws {
    for index in Array(table.live) {
      let (key, text) = (table.key(at: index), table.text(at: index))
      guard key.count >= prefix.count, key[0..<prefix.count].equals(prefix) else { continue }
      let record = HousekeepingRecord(
        key: key, text: text, size: key.count + text.count, times: table.times(at: index),
        rank: table.lastUse(at: index))
      switch try body(record) {
      case .keep: break
      case .remove:
        removed(key, text)
        table.remove(at: index)
      case .replace(let text, let times):
        text.withBytes { table.replace(at: index, text: $0) }
        table.setTimes(at: index, times)
      }
    }
  }

  func forEach(_ keys: [[UInt8]], _ body: (Bytes, Bytes) throws -> Void) throws {
    for key in keys {
      if let index = table.find(key) { try body(table.key(at: index), table.text(at: index)) }
    }
  }
}

/// The records of a table.
private struct MemoryScan: RecordScan {
  let table: RecordTable

  var source: MemorySource { MemorySource(table: table) }
  var damagedRecords: Int { 0 }

  /// The store has met each type itself.
  func noteTypes(of operation: PreparedOperation, in activity: StoreActivity) {}

  func forEachRecord(_ body: (Bytes, Bytes) throws -> Void) throws {
    for index in table.sortedByKey() { try body(table.key(at: index), table.text(at: index)) }
  }
}
