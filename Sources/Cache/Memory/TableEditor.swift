/// Applies the edits of a transaction to a table of records: that of a memory store, or the records
/// that a transaction of another store concerns.
struct TableEditor {
  private(set) var table: RecordTable
  /// The number of the transaction, to find the least recently used records.
  var use: UInt32 = 0
  /// The seed of the hash that names list segments.
  let seed: UInt64

  /// The maximum number of records in a write whose changed fields are collected for watchers.
  private static let watchedRecords = StoreActivity.changeLimit / 10

  /// Applies edits in sequence, then joins pages.
  ///
  /// - Parameter collects: Whether the changed fields are reported.
  /// - Returns: The difference to the table before.
  mutating func apply(
    _ edits: [StoreEdit], _ pages: [Paging], collects: ChangeCollection
  ) -> WriteSummary {
    guard edits.count == 1, pages.isEmpty, case .records(let batch) = edits[0] else {
      return applyInSequence(edits, pages, collects: collects != .none)
    }
    return put(
      batch,
      collects: collects == .all || collects == .bounded && batch.liveCount <= Self.watchedRecords)
  }

  private mutating func put(_ batch: RecordTable, collects: Bool) -> WriteSummary {
    var summary = WriteSummary()
    summary.changesAreKnown = collects
    if table.isEmpty && !collects {
      table = batch
      summary.newRecords = batch.liveCount - batch.segmentCount - batch.errorCount
    } else {
      join(batch, &summary)
    }
    return summary
  }

  /// Applies edits in sequence, and returns the total difference. If changes are not reported, a record that several
  /// edits change is counted for each, unless pages are joined or records removed.
  private mutating func applyInSequence(
    _ edits: [StoreEdit], _ pages: [Paging], collects: Bool
  ) -> WriteSummary {
    let compares =
      collects || !pages.isEmpty
      || edits.contains { if case .removals = $0 { true } else { false } }
    var counts = WriteSummary()
    var before: [[UInt8]: [UInt8]?] = [:]
    for edit in edits where compares {
      edit.forEachKey { key in
        if Segments.isSegment(key: key) { return }
        var keys = [key.array]
        // What is written to a record may remove its errors.
        if table.errorCount > 0 { keys.append(ErrorRecord.key(of: key)) }
        for key in keys where before[key] == nil { before[key] = .some(table.text(of: key)) }
      }
    }
    let received = edits.reduce(UInt32(0)) { latest, edit in
      if case .records(let batch) = edit { return max(latest, batch.firstReceived) }
      return latest
    }
    for (number, edit) in edits.enumerated() {
      switch edit {
      case .records(let batch):
        // The errors of before, not those that arrive with the deltas.
        if table.errorCount > 0, case .deltas(let deltas)? = edits.dropFirst(number + 1).first {
          let records = StagedRecords(table: table, seed: seed, received: received)
          for delta in deltas { delta.removeErrors(records) }
        }
        counts.addCounts(of: put(batch, collects: false))
      case .removals(let removals):
        for (key, field) in removals { remove(key, field) }
      case .deltas(let deltas):
        let records = StagedRecords(table: table, seed: seed, received: received)
        for delta in deltas where delta.apply(records) != nil { counts.changedRecords += 1 }
      }
    }
    guard compares else { return counts }
    var warnings: [String] = []
    let records = StagedRecords(table: table, seed: seed, received: received)
    for paging in pages {
      var join = PageJoin(rules: paging.rules, access: records)
      join.run(paging.keys)
      warnings += join.warnings
    }
    var comparison = RecordComparison()
    for (key, old) in before { comparison.add(key, before: old, after: table.text(of: key)) }
    var summary = comparison.summary
    summary.warnings = warnings
    return summary
  }

  private func remove(_ key: [UInt8], _ field: [UInt8]?) {
    if table.errorCount > 0 {
      StagedRecords(table: table, seed: seed).editErrors(of: key) { $0.remaining(without: field) }
    }
    guard let index = table.find(key) else { return }
    guard let field else { return table.remove(at: index) }
    let rest = RecordText.removing(field, from: table.text(at: index).array)
    table.setTimes(at: index, table.times(at: index).replacing([], in: rest))
    rest.withBytes { table.replace(at: index, text: $0) }
  }

  private func join(_ batch: RecordTable, _ summary: inout WriteSummary) {
    let records = StagedRecords(table: table, seed: seed, received: batch.firstReceived)
    // Segments first, because merging lists reads them; errors last, because records remove those of before.
    var passes = [Pass.segments, .records]
    if batch.errorCount > 0 { passes.append(.errors) }
    for pass in passes {
      for index in batch.live {
        let key = batch.key(at: index)
        guard Pass(key) == pass else { continue }
        if table.errorCount > 0 {
          let text = batch.text(at: index)
          switch pass {
          case .segments: break
          case .records:
            editErrors(ErrorRecord.key(of: key), summary: &summary) {
              records.removeErrors(
                of: key.array, after: text.array, over: table.text(of: key.array))
            }
          case .errors:
            editErrors(key.array, summary: &summary) { records.makeRoom(forErrors: text, key: key) }
          }
        }
        join(
          key, hash: batch.hash(at: index), text: batch.text(at: index),
          received: batch.received(at: index), access: records, summary: &summary)
      }
    }
  }

  private enum Pass {
    case segments, records, errors

    init(_ key: Bytes) {
      guard key.count > 0, key.start[0] == UInt8(ascii: "$") else {
        self = .records
        return
      }
      self =
        Segments.isSegment(key: key)
        ? .segments : ErrorRecord.isErrors(key: key) ? .errors : .records
    }
  }

  /// Removes errors of the record with the key `errors` with `edit`, and notes which.
  private func editErrors(
    _ errors: [UInt8], summary: inout WriteSummary, _ edit: () -> Void
  ) {
    guard let before = table.text(of: errors) else { return }
    edit()
    guard summary.changesAreKnown else { return }
    var comparison = RecordComparison()
    comparison.add(errors, before: before, after: table.text(of: errors))
    summary.errors.formUnion(comparison.summary.errors)
  }

  private func join(
    _ key: Bytes, hash: UInt64, text: Bytes, received: UInt32, access: StagedRecords,
    summary: inout WriteSummary
  ) {
    let isSegment = Segments.isSegment(key: key)
    guard let index = table.find(key, hash: hash) else {
      table.insert(key, hash: hash, text: text, lastUse: use, received: received)
      if isSegment { return }
      if ErrorRecord.isErrors(key: key) {
        if summary.changesAreKnown { summary.errors.insert(fieldsOf: text, key: key) }
        return
      }
      summary.newRecords += 1
      if summary.changesAreKnown { summary.changes.insert(fieldsOf: text, key: key) }
      return
    }
    table.touch(at: index, use: use)
    // A segment's key is a hash of its content, so an existing one is equal.
    if isSegment { return table.setReceived(at: index, received) }
    if table.text(at: index).equals(text) {
      table.setReceived(at: index, received)
      if !ErrorRecord.isErrors(key: key) { summary.unchangedRecords += 1 }
      return
    }
    var merge = Merge(access: access)
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
    if differs { table.replace(at: index, text: merged.all) }
    summary.note(changed, of: key)
    if ErrorRecord.isErrors(key: key) { return }
    if differs { summary.changedRecords += 1 } else { summary.unchangedRecords += 1 }
  }
}
