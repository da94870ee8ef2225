import GQLRunJSON

/// A source of records for a reader. Texts are borrowed: valid until the next lookup at the same
/// depth.
package protocol RecordSource {
  /// The text of the record with `key`; `nil` if it is missing. Lookups at different depths are
  /// independent.
  mutating func text(key: Bytes, depth: Int) -> Bytes?
  /// The error of a lookup, other than a missing record.
  var failure: CacheError? { get }
  /// Whether records have times, so that the ages of fields are checked. A static property, so that
  /// ages have no cost without rules.
  static var hasTimes: Bool { get }
  /// The times of the latest record at `depth`. Sources of stores know them even if the ages of their records are not
  /// checked; see ``TimedSource``.
  func times(depth: Int) -> RecordTimes
  /// Whether there may be records with errors.
  var hasErrors: Bool { get }
}

extension RecordSource {
  package static var hasTimes: Bool { false }

  package var hasErrors: Bool { true }

  package func times(depth: Int) -> RecordTimes { RecordTimes(received: 0) }

  mutating func text(key: [UInt8], depth: Int) -> Bytes? {
    key.withBytes { text(key: $0, depth: depth) }
  }
}

/// A source whose records have times, so that the ages of fields are checked.
struct TimedSource<Base: RecordSource>: RecordSource {
  static var hasTimes: Bool { true }
  private var base: Base
  var failure: CacheError? { base.failure }

  /// - Parameter base: A source that knows the times of its records.
  init(_ base: Base) { self.base = base }

  mutating func text(key: Bytes, depth: Int) -> Bytes? { base.text(key: key, depth: depth) }

  func times(depth: Int) -> RecordTimes { base.times(depth: depth) }

  var hasErrors: Bool { base.hasErrors }
}

/// Reads the result of an operation from records: follows the plan, copies stored text, resolves
/// references.
///
/// Stored values have the form of the result, so a leaf needs a comparison and a copy. The first
/// missing field ends the read.
struct RecordReader<Source: RecordSource>: ~Copyable {
  var source: Source
  var table: PlanTable
  var out = ByteStack(capacity: 4096)
  var spool = ResultSpool()
  var keyScratch = ByteStack(capacity: 128)
  var path = ReadPath()
  var rendered = RenderedRecords()
  /// The number of times ``out`` was emptied.
  var flushes = 0
  var miss: CacheMiss?
  private(set) var failure: CacheError?
  /// The errors of the fields that were read, if the source has them.
  var errors: [JSONValue] = []
  let keepsErrors: Bool
  let isTracking: Bool
  var dependencies: Dependencies
  // For sources with times.
  var limits: AgeLimits
  /// The times of the object that is read next.
  var times = RecordTimes(received: 0)
  /// The first field that is stale but accepted.
  var stale: CacheMiss?

  /// - Parameter types: The concrete types that the store has met.
  init(
    _ plan: OperationPlan, source: Source, types: ConcreteTypes,
    options: ReadOptions = ReadOptions()
  ) {
    self.source = source
    table = plan.tables.take(for: plan)
    table.learn(types)
    keepsErrors = options.errors == .replay
    isTracking = options.tracking != .none
    dependencies = Dependencies(options.tracking)
    limits = AgeLimits(options: options, facts: plan.facts)
  }

  /// Reads the whole operation.
  consuming func read() throws(CacheError) -> StoreAnswer {
    let isHit = readRoot()
    var spent = PlanTable()
    swap(&spent, &table)
    let warnings = spent.guessWarnings
    spent.plan.tables.give(spent)
    let dependencies = isTracking ? dependencies : nil
    guard isHit else {
      if let failure = failure ?? source.failure { throw failure }
      if let miss { return StoreAnswer(.miss(miss), dependencies: dependencies) }
      throw CacheError(.damagedDatabase, "a record of the cache cannot be read")
    }
    try spool.take(&out, isLast: true)
    let (stale, errors) = (stale, errors)
    var answer = StoreAnswer(
      .hit(try spool.finish()), stale: stale, dependencies: dependencies)
    answer.warnings = warnings
    answer.errors = errors
    return answer
  }

