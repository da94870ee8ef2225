/// Where a reader finds records. Texts are borrowed: valid until the next lookup at the same depth.
protocol RecordSource {
  /// The text of the record with `key`, or `nil`. Lookups at different depths do not disturb each other.
  mutating func text(key: Bytes, depth: Int) -> Bytes?
  /// What went wrong in a lookup, apart from a record that is not there.
  var failure: CacheError? { get }
}

/// Answers an operation from records: follows the plan, copies stored text, resolves references.
///
/// Values stand in the records as they go out, so a leaf costs a comparison and a copy. The first field
/// that is missing ends the read.
struct RecordReader<Source: RecordSource>: ~Copyable {
  private enum Step {
    case field(Bytes)
    case index(Int)
  }

  private(set) var source: Source
  private var table: PlanTable
  private var out = ByteStack(capacity: 4096)
  private var spool = ResultSpool()
  private var keyScratch = ByteStack(capacity: 128)
  private var path: [Step] = []
  private(set) var miss: CacheMiss?
  private(set) var failure: CacheError?

  init(_ plan: OperationPlan, source: Source) {
    self.source = source
    table = PlanTable(plan)
  }

  /// Reads the whole operation.
  consuming func read() throws(CacheError) -> CacheReadResult {
    guard readRoot() else {
      if let failure = failure ?? source.failure { throw failure }
      if let miss { return .miss(miss) }
      throw CacheError(.damagedDatabase, "a record of the cache cannot be read")
    }
    try spool.append(out.all)
    return .hit(spool.finish())
  }

  private mutating func readRoot() -> Bool {
    let plan = table.plans[Int(table.root)]
    out.append(UInt8(ascii: "{"))
    var isFirst = true
    for index in 0..<plan.fieldCount {
      let field = plan.fields[index]
      guard field.isAsked else { continue }
      guard let record = source.text(key: field.rootKey, depth: 0) else {
        if field.isTypename {
          appendPrefix(field, &isFirst)
          out.append(utf8: "\"\(table.plan.rootType)\"")
          continue
        }
        if field.fragments >= 0 { continue }
        return missing(field, recordKey: RootRecord.queryKey)
      }
      var cursor = FieldCursor(record)
      guard let entry = cursor.next() else { return malformed(field.rootKey) }
      appendPrefix(field, &isFirst)
      guard value(record[entry.value], field, depth: 1, recordKey: field.rootKey) else {
        return false
      }
    }
    out.append(UInt8(ascii: "}"))
    return true
  }

  @inline(__always)
  private mutating func appendPrefix(_ field: FieldPlan, _ isFirst: inout Bool) {
    if !isFirst { out.append(UInt8(ascii: ",")) }
    isFirst = false
    out.append(field.resultPrefix)
  }

  // MARK: Objects

  private mutating func object(
    _ text: Bytes, node: Int32, depth: Int, recordKey: Bytes
  ) -> Bool {
    let number = table.variant(of: node, typename: RecordText.typename(of: text))
    let fields = table.plans[Int(number)].fields
    let count = table.plans[Int(number)].fieldCount
    let unmatched = unmatchedFragments(text, fields, count)
    out.append(UInt8(ascii: "{"))
    var isFirst = true
    var position = 1
    var index = 0
    while index < count {
      let field = fields + index
      index &+= 1
      guard field.pointee.isAsked else { continue }
      if let unmatched, field.pointee.fragments >= 0,
        table.fragmentLists[Int(field.pointee.fragments)].allSatisfy({ unmatched.contains($0) })
      {
        continue
      }
      guard let value = find(field.pointee.storedPrefix, in: text, from: &position) else {
        return missing(field.pointee, recordKey: recordKey.string)
      }
      appendPrefix(field.pointee, &isFirst)
      guard self.value(text[value], field.pointee, depth: depth, recordKey: recordKey) else {
        return false
      }
    }
    out.append(UInt8(ascii: "}"))
    if out.count > 128 << 10 { return flush() }
    return true
  }

