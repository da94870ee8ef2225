/// What a reader collects in addition to values: ages and dependencies.
extension RecordReader {
  // MARK: Ages

  /// Whether a field of an object with the given times is fresh. The content of a field has the
  /// field's time. Without a record key, the field is a root field.
  mutating func checkAge(
    _ index: Int, of plan: Int32, typename: Bytes, _ ownTimes: RecordTimes, recordKey: Bytes?
  ) -> Bool {
    let field = table.plans[Int(plan)].fields + index
    let stored = field.pointee.storedPrefix
    let time = ownTimes.time(of: stored[0..<(stored.count - 1)])
    times = RecordTimes(received: time)
    let limit = limits.limit(
      of: index, in: table.plans[Int(plan)], numbered: plan, typename: typename)
    guard let limit, let found = limits.options.staleness(of: time, limit: limit) else {
      return true
    }
    if found.isAccepted && stale != nil { return true }
    path.append(.field(field.pointee.key))
    let name = RecordText.withUnescaped(stored[0..<(stored.count - 1)], &keyScratch) { $0.string }
    var miss = CacheMiss(
      path: path.text, recordKey: recordKey?.string ?? RootRecord.queryKey, field: name)
    miss.staleness = found.staleness
    if found.isAccepted {
      path.removeLast()
      stale = miss
    } else if self.miss == nil {
      self.miss = miss
    }
    return found.isAccepted
  }

  // MARK: Dependencies

  @inline(never)
  mutating func noteRoot(_ field: UnsafeMutablePointer<FieldPlan>) {
    let key = field.pointee.rootKey
    let dot = (0..<key.count).first { key.start[$0] == UInt8(ascii: ".") } ?? 0
    dependencies.add(record: key[0..<dot], field: key[(dot + 1)..<key.count])
  }

  /// Adds the dependencies on all selected fields of a record, stored or not, and on its type.
  @inline(never)
  mutating func noteRecord(
    _ key: Bytes, _ fields: UnsafeMutablePointer<FieldPlan>, _ count: Int
  ) {
    let typename: StaticString = "__typename"
    dependencies.add(
      record: key, field: Bytes(start: typename.utf8Start, count: typename.utf8CodeUnitCount))
    for index in 0..<count where (fields + index).pointee.isAsked {
      let prefix = (fields + index).pointee.storedPrefix
      var scratch = ByteStack(capacity: 64)
      let name = RecordText.withUnescaped(prefix[0..<(prefix.count - 1)], &scratch) { $0.array }
      name.withUnsafeBufferPointer { dependencies.add(record: key, field: Bytes($0)) }
    }
  }
}
