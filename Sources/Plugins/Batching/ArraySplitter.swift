/// Splits a JSON array into its elements while it arrives, without parsing them.
///
/// An element is the bytes between the commas of the array; whether they are JSON is the matter of
/// the element's own parser.
struct ArraySplitter {
  /// A part of a chunk that belongs to one element.
  struct Part: Equatable {
    /// The index of the element.
    var element: Int
    /// The bytes of the chunk.
    var range: Range<Int>
    /// Whether the element ends with them.
    var isLast: Bool
  }

  private enum State { case start, between, element, end, notAnArray }

  private var state = State.start
  private var depth = 0
  private var isInString = false
  private var isEscaped = false
  /// The number of elements that have begun.
  private(set) var count = 0

  /// Whether the array has ended.
  var hasEnded: Bool { state == .end }
  /// Whether the text is an array; `nil` before its first character.
  var isArray: Bool? {
    switch state {
    case .start: nil
    case .notAnArray: false
    case .between, .element, .end: true
    }
  }

  /// The parts of the next chunk, in order.
  mutating func parts(of chunk: UnsafeRawBufferPointer) -> [Part] {
    var parts: [Part] = []
    var start = 0
    for (offset, byte) in chunk.enumerated() {
      switch state {
      case .end, .notAnArray: return parts
      case .start:
        if byte == UInt8(ascii: "[") {
          state = .between
        } else if !Self.isSpace(byte) {
          state = .notAnArray
        }
      case .between:
        if byte == UInt8(ascii: "]") {
          state = .end
        } else if !Self.isSpace(byte), byte != UInt8(ascii: ",") {
          state = .element
          count += 1
          start = offset
          _ = endsElement(byte)
        }
      case .element:
        guard endsElement(byte) else { continue }
        parts.append(Part(element: count - 1, range: start..<offset, isLast: true))
        state = byte == UInt8(ascii: "]") ? .end : .between
      }
    }
    if state == .element {
      parts.append(Part(element: count - 1, range: start..<chunk.count, isLast: false))
    }
    return parts
  }

  /// Whether the byte ends the current element: a comma or a bracket of the array itself.
  private mutating func endsElement(_ byte: UInt8) -> Bool {
    if isInString {
      if isEscaped {
        isEscaped = false
      } else if byte == UInt8(ascii: "\\") {
        isEscaped = true
      } else if byte == UInt8(ascii: "\"") {
        isInString = false
      }
      return false
    }
    switch byte {
    case UInt8(ascii: "\""): isInString = true
    case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
    case UInt8(ascii: "}"), UInt8(ascii: "]"):
      if depth == 0 { return true }
      depth -= 1
    case UInt8(ascii: ","): return depth == 0
    default: break
    }
    return false
  }

  private static func isSpace(_ byte: UInt8) -> Bool { [0x20, 0x09, 0x0A, 0x0D].contains(byte) }
}
