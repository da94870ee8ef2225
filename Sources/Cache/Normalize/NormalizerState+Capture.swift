import GQLRunJSON

/// Values that are stored unchanged: custom scalars, objects whose type comes late, `errors` and
/// `extensions`; and the response members around `data`.
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

  mutating func endCaptureLevel() {
    guard captureLevel > 0 else { return }
    captureLevel &-= 1
    let isSmall = capturedKeys[captureLevel].count <= 64
    capturedKeys[captureLevel].removeAll(keepingCapacity: isSmall)
  }

  /// Adds a key of the innermost captured or skipped object; returns false if it is a duplicate.
  mutating func noteKey(_ key: Bytes) -> Bool {
    let hash = hashBytes(key.start, key.count, seed: processSeed)
    guard captureLevel > 0, capturedKeys[captureLevel &- 1].insert(hash).inserted else {
      return duplicateKey(key)
    }
    return true
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
    guard noteKey(key) else { return false }
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
        path: path()))
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

  // MARK: Objects with a late type

  /// Replays the object at the top of the stack, which was captured as text: its fields are
  /// processed as if its type, and that of every nested object, had come first.
  ///
  /// Takes two passes over the text without recursion, independent of depth.
  private mutating func replayDeferred() -> Bool {
    let start = top.pointee.textStart
    let raw = text.bytes(start..<text.count).array
    text.truncate(to: start)
    text.append(UInt8(ascii: "{"))
    needsComma = false
    mode = .object
    // The copy may reuse addresses of the chunk, so nothing in it is treated as plain.
    let chunk = (chunkStart, chunkEnd)
    (chunkStart, chunkEnd) = (0, 0)
    defer { (chunkStart, chunkEnd) = chunk }
    return raw.withUnsafeBufferPointer { replay(Bytes($0)) }
  }

  private enum Replayed: UInt8 {
    case list, object
    /// An object whose `__typename` was read before its fields.
    case announced
  }

  private mutating func replay(_ raw: Bytes) -> Bool {
    let typenames = Self.typenames(in: raw)
    var scratch = ByteStack(capacity: 256)
    var nextObject = 1
    var open: [Replayed] = []
    guard announce(raw, typenames[0], &open, &scratch) else { return false }
    var isKey = true
    var position = 1
    while let kind = open.last, position < raw.count {
      switch raw[position] {
      case UInt8(ascii: "\""):
        guard let end = RecordText.endOfString(raw, from: position) else { return false }
        let string = raw[position..<end]
        position = end
        if !isKey {
          guard RecordText.withUnescaped(string, &scratch, { onString($0) }) else { return false }
        } else if kind == .announced, string.equals("\"__typename\"") {
          // Already read; it is a string.
          guard let valueEnd = RecordText.endOfString(raw, from: end + 1) else { return false }
          position = valueEnd
        } else {
          guard RecordText.withUnescaped(string, &scratch, { onKey($0) }) else { return false }
          position += 1
        }
        isKey = false
      case UInt8(ascii: "{"):
        guard onStartObject(), announce(raw, typenames[nextObject], &open, &scratch) else {
          return false
        }
        nextObject += 1
        isKey = true
        position += 1
      case UInt8(ascii: "["):
        guard onStartArray() else { return false }
        open.append(.list)
        position += 1
      case UInt8(ascii: "}"):
        guard onEndObject() else { return false }
        open.removeLast()
        position += 1
      case UInt8(ascii: "]"):
        guard onEndArray() else { return false }
        open.removeLast()
        position += 1
      case UInt8(ascii: ","):
        isKey = kind != .list
        position += 1
      default:
        guard let end = RecordText.endOfScalar(raw, from: position),
          replayScalar(raw[position..<end])
        else { return false }
        position = end
      }
    }
    return true
  }

  /// Starts an object: processes its type first, if that determines its fields.
  private mutating func announce(
    _ raw: Bytes, _ typename: Int32, _ open: inout [Replayed], _ scratch: inout ByteStack
  ) -> Bool {
    open.append(.object)
    guard mode == .object, top.pointee.kind == .object, top.pointee.plan < 0 else { return true }
    guard typename > 0 else {
      if table.nodes[Int(top.pointee.node)].union < 0 {
        begin(top, plan: table.variant(of: top.pointee.node, typename: .empty))
      }
      return true
    }
    guard raw[Int(typename)] == UInt8(ascii: "\""),
      let end = RecordText.endOfString(raw, from: Int(typename))
    else { return wrongTypename() }
    open[open.count - 1] = .announced
    return onKey(Bytes(start: Self.typenameKey.utf8Start, count: 10))
      && RecordText.withUnescaped(raw[Int(typename)..<end], &scratch) { onString($0) }
  }

  private mutating func replayScalar(_ scalar: Bytes) -> Bool {
    switch scalar[0] {
    case UInt8(ascii: "n"): onNull()
    case UInt8(ascii: "t"), UInt8(ascii: "f"): onLiteral(scalar, "a boolean")
    default: onLiteral(scalar, "a number")
    }
  }

  /// For each object of `raw`, in order of their start, the offset of the value of `__typename`; 0
  /// for objects without one.
  private static func typenames(in raw: Bytes) -> [Int32] {
    var typenames: [Int32] = []
    // The numbers of the open objects; -1 for lists.
    var open: [Int] = []
    var isKey = false
    var position = 0
    while position < raw.count {
      switch raw[position] {
      case UInt8(ascii: "\""):
        guard let end = RecordText.endOfString(raw, from: position) else { return typenames }
        if isKey, let object = open.last, raw[position..<end].equals("\"__typename\"") {
          typenames[object] = Int32(end + 1)
        }
        isKey = false
        position = end
        continue
      case UInt8(ascii: "{"):
        open.append(typenames.count)
        typenames.append(0)
        isKey = true
      case UInt8(ascii: "["): open.append(-1)
      case UInt8(ascii: "}"), UInt8(ascii: "]"): _ = open.popLast()
      case UInt8(ascii: ","): isKey = (open.last ?? -1) >= 0
      default: break
      }
      position += 1
    }
    return typenames
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
    }
    return unknownKey(key)
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
    case .other: return beginSkip(UInt8(ascii: "{"))
    }
  }

  mutating func envelopeArray() -> Bool {
    if depth == 0 { return notAnObject("a list") }
    switch member {
    case .data: return wrongMember("data", "a list", "an object or null")
    case .extensions: return wrongMember("extensions", "a list", "an object")
    case .errors: return beginCapture(.errors, UInt8(ascii: "["))
    case .other: return beginSkip(UInt8(ascii: "["))
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