  private mutating func readRoot() -> Bool {
    let fields = table.plans[Int(table.root)].fields
    out.append(UInt8(ascii: "{"))
    var isFirst = true
    for index in 0..<table.plans[Int(table.root)].fieldCount {
      let field = fields + index
      guard field.pointee.isAsked else { continue }
      if isTracking { noteRoot(field) }
      guard let record = source.text(key: field.pointee.rootKey, depth: 0) else {
        if let isRead = redirected(index, of: table.root, depth: 1, &isFirst) {
          guard isRead else { return false }
          continue
        }
        if field.pointee.fragments >= 0 { continue }
        return missing(field, recordKey: RootRecord.queryKey)
      }
      var cursor = FieldCursor(record)
      guard let entry = cursor.next() else { return malformed(field.pointee.rootKey) }
      if Source.hasTimes {
        times = source.times(depth: 0)
        let type = Array(table.plan.rootType.utf8)
        let isFresh = type.withBytes {
          checkAge(index, of: table.root, typename: $0, times, recordKey: nil)
        }
        guard isFresh else {
          guard redirectedFromStale(index, of: table.root, depth: 1, &isFirst) else {
            return false
          }
          continue
        }
      }
      appendPrefix(field, &isFirst)
      let end = value(
        record, start: entry.value.lowerBound, field: field, depth: 1,
        recordKey: field.pointee.rootKey)
      guard end >= 0 else { return false }
    }
    out.append(UInt8(ascii: "}"))
    return true
  }

  @inline(__always)
  mutating func appendPrefix(
    _ field: UnsafeMutablePointer<FieldPlan>, _ isFirst: inout Bool
  ) {
    out.separate(&isFirst)
    out.append(field.pointee.resultPrefix.start, field.pointee.resultPrefix.count)
  }

  // MARK: Objects

  /// Writes the object that starts at `start` of `text`; returns its end, or -1 on a miss or
  /// failure.
  ///
  /// The end of a record is that of its text, so only embedded objects search for theirs.
  mutating func object(
    _ text: Bytes, _ start: Int, node: Int32, depth: Int, recordKey: Bytes, isRecord: Bool
  ) -> Int {
    let typename = RecordText.typename(of: text, at: start)
    let number = table.variant(of: node, typename: typename)
    let ownTimes = Source.hasTimes ? times : RecordTimes(received: 0)
    let fields = table.plans[Int(number)].fields
    let count = table.plans[Int(number)].fieldCount
    if isTracking, isRecord { noteRecord(recordKey, fields: fields, count: count) }
    let undecided = undecidedFragments(text, start, plan: number, depth: depth)
    out.append(UInt8(ascii: "{"))
    var isFirst = true
    // The position of the expected next field, and whether all fields before it were read in order.
    var position = start &+ 1
    var isInOrder = true
    // Adjacent fields that are output unchanged are copied at once.
    var run = -1
    var runEnd = -1
    var index = 0
    while index < count {
      let field = fields + index
      index &+= 1
      guard field.pointee.isAsked else { continue }
      if let undecided, field.pointee.fragments >= 0,
        undecided.omit(table.fragmentLists[Int(field.pointee.fragments)])
      {
        continue
      }
      let prefix = field.pointee.storedPrefix
      let valueStart = value(after: prefix, in: text, object: start, expectedAt: position)
      guard valueStart >= 0 else {
        appendRun(text, start: run, end: runEnd, isFirst: &isFirst)
        run = -1
        let isRead = redirected(index &- 1, of: number, depth: depth, &isFirst)
        guard isRead ?? missing(field, recordKey: recordKey.string) else { return -1 }
        continue
      }
      if valueStart < position { isInOrder = false }
      if Source.hasTimes {
        guard checkAge(index &- 1, of: number, typename: typename, ownTimes, recordKey: recordKey)
        else {
          appendRun(text, start: run, end: runEnd, isFirst: &isFirst)
          run = -1
          guard redirectedFromStale(index &- 1, of: number, depth: depth, &isFirst) else {
            return -1
          }
          continue
        }
      }
      if field.pointee.isVerbatim, RecordText.isPlain(text, at: valueStart) {
        guard let end = RecordText.endOfValue(text, from: valueStart) else {
          return malformedEnd(recordKey)
        }
        let fieldStart = valueStart &- prefix.count
        if run < 0 || runEnd &+ 1 != fieldStart {
          appendRun(text, start: run, end: runEnd, isFirst: &isFirst)
          run = fieldStart
        }
        runEnd = end
        position = end < text.count && text.start[end] == UInt8(ascii: ",") ? end &+ 1 : end
        continue
      }
      appendRun(text, start: run, end: runEnd, isFirst: &isFirst)
      run = -1
      appendPrefix(field, &isFirst)
      let end = value(text, start: valueStart, field: field, depth: depth, recordKey: recordKey)
      guard end >= 0 else { return -1 }
      position = end < text.count && text.start[end] == UInt8(ascii: ",") ? end &+ 1 : end
    }
    appendRun(text, start: run, end: runEnd, isFirst: &isFirst)
    if Source.hasTimes { times = ownTimes }
    out.append(UInt8(ascii: "}"))
    if out.count > 128 << 10, !flush() { return -1 }
    if isRecord { return text.count }
    return endOfObject(
      text, start: start, from: isInOrder ? position : start &+ 1, recordKey: recordKey)
  }

