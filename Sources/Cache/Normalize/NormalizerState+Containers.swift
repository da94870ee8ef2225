import GQLRunJSON

/// Objects and lists.
extension NormalizerState {
  @inline(__always)
  mutating func onStartObject() -> Bool {
    switch mode {
    case .object:
      if awaitsTypename { return wrongTypename() }
      guard let field = current else { return beginSkip(UInt8(ascii: "{")) }
      guard field.pointee.child >= 0 else { return beginCapture(.leaf, UInt8(ascii: "{")) }
      if wantsResult {
        beginResultMember(field)
        result.append(UInt8(ascii: "{"))
        resultNeedsComma = false
      }
      top.pointee.field = field
      return beginObject(node: field.pointee.child)
    case .list:
      let node = top.pointee.node
      if needsComma { text.append(UInt8(ascii: ",")) }
      guard node >= 0 else { return beginCapture(.element, UInt8(ascii: "{")) }
      if wantsResult {
        if resultNeedsComma { result.append(UInt8(ascii: ",")) }
        result.append(UInt8(ascii: "{"))
        resultNeedsComma = false
      }
      return beginObject(node: node)
    case .capture: return captureStarted(UInt8(ascii: "{"))
    case .skip:
      nested &+= 1
      beginCaptureLevel()
      return true
    case .envelope: return envelopeObject()
    }
  }

  @inline(__always)
  mutating func onEndObject() -> Bool {
    switch mode {
    case .object:
      let frame = top
      return frame.pointee.kind == .root ? endRoot() : endObject(frame)
    case .capture: return captureEnded(UInt8(ascii: "}"))
    case .skip: return skipEnded(UInt8(ascii: "}"))
    case .envelope: return true
    case .list: return true
    }
  }

  @inline(__always)
  mutating func onStartArray() -> Bool {
    switch mode {
    case .object:
      if awaitsTypename { return wrongTypename() }
      guard let field = current else { return beginSkip(UInt8(ascii: "[")) }
      if field.pointee.isTypename { return wrongTypename() }
      if wantsResult && field.pointee.isAsked {
        beginResultMember(field)
        result.append(UInt8(ascii: "["))
        resultNeedsComma = false
      }
      top.pointee.field = field
      return beginList(node: field.pointee.child)
    case .list:
      let node = top.pointee.node
      if needsComma { text.append(UInt8(ascii: ",")) }
      guard node >= 0 else { return beginCapture(.element, UInt8(ascii: "[")) }
      if wantsResult {
        if resultNeedsComma { result.append(UInt8(ascii: ",")) }
        result.append(UInt8(ascii: "["))
        resultNeedsComma = false
      }
      return beginList(node: node)
    case .capture: return captureStarted(UInt8(ascii: "["))
    case .skip:
      nested &+= 1
      return true
    case .envelope: return envelopeArray()
    }
  }

  @inline(__always)
  mutating func onEndArray() -> Bool {
    switch mode {
    case .list: return endList()
    case .capture: return captureEnded(UInt8(ascii: "]"))
    case .skip: return skipEnded(UInt8(ascii: "]"))
    case .object, .envelope: return true
    }
  }

  // MARK: Objects

  @inline(__always)
  private mutating func beginObject(node: Int32) -> Bool {
    objects &+= 1
    var frame = Frame(kind: .object)
    frame.node = node
    frame.textStart = text.count
    text.append(UInt8(ascii: "{"))
    needsComma = false
    current = nil
    push(frame)
    if !table.nodes[Int(node)].isConditional {
      begin(top, plan: table.nodes[Int(node)].union)
      // An unconditional selection with one meaning per key does not need the type; otherwise the
      // first
      // key decides.
    }
    mode = .object
    return true
  }

  /// Ends the object of the top frame: if it has an identity, it becomes a record and a reference.
  @inline(__always)
  private mutating func endObject(_ frame: UnsafeMutablePointer<Frame>) -> Bool {
    if awaitsTypename { return wrongTypename() }
    text.append(UInt8(ascii: "}"))
    if frame.pointee.plan >= 0 {
      let plan = frame.pointee.plan
      if table.plans[Int(plan)].hasStoredDuplicates {
        foldDuplicates(from: frame.pointee.textStart)
      }
      if frame.pointee.typenameStart >= 0 {
        // `"User"` in the buffer: the quotes are not part of the name.
        let typename = text.bytes(
          (frame.pointee.typenameStart &+ 1)..<(frame.pointee.typenameEnd &- 1))
        let index = table.keyEntry(of: plan, typename: typename)
        identify(frame, plan, index)
      } else if !hasToldOfMissingTypename {
        diagnoseMissingTypename()
      }
      wordsCount = frame.pointee.wordsBase
    }
    if wantsResult {
      result.append(UInt8(ascii: "}"))
      resultNeedsComma = true
    }
    depth &-= 1
    return valueEnded()
  }

