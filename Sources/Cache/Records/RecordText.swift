import GQLRunJSON

/// Reads the JSON text of records.
///
/// Record text is written by this library: compact JSON with three additions that other JSON tools
/// can read (`docs/decisions/0002-record-text.md`):
/// - `{"$ref":"User:1"}` is a reference to another record;
/// - `{"$segments":["…","…"],"count":N}` is a long list whose elements are in segment records;
/// - one space before a value marks it as opaque: the object or array of a custom scalar,
///   unchanged.
///
/// The text may come from a damaged file, so no function reads out of bounds, and malformed text is
/// reported instead of trapping.
package enum RecordText {
  package static let quote = UInt8(ascii: "\"")

  /// The end of the value that starts at `start`; `nil` if the text is malformed.
  @inline(__always)
  package static func endOfValue(_ text: Bytes, from start: Int) -> Int? {
    guard start < text.count else { return nil }
    switch text.start[start] {
    case quote: return endOfString(text, from: start)
    case UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: " "):
      return endOfNested(text, from: start)
    default: return endOfScalar(text, from: start)
    }
  }

  /// Whether the value at `start` is output unchanged: not an object, list, marker or reference.
  @inline(__always)
  static func isPlain(_ text: Bytes, at start: Int) -> Bool {
    guard start < text.count else { return false }
    let first = text.start[start]
    return first != UInt8(ascii: " ") && first != UInt8(ascii: "{") && first != UInt8(ascii: "[")
  }

  /// The end of the string whose opening quote is at `start`.
  @inline(__always)
  package static func endOfString(_ text: Bytes, from start: Int) -> Int? {
    var position = start &+ 1
    while true {
      position = text.raw.firstSpecial(from: position)
      guard position < text.count else { return nil }
      if text.start[position] == quote { return position &+ 1 }
      position &+= 2
    }
  }

  @inline(__always)
  static func endOfScalar(_ text: Bytes, from start: Int) -> Int? {
    var position = start
    while position < text.count {
      let byte = text.start[position]
      if byte == UInt8(ascii: ",") || byte == UInt8(ascii: "}") || byte == UInt8(ascii: "]") {
        break
      }
      position &+= 1
    }
    return position > start ? position : nil
  }

  /// The maximum number of open objects and lists of a value that is not opaque. Twice as many as a response may have, and
  /// so few that a damaged record cannot exhaust the stack of a reader that calls itself for each.
  static let maxDepth = 1024

  /// A loop of its own: JSONScanner, which can stop at any byte, would take a fifth more instructions.
  @inline(never)
  static func endOfNested(_ text: Bytes, from start: Int) -> Int? {
    var position = start
    var limit = maxDepth
    if text.start[position] == UInt8(ascii: " ") {
      position += 1
      guard position < text.count else { return nil }
      limit = .max
    }
    var depth = 0
    while position < text.count {
      switch text.start[position] {
      case quote:
        guard let end = endOfString(text, from: position) else { return nil }
        position = end
        continue
      case UInt8(ascii: "{"), UInt8(ascii: "["):
        depth += 1
        if depth > limit { return nil }
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        depth -= 1
        if depth == 0 { return position + 1 }
        if depth < 0 { return nil }
      default: break
      }
      position += 1
    }
    return nil
  }

  /// The kind of a stored value.
  package enum Kind {
    case null, scalar, opaque, reference, object, list
    /// A long list of objects, or of leaf values.
    case segments, values
    /// A null or a list of leaf values with its errors: in ``StoredErrors``, and in what is read with them.
    case errored
  }

  @inline(__always)
  package static func kind(_ value: Bytes, at start: Int = 0) -> Kind {
    guard value.count > start else { return .scalar }
    switch value.start[start] {
    case UInt8(ascii: "{"):
      guard value.count > start &+ 2, value.start[start &+ 2] == UInt8(ascii: "$") else {
        return .object
      }
      let rest = value[start..<value.count]
      if rest.hasPrefix("{\"$ref\":") { return .reference }
      if rest.hasPrefix("{\"$segments\":") { return .segments }
      if rest.hasPrefix("{\"$values\":") { return .values }
      if rest.hasPrefix("{\"$errors\":") { return .errored }
      return .object
    case UInt8(ascii: "["): return .list
    case UInt8(ascii: " "): return .opaque
    case UInt8(ascii: "n"): return .null
    default: return .scalar
    }
  }

  static func kind(_ value: [UInt8]) -> Kind { value.withBytes { kind($0) } }

  /// Whether a value is a list, of objects or leaf values, inline or in segments.
  static func isList(_ value: [UInt8]) -> Bool {
    switch kind(value) {
    case .list, .segments, .values: true
    case .opaque: value.count > 1 && value[1] == UInt8(ascii: "[")
    case .null, .scalar, .reference, .object, .errored: false
    }
  }

  /// The quoted keys of an object's fields, in order.
  static func keys(of object: Bytes) -> [[UInt8]] {
    var keys: [[UInt8]] = []
    var cursor = FieldCursor(object)
    while let field = cursor.next() { keys.append(object[field.key].array) }
    return keys
  }

  /// The quoted key of a reference: `"User:1"` of `{"$ref":"User:1"}`.
  @inline(__always)
  package static func referenceText(_ value: Bytes) -> Bytes? {
    guard value.count > 10 else { return nil }
    return value[8..<(value.count - 1)]
  }

  /// The key of the record that a reference names; `nil` if the value is none.
  static func referencedKey(_ value: Bytes) -> [UInt8]? {
    guard let quoted = referenceText(value) else { return nil }
    var scratch = ByteStack(capacity: 64)
    return withUnescaped(quoted, scratch: &scratch) { $0.array }
  }

  /// The name of an object's type as in its text, without quotes; empty if it has none.
  @inline(__always)
  package static func typename(of object: Bytes, at start: Int = 0) -> Bytes {
    let prefix: StaticString = "{\"__typename\":\""
    let opening = start &+ 14
    if object.count > opening, compareBytes(object.start + start, b: prefix.utf8Start, count: 15),
      let end = endOfString(object, from: opening)
    {
      return object[(opening &+ 1)..<(end &- 1)]
    }
    return otherTypename(of: object, at: start)
  }

  @inline(never)
  private static func otherTypename(of object: Bytes, at start: Int) -> Bytes {
    var cursor = FieldCursor(object, from: start + 1)
    while let field = cursor.next() {
      if object[field.key].equals("\"__typename\"") {
        return field.value.count > 2
          ? object[(field.value.lowerBound + 1)..<(field.value.upperBound - 1)] : .empty
      }
    }
    return .empty
  }

  /// Calls `body` with the unescaped bytes of the JSON string `quoted`, which includes its quotes.
  package static func withUnescaped<R>(
    _ quoted: Bytes, scratch: inout ByteStack, body: (Bytes) throws -> R
  ) rethrows -> R {
    guard quoted.count >= 2 else { return try body(.empty) }
    let inner = quoted[1..<(quoted.count - 1)]
    if isUnescaped(inner) { return try body(inner) }
    let mark = scratch.count
    scratch.append(unescaping: inner)
    let result = try body(scratch.bytes(mark..<scratch.count))
    scratch.truncate(to: mark)
    return result
  }

  /// Whether the text between the quotes of a JSON string has no escapes.
  @inline(__always)
  static func isUnescaped(_ inner: Bytes) -> Bool {
    inner.raw.firstSpecial(from: 0) == inner.count
  }
}