  /// The start of the value behind a field's prefix, which is at `position` if the fields are in the plan's order; -1
  /// if the object does not have the field.
  @inline(__always)
  private func value(
    after prefix: Bytes, in text: Bytes, object start: Int, expectedAt position: Int
  ) -> Int {
    if position &+ prefix.count < text.count,
      compareBytes(text.start + position, b: prefix.start, count: prefix.count)
    {
      return position &+ prefix.count
    }
    return search(prefix, in: text, object: start, from: position)
  }

  /// Copies the fields between two positions; nothing if `start` is negative.
  @inline(__always)
  private mutating func appendRun(
    _ text: Bytes, start: Int, end: Int, isFirst: inout Bool
  ) {
    guard start >= 0 else { return }
    out.separate(&isFirst)
    out.append(text.start + start, end &- start)
  }

  /// The end of the object at `start`, whose fields before `position` have been read.
  @inline(__always)
  mutating func endOfObject(
    _ text: Bytes, start: Int, from position: Int, recordKey: Bytes
  ) -> Int {
    if position < text.count, text.start[position] == UInt8(ascii: "}") { return position &+ 1 }
    var cursor = FieldCursor(text, from: position)
    while cursor.next() != nil {}
    guard !cursor.isMalformed, cursor.position < text.count else { return malformedEnd(recordKey) }
    return cursor.position &+ 1
  }

  /// The position of a field's value, or -1: searches from `position` on, then from the first
  /// field.
  @inline(never)
  private func search(
    _ prefix: Bytes, in text: Bytes, object start: Int, from position: Int
  ) -> Int {
    let key = prefix[0..<(prefix.count - 1)]
    var cursor = FieldCursor(text, from: position)
    while let field = cursor.next() {
      if text[field.key].equals(key) { return field.value.lowerBound }
    }
    cursor = FieldCursor(text, from: start + 1)
    while cursor.position < position, let field = cursor.next() {
      if text[field.key].equals(key) { return field.value.lowerBound }
    }
    return -1
  }

  /// Without a schema or the object's type, a fragment on another type applies if all its fields are stored.
  @inline(__always)
  private mutating func undecidedFragments(
    _ text: Bytes, _ start: Int, plan: Int32, depth: Int
  ) -> PlanTable.UndecidedFragments? {
    let object = table.plans + Int(plan)
    guard object.pointee.hasFragments else { return nil }
    var isStored = [Bool](repeating: true, count: object.pointee.fieldCount)
    for index in isStored.indices where object.pointee.fields[index].fragments >= 0 {
      isStored[index] =
        search(object.pointee.fields[index].storedPrefix, in: text, object: start, from: start + 1)
        >= 0 || redirect(index, of: plan, depth: depth) != nil
    }
    return table.undecidedFragments(of: plan) { isStored[$0] }
  }

  // MARK: Failures

  mutating func flush() -> Bool {
    do throws(CacheError) {
      try spool.take(&out)
      flushes &+= 1
      return true
    } catch {
      failure = error
      return false
    }
  }

  mutating func missing(
    _ field: UnsafeMutablePointer<FieldPlan>, recordKey: String
  ) -> Bool {
    path.append(.field(field.pointee.key))
    let isFirst = miss == nil
    _ = miss(recordKey: recordKey, field: field.pointee.storedName)
    if isFirst, field.pointee.deferral >= 0 {
      miss?.deferredFragment = table.plan.deliveries[Int(field.pointee.deferral)]
    }
    return false
  }

  mutating func miss(recordKey: String, field: String?) -> Bool {
    if miss == nil { miss = CacheMiss(path: path.text, recordKey: recordKey, field: field) }
    return false
  }

