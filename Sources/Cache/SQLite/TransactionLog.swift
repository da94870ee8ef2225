/// The changes of a transaction.
struct TransactionLog {
  /// The changes of a record, if changes are collected.
  private struct Entry {
    var isNew: Bool
    /// The quoted stored keys of the fields that changed at some time in the transaction.
    var fields: Set<[UInt8]>
    /// Whether the record was written more than once, so that it may be unchanged in the end.
    var isRewritten = false
  }

  private var counts = WriteSummary()
  private var entries: [[UInt8]: Entry] = [:]
  /// Whether changes are collected, and the maximum number; `nil` for no limit.
  private var collectsChanges: Bool
  private let limit: Int?
  private var collected = 0
  /// Records with tentative nulls.
  private var tentative: Set<[UInt8]> = []
  /// Whether there are so many that they are searched for instead.
  private var hasManyTentative = false
  private static let tentativeLimit = 10_000

  init(_ collection: ChangeCollection) {
    collectsChanges = collection != .none
    limit = collection == .bounded ? StoreActivity.changeLimit : nil
  }

  // MARK: During the response

  mutating func noteNew(_ key: Bytes, _ text: Bytes) {
    if !ErrorRecord.isErrors(key: key) { counts.newRecords += 1 }
    guard collectsChanges else { return }
    note(key.array, Entry(isNew: true, fields: Set(RecordText.keys(of: text))))
  }

  mutating func noteChanged(_ key: Bytes, _ fields: [[UInt8]]) {
    if !ErrorRecord.isErrors(key: key) { counts.changedRecords += 1 }
    if collectsChanges { note(key.array, Entry(isNew: false, fields: Set(fields))) }
  }

  mutating func noteUnchanged(_ key: Bytes) {
    if !ErrorRecord.isErrors(key: key) { counts.unchangedRecords += 1 }
    if collectsChanges { note(key.array, Entry(isNew: false, fields: [])) }
  }

  mutating func noteRemoved(_ key: [UInt8], _ text: [UInt8]) {
    counts.removedRecords += 1
    guard collectsChanges else { return }
    let fields = Set(text.withBytes { RecordText.keys(of: $0) })
    note(key, Entry(isNew: false, fields: fields, isRewritten: true))
  }

  mutating func noteTentative(_ key: [UInt8]) {
    if tentative.count < Self.tentativeLimit {
      tentative.insert(key)
    } else {
      hasManyTentative = true
    }
  }

  /// Logs that fields of a record were restored after errors had hidden them.
  mutating func noteResolved(_ key: [UInt8], _ fields: [[UInt8]]) {
    guard collectsChanges else { return }
    note(key, Entry(isNew: false, fields: Set(fields)))
  }

  private mutating func note(_ key: [UInt8], _ entry: Entry) {
    collected += 1 + entry.fields.count
    if let limit, collected > limit {
      return stopCollecting()
    }
    guard entries[key] != nil else {
      entries[key] = entry
      return
    }
    entries[key]?.fields.formUnion(entry.fields)
    entries[key]?.isRewritten = true
  }

  private mutating func stopCollecting() {
    collectsChanges = false
    entries = [:]
  }

  mutating func add(_ other: TransactionLog) {
    counts.addCounts(of: other.counts)
    if !other.collectsChanges { stopCollecting() }
    if collectsChanges { for (key, entry) in other.entries { note(key, entry) } }
    for key in other.tentative { noteTentative(key) }
    if other.hasManyTentative { hasManyTentative = true }
  }

  // MARK: At the end

  /// Makes the remaining nulls permanent, and returns the changes since the state before the
  /// transaction.
  mutating func finish(
    _ records: StoredRecords, joining pages: [Paging], applying deltas: [RecordDelta]
  ) throws -> WriteSummary {
    let keys = hasManyTentative ? try records.keysWithTentativeNulls() : Array(tentative)
    let settling = NullSettling(access: records)
    for key in keys {
      guard let text = records.text(of: key) else { continue }
      var settled = ByteStack(capacity: text.count)
      text.withBytes { settling.settle($0, into: &settled) }
      if settled.all.equals(text) { continue }
      records.setRecord(key: key, text: settled.all.array, fields: [])
      entries[key]?.isRewritten = true
    }
    settling.finish()
    for paging in pages {
      var join = PageJoin(rules: paging.rules, access: records)
      join.run(paging.keys)
      counts.warnings += join.warnings
      for key in paging.keys { entries[key]?.isRewritten = true }
    }
    for (key, fields) in records.resolved
    where key.withBytes({ ErrorRecord.isErrors(key: $0) }) { noteResolved(key, fields) }
    for delta in deltas {
      guard let field = delta.apply(records) else { continue }
      counts.changedRecords += 1
      noteResolved(delta.owner, [field])
    }
    if let failure = records.failure { throw failure }
    guard collectsChanges else { return counts }
    var comparison = RecordComparison()
    for (key, entry) in entries {
      if entry.isRewritten {
        comparison.add(key, before: records.recordBefore(key: key), after: records.text(of: key))
      } else {
        comparison.add(key, isNew: entry.isNew, changed: entry.fields)
      }
    }
    if let failure = records.failure { throw failure }
    var summary = comparison.summary
    summary.warnings = counts.warnings
    return summary
  }
}

/// Which changed fields a transaction collects.
enum ChangeCollection: Sendable {
  case none
  /// Those that watchers need, up to a maximum number.
  case bounded
  case all
}
