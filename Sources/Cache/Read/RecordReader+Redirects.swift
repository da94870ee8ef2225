/// Fields that are answered from the records that their arguments identify: ``CacheRedirect``.
extension RecordReader {
  /// Writes the records of a field's redirect; returns `nil` if it has none, or a record is missing, and
  /// `false` on a miss in a record.
  @inline(never)
  mutating func redirected(
    _ index: Int, of plan: Int32, depth: Int, _ isFirst: inout Bool
  ) -> Bool? {
    guard let target = redirect(index, of: plan, depth: depth) else { return nil }
    let field = table.plans[Int(plan)].fields + index
    appendPrefix(field, &isFirst)
    path.append(.field(field.pointee.key))
    let end = target.value.withUnsafeBufferPointer {
      composite(Bytes($0), 0, node: field.pointee.child, depth: depth, recordKey: .empty)
    }
    guard end >= 0 else { return false }
    path.removeLast()
    return true
  }

  /// The same for a field that ``checkAge(_:of:typename:_:recordKey:)`` found stale: its arguments identify the
  /// records, so only their ages count. Without a redirect the field remains stale.
  @inline(never)
  mutating func redirectedFromStale(
    _ index: Int, of plan: Int32, depth: Int, _ isFirst: inout Bool
  ) -> Bool {
    let stale = miss
    miss = nil
    path.removeLast()
    if let isRead = redirected(index, of: plan, depth: depth, &isFirst) { return isRead }
    miss = stale
    return false
  }

  /// The redirect of a field, if the source has all of its records.
  mutating func redirect(_ index: Int, of plan: Int32, depth: Int) -> RedirectTarget? {
    guard let target = table.plans[Int(plan)].redirects[index] else { return nil }
    for key in target.keys {
      let isStored = key.withUnsafeBufferPointer { key in
        if let text = source.text(key: Bytes(key), depth: depth),
          target.accepts(RecordText.typename(of: text, at: 0))
        {
          return true
        }
        if isTracking { dependencies.add(missing: Bytes(key)) }
        return false
      }
      guard isStored else { return nil }
    }
    return target
  }
}