  mutating func malformed(_ key: Bytes) -> Bool {
    failure = .damagedRecord(key)
    return false
  }

  /// The end of a value that is malformed: -1.
  mutating func malformedEnd(_ key: Bytes) -> Int {
    _ = malformed(key)
    return -1
  }
}

/// Values: leaves, lists and references.
extension RecordReader {
  /// Writes the value that starts at `start`; returns its end, or -1.
  @inline(__always)
  mutating func value(
    _ text: Bytes, start: Int, field: UnsafeMutablePointer<FieldPlan>, depth: Int,
    recordKey: Bytes
  ) -> Int {
    if field.pointee.child < 0 {
      guard let end = RecordText.endOfValue(text, from: start) else {
        return malformedEnd(recordKey)
      }
      let first = text.start[start]
      if first != UInt8(ascii: " ") && first != UInt8(ascii: "{") && first != UInt8(ascii: "[") {
        out.append(text.start + start, end &- start)
        return end
      }
      return nestedLeaf(text[start..<end], field, depth: depth, recordKey: recordKey) ? end : -1
    }
    path.append(.field(field.pointee.key))
    let end = composite(
      text, start, node: field.pointee.child, depth: depth, recordKey: recordKey)
    if end >= 0 { path.removeLast() }
    return end
  }

  mutating func nestedLeaf(
    _ value: Bytes, _ field: UnsafeMutablePointer<FieldPlan>, depth: Int, recordKey: Bytes
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
        guard let text = source.text(key: key, depth: depth), text.count >= 2 else {
          return missing(field, recordKey: recordKey.string)
        }
        out.separate(&isFirst)
        out.append(text[1..<(text.count - 1)])
        if out.count > 128 << 10, !flush() { return false }
      }
      out.append(UInt8(ascii: "]"))
      return true
    case .errored: return errored(value, field, node: -1, depth: depth, recordKey: recordKey)
    // The stored value is an object, but this operation selects the field as a leaf.
    default: return missing(field, recordKey: recordKey.string)
    }
  }

  mutating func composite(
    _ text: Bytes, _ start: Int, node: Int32, depth: Int, recordKey: Bytes
  ) -> Int {
    switch RecordText.kind(text, at: start) {
    case .object:
      return object(text, start, node: node, depth: depth, recordKey: recordKey, isRecord: false)
    case .list:
      out.append(UInt8(ascii: "["))
      path.append(.index(0))
      var count = 0
      let end = elements(
        text, start: start, count: &count, node: node, depth: depth, recordKey: recordKey)
      guard end >= 0 else { return -1 }
      path.removeLast()
      out.append(UInt8(ascii: "]"))
      return end
    case .null:
      out.append(utf8: "null")
      return start &+ 4
    case .reference:
      // {"$ref":"…"}
      guard let quoteEnd = RecordText.endOfString(text, from: start &+ 8),
        quoteEnd < text.count
      else { return malformedEnd(recordKey) }
      let key = text[(start &+ 8)..<quoteEnd]
      return reference(key, node: node, depth: depth) ? quoteEnd &+ 1 : -1
    case .segments:
      guard let end = RecordText.endOfValue(text, from: start) else {
        return malformedEnd(recordKey)
      }
      return segments(text[start..<end], node: node, depth: depth, recordKey: recordKey) ? end : -1
    case .errored:
      guard let end = RecordText.endOfValue(text, from: start) else {
        return malformedEnd(recordKey)
      }
      return errored(text[start..<end], nil, node: node, depth: depth, recordKey: recordKey)
        ? end : -1
    case .scalar, .opaque, .values:
      _ = miss(recordKey: recordKey.string, field: nil)
      return -1
    }
  }

  /// Writes the elements of the list at `start`, separated by commas; returns the list's end, or
  /// -1.
  mutating func elements(
    _ text: Bytes, start: Int, count: inout Int, node: Int32, depth: Int, recordKey: Bytes
  ) -> Int {
    var position = start &+ 1
    while position < text.count {
      let byte = text.start[position]
      if byte == UInt8(ascii: "]") { return position &+ 1 }
      if byte == UInt8(ascii: ",") { position &+= 1 }
      if count > 0 { out.append(UInt8(ascii: ",")) }
      path.replaceLast(.index(count))
      count &+= 1
      position = composite(text, position, node: node, depth: depth, recordKey: recordKey)
      guard position >= 0 else { return -1 }
    }
    return malformedEnd(recordKey)
  }

  mutating func segments(
    _ value: Bytes, node: Int32, depth: Int, recordKey: Bytes
  ) -> Bool {
    guard let segments = Segments.keys(of: value) else { return malformed(recordKey) }
    out.append(UInt8(ascii: "["))
    path.append(.index(0))
    var count = 0
    for key in segments.keys {
      guard let text = source.text(key: key, depth: depth), text.count >= 2 else {
        return miss(recordKey: recordKey.string, field: nil)
      }
      let end = elements(
        text, start: 0, count: &count, node: node, depth: depth &+ 1, recordKey: recordKey)
      guard end >= 0 else { return false }
    }
    path.removeLast()
    out.append(UInt8(ascii: "]"))
    return true
  }

  @inline(__always)
  mutating func reference(_ quoted: Bytes, node: Int32, depth: Int) -> Bool {
    guard quoted.count >= 2 else { return malformed(quoted) }
    let inner = quoted[1..<(quoted.count &- 1)]
    if RecordText.isUnescaped(inner) {
      return record(inner, node: node, depth: depth)
    }
    let key = RecordText.withUnescaped(quoted, scratch: &keyScratch) { $0.array }
    return key.withBytes { record($0, node: node, depth: depth) }
  }

  @inline(__always)
  mutating func record(_ key: Bytes, node: Int32, depth: Int) -> Bool {
    let hash = RenderedRecords.hash(key, node: node)
    if let text = rendered.find(key, node: node, hash: hash) {
      out.append(text.start, text.count)
      return true
    }
    guard let text = source.text(key: key, depth: depth) else {
      if isTracking { dependencies.add(missing: key) }
      return miss(recordKey: key.string, field: nil)
    }
    let isSeenAgain = rendered.isSeenAgain(hash)
    let mark = (out.count, flushes, errors.count)
    // The list that contains the reference continues with its own times.
    let outer = Source.hasTimes ? times : RecordTimes(received: 0)
    if Source.hasTimes { times = source.times(depth: depth) }
    let end = object(text, 0, node: node, depth: depth &+ 1, recordKey: key, isRecord: true)
    if Source.hasTimes { times = outer }
    guard end >= 0 else { return false }
    if isSeenAgain, flushes == mark.1, errors.count == mark.2 {
      rendered.keep(out.bytes(mark.0..<out.count), key: key, node: node, hash: hash)
    }
    return true
  }
}

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
    let end = target.value.withBytes {
      composite($0, 0, node: field.pointee.child, depth: depth, recordKey: .empty)
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
      if let text = source.text(key: key, depth: depth),
        target.accepts(RecordText.typename(of: text, at: 0))
      {
        continue
      }
      if isTracking { key.withBytes { dependencies.add(missing: $0) } }
      return nil
    }
    return target
  }
}