  /// The value of a field, looked for at `position` first; moves `position` behind it.
  @inline(__always)
  private func find(_ prefix: Bytes, in text: Bytes, from position: inout Int) -> Range<Int>? {
    if position &+ prefix.count < text.count,
      compareBytes(text.start + position, prefix.start, prefix.count)
    {
      let start = position &+ prefix.count
      guard let end = RecordText.endOfValue(text, from: start) else { return nil }
      position = end < text.count && text.start[end] == UInt8(ascii: ",") ? end &+ 1 : end
      return start..<end
    }
    return search(prefix, in: text, from: &position)
  }

  /// Looks on from `position` to the end, and then from the start.
  private func search(_ prefix: Bytes, in text: Bytes, from position: inout Int) -> Range<Int>? {
    let key = prefix[0..<(prefix.count - 1)]
    for start in [position, 1] {
      var cursor = FieldCursor(text, from: start)
      while let field = cursor.next() {
        if text[field.key].equals(key) {
          position = cursor.position
          return field.value
        }
      }
      if position == 1 { break }
    }
    return nil
  }

  /// Without a schema a fragment on another type name applies if all its fields are there.
  @inline(__always)
  private func unmatchedFragments(
    _ text: Bytes, _ fields: UnsafeMutablePointer<FieldPlan>, _ count: Int
  ) -> Set<Int32>? {
    var unmatched: Set<Int32>?
    var index = 0
    while index < count {
      let field = fields + index
      index &+= 1
      guard field.pointee.fragments >= 0 else { continue }
      if unmatched == nil { unmatched = [] }
      var position = 1
      if search(field.pointee.storedPrefix, in: text, from: &position) == nil {
        unmatched?.formUnion(table.fragmentLists[Int(field.pointee.fragments)])
      }
    }
    return unmatched
  }

  // MARK: Values

  @inline(__always)
  private mutating func value(
    _ value: Bytes, _ field: FieldPlan, depth: Int, recordKey: Bytes
  ) -> Bool {
    if field.child < 0 {
      let first = value.start[0]
      if first != UInt8(ascii: " ") && first != UInt8(ascii: "{") && first != UInt8(ascii: "[") {
        out.append(value)
        return true
      }
      return nestedLeaf(value, field, depth: depth, recordKey: recordKey)
    }
    path.append(.field(field.key))
    guard composite(value, node: field.child, depth: depth, recordKey: recordKey) else {
      return false
    }
    path.removeLast()
    return true
  }

  private mutating func nestedLeaf(
    _ value: Bytes, _ field: FieldPlan, depth: Int, recordKey: Bytes
  ) -> Bool {
    switch RecordText.kind(value) {
    case .opaque:
      out.append(value[1..<value.count])
      return out.count > 128 << 10 ? flush() : true
    case .values:
      out.append(UInt8(ascii: "["))
      guard let segments = Segments.keys(of: value) else { return malformed(recordKey) }
      var isFirst = true
      for key in segments.keys {
        let found = key.withUnsafeBufferPointer { source.text(key: Bytes($0), depth: depth) }
        guard let text = found, text.count >= 2 else { return missing(field, recordKey: recordKey.string) }
        if !isFirst { out.append(UInt8(ascii: ",")) }
        isFirst = false
        out.append(text[1..<(text.count - 1)])
        if out.count > 128 << 10, !flush() { return false }
      }
      out.append(UInt8(ascii: "]"))
      return true
    // The stored value has fields to select: this operation asks for it as a leaf.
    default: return missing(field, recordKey: recordKey.string)
    }
  }

