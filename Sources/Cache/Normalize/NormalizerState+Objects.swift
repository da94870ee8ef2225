/// Objects: their keys, scalar fields, type and end.
extension NormalizerState {
  // MARK: Keys

  @inline(__always)
  mutating func objectKey(_ key: Bytes) -> Bool {
    let object = containers.top
    if object.pointee.plan < 0 { return firstKey(key) }
    let plan = table.plans + Int(object.pointee.plan)
    let words = keyWords(key)
    var index = object.pointee.next
    if !(index < plan.pointee.fieldCount && matches(plan.pointee.fields + index, key, words)) {
      index = search(plan, key, words, from: index)
      if index < 0 {
        current = nil
        unknownFields &+= 1
        return containers.addUnknownKey(key) || duplicateKey(key)
      }
    }
    object.pointee.next = index &+ 1
    guard containers.markSeen(index, of: object) else { return duplicateKey(key) }
    let field = plan.pointee.fields + index
    current = field
    fields &+= 1
    text.separate()
    text.buffer.append(field.pointee.storedPrefix.start, field.pointee.storedPrefix.count)
    return true
  }

  @inline(__always)
  private func matches(
    _ field: UnsafeMutablePointer<FieldPlan>, _ key: Bytes, _ words: (head: UInt64, tail: UInt64)
  ) -> Bool {
    field.pointee.key.count == key.count && field.pointee.head == words.head
      && field.pointee.tail == words.tail
      && (key.count <= 16
        || compareBytes(field.pointee.key.start + 8, key.start + 8, key.count &- 16))
  }

  @inline(never)
  private func search(
    _ plan: UnsafeMutablePointer<ObjectPlan>, _ key: Bytes, _ words: (head: UInt64, tail: UInt64),
    from start: Int
  ) -> Int {
    let count = plan.pointee.fieldCount
    var index = start
    for _ in 0..<count {
      if index >= count { index = 0 }
      if matches(plan.pointee.fields + index, key, words) { return index }
      index &+= 1
    }
    return -1
  }

  /// Processes the first key of an object whose type determines its fields.
  @inline(never)
  private mutating func firstKey(_ key: Bytes) -> Bool {
    if key.equals(Self.typenameKey) {
      awaitsTypename = true
      text.buffer.append(utf8: "\"__typename\":")
      return true
    }
    let union = table.nodes[Int(containers.top.pointee.node)].union
    // Without a union, the key's meaning depends on the type, which comes later.
    guard union >= 0 else { return deferObject(key) }
    setPlan(union)
    return objectKey(key)
  }

  // MARK: Values

  /// Ends a scalar of the current field, which is in the text from `start` on.
  @inline(__always)
  mutating func scalarEnded(_ field: UnsafeMutablePointer<FieldPlan>, _ start: Int) -> Bool {
    let object = containers.top
    text.needsComma = true
    if field.pointee.candidate >= 0 {
      containers.setCandidate(
        field.pointee.candidate, of: object, start: start, end: text.count)
    }
    if field.pointee.isTypename {
      guard text.buffer[start] == UInt8(ascii: "\"") else { return wrongTypename() }
      object.pointee.typenameStart = start
      object.pointee.typenameEnd = text.count
    }
    result.append(field, in: text, from: start)
    if object.pointee.kind == .root { stageRootField(object, field) }
    current = nil
    return true
  }

  /// Processes the value that determines the type of the innermost object.
  @inline(never)
  mutating func typename(_ string: Bytes) -> Bool {
    awaitsTypename = false
    let object = containers.top
    let index = table.variant(of: object.pointee.node, typename: string)
    setPlan(index)
    let start = text.count
    text.append(string: string)
    object.pointee.typenameStart = start
    object.pointee.typenameEnd = text.count
    text.needsComma = true
    fields &+= 1
    let plan = table.plans + Int(index)
    let key = Bytes(
      start: Self.typenameKey.utf8Start, count: Self.typenameKey.utf8CodeUnitCount)
    let fieldIndex = search(plan, key, keyWords(key), from: 0)
    guard fieldIndex >= 0 else { return true }
    object.pointee.next = fieldIndex &+ 1
    _ = containers.markSeen(fieldIndex, of: object)
    let field = plan.pointee.fields + fieldIndex
    if field.pointee.candidate >= 0 {
      containers.setCandidate(
        field.pointee.candidate, of: object, start: start, end: text.count)
    }
    result.append(field, in: text, from: start)
    return true
  }

  static var typenameKey: StaticString { "__typename" }

