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

  /// Creates a store with the records of a table.
  init(_ table: RecordTable, collectsChanges: Bool) {
    maxSize = nil
    self.collectsChanges = collectsChanges
    self.table = table
  }

  /// Starts a transaction; waits until other transactions have ended.
  package func begin() async throws(CacheError) -> any RecordTransaction {
    try await acquire()
    return BufferedTransaction(store: self)
  }

  /// Writes a whole response without a transaction of its own as an object.
  package func write(
    _ records: RecordBatch, since epoch: Int, settling layer: OptimisticLayer?
  ) async throws(CacheError) -> WriteSummary {
    try await acquire()
    guard activity.epoch == epoch else {
      gate.release()
      if let layer { activity.remove(layer) }
      return WriteSummary()
    }
    var edits = BufferedEdits()
    edits.add(records, activity)
    return commit(edits.edits, pages: edits.pages, types: edits.types, settling: layer)
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

  func read(
    _ operation: PreparedOperation, under edits: [StoreEdit], _ options: ReadOptions
  ) throws(CacheError) -> StoreAnswer {
    countUse()
    if options.checksAges {
      return try read(
        operation, source: TimedMemorySource(table: table, use: use), under: edits, options: options
      )
    }
    return try read(
      operation, source: MemorySource(table: table, use: use), under: edits, options: options)
  }

  private func read(
    _ operation: PreparedOperation, source: some RecordSource, under edits: [StoreEdit],
    options: ReadOptions
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

  package func scan<Result: Sendable>(
    reportsDamage: Bool, _ work: @escaping @Sendable (any RecordScan) throws -> Result
  ) throws -> Result {
    try work(MemoryScan(table: table))
  }

  /// Removes all records and optimistic layers.
  package func clear() async throws(CacheError) {
    try await acquire()
    table = RecordTable()
    activity.noteCleared()
    gate.release()
  }

  // MARK: Writing

  func rollback() { gate.release() }

  func commit(
    _ edits: [StoreEdit], pages: [Paging], types: [String], settling layer: OptimisticLayer?
  ) -> WriteSummary {
    defer { gate.release() }
    countUse()
    let isWatched = activity.isWatched
    var editor = TableEditor(table: table, use: use, seed: segmentSeed)
    let summary = editor.apply(
      edits, pages, collects: collectsChanges ? .all : isWatched ? .bounded : .none)
    table = editor.table
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
}

extension FieldChange {
  /// Creates a change from the quoted stored key; root records are split into record and field.
  init(key: Bytes, quotedField: Bytes) {
    var scratch = ByteStack(capacity: 64)
    let field = RecordText.withUnescaped(quotedField, scratch: &scratch) { $0.string }
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

extension MemoryStore {
  /// Explains field by field how the cache answers an operation; see ``CacheStore``.
  package func explain(
    _ operation: PreparedOperation, options: ReadOptions, showing detail: CacheExplanation.Detail
  ) throws(CacheError) -> CacheExplanation {
    // Does not mark the records as used, so that it does not affect eviction.
    let source = TimedMemorySource(table: table, use: nil)
    var explainer = RecordExplainer(
      operation.plan, source: source, types: activity.concreteTypes, options: options,
      detail: detail)
    return try explainer.explain()
  }

  /// Removes the selected records or fields, in one transaction.
  package func remove(_ selection: RecordSelection) -> RemovalSummary {
    var summary = RemovalSummary()
    let reportsChanges = collectsChanges || activity.isWatched
    for index in Array(table.live) where selection.matches(key: table.key(at: index)) {
      let text = table.text(at: index)
      let (rest, removed) = selection.remainder(of: text)
      guard let rest else {
        take(index, &summary, reportsChanges: reportsChanges)
        continue
      }
      if removed.isEmpty { continue }
      summary.note(
        key: table.key(at: index), removed: removed, bytes: text.count - rest.count,
        collectsChanges: reportsChanges)
      table.replace(at: index, with: rest)
    }
    tidy()
    activity.post(summary)
    return summary
  }

  /// Removes records that no root field or redirect reaches; see
  /// ``CacheStore/collectGarbage(rootsBefore:keys:facts:)``.
  package func collectGarbage(
    rootsBefore date: Int?, keeping prefixes: Set<String>
  ) -> RemovalSummary {
    var summary = RemovalSummary()
    let reportsChanges = collectsChanges || activity.isWatched
    var reached: Set<Int> = []
    var open: [Int] = []
    let kept = prefixes.map { Array("\($0):".utf8) }
    for index in Array(table.live) {
      let key = table.key(at: index)
      let isRoot = key.hasPrefix("QUERY_ROOT.")
      guard isRoot || kept.contains(where: { key.array.starts(with: $0) }) else { continue }
      if let date, Int(table.times(at: index).received) < date {
        if isRoot { take(index, &summary, reportsChanges: reportsChanges) }
      } else {
        reached.insert(index)
        open.append(index)
      }
    }
    while let index = open.popLast() {
      _ = RecordLinks.forEach(in: table.text(at: index)) { key in
        guard let next = table.find(key), reached.insert(next).inserted else { return }
        open.append(next)
      }
    }
    for index in Array(table.live) where !reached.contains(index) {
      take(index, &summary, reportsChanges: reportsChanges)
    }
    tidy()
    activity.post(summary)
    return summary
  }

  /// Removes the least recently used records until at most `bytes` bytes remain.
  package func trim(to bytes: Int) -> RemovalSummary {
    var summary = RemovalSummary()
    evict(to: bytes, &summary, reportsChanges: collectsChanges || activity.isWatched)
    activity.post(summary)
    return summary
  }

  /// Removes the least recently used records until `size` bytes remain. The segments of a list are
  /// removed with the last record that contains them.
  func evict(to size: Int, _ summary: inout RemovalSummary, reportsChanges: Bool) {
    guard table.liveBytes > size else { return }
    removeLostSegments(&summary)
    var records = table.live.filter { !Segments.isSegment(key: table.key(at: $0)) }
    records.sort { table.lastUse(at: $0) < table.lastUse(at: $1) }
    var owners: [Int: Int] = [:]
    for index in records {
      for segment in segments(of: index) { owners[segment, default: 0] += 1 }
    }
    for index in records {
      if table.liveBytes <= size { break }
      let lists = segments(of: index)
      take(index, &summary, reportsChanges: reportsChanges)
      for segment in lists {
        owners[segment, default: 0] -= 1
        if owners[segment] == 0 { take(segment, &summary, reportsChanges: false) }
      }
    }
    table = table.compacted()
  }

  /// The indices of the segments of a record's lists, including those in other segments.
  private func segments(of index: Int) -> [Int] {
    var found: [Int] = []
    var open = [index]
    while let next = open.popLast() {
      for key in RecordLinks.segments(of: table.text(at: next)) {
        guard let segment = key.withUnsafeBufferPointer({ table.find(Bytes($0)) }),
          !found.contains(segment)
        else { continue }
        found.append(segment)
        open.append(segment)
      }
    }
    return found
  }

  private func removeLostSegments(_ summary: inout RemovalSummary) {
    var owned: Set<Int> = []
    for index in table.live where !Segments.isSegment(key: table.key(at: index)) {
      owned.formUnion(segments(of: index))
    }
    for index in Array(table.live)
    where Segments.isSegment(key: table.key(at: index)) && !owned.contains(index) {
      take(index, &summary, reportsChanges: false)
    }
  }

  private func take(_ index: Int, _ summary: inout RemovalSummary, reportsChanges: Bool) {
    summary.note(
      key: table.key(at: index), text: table.text(at: index), collectsChanges: reportsChanges)
    table.remove(at: index)
  }

  /// Compacts the table if much of its memory is unused.
  func tidy() {
    if table.deadBytes > 1 << 20, table.deadBytes > table.liveBytes { table = table.compacted() }
  }
}

extension RecordTable {
  /// Replaces the text of a record from which fields were removed.
  func replace(at index: Int, with rest: [UInt8]) {
    rest.withUnsafeBufferPointer { rest in
      setTimes(at: index, times(at: index).replacing([], in: Bytes(rest)))
      replace(at: index, text: Bytes(rest))
    }
  }
}

/// The records of a table.
private struct MemoryScan: RecordScan {
  let table: RecordTable

  var source: MemorySource { MemorySource(table: table) }
  var damagedRecords: Int { 0 }

  func forEachRecord(_ body: (Bytes, Bytes) throws -> Void) throws {
    for index in table.sortedByKey() { try body(table.key(at: index), table.text(at: index)) }
  }
}