  private mutating func composite(
    _ value: Bytes, node: Int32, depth: Int, recordKey: Bytes
  ) -> Bool {
    switch RecordText.kind(value) {
    case .null:
      out.append(value)
      return true
    case .reference: return reference(value, node: node, depth: depth)
    case .object: return object(value, node: node, depth: depth, recordKey: recordKey)
    case .list:
      out.append(UInt8(ascii: "["))
      path.append(.index(0))
      var count = 0
      guard elements(value, &count, node: node, depth: depth, recordKey: recordKey) else {
        return false
      }
      path.removeLast()
      out.append(UInt8(ascii: "]"))
      return true
    case .segments: return segments(value, node: node, depth: depth, recordKey: recordKey)
    case .scalar, .opaque, .values:
      return miss(recordKey: recordKey.string, field: nil)
    }
  }

  private mutating func elements(
    _ list: Bytes, _ count: inout Int, node: Int32, depth: Int, recordKey: Bytes
  ) -> Bool {
    var cursor = ElementCursor(list)
    while let element = cursor.next() {
      if count > 0 { out.append(UInt8(ascii: ",")) }
      path[path.count - 1] = .index(count)
      count &+= 1
      guard composite(list[element], node: node, depth: depth, recordKey: recordKey) else {
        return false
      }
    }
    return !cursor.isMalformed || malformed(recordKey)
  }

  private mutating func segments(
    _ value: Bytes, node: Int32, depth: Int, recordKey: Bytes
  ) -> Bool {
    guard let segments = Segments.keys(of: value) else { return malformed(recordKey) }
    out.append(UInt8(ascii: "["))
    path.append(.index(0))
    var count = 0
    for key in segments.keys {
      let found = key.withUnsafeBufferPointer { source.text(key: Bytes($0), depth: depth) }
      guard let text = found else { return miss(recordKey: recordKey.string, field: nil) }
      guard elements(text, &count, node: node, depth: depth + 1, recordKey: recordKey) else {
        return false
      }
    }
    path.removeLast()
    out.append(UInt8(ascii: "]"))
    return true
  }

  @inline(__always)
  private mutating func reference(_ value: Bytes, node: Int32, depth: Int) -> Bool {
    guard let quoted = RecordText.referenceText(value), quoted.count >= 2 else {
      return malformed(value)
    }
    let inner = quoted[1..<(quoted.count - 1)]
    if RecordText.memchrBackslash(inner) == nil {
      guard let text = source.text(key: inner, depth: depth) else {
        return miss(recordKey: inner.string, field: nil)
      }
      return object(text, node: node, depth: depth + 1, recordKey: inner)
    }
    let key = RecordText.withUnescaped(quoted, &keyScratch) { $0.array }
    return key.withUnsafeBufferPointer { buffer in
      let key = Bytes(buffer)
      guard let text = source.text(key: key, depth: depth) else {
        return miss(recordKey: key.string, field: nil)
      }
      return object(text, node: node, depth: depth + 1, recordKey: key)
    }
  }

  // MARK: Failures

  private mutating func flush() -> Bool {
    do throws(CacheError) {
      try spool.append(out.all)
      out.truncate(to: 0)
      return true
    } catch {
      failure = error
      return false
    }
  }

  private mutating func missing(_ field: FieldPlan, recordKey: String) -> Bool {
    path.append(.field(field.key))
    let stored = field.storedPrefix[0..<(field.storedPrefix.count - 1)]
    let name = RecordText.withUnescaped(stored, &keyScratch) { $0.string }
    return miss(recordKey: recordKey, field: name)
  }

  private mutating func miss(recordKey: String, field: String?) -> Bool {
    var text = ""
    for step in path {
      switch step {
      case .field(let key): text += (text.isEmpty ? "" : ".") + key.string
      case .index(let index): text += "[\(index)]"
      }
    }
    if miss == nil { miss = CacheMiss(path: text, recordKey: recordKey, field: field) }
    return false
  }

  private mutating func malformed(_ key: Bytes) -> Bool {
    failure = CacheError(
      .damagedDatabase, "the record \(String(key.string.prefix(200))) of the cache is damaged")
    return false
  }
}
