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
