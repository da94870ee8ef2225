import GQLRunJSON

/// Builds the cache keys of objects, and reports objects that lack a key field.
struct KeyBuilder {
  private(set) var diagnostics: Set<CacheDiagnostic> = []
  private var hasReportedTypename = false

  /// The maximum number of diagnostics.
  private static let diagnosticLimit = 256

  /// Appends the key of a complete object to `text`, which ends with the object.
  ///
  /// - Returns: The range of the key; `nil` if the object has no identity, and `text` is unchanged
  ///   then.
  @inline(__always)
  mutating func appendKey(
    of object: UnsafeMutablePointer<OpenContainer>, in containers: borrowing OpenContainers,
    _ table: inout PlanTable, to text: inout ByteStack
  ) -> Range<Int>? {
    guard object.pointee.typenameStart >= 0 else {
      if !hasReportedTypename { reportTypename() }
      return nil
    }
    // `"User"` in the buffer: the quotes are not part of the name.
    let typename = text.bytes(
      (object.pointee.typenameStart &+ 1)..<(object.pointee.typenameEnd &- 1))
    let plan = object.pointee.plan
    let entry = table.keyEntry(of: plan, typename: typename)
    let entries = table.plans + Int(plan)
    if entries.pointee.keyEntries[entry].partNames != nil {
      switch resolve(
        object, containers: containers, entry: entries.pointee.keyEntries[entry], table: table,
        text: &text)
      {
      case .key(let key): return key
      case .none: return nil
      case .fields: break
      }
    }
    let partCount = entries.pointee.keyEntries[entry].partCount
    guard partCount > 0 else {
      if entries.pointee.keyEntries[entry].reportedIn < table.use {
        reportUnselected(plan, index: entry, table: &table)
      }
      return nil
    }
    let end = text.count
    let isJoined = entries.pointee.keyEntries[entry].isJoined
    text.append(entries.pointee.keyEntries[entry].prefix)
    var part = 0
    while part < partCount {
      let value = containers.candidate(
        entries.pointee.keyEntries[entry].parts[part], of: object)
      if part > 0 { text.append(UInt8(ascii: "+")) }
      guard value.end > value.start,
        Self.append(value.start..<value.end, of: &text, isJoined: isJoined)
      else {
        text.truncate(to: end)
        reportMissing(plan, index: entry, part: part, table: table)
        return nil
      }
      part &+= 1
    }
    return end..<text.count
  }

  /// The first key field of an object that differs from the one in the key `owner`; `nil` without one.
  ///
  /// Fields that the object does not have are not compared. `text` is unchanged.
  mutating func difference(
    of object: UnsafeMutablePointer<OpenContainer>, in containers: borrowing OpenContainers,
    _ table: inout PlanTable, from owner: [UInt8], typename: Bytes, _ text: inout ByteStack
  ) -> (field: String, found: String, expected: [UInt8])? {
    let plan = object.pointee.plan
    let index = table.keyEntry(of: plan, typename: typename)
    let entry = table.plans[Int(plan)].keyEntries[index]
    guard entry.partCount > 0,
      owner.starts(with: UnsafeBufferPointer(start: entry.prefix.start, count: entry.prefix.count))
    else { return nil }
    if entry.partNames != nil {
      // A key resolver needs all fields.
      for part in entry.parts where containers.candidate(part, of: object).end == 0 { return nil }
      switch resolve(object, containers: containers, entry: entry, table: table, text: &text) {
      case .none: return nil
      case .fields: break
      case .key(let range):
        let key = text.bytes(range).array
        text.truncate(to: range.lowerBound)
        return key == owner ? nil : ("identity", String(decoding: key, as: UTF8.self), owner)
      }
    }
    let expected = Self.parts(ofKey: owner[entry.prefix.count...], isJoined: entry.isJoined)
    guard expected.count == entry.partCount else { return nil }
    let fields = table.plan.keyFields(of: typename.string)
    for (number, part) in entry.parts.enumerated() where number < fields.count {
      let value = containers.candidate(part, of: object)
      guard value.end > value.start else { continue }
      let found = text.bytes(value.start..<value.end).array
      let end = text.count
      let isSame =
        Self.append(value.start..<value.end, of: &text, isJoined: entry.isJoined)
        && text.bytes(end..<text.count).equals(expected[number])
      text.truncate(to: end)
      if !isSame {
        return (fields[number], String(decoding: found, as: UTF8.self), expected[number])
      }
    }
    return nil
  }

