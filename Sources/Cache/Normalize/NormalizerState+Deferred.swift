/// Objects whose type comes after fields whose meaning depends on it.
extension NormalizerState {
  /// Replays the object at the top of the stack, which was captured as text: its fields are
  /// processed as if its type, and that of every nested object, had come first.
  ///
  /// Takes two passes over the text without recursion, independent of depth.
  mutating func replayDeferredObject() -> Bool {
    let start = containers.top.pointee.textStart
    let raw = text.buffer.bytes(start..<text.count).array
    text.buffer.truncate(to: start)
    text.open(UInt8(ascii: "{"))
    mode = .object
    // The copy is outside the chunk: its strings are escaped again.
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
    guard mode == .object, containers.top.pointee.kind == .object, containers.top.pointee.plan < 0
    else { return true }
    guard typename > 0 else {
      if table.nodes[Int(containers.top.pointee.node)].union < 0 {
        setPlan(table.variant(of: containers.top.pointee.node, typename: .empty))
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
}
