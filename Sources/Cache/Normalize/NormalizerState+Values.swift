import GQLRunJSON

/// Scalars and keys.
extension NormalizerState {
  // MARK: Keys

  @inline(__always)
  mutating func onKey(_ key: Bytes) -> Bool {
    switch mode {
    case .object: return objectKey(key)
    case .capture: return capturedKey(key)
    case .skip: return noteKey(key)
    case .envelope: return envelopeKey(key)
    case .list: return true
    }
  }

  @inline(__always)
  private mutating func objectKey(_ key: Bytes) -> Bool {
    let frame = top
    if frame.pointee.plan < 0 { return firstKey(key) }
    let plan = table.plans + Int(frame.pointee.plan)
    let words = keyWords(key)
    var index = frame.pointee.next
    if !(index < plan.pointee.fieldCount && matches(plan.pointee.fields + index, key, words)) {
      index = search(plan, key, words, from: index)
      if index < 0 {
        current = nil
        unknownFields &+= 1
        return unknownKey(key)
      }
    }
    frame.pointee.next = index &+ 1
    let seen = self.words + (frame.pointee.wordsBase &+ index >> 6)
    let bit = 1 << (index & 63)
    if seen.pointee & bit != 0 { return duplicateKey(key) }
    seen.pointee |= bit
    let field = plan.pointee.fields + index
    current = field
    fields &+= 1
    if needsComma { text.append(UInt8(ascii: ",")) }
    text.append(field.pointee.storedPrefix.start, field.pointee.storedPrefix.count)
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
    if key.equals("__typename") {
      awaitsTypename = true
      text.append(utf8: "\"__typename\":")
      return true
    }
    let frame = top
    let union = table.nodes[Int(frame.pointee.node)].union
    guard union >= 0 else {
      // The key's meaning depends on the type, which comes later: captures the object.
      mode = .capture
      captureTarget = .deferred
      captureStart = frame.pointee.textStart
      nested = 1
      beginCaptureLevel()
      return capturedKey(key)
    }
    begin(frame, plan: union)
    return objectKey(key)
  }

  /// Processes a key that the operation does not select: returns false if it is a duplicate.
  @inline(never)
  mutating func unknownKey(_ key: Bytes) -> Bool {
    while unknownKeys.count < depth { unknownKeys.append([]) }
    let level = depth &- 1
    if !top.pointee.hasUnknown {
      top.pointee.hasUnknown = true
      unknownKeys[level].removeAll(keepingCapacity: unknownKeys[level].count <= 64)
    }
    let hash = hashBytes(key.start, key.count, seed: processSeed)
    return unknownKeys[level].insert(hash).inserted || duplicateKey(key)
  }

  @inline(never)
  mutating func duplicateKey(_ key: Bytes) -> Bool {
    current = nil
    let name = String(key.string.prefix(80))
    return fail(
      CacheError(
        .malformedResponse,
        "the response has the key \(JSONValue.string(name).canonicalText) twice in one object at "
          + "\(location); JSON objects need different keys", path: path()))
  }

  /// Assigns a plan to the top frame, with empty seen bits and candidate ranges.
  @inline(__always)
  mutating func begin(_ frame: UnsafeMutablePointer<Frame>, plan: Int32) {
    frame.pointee.plan = plan
    frame.pointee.wordsBase = wordsCount
    let object = table.plans + Int(plan)
    let count = object.pointee.seenWords &+ 2 &* object.pointee.candidateCount
    reserveWords(count)
    var i = 0
    while i < count {
      words[wordsCount &+ i] = 0
      i &+= 1
    }
    wordsCount &+= count
  }

  var location: String {
    let path = path()
    return path.isEmpty ? "the top" : path
  }

  // MARK: Scalars

  @inline(__always)
  mutating func onString(_ string: Bytes) -> Bool {
    switch mode {
    case .object:
      if awaitsTypename { return typename(string) }
      guard let field = current else { return true }
      guard field.pointee.child < 0 else { return wrongShape("a string") }
      let start = text.count
      appendString(string)
      return scalarEnded(field, start)
    case .list:
      guard top.pointee.node < 0 else { return wrongShape("a string") }
      let start = beginElement()
      appendString(string)
      return leafElementEnded(start)
    case .capture:
      if needsComma { text.append(UInt8(ascii: ",")) }
      appendString(string)
      needsComma = true
      return checkCapture()
    case .skip: return skipped()
    case .envelope: return envelopeScalar("a string")
    }
  }

  @inline(__always)
  mutating func onLiteral(_ literal: Bytes, _ shape: StaticString) -> Bool {
    switch mode {
    case .object:
      if awaitsTypename { return wrongTypename() }
      guard let field = current else { return true }
      guard field.pointee.child < 0 else { return wrongShape(shape) }
      let start = text.count
      text.append(literal)
      return scalarEnded(field, start)
    case .list:
      guard top.pointee.node < 0 else { return wrongShape(shape) }
      let start = beginElement()
      text.append(literal)
      return leafElementEnded(start)
    case .capture:
      if needsComma { text.append(UInt8(ascii: ",")) }
      text.append(literal)
      needsComma = true
      return checkCapture()
    case .skip: return skipped()
    case .envelope: return envelopeScalar(shape)
    }
  }

  @inline(__always)
  mutating func onNull() -> Bool {
    switch mode {
    case .object:
      if awaitsTypename { return wrongTypename() }
      guard let field = current else { return true }
      let start = text.count
      text.append(utf8: "null")
      return scalarEnded(field, start)
    case .list:
      let start = beginElement()
      text.append(utf8: "null")
      return leafElementEnded(start)
    case .capture:
      if needsComma { text.append(UInt8(ascii: ",")) }
      text.append(utf8: "null")
      needsComma = true
      return checkCapture()
    case .skip: return skipped()
    case .envelope: return envelopeNull()
    }
  }