  /// Stages the object of the top frame under its key and replaces it by a reference, if it has all
  /// key fields.
  @inline(__always)
  private mutating func identify(
    _ frame: UnsafeMutablePointer<Frame>, _ plan: Int32, _ index: Int
  ) {
    let start = frame.pointee.textStart
    let object = table.plans + Int(plan)
    let partCount = object.pointee.keyEntries[index].parts.count
    guard partCount > 0 else {
      if object.pointee.keyEntries[index].toldIn < table.use { diagnose(plan, index) }
      return
    }
    let end = text.count
    let prefix = object.pointee.keyEntries[index].prefix
    let isJoined = object.pointee.keyEntries[index].isJoined
    text.append(prefix)
    var part = 0
    while part < partCount {
      let candidate = Int(object.pointee.keyEntries[index].parts[part])
      let slot = frame.pointee.wordsBase &+ object.pointee.seenWords &+ 2 &* candidate
      let valueStart = words[slot]
      let valueEnd = words[slot &+ 1]
      if part > 0 { text.append(UInt8(ascii: "+")) }
      guard valueEnd > valueStart, appendKeyPart(valueStart..<valueEnd, isJoined: isJoined) else {
        text.truncate(to: end)
        missing(plan, index, part)
        return
      }
      part &+= 1
    }
    let key = end..<text.count
    staging.stage(key: text.bytes(key), text: text.bytes(start..<end))
    replaceByReference(start, key)
  }

  /// Appends one value to a key; returns false if the value cannot identify an object.
  @inline(__always)
  private mutating func appendKeyPart(_ value: Range<Int>, isJoined: Bool) -> Bool {
    let first = text[value.lowerBound]
    if first == UInt8(ascii: "\"") {
      let inner = (value.lowerBound &+ 1)..<(value.upperBound &- 1)
      // Reserves first, because the source is in the same buffer.
      text.reserve(2 &* inner.count &+ 32)
      let bytes = text.bytes(inner)
      if !isJoined {
        if RecordText.memchrBackslash(bytes) == nil {
          text.append(bytes.start, bytes.count)
        } else {
          RecordText.appendUnescaped(bytes, to: &text)
        }
        return true
      }
      appendJoinedKeyPart(bytes)
      return true
    }
    if first == UInt8(ascii: "n") || first == UInt8(ascii: " ") || first == UInt8(ascii: "{")
      || first == UInt8(ascii: "[")
    {
      return false
    }
    // An exponent may have a `+`, which needs a `\`; nothing else in a number is escaped.
    text.reserve(2 &* value.count &+ 32)
    let bytes = text.bytes(value)
    guard isJoined else {
      text.append(bytes.start, bytes.count)
      return true
    }
    for index in 0..<bytes.count {
      if bytes.start[index] == UInt8(ascii: "+") { text.append(UInt8(ascii: "\\")) }
      text.append(bytes.start[index])
    }
    return true
  }

  @inline(never)
  private mutating func appendJoinedKeyPart(_ quotedInner: Bytes) {
    var plain = ByteStack(capacity: quotedInner.count + 16)
    RecordText.appendUnescaped(quotedInner, to: &plain)
    for i in 0..<plain.count {
      let byte = plain[i]
      if byte == UInt8(ascii: "+") || byte == UInt8(ascii: "\\") {
        text.append(UInt8(ascii: "\\"))
      }
      text.append(byte)
    }
  }

  /// Replaces the object at `start` by a reference to `key`.
  @inline(__always)
  private mutating func replaceByReference(_ start: Int, _ key: Range<Int>) {
    let bytes = text.bytes(key)
    let raw = UnsafeRawBufferPointer(start: bytes.start, count: bytes.count)
    guard JSONWriter.firstToEscape(in: raw) == bytes.count else {
      return replaceByEscapedReference(start, key)
    }
    text.replace(from: start, by: key, prefix: "{\"$ref\":\"", suffix: "\"}")
  }

  @inline(never)
  private mutating func replaceByEscapedReference(_ start: Int, _ key: Range<Int>) {
    var reference = ByteStack(capacity: 256)
    reference.append(utf8: "{\"$ref\":\"")
    appendEscaped(text.bytes(key), to: &reference)
    reference.append(utf8: "\"}")
    text.truncate(to: start)
    text.append(reference.all)
  }

  @inline(never)
  private mutating func diagnoseMissingTypename() {
    hasToldOfMissingTypename = true
    diagnostics.insert(CacheDiagnostic(typename: "", keyField: "__typename"))
  }

  @inline(never)
  private mutating func diagnose(_ plan: Int32, _ index: Int) {
    guard diagnostics.count < 256 else { return }
    guard let field = table.plans[Int(plan)].keyEntries[index].missingField else { return }
    let entry = table.plans[Int(plan)].keyEntries[index]
    diagnostics.insert(CacheDiagnostic(typename: entry.typename.string, keyField: field))
    table.plans[Int(plan)].keyEntries[index].toldIn = table.use
  }

