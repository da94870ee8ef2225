/// Reads the structure of a JSON text that is in memory: skips white space, strings and values.
///
/// Nothing is checked: a parser has done that, or will do it with the parts that are found. The text may be invalid
/// or end early; nothing is read after its end.
package struct JSONCursor {
  /// The text.
  package let text: UnsafeRawBufferPointer
  /// The offset of the next byte.
  package var offset: Int

  /// A cursor at the start of a text.
  package init(_ text: UnsafeRawBufferPointer) {
    self.text = text
    offset = 0
  }

  /// Skips white space.
  ///
  /// - Returns: The byte after it; `nil` at the end of the text.
  package mutating func next() -> UInt8? {
    while offset < text.count {
      let byte = text[offset]
      guard byte.isJSONWhiteSpace else { return byte }
      offset &+= 1
    }
    return nil
  }

  /// Skips white space, and a character if it follows.
  package mutating func take(_ character: Unicode.Scalar) -> Bool {
    guard next() == UInt8(ascii: character) else { return false }
    offset &+= 1
    return true
  }

  /// Skips white space and a string without escapes.
  ///
  /// - Returns: The characters of the string; `nil` if there is no such string.
  package mutating func takePlainString() -> UnsafeRawBufferPointer? {
    guard take("\"") else { return nil }
    let end = text.firstSpecial(from: offset)
    guard end < text.count, text[end] == UInt8(ascii: "\"") else { return nil }
    defer { offset = end &+ 1 }
    return UnsafeRawBufferPointer(rebasing: text[offset..<end])
  }

  /// Skips a string, at whose opening quotation mark the cursor is; one that does not end reaches to the end of the text.
  package mutating func skipString() {
    offset = Self.endOfString(in: text, from: offset) ?? text.count
  }

  /// Skips a value, at whose first byte the cursor is; one that does not end reaches to the end of the text.
  ///
  /// - Returns: Whether the value ends. A number or literal may end with the text.
  package mutating func skipValue() -> Bool {
    while offset < text.count {
      switch text[offset] {
      case UInt8(ascii: "\""), UInt8(ascii: "{"), UInt8(ascii: "["):
        var scanner = JSONScanner()
        offset = scanner.skip(text, from: offset)
        return !scanner.isOpen
      case let byte where byte.endsJSONScalar: return true
      default: offset += 1
      }
    }
    return true
  }

  /// The offset after the string whose opening quotation mark is at `start`; `nil` if it does not end.
  @inlinable
  @inline(__always)
  package static func endOfString(in text: UnsafeRawBufferPointer, from start: Int) -> Int? {
    var offset = start &+ 1
    while true {
      offset = text.firstSpecial(from: offset)
      guard offset < text.count else { return nil }
      if text[offset] == UInt8(ascii: "\"") { return offset &+ 1 }
      offset &+= 2
    }
  }
}

/// Reads the structure of a JSON text that arrives in chunks, which may be split at any byte.
///
/// As with ``JSONCursor``, nothing is checked.
package struct JSONScanner: Sendable {
  /// A token, or the part of it that is in the chunk. Ranges are offsets in the chunk.
  package enum Token {
    /// A bracket, comma or colon.
    case mark(UInt8)
    /// A string with its quotation marks.
    case string(Range<Int>, isStart: Bool, isEnd: Bool)
    /// A number or literal. Its end shows in what follows.
    case scalar(Range<Int>, isStart: Bool)
    case whiteSpace(Range<Int>)
  }

  private enum State { case between, scalar, string, escape }

  private var state = State.between
  private var depth = 0

  /// A scanner at the start of a value.
  package init() {}

  /// A scanner after the opening quotation mark of a string.
  package static var inString: Self {
    var scanner = Self()
    scanner.state = .string
    return scanner
  }

  /// Whether a string, an object or an array is open after ``skip(_:from:)``.
  package var isOpen: Bool { depth > 0 || isInString }

  private var isInString: Bool { state == .string || state == .escape }

  /// Skips one byte, and the following ones while a string, an object or an array is open.
  ///
  /// - Returns: The offset after them.
  package mutating func skip(_ text: UnsafeRawBufferPointer, from start: Int) -> Int {
    var offset = isInString ? skipString(text, from: start) : start
    if offset > start, depth == 0 { return offset }
    var depth = depth
    defer { self.depth = depth }
    while offset < text.count {
      switch text[offset] {
      case UInt8(ascii: "\""):
        guard let end = JSONCursor.endOfString(in: text, from: offset) else {
          state = .string
          return skipString(text, from: offset &+ 1)
        }
        offset = end
        if depth == 0 { return offset }
      case UInt8(ascii: "{"), UInt8(ascii: "["):
        depth &+= 1
        offset &+= 1
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        offset &+= 1
        depth &-= 1
        if depth <= 0 {
          depth = 0
          return offset
        }
      default:
        offset &+= 1
        if depth == 0 { return offset }
      }
    }
    return offset
  }

  /// The next token, or the part of it that is in the chunk; `nil` at the end of the chunk.
  package mutating func next(
    _ text: UnsafeRawBufferPointer, from offset: inout Int
  ) -> Token? {
    guard offset < text.count else { return nil }
    let start = offset
    if isInString {
      offset = skipString(text, from: start)
      return .string(start..<offset, isStart: false, isEnd: !isInString)
    }
    let byte = text[start]
    switch byte {
    case UInt8(ascii: "\""):
      state = .string
      offset = skipString(text, from: start + 1)
      return .string(start..<offset, isStart: true, isEnd: !isInString)
    case UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: "}"), UInt8(ascii: "]"),
      UInt8(ascii: ","), UInt8(ascii: ":"):
      state = .between
      offset += 1
      return .mark(byte)
    case let byte where byte.isJSONWhiteSpace:
      state = .between
      repeat { offset += 1 } while offset < text.count && text[offset].isJSONWhiteSpace
      return .whiteSpace(start..<offset)
    default:
      let isStart = state != .scalar
      state = .scalar
      repeat { offset += 1 } while offset < text.count && !text[offset].endsJSONScalar
      return .scalar(start..<offset, isStart: isStart)
    }
  }

  /// Skips the rest of the open string.
  private mutating func skipString(_ text: UnsafeRawBufferPointer, from start: Int) -> Int {
    var offset = start
    if state == .escape, offset < text.count {
      state = .string
      offset &+= 1
    }
    while true {
      offset = text.firstSpecial(from: offset)
      guard offset < text.count else { return text.count }
      if text[offset] == UInt8(ascii: "\"") {
        state = .between
        return offset &+ 1
      }
      offset &+= 2
      if offset > text.count {
        state = .escape
        return text.count
      }
    }
  }
}

extension UInt8 {
  /// Whether the byte is white space of JSON.
  @inlinable
  @inline(__always)
  package var isJSONWhiteSpace: Bool {
    switch self {
    case 0x20, 0x0A, 0x0D, 0x09: true
    default: false
    }
  }

  /// Whether the byte follows a number or literal.
  @inlinable
  @inline(__always)
  package var endsJSONScalar: Bool {
    switch self {
    case UInt8(ascii: ","), UInt8(ascii: "}"), UInt8(ascii: "]"), 0x20, 0x0A, 0x0D, 0x09: true
    default: false
    }
  }
}
