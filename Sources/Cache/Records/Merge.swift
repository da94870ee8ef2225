/// Merges received into stored records, field by field: the last write wins.
///
/// - Scalars, references and lists of them are replaced.
/// - An object without identity is merged with the stored one if both have the same `__typename`;
///   in lists,
///   element by element, if the lists have equal length and no element conflicts (another type,
///   another
///   entity). Otherwise the new value replaces the old one.
/// - A field that was not received is unchanged: absent is not null.
struct Merge: ~Copyable {
  /// Whether a null may be caused by an error: then the replaced value is kept, as
  /// `{"$null":value}`, until the response has ended.
  var nullsAreTentative = false
  /// The access to segmented lists. Without it, ``needsSegments`` reports that it is required.
  var access: (any SegmentAccess)?
  private(set) var needsSegments = false
  private(set) var hasTentativeNulls = false

  /// The merge of two records or objects; `nil` if it does not differ from `old`.
  static func merged(_ old: [UInt8], _ new: Bytes, access: any SegmentAccess) -> [UInt8]? {
    var merge = Merge(access: access)
    var out = ByteStack(capacity: old.count + new.count)
    let differs = old.withBytes { merge.records(old: $0, new: new, into: &out) }
    return differs ? out.all.array : nil
  }

  /// Appends the merge of two records or objects to `out`; returns whether it differs from `old`.
  ///
  /// `changed` is called with the quoted stored key of every changed field.
  mutating func records(
    old: Bytes, new: Bytes, into out: inout ByteStack, changed: ((Bytes) -> Void)? = nil
  ) -> Bool {
    let mark = out.count
    if let result = lockstep(old: old, new: new, into: &out, changed: changed) { return result }
    out.truncate(to: mark)
    return general(old: old, new: new, into: &out, changed: changed)
  }

  /// The common case: both have the same fields in the same order. `nil` if not.
  private mutating func lockstep(
    old: Bytes, new: Bytes, into out: inout ByteStack, changed: ((Bytes) -> Void)?
  ) -> Bool? {
    var left = FieldCursor(old)
    var right = FieldCursor(new)
    // Compares all keys first, so that no change is reported twice if the general case follows.
    while true {
      let a = left.next()
      let b = right.next()
      guard let a, let b else {
        if a == nil && b == nil && !left.isMalformed && !right.isMalformed { break }
        return nil
      }
      guard old[a.key].equals(new[b.key]) else { return nil }
    }
    left = FieldCursor(old)
    right = FieldCursor(new)
    var differs = false
    out.append(UInt8(ascii: "{"))
    var isFirst = true
    while let a = left.next(), let b = right.next() {
      out.beginMember(old[a.key], &isFirst)
      if values(old: old[a.value], new: new[b.value], into: &out) {
        differs = true
        changed?(old[a.key])
      }
    }
    out.append(UInt8(ascii: "}"))
    return differs
  }

  private mutating func general(
    old: Bytes, new: Bytes, into out: inout ByteStack, changed: ((Bytes) -> Void)?
  ) -> Bool {
    var arrived = FieldIndex(new)
    var differs = false
    var isFirst = true
    out.append(UInt8(ascii: "{"))
    var left = FieldCursor(old)
    while let field = left.next() {
      out.beginMember(old[field.key], &isFirst)
      guard let value = arrived.take(old[field.key]) else {
        out.append(old[field.value])
        continue
      }
      if values(old: old[field.value], new: new[value], into: &out) {
        differs = true
        changed?(old[field.key])
      }
    }
    for field in arrived.remaining {
      out.beginMember(new[field.key], &isFirst)
      out.append(new[field.value])
      differs = true
      changed?(new[field.key])
    }
    out.append(UInt8(ascii: "}"))
    return differs
  }