/// Iterates over the fields of an object's text, in order.
package struct FieldCursor {
  package let text: Bytes
  /// The position of the next field, or the end of the object.
  package private(set) var position: Int
  package private(set) var isMalformed = false

  /// A cursor over `text`, which starts with `{`.
  @inline(__always)
  package init(_ text: Bytes) {
    self.text = text
    position = 1
    isMalformed = text.count < 2 || text.start[0] != UInt8(ascii: "{")
  }

  /// A cursor in a larger text, at the first field of an object.
  @inline(__always)
  package init(_ text: Bytes, from start: Int) {
    self.text = text
    position = start
  }

  /// The next field as ranges of `text`: its key with quotes, and its value. `nil` at the end.
  @inline(__always)
  package mutating func next() -> (key: Range<Int>, value: Range<Int>)? {
    guard !isMalformed, position < text.count, text.start[position] != UInt8(ascii: "}") else {
      return nil
    }
    guard text.start[position] == RecordText.quote,
      let keyEnd = RecordText.endOfString(text, from: position),
      keyEnd < text.count, text.start[keyEnd] == UInt8(ascii: ":"),
      let valueEnd = RecordText.endOfValue(text, from: keyEnd &+ 1), valueEnd < text.count
    else {
      isMalformed = true
      return nil
    }
    let key = position..<keyEnd
    position = valueEnd
    if text.start[position] == UInt8(ascii: ",") { position &+= 1 }
    return (key, (keyEnd &+ 1)..<valueEnd)
  }
}

/// Iterates over the elements of a list's text, in order.
package struct ElementCursor {
  package let text: Bytes
  private var position: Int
  package private(set) var isMalformed = false

  /// A cursor over `text`, which starts with `[`.
  @inline(__always)
  package init(_ text: Bytes) {
    self.text = text
    position = 1
    isMalformed = text.count < 2 || text.start[0] != UInt8(ascii: "[")
  }

  /// The next element as a range of `text`; `nil` at the end.
  @inline(__always)
  package mutating func next() -> Range<Int>? {
    guard !isMalformed, position < text.count, text.start[position] != UInt8(ascii: "]") else {
      return nil
    }
    guard let end = RecordText.endOfValue(text, from: position), end < text.count else {
      isMalformed = true
      return nil
    }
    let element = position..<end
    position = end
    if text.start[position] == UInt8(ascii: ",") { position &+= 1 }
    return element
  }

  /// The number of elements of a list's text; `nil` if it is malformed.
  static func count(of text: Bytes) -> Int? {
    var cursor = ElementCursor(text)
    var count = 0
    while cursor.next() != nil { count += 1 }
    return cursor.isMalformed ? nil : count
  }
}
