/// Finds the records and list segments that records refer to.
enum RecordLinks {
  /// Calls `body` with the keys of the records and segments that the record, segment or errors `key` refer to, possibly
  /// repeated.
  static func forEach(in text: Bytes, of key: Bytes, _ body: (Bytes) throws -> Void) rethrows {
    guard ErrorRecord.isErrors(key: key) else {
      _ = try forEach(in: text, body)
      return
    }
    for position in StoredErrors(text).positions {
      _ = try position.value.withBytes { value in try forEach(in: value, body) }
    }
  }

  /// Calls `body` with the keys of the records and segments that `text` refers to, possibly
  /// repeated. `text` is that of a record or segment.
  ///
  /// - Returns: Whether the text was valid to its end.
  static func forEach(in text: Bytes, _ body: (Bytes) throws -> Void) rethrows -> Bool {
    switch RecordText.kind(text) {
    case .reference:
      guard let quoted = RecordText.referenceText(text) else { return false }
      var scratch = ByteStack(capacity: 128)
      try RecordText.withUnescaped(quoted, scratch: &scratch) { try body($0) }
    case .segments, .values:
      guard let segments = Segments.keys(of: text) else { return false }
      for key in segments.keys { try key.withBytes { try body($0) } }
    case .object:
      var cursor = FieldCursor(text)
      while let field = cursor.next() {
        guard mayRefer(text, field.value) else { continue }
        guard try forEach(in: text[field.value], body) else { return false }
      }
      return !cursor.isMalformed
    case .list:
      var cursor = ElementCursor(text)
      while let element = cursor.next() {
        guard mayRefer(text, element) else { continue }
        guard try forEach(in: text[element], body) else { return false }
      }
      return !cursor.isMalformed
    case .errored:
      // The errors, and a list of leaf values.
      var cursor = FieldCursor(text)
      _ = cursor.next()
      if let data = cursor.next() { return try forEach(in: text[data.value], body) }
    case .null, .scalar, .opaque: break
    }
    return true
  }

  private static func mayRefer(_ text: Bytes, _ value: Range<Int>) -> Bool {
    let first = text[value.lowerBound]
    return first == UInt8(ascii: "{") || first == UInt8(ascii: "[")
  }

  /// The keys of the segments of a record's lists.
  static func segments(of text: Bytes, key: Bytes) -> [[UInt8]] {
    var keys: [[UInt8]] = []
    forEach(in: text, of: key) { key in
      if Segments.isSegment(key: key) { keys.append(key.array) }
    }
    return keys
  }
}
