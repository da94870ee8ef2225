/// `{"$null":value}`: a null was received over `value` in the same response, and it is not known
/// yet whether an error caused it. Occurs in staged records, and in those of a transaction until
/// its commit.
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

  /// Whether `text` contains the bytes of a tentative null, or a segmented list that may contain one; an opaque value
  /// may have these bytes as well.
  static func mayBeIn(_ text: Bytes) -> Bool { text.contains("\"$null\":", or: "\"$segments\":") }
}

/// Makes tentative nulls permanent.
final class NullSettling {
  private let access: any SegmentAccess
  /// Segments that were replaced.
  private var spent: Set<[UInt8]> = []

  init(access: any SegmentAccess) { self.access = access }

  /// Removes the replaced segments, when all records are processed.
  func finish() {
    for key in spent { access.removeSegment(key) }
  }

  /// Appends `value` with its tentative nulls made permanent, including those in the segments of
  /// its lists.
  func settle(_ value: Bytes, into out: inout ByteStack) {
    if value.hasPrefix(TentativeNull.prefix) {
      out.append(utf8: "null")
      return
    }
    switch RecordText.kind(value) {
    case .object:
      out.append(UInt8(ascii: "{"))
      var cursor = FieldCursor(value)
      var isFirst = true
      while let field = cursor.next() {
        out.beginMember(value[field.key], &isFirst)
        settle(value[field.value], into: &out)
      }
      out.append(UInt8(ascii: "}"))
    case .list: settle(list: value, into: &out)
    case .segments: settle(segments: value, into: &out)
    default: out.append(value)
    }
  }

  private func settle(list: Bytes, into out: inout ByteStack) {
    out.append(UInt8(ascii: "["))
    var cursor = ElementCursor(list)
    var isFirst = true
    while let element = cursor.next() {
      out.separate(&isFirst)
      settle(list[element], into: &out)
    }
    out.append(UInt8(ascii: "]"))
  }

  private func settle(segments value: Bytes, into out: inout ByteStack) {
    guard let segments = Segments.keys(of: value) else { return out.append(value) }
    var names: [UInt64] = []
    for key in segments.keys {
      guard let text = access.text(of: key), let name = Segments.name(ofKey: key) else {
        return out.append(value)
      }
      let settled = text.withBytes { text -> UInt64? in
        guard TentativeNull.mayBeIn(text) else { return nil }
        var list = ByteStack(capacity: text.count)
        settle(list: text, into: &list)
        return access.addSegment(elements: list.bytes(1..<(list.count - 1)))
      }
      if let settled, settled != name { spent.insert(key) }
      names.append(settled ?? name)
    }
    Segments.append(names: names[...], count: segments.count, isLeaf: false, to: &out)
  }
}
