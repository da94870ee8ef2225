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
  private let collectsChanges: Bool
  /// Records that hold tentative nulls.
  private var tentative: Set<[UInt8]> = []
  /// Whether there are so many of them that they are better looked for.
  private var hasManyTentative = false
  private static let tentativeLimit = 10_000

  init(collectsChanges: Bool) { self.collectsChanges = collectsChanges }

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
    guard entries[key] != nil else {
      entries[key] = entry
      return
    }
    entries[key]?.fields.formUnion(entry.fields)
    entries[key]?.isRewritten = true
  }

  mutating func add(_ other: TransactionLog) {
    counts.newRecords += other.counts.newRecords
    counts.changedRecords += other.counts.changedRecords
    counts.unchangedRecords += other.counts.unchangedRecords
    for (key, entry) in other.entries { note(key, entry) }
    for key in other.tentative { noteTentative(key) }
    if other.hasManyTentative { hasManyTentative = true }
  }

  // MARK: At its end

  /// Makes the nulls that are left facts, and tells what differs from the state before.
  mutating func finish(_ records: StoredRecords) throws -> WriteSummary {
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
    if let failure = records.failure { throw failure }
    guard collectsChanges else { return counts }
    var summary = WriteSummary()
    for (key, entry) in entries {
      let entry = entry.isRewritten ? compare(key, entry, records) : entry
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

  /// What differs between the record as it was before the transaction and as it is.
  private func compare(_ key: [UInt8], _ entry: Entry, _ records: StoredRecords) -> Entry {
    let before = records.recordBefore(key: key)
    guard let now = records.record(key: key) else { return Entry(isNew: false, fields: []) }
    let old = before.map(Self.fields) ?? [:]
    let new = Self.fields(now)
    return Entry(
      isNew: before == nil, fields: entry.fields.filter { new[$0] != nil && old[$0] != new[$0] })
  }

  private static func fields(_ record: [UInt8]) -> [[UInt8]: [UInt8]] {
    record.withUnsafeBufferPointer { record in
      var fields: [[UInt8]: [UInt8]] = [:]
      var cursor = FieldCursor(Bytes(record))
      while let field = cursor.next() {
        fields[cursor.text[field.key].array] = cursor.text[field.value].array
      }
      return fields
    }
  }
}
