import JSONStream

/// Values that are kept as they came: custom scalars, objects whose type comes late, `errors` and
/// `extensions`; and the members of the response around `data`.
extension NormalizerState {
  // MARK: Captured values

  mutating func beginCapture(_ target: CaptureTarget, _ opening: UInt8) -> Bool {
    captureTarget = target
    captureStart = text.count
    if target == .leaf { text.append(UInt8(ascii: " ")) }
    text.append(opening)
    needsComma = false
    nested = 1
    if opening == UInt8(ascii: "{") { beginCaptureLevel() }
    mode = .capture
    return true
  }

  mutating func beginCaptureLevel() {
    captureLevel &+= 1
    if capturedKeys.count < captureLevel { capturedKeys.append([]) }
  }

  private mutating func endCaptureLevel() {
    guard captureLevel > 0 else { return }
    captureLevel &-= 1
    let isSmall = capturedKeys[captureLevel].count <= 64
    capturedKeys[captureLevel].removeAll(keepingCapacity: isSmall)
  }

  mutating func captureStarted(_ opening: UInt8) -> Bool {
    if needsComma { text.append(UInt8(ascii: ",")) }
    text.append(opening)
    needsComma = false
    nested &+= 1
    if opening == UInt8(ascii: "{") { beginCaptureLevel() }
    return true
  }

  mutating func capturedKey(_ key: Bytes) -> Bool {
    let hash = hashBytes(key.start, key.count, seed: processSeed)
    guard captureLevel > 0, capturedKeys[captureLevel &- 1].insert(hash).inserted else {
      let name = JSONValue.string(String(key.string.prefix(80))).canonicalText
      return fail(
        CacheError(
          .malformedResponse,
          "the response has the key \(name) twice in one object at \(location); "
            + "JSON objects need different keys", place: path()))
    }
    if needsComma { text.append(UInt8(ascii: ",")) }
    appendString(key)
    text.append(UInt8(ascii: ":"))
    needsComma = false
    return checkCapture()
  }

  @inline(__always)
  mutating func checkCapture() -> Bool {
    if text.count &- captureStart <= limits.maxOpaqueBytes { return true }
    return fail(
      CacheError(
        .malformedResponse,
        "the value at \(location) is larger than \(limits.maxOpaqueBytes) bytes, the limit for "
          + "custom scalars, errors, extensions and objects whose __typename comes late",
        place: path()))
  }

  mutating func captureEnded(_ closing: UInt8) -> Bool {
    nested &-= 1
    if closing == UInt8(ascii: "}") { endCaptureLevel() }
    if captureTarget == .deferred && nested == 0 {
      text.append(closing)
      return replayDeferred()
    }
    text.append(closing)
    needsComma = true
    guard nested == 0 else { return checkCapture() }
    switch captureTarget {
    case .leaf:
      mode = .object
      guard let field = current else { return true }
      return scalarEnded(field, captureStart)
    case .element:
      mode = .list
      return leafElementEnded(captureStart)
    case .errors, .extensions:
      let bytes = text.bytes(captureStart..<text.count).array
      if captureTarget == .errors { errorsText = bytes } else { extensionsText = bytes }
      text.truncate(to: captureStart)
      mode = .envelope
      return true
    case .deferred: return true
    }
  }

  // MARK: Objects whose type came late

  /// The object at the top has ended and stands on the stack as it came: now that its type can be
  /// known, its fields are read again as if they had come after the type.
  private mutating func replayDeferred() -> Bool {
    let frame = top
    let raw = text.bytes(frame.pointee.textStart..<text.count).array
    text.truncate(to: frame.pointee.textStart)
    text.append(UInt8(ascii: "{"))
    needsComma = false
    mode = .object
    // Chunk addresses may be reused by the copy; nothing in it counts as plain.
    let chunk = (chunkStart, chunkEnd)
    (chunkStart, chunkEnd) = (0, 0)
    defer { (chunkStart, chunkEnd) = chunk }
    return raw.withUnsafeBufferPointer { buffer in
      let object = Bytes(buffer)
      var scratch = ByteStack(capacity: 256)
      var found: Range<Int>?
      var cursor = FieldCursor(object)
      while let field = cursor.next() {
        if object[field.key].equals("\"__typename\"") { found = field.value }
      }
      if let found, object[found].start[0] == UInt8(ascii: "\"") {
        guard onKey(Bytes(start: Self.typenameKey.utf8Start, count: 10)),
          RecordText.withUnescaped(object[found], &scratch, { onString($0) })
        else { return false }
      } else {
        begin(top, plan: table.variant(of: top.pointee.node, typename: .empty))
      }
      cursor = FieldCursor(object)
      while let field = cursor.next() {
        if object[field.key].equals("\"__typename\"") && found != nil { continue }
        guard RecordText.withUnescaped(object[field.key], &scratch, { onKey($0) }),
          replay(object[field.value], &scratch)
        else { return false }
      }
      return onEndObject()
    }
  }

