/// `{"$null":value}`: a null arrived over `value` in the same response, and whether it is an error's is
/// not known yet. Stands in staged records, and in those of a transaction until its commit.
enum TentativeNull {
  static let prefix: StaticString = "{\"$null\":"

  static func append(over old: Bytes, to out: inout ByteStack) {
    out.append(utf8: prefix)
    out.append(old)
    out.append(UInt8(ascii: "}"))
  }

  /// The value that the null replaced.
  static func value(_ text: Bytes) -> Bytes { text[9..<(text.count - 1)] }

  /// The value that a tentative null replaced, or the value itself.
  static func unwrapped(_ text: Bytes) -> Bytes { text.hasPrefix(prefix) ? value(text) : text }

  /// Whether the bytes of a tentative null stand in `text`; an opaque value may hold them, too.
  static func mayBeIn(_ text: Bytes) -> Bool {
    let dollar = UInt8(ascii: "$")
    var position = 2
    while position < text.count {
      if text.start[position] == dollar, text[(position - 2)..<text.count].hasPrefix(prefix) {
        return true
      }
      position += 1
    }
    return false
  }

  /// Appends `value` with its tentative nulls made plain, also those in the segments of its lists.
  static func settle(_ value: Bytes, access: any SegmentAccess, into out: inout ByteStack) {
    if value.hasPrefix(prefix) {
      out.append(utf8: "null")
      return
    }
    switch RecordText.kind(value) {
    case .object:
      out.append(UInt8(ascii: "{"))
      var cursor = FieldCursor(value)
      var isFirst = true
      while let field = cursor.next() {
        if !isFirst { out.append(UInt8(ascii: ",")) }
        isFirst = false
        out.append(value[field.key])
        out.append(UInt8(ascii: ":"))
        settle(value[field.value], access: access, into: &out)
      }
      out.append(UInt8(ascii: "}"))
    case .list: settle(list: value, access: access, into: &out)
    case .segments: settle(segments: value, access: access, into: &out)
    default: out.append(value)
    }
  }

  private static func settle(
    list: Bytes, access: any SegmentAccess, into out: inout ByteStack
  ) {
    out.append(UInt8(ascii: "["))
    var cursor = ElementCursor(list)
    var isFirst = true
    while let element = cursor.next() {
      if !isFirst { out.append(UInt8(ascii: ",")) }
      isFirst = false
      settle(list[element], access: access, into: &out)
    }
    out.append(UInt8(ascii: "]"))
  }

  private static func settle(
    segments value: Bytes, access: any SegmentAccess, into out: inout ByteStack
  ) {
    guard let segments = Segments.keys(of: value) else { return out.append(value) }
    var names: [UInt64] = []
    for key in segments.keys {
      guard let text = access.segment(key: key), let name = Segments.name(ofKey: key) else {
        return out.append(value)
      }
      let settled = text.withUnsafeBufferPointer { text -> UInt64? in
        guard mayBeIn(Bytes(text)) else { return nil }
        var list = ByteStack(capacity: text.count)
        settle(list: Bytes(text), access: access, into: &list)
        return access.addSegment(elements: list.bytes(1..<(list.count - 1)))
      }
      names.append(settled ?? name)
    }
    Segments.append(names: names[...], count: segments.count, isLeaf: false, to: &out)
  }
}