  /// Appends the merge of two values of a field; returns whether it differs from `old`.
  private mutating func values(old: Bytes, new: Bytes, into out: inout ByteStack) -> Bool {
    if old.equals(new) {
      out.append(old)
      return false
    }
    if new.hasPrefix(TentativeNull.prefix) {
      // The kept value is merged with the value without the null.
      hasTentativeNulls = true
      var restored = ByteStack(capacity: old.count + new.count)
      _ = values(
        old: old.hasPrefix(TentativeNull.prefix) ? TentativeNull.value(old) : old,
        new: TentativeNull.value(new), into: &restored)
      TentativeNull.append(over: restored.all, to: &out)
      return true
    }
    let oldKind = RecordText.kind(old)
    switch (oldKind, RecordText.kind(new)) {
    case (_, .null) where nullsAreTentative:
      hasTentativeNulls = true
      // A null over a tentative null changes nothing.
      if old.hasPrefix(TentativeNull.prefix) {
        out.append(old)
        return false
      }
      TentativeNull.append(over: old, to: &out)
      return true
    case (.object, .object):
      guard Self.sameType(old, new), !old.hasPrefix(TentativeNull.prefix) else { break }
      return records(old: old, new: new, into: &out)
    case (.list, .list), (.list, .segments), (.segments, .list), (.segments, .segments):
      if let result = lists(old: old, new: new, into: &out) { return result }
    default: break
    }
    out.append(new)
    return true
  }

  private static func sameType(_ old: Bytes, _ new: Bytes) -> Bool {
    let a = typename(of: old)
    let b = typename(of: new)
    guard let a, let b else { return a == nil && b == nil }
    return a.equals(b)
  }

  private static func typename(of object: Bytes) -> Bytes? {
    var cursor = FieldCursor(object)
    while let field = cursor.next() {
      if object[field.key].equals("\"__typename\"") { return object[field.value] }
    }
    return nil
  }

  /// Merges by index; `nil` if the new list replaces the old one.
  private mutating func lists(old: Bytes, new: Bytes, into out: inout ByteStack) -> Bool? {
    if access == nil,
      RecordText.kind(old) == .segments || RecordText.kind(new) == .segments
    {
      needsSegments = true
      return nil
    }
    guard var a = ListReader(old.array, access: access),
      var b = ListReader(new.array, access: access), Self.isAligned(a, b)
    else { return nil }
    var writer = ListWriter(access: access)
    var differs = false
    var element = ByteStack(capacity: 256)
    while let x = a.next(), let y = b.next() {
      element.truncate(to: 0)
      let isChanged = x.withBytes { x in y.withBytes { values(old: x, new: $0, into: &element) } }
      if isChanged { differs = true }
      writer.append(element.all)
    }
    if !differs {
      out.append(old)
      return false
    }
    writer.finish(into: &out)
    return true
  }

  /// Whether no two elements conflict: another type, another entity.
  private static func isAligned(_ old: ListReader, _ new: ListReader) -> Bool {
    guard old.count == new.count else { return false }
    var (a, b) = (old, new)
    while let x = a.next(), let y = b.next() {
      let isConflict = x.withBytes { x in
        y.withBytes { contradict(TentativeNull.unwrapped(x), TentativeNull.unwrapped($0)) }
      }
      if isConflict { return false }
    }
    return !a.isBroken && !b.isBroken
  }

  private static func contradict(_ old: Bytes, _ new: Bytes) -> Bool {
    switch (RecordText.kind(old), RecordText.kind(new)) {
    case (.object, .object): !sameType(old, new)
    case (.reference, .reference): !old.equals(new)
    case (.reference, .object), (.object, .reference): true
    default: false
    }
  }

  /// Whether two values are objects without identity that can be merged.
  static func isSameObject(_ old: [UInt8], _ new: [UInt8]) -> Bool {
    RecordText.kind(old) == .object && RecordText.kind(new) == .object
      && old.withBytes { old in new.withBytes { sameType(old, $0) } }
  }

  /// The elements of a list that is merged with another by index; `nil` if it is not.
  static func elements(
    of value: [UInt8], alignedWith list: ListReader, access: any SegmentAccess
  ) -> ListReader? {
    guard let reader = ListReader(value, access: access), !reader.isLeaf, isAligned(reader, list)
    else { return nil }
    return reader
  }