  /// Ends a scalar of the current field, which is in the buffer from `start` on.
  @inline(__always)
  mutating func scalarEnded(_ field: UnsafeMutablePointer<FieldPlan>, _ start: Int) -> Bool {
    let frame = top
    needsComma = true
    if field.pointee.candidate >= 0 {
      let object = table.plans + Int(frame.pointee.plan)
      let slot =
        frame.pointee.wordsBase &+ object.pointee.seenWords &+ 2
        &* Int(field.pointee.candidate)
      words[slot] = start
      words[slot &+ 1] = text.count
    }
    if field.pointee.isTypename {
      guard text[start] == UInt8(ascii: "\"") else { return wrongTypename() }
      frame.pointee.typenameStart = start
      frame.pointee.typenameEnd = text.count
    }
    if wantsResult && field.pointee.isAsked { appendResult(field, start) }
    if frame.pointee.kind == .root { finishRootField(frame, field) }
    current = nil
    return true
  }

  @inline(__always)
  func _isPlain(_ string: Bytes) -> Bool {
    let address = UInt(bitPattern: string.start)
    return address >= chunkStart && address < chunkEnd
  }

  /// Appends `string` as JSON. A string inside the current chunk had no escapes and needs none.
  @inline(__always)
  mutating func appendString(_ string: Bytes) {
    text.append(UInt8(ascii: "\""))
    if _isPlain(string) {
      text.append(string.start, string.count)
    } else {
      appendEscaped(string, to: &text)
    }
    text.append(UInt8(ascii: "\""))
  }

  /// Copies a value from the buffer to the result, under the response key.
  @inline(__always)
  mutating func appendResult(_ field: UnsafeMutablePointer<FieldPlan>, _ start: Int) {
    if resultNeedsComma { result.append(UInt8(ascii: ",")) }
    result.append(field.pointee.resultPrefix.start, field.pointee.resultPrefix.count)
    result.append(text.bytes(withoutMark(start)..<text.count))
    resultNeedsComma = true
  }

  /// Skips the space that marks an opaque value.
  @inline(__always)
  func withoutMark(_ start: Int) -> Int {
    start < text.count && text[start] == UInt8(ascii: " ") ? start &+ 1 : start
  }

  @inline(__always)
  mutating func beginElement() -> Int {
    if needsComma { text.append(UInt8(ascii: ",")) }
    return text.count
  }

  /// Processes the value that determines the type of the top frame's object.
  @inline(never)
  private mutating func typename(_ string: Bytes) -> Bool {
    awaitsTypename = false
    let frame = top
    let plan = table.variant(of: frame.pointee.node, typename: string)
    begin(frame, plan: plan)
    let start = text.count
    appendString(string)
    frame.pointee.typenameStart = start
    frame.pointee.typenameEnd = text.count
    needsComma = true
    fields &+= 1
    let object = table.plans + Int(plan)
    let key = Bytes(start: Self.typenameKey.utf8Start, count: 10)
    let index = search(object, key, keyWords(key), from: 0)
    if index >= 0 {
      frame.pointee.next = index &+ 1
      let seen = words + (frame.pointee.wordsBase &+ index >> 6)
      seen.pointee |= 1 << (index & 63)
      let field = object.pointee.fields + index
      if field.pointee.candidate >= 0 {
        let slot =
          frame.pointee.wordsBase &+ object.pointee.seenWords &+ 2
          &* Int(field.pointee.candidate)
        words[slot] = start
        words[slot &+ 1] = text.count
      }
      if wantsResult && field.pointee.isAsked { appendResult(field, start) }
    }
    return true
  }

  static var typenameKey: StaticString { "__typename" }

  @inline(never)
  mutating func wrongTypename() -> Bool {
    fail(
      CacheError(
        .malformedResponse,
        "the response has a __typename at \(location) that is not a string", path: path()))
  }

  @inline(never)
  mutating func wrongShape(_ found: StaticString) -> Bool {
    fail(
      CacheError(
        .malformedResponse,
        "the response has \(found) at \(location), where the operation selects the fields of an "
          + "object", path: path()))
  }

  /// Ends a skipped value without content.
  @inline(__always)
  func skipped() -> Bool { true }
}

/// Appends `bytes` as the content of a JSON string, with only the required escapes.
package func appendEscaped(_ bytes: Bytes, to out: inout ByteStack) {
  var start = bytes.start
  var count = bytes.count
  while true {
    let clean = JSONWriter.firstToEscape(in: UnsafeRawBufferPointer(start: start, count: count))
    out.append(start, clean)
    if clean == count { return }
    appendEscape(of: start[clean], to: &out)
    start += clean &+ 1
    count &-= clean &+ 1
  }
}

private func appendEscape(of byte: UInt8, to out: inout ByteStack) {
  let hex: StaticString = "0123456789abcdef"
  out.append(UInt8(ascii: "\\"))
  switch byte {
  case UInt8(ascii: "\""), UInt8(ascii: "\\"): out.append(byte)
  case 8: out.append(UInt8(ascii: "b"))
  case 9: out.append(UInt8(ascii: "t"))
  case 10: out.append(UInt8(ascii: "n"))
  case 12: out.append(UInt8(ascii: "f"))
  case 13: out.append(UInt8(ascii: "r"))
  default:
    out.append(utf8: "u00")
    out.append(hex.utf8Start[Int(byte >> 4)])
    out.append(hex.utf8Start[Int(byte & 15)])
  }
}
