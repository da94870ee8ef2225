/// What a transaction has done so far.
struct TransactionLog {
  /// What became of a record, when changes are collected.
  private struct Entry {
    var isNew: Bool
    /// The quoted stored keys of the fields that differ now, or did so in between.
    var fields: Set<[UInt8]>
    /// Whether the record was written more than once, so that in the end it may be as it was.
    var isRewritten = false
  }

  private var counts = WriteSummary()
  private var entries: [[UInt8]: Entry] = [:]
  /// Whether changes are collected, and how many at most; `nil` for all.
  private var collectsChanges: Bool
  private let limit: Int?
  private var collected = 0
  /// Records that hold tentative nulls.
  private var tentative: Set<[UInt8]> = []
  /// Whether there are so many of them that they are better looked for.
  private var hasManyTentative = false
  private static let tentativeLimit = 10_000

  init(_ collection: ChangeCollection) {
    collectsChanges = collection != .none
    limit = collection == .bounded ? StoreActivity.changeLimit : nil
  }

  // MARK: While the response arrives

  mutating func noteNew(_ key: Bytes, _ text: Bytes) {
    counts.newRecords += 1
    guard collectsChanges else { return }
    var fields: [[UInt8]] = []
    var cursor = FieldCursor(text)
    while let field = cursor.next() { fields.append(text[field.key].array) }
    note(key.array, Entry(isNew: true, fields: Set(fields)))
  }

  mutating func noteChanged(_ key: Bytes, _ fields: [[UInt8]]) {
    counts.changedRecords += 1
    if collectsChanges { note(key.array, Entry(isNew: false, fields: Set(fields))) }
  }

  mutating func noteUnchanged(_ key: Bytes) {
    counts.unchangedRecords += 1
    if collectsChanges { note(key.array, Entry(isNew: false, fields: [])) }
  }

  mutating func noteRemoved(_ key: [UInt8], _ text: [UInt8]) {
    counts.removedRecords += 1
    guard collectsChanges else { return }
    note(
      key, Entry(isNew: false, fields: Set(RecordComparison.fields(text).keys), isRewritten: true))
  }

  mutating func noteTentative(_ key: [UInt8]) {
    if tentative.count < Self.tentativeLimit {
      tentative.insert(key)
    } else {
      hasManyTentative = true
    }
  }

  /// Notes that fields of a record were given back what errors had hidden.
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
    counts.newRecords += other.counts.newRecords
    counts.changedRecords += other.counts.changedRecords
    counts.unchangedRecords += other.counts.unchangedRecords
    counts.removedRecords += other.counts.removedRecords
    if !other.collectsChanges { stopCollecting() }
    if collectsChanges { for (key, entry) in other.entries { note(key, entry) } }
    for key in other.tentative { noteTentative(key) }
    if other.hasManyTentative { hasManyTentative = true }
  }

  // MARK: At its end

  /// Makes the nulls that are left facts, and tells what differs from the state before.
  mutating func finish(
    _ records: StoredRecords, joining pages: [Paging] = []
  ) throws -> WriteSummary {
    let keys = hasManyTentative ? try records.keysWithTentativeNulls() : Array(tentative)
    let settling = NullSettling(access: records)
    for key in keys {
      guard let text = records.record(key: key) else { continue }
      var settled = ByteStack(capacity: text.count)
      text.withUnsafeBufferPointer { settling.settle(Bytes($0), into: &settled) }
      if settled.all.equals(text) { continue }
      records.setRecord(key: key, text: settled.all.array, fields: [])
      entries[key]?.isRewritten = true
    }
    settling.finish()
    for paging in pages {
      var join = PageJoin(paging.rules, access: records)
      join.run(paging.keys)
      counts.warnings += join.warnings
      for key in paging.keys { entries[key]?.isRewritten = true }
    }
    if let failure = records.failure { throw failure }
    guard collectsChanges else { return counts }
    var summary = WriteSummary()
    summary.warnings = counts.warnings
    summary.changesAreKnown = true
    for (key, entry) in entries {
      let entry = entry.isRewritten ? compare(key, entry, records, &summary) : entry
      guard let entry else { continue }
      if entry.isNew {
        summary.newRecords += 1
      } else if entry.fields.isEmpty {
        summary.unchangedRecords += 1
      } else {
        summary.changedRecords += 1
      }
      key.withUnsafeBufferPointer { key in
        for field in entry.fields {
          field.withUnsafeBufferPointer {
            _ = summary.changes.insert(FieldChange(key: Bytes(key), quotedField: Bytes($0)))
          }
        }
      }
    }
    if let failure = records.failure { throw failure }
    return summary
  }

  /// What differs between the record as it was before the transaction and as it is; `nil` when it is
  /// not there any more, or never was.
  private func compare(
    _ key: [UInt8], _ entry: Entry, _ records: StoredRecords, _ summary: inout WriteSummary
  ) -> Entry? {
    let before = records.recordBefore(key: key)
    let now = records.record(key: key)
    guard now != nil else {
      guard let before else { return nil }
      summary.removedRecords += 1
      key.withUnsafeBufferPointer { key in
        for field in RecordComparison.fields(before).keys {
          field.withUnsafeBufferPointer {
            _ = summary.changes.insert(FieldChange(key: Bytes(key), quotedField: Bytes($0)))
          }
        }
      }
      return nil
    }
    return Entry(
      isNew: before == nil, fields: RecordComparison.changedFields(before: before, after: now))
  }
}

/// Which changed fields a transaction collects.
enum ChangeCollection: Sendable {
  case none
  /// Those watchers need, unless there are too many.
  case bounded
  case all
}