  /// The values in a key, without the prefix. In a joined one, `\` precedes a `+` that separates nothing.
  private static func parts(ofKey key: ArraySlice<UInt8>, isJoined: Bool) -> [[UInt8]] {
    guard isJoined else { return [Array(key)] }
    var parts: [[UInt8]] = [[]]
    var isEscaped = false
    for byte in key {
      if byte == UInt8(ascii: "+"), !isEscaped {
        parts.append([])
      } else {
        parts[parts.count - 1].append(byte)
      }
      isEscaped = !isEscaped && byte == UInt8(ascii: "\\")
    }
    return parts
  }

  /// What the key resolver said of an object.
  private enum Resolved {
    case key(Range<Int>)
    case none
    case fields
  }

  /// Asks the key resolver for the identity of an object, and appends its key.
  @inline(never)
  private func resolve(
    _ object: UnsafeMutablePointer<OpenContainer>, containers: borrowing OpenContainers,
    entry: KeyEntry, table: borrowing PlanTable, text: inout ByteStack
  ) -> Resolved {
    guard let resolver = table.plan.keys.resolver, let names = entry.partNames else {
      return .fields
    }
    var fields: [String: JSONValue] = [:]
    for (name, part) in zip(names, entry.parts) {
      let value = containers.candidate(part, of: object)
      guard value.end > value.start, !"{[".utf8.contains(text[value.start]) else { continue }
      fields[name] = try? JSONValue(parsing: text.bytes(value.start..<value.end).array)
    }
    switch resolver(KeyResolver.Object(typename: entry.typename.string, fields: fields)) {
    case .fields: return .fields
    case .none: return .none
    case .id(let id):
      guard let part = KeyText.part(id: id, entry.isJoined) else { return .none }
      let end = text.count
      text.append(entry.prefix)
      for byte in part.utf8 { text.append(byte) }
      return .key(end..<text.count)
    }
  }

  /// Appends one value of `text` to the key at its end; returns false if the value cannot identify
  /// an object.
  @inline(__always)
  private static func append(
    _ value: Range<Int>, of text: inout ByteStack, isJoined: Bool
  ) -> Bool {
    let first = text[value.lowerBound]
    if first == UInt8(ascii: "\"") {
      let inner = (value.lowerBound &+ 1)..<(value.upperBound &- 1)
      // Reserves first, because the source is in the same buffer.
      text.reserve(2 &* inner.count &+ 32)
      let bytes = text.bytes(inner)
      if isJoined {
        appendJoined(bytes, to: &text)
      } else if RecordText.isUnescaped(bytes) {
        text.append(bytes.start, bytes.count)
      } else {
        text.append(unescaping: bytes)
      }
      return true
    }
    if first == UInt8(ascii: "n") || first == UInt8(ascii: " ") || first == UInt8(ascii: "{")
      || first == UInt8(ascii: "[")
    {
      return false
    }
    text.reserve(2 &* value.count &+ 32)
    let bytes = text.bytes(value)
    // The `+` of an exponent is escaped; nothing else in a number needs it.
    if isJoined { text.append(joinedPart: bytes) } else { text.append(bytes.start, bytes.count) }
    return true
  }

  @inline(never)
  private static func appendJoined(_ quotedInner: Bytes, to text: inout ByteStack) {
    var plain = ByteStack(capacity: quotedInner.count + 16)
    plain.append(unescaping: quotedInner)
    text.append(joinedPart: plain.all)
  }