  @inline(never)
  private mutating func missing(_ plan: Int32, _ index: Int, _ part: Int) {
    guard diagnostics.count < 256 else { return }
    let entry = table.plans[Int(plan)].keyEntries[index]
    let typename = entry.typename.string
    let fields = self.table.plan.keyFields(of: typename)
    if part < fields.count {
      diagnostics.insert(CacheDiagnostic(typename: typename, keyField: fields[part]))
    }
  }

  /// Rewrites the object at `start` so that each stored key occurs once; the later value wins.
  @inline(never)
  private mutating func foldDuplicates(from start: Int) {
    let source = text.bytes(start..<text.count).array
    var folded = ByteStack(capacity: source.count + 64)
    let isTentative = source.withUnsafeBufferPointer { buffer in
      Merge.fold(Bytes(buffer), access: staging.segments, into: &folded)
    }
    if isTentative { staging.noteTentativeNulls() }
    let frame = top
    text.truncate(to: start)
    text.append(folded.all)
    // The ranges of key field values moved, so they are searched again.
    let object = table.plans + Int(frame.pointee.plan)
    var cursor = FieldCursor(folded.all)
    while let field = cursor.next() {
      let key = folded.bytes(field.key)
      for index in 0..<object.pointee.fieldCount {
        let plan = object.pointee.fields[index]
        guard plan.storedPrefix[0..<(plan.storedPrefix.count - 1)].equals(key) else { continue }
        if plan.candidate >= 0 {
          let slot = frame.pointee.wordsBase + object.pointee.seenWords + 2 * Int(plan.candidate)
          words[slot] = start + field.value.lowerBound
          words[slot + 1] = start + field.value.upperBound
        }
        if plan.isTypename {
          frame.pointee.typenameStart = start + field.value.lowerBound
          frame.pointee.typenameEnd = start + field.value.upperBound
        }
      }
    }
  }

  /// Ends a value that is not a scalar: its container continues.
  @inline(__always)
  mutating func valueEnded() -> Bool {
    needsComma = true
    let frame = top
    switch frame.pointee.kind {
    case .object:
      mode = .object
      current = nil
      return true
    case .list:
      mode = .list
      return elementEnded(frame)
    case .root:
      mode = .object
      if let field = frame.pointee.field { finishRootField(frame, field) }
      current = nil
      return true
    case .envelope:
      mode = .envelope
      return true
    }
  }

  // MARK: Root

  /// Stages the root field that just ended as a separate record.
  @inline(__always)
  mutating func finishRootField(
    _ frame: UnsafeMutablePointer<Frame>, _ field: UnsafeMutablePointer<FieldPlan>
  ) {
    text.append(UInt8(ascii: "}"))
    let record = text.bytes(frame.pointee.textStart..<text.count)
    if storesRoot {
      staging.stage(key: field.pointee.rootKey, text: record)
    } else {
      staging.keepRoot(key: field.pointee.rootKey, text: record)
    }
    text.truncate(to: frame.pointee.textStart)
    text.append(UInt8(ascii: "{"))
    needsComma = false
  }

  mutating func beginRoot() -> Bool {
    objects &+= 1
    var frame = Frame(kind: .root)
    frame.textStart = text.count
    text.append(UInt8(ascii: "{"))
    needsComma = false
    current = nil
    push(frame)
    begin(top, plan: table.root)
    mode = .object
    if wantsResult {
      result.append(UInt8(ascii: "{"))
      resultNeedsComma = false
    }
    return true
  }

  private mutating func endRoot() -> Bool {
    let frame = top
    text.truncate(to: frame.pointee.textStart)
    wordsCount = frame.pointee.wordsBase
    depth &-= 1
    if wantsResult { result.append(UInt8(ascii: "}")) }
    mode = .envelope
    return true
  }

  // MARK: Results and skipping

  @inline(__always)
  private mutating func beginResultMember(_ field: UnsafeMutablePointer<FieldPlan>) {
    if resultNeedsComma { result.append(UInt8(ascii: ",")) }
    result.append(field.pointee.resultPrefix.start, field.pointee.resultPrefix.count)
  }

  mutating func beginSkip(_ opening: UInt8) -> Bool {
    mode = .skip
    nested = 1
    if opening == UInt8(ascii: "{") { beginCaptureLevel() }
    return true
  }

  private mutating func skipEnded(_ closing: UInt8) -> Bool {
    nested &-= 1
    if closing == UInt8(ascii: "}") { endCaptureLevel() }
    if nested == 0 {
      let kind = top.pointee.kind
      mode = kind == .envelope ? .envelope : kind == .list ? .list : .object
    }
    return true
  }
}