  private mutating func replay(_ value: Bytes, _ scratch: inout ByteStack) -> Bool {
    switch value[0] {
    case UInt8(ascii: "\""): return RecordText.withUnescaped(value, &scratch, { onString($0) })
    case UInt8(ascii: "n"): return onNull()
    case UInt8(ascii: "t"), UInt8(ascii: "f"): return onLiteral(value, "a boolean")
    case UInt8(ascii: "{"):
      guard onStartObject() else { return false }
      var cursor = FieldCursor(value)
      while let field = cursor.next() {
        guard RecordText.withUnescaped(value[field.key], &scratch, { onKey($0) }),
          replay(value[field.value], &scratch)
        else { return false }
      }
      return onEndObject()
    case UInt8(ascii: "["):
      guard onStartArray() else { return false }
      var cursor = ElementCursor(value)
      while let element = cursor.next() {
        guard replay(value[element], &scratch) else { return false }
      }
      return onEndArray()
    default: return onLiteral(value, "a number")
    }
  }

  // MARK: Envelope

  mutating func envelopeKey(_ key: Bytes) -> Bool {
    if key.equals("data") {
      member = .data
    } else if key.equals("errors") {
      member = .errors
    } else if key.equals("extensions") {
      member = .extensions
    } else {
      member = .other
      return true
    }
    let bit = UInt8(1) << member.rawValue
    if seenMembers & bit != 0 {
      return fail(
        CacheError(.malformedResponse, "the response has \"\(key.string)\" twice"))
    }
    seenMembers |= bit
    return true
  }

  mutating func envelopeObject() -> Bool {
    if depth == 0 {
      push(Frame(kind: .envelope))
      return true
    }
    switch member {
    case .data:
      hasData = true
      return beginRoot()
    case .extensions: return beginCapture(.extensions, UInt8(ascii: "{"))
    case .errors: return wrongMember("errors", "an object", "a list")
    case .other: return beginMemberSkip()
    }
  }

  mutating func envelopeArray() -> Bool {
    if depth == 0 { return notAnObject("a list") }
    switch member {
    case .data: return wrongMember("data", "a list", "an object or null")
    case .extensions: return wrongMember("extensions", "a list", "an object")
    case .errors: return beginCapture(.errors, UInt8(ascii: "["))
    case .other: return beginMemberSkip()
    }
  }

  mutating func envelopeScalar(_ found: StaticString) -> Bool {
    if depth == 0 { return notAnObject(found) }
    switch member {
    case .data: return wrongMember("data", found, "an object or null")
    case .errors: return wrongMember("errors", found, "a list")
    case .extensions: return wrongMember("extensions", found, "an object")
    case .other: return true
    }
  }

  mutating func envelopeNull() -> Bool {
    if depth == 0 { return notAnObject("null") }
    if member == .data { dataIsNull = true }
    return true
  }

  private mutating func beginMemberSkip() -> Bool {
    mode = .skip
    nested = 1
    return true
  }

  private mutating func notAnObject(_ found: StaticString) -> Bool {
    fail(
      CacheError(
        .malformedResponse,
        "the response is \(found); a GraphQL response is an object with \"data\" or \"errors\""))
  }

  private mutating func wrongMember(
    _ name: StaticString, _ found: StaticString, _ expected: StaticString
  ) -> Bool {
    fail(
      CacheError(
        .malformedResponse,
        "\"\(name)\" of the response is \(found); GraphQL says it is \(expected)"))
  }
}