  // MARK: Diagnostics

  /// Reports an object without `__typename`.
  @inline(never)
  private mutating func reportTypename() {
    hasReportedTypename = true
    diagnostics.insert(CacheDiagnostic(typename: "", keyField: "__typename"))
  }

  /// Reports a type whose key field the operation does not select, once per response.
  @inline(never)
  private mutating func reportUnselected(_ plan: Int32, index: Int, table: inout PlanTable) {
    let entry = table.plans[Int(plan)].keyEntries[index]
    guard diagnostics.count < Self.diagnosticLimit, let field = entry.missingField else { return }
    diagnostics.insert(CacheDiagnostic(typename: entry.typename.string, keyField: field))
    table.plans[Int(plan)].keyEntries[index].reportedIn = table.use
  }

  /// Reports an object whose value of a key field is missing, null, an object or a list.
  @inline(never)
  private mutating func reportMissing(
    _ plan: Int32, index: Int, part: Int, table: borrowing PlanTable
  ) {
    guard diagnostics.count < Self.diagnosticLimit else { return }
    let typename = table.plans[Int(plan)].keyEntries[index].typename.string
    let fields = table.plan.keyFields(of: typename)
    guard part < fields.count else { return }
    diagnostics.insert(CacheDiagnostic(typename: typename, keyField: fields[part]))
  }
}

extension ByteStack {
  /// Appends a part of a key that is joined of several: `+` and `\` are escaped.
  mutating func append(joinedPart part: Bytes) {
    for index in 0..<part.count {
      let byte = part.start[index]
      if byte == UInt8(ascii: "+") || byte == UInt8(ascii: "\\") {
        append(UInt8(ascii: "\\"))
      }
      append(byte)
    }
  }
}

/// Hashes of the keys of nested objects, to detect duplicate keys.
struct KeyHashes {
  private var levels: [Set<UInt64>] = []

  /// Starts an object at `level`, without keys.
  mutating func begin(_ level: Int) {
    while levels.count <= level { levels.append([]) }
    levels[level].removeAll(keepingCapacity: levels[level].count <= 64)
  }

  /// Adds a key of the object at `level`; returns false if the object already has it.
  mutating func insert(_ key: Bytes, at level: Int) -> Bool {
    levels[level].insert(hashBytes(key.start, key.count, seed: processSeed)).inserted
  }
}

/// Detects whether the keys of batches are scattered: whether those of one batch are spread over
/// those of the previous batch, like random IDs, or are close to each other, like increasing IDs.
///
/// Each record of a small scattered batch is on a different database page, and every batch writes
/// these pages again; larger batches, sorted by key, share pages.
struct KeySpread {
  private static let sampleCount = 64

  /// Some keys of the previous batch, sorted.
  private var previous: [[UInt8]] = []

  /// Adds the keys of a batch; returns whether they are scattered.
  ///
  /// Of 64 random keys, about 41 are the only one between two of 64 others; of increasing keys,
  /// only a few.
  mutating func add(_ table: RecordTable) -> Bool {
    let records = Array(table.live)
    guard records.count >= Self.sampleCount * 4 else { return false }
    let step = records.count / Self.sampleCount
    var sample = stride(from: 0, to: records.count, by: step).map {
      table.key(at: records[$0]).array
    }
    sample.sort { $0.lexicographicallyPrecedes($1) }
    let gaps = Set(sample.map(gap))
    let isScattered = !previous.isEmpty && gaps.count * 2 > sample.count
    previous = sample
    return isScattered
  }

  /// The number of previous keys that precede `key`.
  private func gap(_ key: [UInt8]) -> Int {
    var (low, high) = (0, previous.count)
    while low < high {
      let middle = (low + high) / 2
      if previous[middle].lexicographicallyPrecedes(key) { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