  /// Appends `object` with each stored key once; the later value wins, embedded objects are merged.
  ///
  /// Returns whether a null follows another value of its field and is tentative.
  static func fold(
    _ object: Bytes, access: any SegmentAccess, into out: inout ByteStack
  ) -> Bool {
    var folded = ObjectText()
    var merge = Merge(nullsAreTentative: true, access: access)
    var cursor = FieldCursor(object)
    while let field = cursor.next() {
      let key = object[field.key].array
      guard let index = folded.entries.firstIndex(where: { $0.key == key }) else {
        folded.entries.append(ObjectText.Entry(key: key, value: object[field.value].array))
        continue
      }
      var joined = ByteStack(capacity: 256)
      folded.entries[index].value.withBytes {
        _ = merge.values(old: $0, new: object[field.value], into: &joined)
      }
      folded.entries[index].value = joined.all.array
    }
    folded.append(to: &out)
    return merge.hasTentativeNulls
  }
}

/// The fields of an object by key, for merging objects with different field order.
struct FieldIndex {
  private let text: Bytes
  private var fields: [(key: Range<Int>, value: Range<Int>)] = []
  private var isTaken: [Bool] = []
  private var byHash: [UInt64: [Int]]?
  private var next = 0
  let isMalformed: Bool

  init(_ text: Bytes) {
    self.text = text
    var cursor = FieldCursor(text)
    while let field = cursor.next() { fields.append(field) }
    isMalformed = cursor.isMalformed
    isTaken = Array(repeating: false, count: fields.count)
    guard fields.count > 16 else { return }
    var index: [UInt64: [Int]] = [:]
    for (number, field) in fields.enumerated() {
      index[hash(text[field.key]), default: []].append(number)
    }
    byHash = index
  }

  private func hash(_ key: Bytes) -> UInt64 { hashBytes(key.start, key.count, seed: processSeed) }

  mutating func take(_ key: Bytes) -> Range<Int>? {
    if next < fields.count, !isTaken[next], text[fields[next].key].equals(key) { return use(next) }
    if let byHash {
      guard let found = byHash[hash(key)]?.first(where: { text[fields[$0].key].equals(key) }) else {
        return nil
      }
      return use(found)
    }
    guard let found = fields.firstIndex(where: { text[$0.key].equals(key) }) else { return nil }
    return use(found)
  }

  private mutating func use(_ index: Int) -> Range<Int> {
    isTaken[index] = true
    next = index + 1
    return fields[index].value
  }

  var remaining: [(key: Range<Int>, value: Range<Int>)] {
    fields.indices.filter { !isTaken[$0] }.map { fields[$0] }
  }
}

/// Counts and collects the differences between records before and after a change.
struct RecordComparison {
  private(set) var summary = WriteSummary()

  init() { summary.changesAreKnown = true }

  /// Adds the difference of a record, which may be missing before and after.
  mutating func add(_ key: [UInt8], before: [UInt8]?, after: [UInt8]?) {
    let changed = Self.changedFields(before: before, after: after)
    guard after == nil else { return add(key, isNew: before == nil, changed: changed) }
    guard before != nil else { return }
    key.withBytes { key in
      if !ErrorRecord.isErrors(key: key) { summary.removedRecords += 1 }
      summary.note(changed, of: key)
    }
  }

  /// Adds a record whose changed fields are known.
  mutating func add(_ key: [UInt8], isNew: Bool, changed: Set<[UInt8]>) {
    key.withBytes { summary.note(changed, of: $0) }
    if key.withBytes({ ErrorRecord.isErrors(key: $0) }) { return }
    if isNew {
      summary.newRecords += 1
    } else if changed.isEmpty {
      summary.unchangedRecords += 1
    } else {
      summary.changedRecords += 1
    }
  }

  /// The quoted stored keys of the fields that differ or exist in only one of the records.
  private static func changedFields(before: [UInt8]?, after: [UInt8]?) -> Set<[UInt8]> {
    if before == after { return [] }
    let old = before.map { ObjectText($0).values } ?? [:]
    let new = after.map { ObjectText($0).values } ?? [:]
    return Set(old.keys.filter { new[$0] != old[$0] }).union(new.keys.filter { old[$0] == nil })
  }
}