/// What a reader collects in addition to values: ages and dependencies.
extension RecordReader {
  // MARK: Ages

  /// Whether a field of an object with the given times is fresh. The content of a field has the
  /// field's time. Without a record key, the field is a root field.
  mutating func checkAge(
    _ index: Int, of plan: Int32, typename: Bytes, _ ownTimes: RecordTimes, recordKey: Bytes?
  ) -> Bool {
    let field = table.plans[Int(plan)].fields + index
    let time = ownTimes.time(of: field.pointee.quotedKey)
    times = RecordTimes(received: time)
    let limit = limits.limit(
      of: index, in: table.plans[Int(plan)], numbered: plan, typename: typename)
    guard let limit, let found = limits.options.staleness(of: time, limit: limit) else {
      return true
    }
    if found.isAccepted && stale != nil { return true }
    path.append(.field(field.pointee.key))
    var miss = CacheMiss(
      path: path.text, recordKey: recordKey?.string ?? RootRecord.queryKey,
      field: field.pointee.storedName)
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
    _ key: Bytes, fields: UnsafeMutablePointer<FieldPlan>, count: Int
  ) {
    dependencies.add(record: key, field: Bytes("__typename"))
    for index in 0..<count where (fields + index).pointee.isAsked {
      var scratch = ByteStack(capacity: 64)
      RecordText.withUnescaped((fields + index).pointee.quotedKey, scratch: &scratch) {
        dependencies.add(record: key, field: $0)
      }
    }
  }
}
