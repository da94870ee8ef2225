/// Counts and collects the differences between records before and after a change.
struct RecordComparison {
  private(set) var summary = WriteSummary()

  init() { summary.changesAreKnown = true }

  mutating func add(_ key: [UInt8], before: [UInt8]?, after: [UInt8]?) {
    let changed = Self.changedFields(before: before, after: after)
    if before == nil && after == nil { return }
    if before == nil {
      summary.newRecords += 1
    } else if after == nil {
      summary.removedRecords += 1
    } else if changed.isEmpty {
      summary.unchangedRecords += 1
    } else {
      summary.changedRecords += 1
    }
    key.withUnsafeBufferPointer { key in
      for field in changed {
        field.withUnsafeBufferPointer {
          _ = summary.changes.insert(FieldChange(key: Bytes(key), quotedField: Bytes($0)))
        }
      }
    }
  }

  /// The quoted stored keys of the fields that differ or exist in only one of the records.
  static func changedFields(before: [UInt8]?, after: [UInt8]?) -> Set<[UInt8]> {
    let old = before.map(fields) ?? [:]
    let new = after.map(fields) ?? [:]
    return Set(old.keys.filter { new[$0] != old[$0] }).union(new.keys.filter { old[$0] == nil })
  }

  /// The fields of a record by their quoted stored keys.
  static func fields(_ record: [UInt8]) -> [[UInt8]: [UInt8]] {
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