  /// Ends a value that is not a scalar: its container continues.
  @inline(__always)
  mutating func valueEnded() -> Bool {
    text.needsComma = true
    let container = containers.top
    switch container.pointee.kind {
    case .object:
      mode = .object
      current = nil
      return true
    case .list:
      mode = .list
      return elementEnded(container)
    case .root:
      mode = .object
      if let field = container.pointee.field { stageRootField(container, field) }
      current = nil
      return true
    case .envelope:
      mode = .envelope
      return true
    }
  }

  // MARK: Start and end

  @inline(__always)
  mutating func beginObject(node: Int32) -> Bool {
    objects &+= 1
    var object = OpenContainer(.object)
    object.node = node
    object.textStart = text.count
    text.open(UInt8(ascii: "{"))
    current = nil
    containers.push(object)
    // If the selection is conditional, the type or the first key determines the plan.
    if !table.nodes[Int(node)].isConditional { setPlan(table.nodes[Int(node)].union) }
    mode = .object
    return true
  }

  /// Ends the innermost object: if it has an identity, it becomes a record and a reference.
  @inline(__always)
  mutating func endObject() -> Bool {
    let object = containers.top
    if object.pointee.isPart { return endPart() }
    if awaitsTypename { return wrongTypename() }
    text.buffer.append(UInt8(ascii: "}"))
    if object.pointee.plan >= 0 {
      if table.plans[Int(object.pointee.plan)].hasStoredDuplicates { foldDuplicates(object) }
      let end = text.count
      var key = keys.appendKey(of: object, in: containers, &table, to: &text.buffer)
      if key == nil, !earlierAnchors.isEmpty { key = appendEarlierKey(of: object) }
      if collectsAnchors, !noteAnchors(object, key: key) { return false }
      if let key {
        let start = object.pointee.textStart
        staging.stage(key: text.buffer.bytes(key), text: text.buffer.bytes(start..<end))
        text.replaceObject(at: start, byReferenceTo: key)
      }
    }
    result.close(UInt8(ascii: "}"))
    containers.pop()
    return valueEnded()
  }

  /// Rewrites an object so that each stored key occurs once; the later value wins.
  @inline(never)
  mutating func foldDuplicates(_ object: UnsafeMutablePointer<OpenContainer>) {
    let start = object.pointee.textStart
    let source = text.buffer.bytes(start..<text.count).array
    var folded = ByteStack(capacity: source.count + 64)
    let isTentative = source.withUnsafeBufferPointer { buffer in
      Merge.fold(Bytes(buffer), access: staging.segments, into: &folded)
    }
    if isTentative { staging.noteTentativeNulls() }
    text.buffer.truncate(to: start)
    text.buffer.append(folded.all)
    // The ranges of key field values moved, so they are searched again.
    let plan = table.plans + Int(object.pointee.plan)
    var cursor = FieldCursor(folded.all)
    while let found = cursor.next() {
      let key = folded.bytes(found.key)
      let (start, end) = (start + found.value.lowerBound, start + found.value.upperBound)
      for index in 0..<plan.pointee.fieldCount {
        let field = plan.pointee.fields[index]
        guard field.storedPrefix[0..<(field.storedPrefix.count - 1)].equals(key) else { continue }
        if field.candidate >= 0 {
          containers.setCandidate(field.candidate, of: object, start: start, end: end)
        }
        if field.isTypename {
          object.pointee.typenameStart = start
          object.pointee.typenameEnd = end
        }
      }
    }
  }

  // MARK: Root

  mutating func beginRoot() -> Bool {
    objects &+= 1
    var root = OpenContainer(.root)
    root.textStart = text.count
    text.open(UInt8(ascii: "{"))
    current = nil
    containers.push(root)
    setPlan(table.root)
    mode = .object
    result.open(UInt8(ascii: "{"))
    return true
  }

  /// Stages the root field that just ended as a separate record.
  @inline(__always)
  private mutating func stageRootField(
    _ root: UnsafeMutablePointer<OpenContainer>, _ field: UnsafeMutablePointer<FieldPlan>
  ) {
    let start = root.pointee.textStart
    text.buffer.append(UInt8(ascii: "}"))
    let record = text.buffer.bytes(start..<text.count)
    if storesRoot {
      staging.stage(key: field.pointee.rootKey, text: record)
    } else {
      staging.keepRoot(key: field.pointee.rootKey, text: record)
    }
    if collectsAnchors { adoptAnchors(ofRootField: field) }
    text.buffer.truncate(to: start)
    text.open(UInt8(ascii: "{"))
  }

  mutating func endRoot() -> Bool {
    text.buffer.truncate(to: containers.top.pointee.textStart)
    containers.pop()
    result.close(UInt8(ascii: "}"))
    mode = .envelope
    return true
  }
}
