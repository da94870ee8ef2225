/// A checked JSON text, with the ends of its objects and arrays.
///
/// The text is valid, so the functions below do not check its grammar again. Offsets count bytes.
struct IndexedText: Sendable {
  /// A value of the text.
  struct Value {
    /// The offset of its first byte.
    var offset: Int
    /// How many objects and arrays start before it.
    var container: Int
  }

  /// An object or array; in the order of their starts.
  struct Container {
    /// The offset after its closing bracket.
    var end = 0
    /// How many objects and arrays start before that offset.
    var next = 0
    /// The number of its members or elements.
    var count = 0
  }

  let bytes: [UInt8]
  private let containers: [Container]

  /// Checks a text and finds the ends of its objects and arrays.
  init(_ bytes: [UInt8], limits: JSONLimits) throws(JSONError) {
    var parser = try CountingParser(limits: limits)
    let checked = bytes.withUnsafeBytes { text in
      Result { () throws(JSONError) in
        try parser.feed(text)
        try parser.finish()
      }
    }
    try checked.get()
    self.bytes = bytes
    containers = bytes.withUnsafeBytes(Self.containers)
  }

  private static func containers(of text: UnsafeRawBufferPointer) -> [Container] {
    var containers: [Container] = []
    var open: [Int] = []
    var isEmpty = false
    var offset = 0
    while offset < text.count {
      switch text[offset] {
      case UInt8(ascii: "\""):
        isEmpty = false
        offset = text.endOfString(at: offset).end
        continue
      case UInt8(ascii: "{"), UInt8(ascii: "["):
        open.append(containers.count)
        containers.append(Container())
        isEmpty = true
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        guard let index = open.popLast() else { break }
        containers[index].end = offset + 1
        containers[index].next = containers.count
        if !isEmpty { containers[index].count += 1 }
        isEmpty = false
      case UInt8(ascii: ","):
        if let index = open.last { containers[index].count += 1 }
      case let byte where isWhiteSpace(byte): break
      default: isEmpty = false
      }
      offset += 1
    }
    return containers
  }
}

// MARK: - Navigation

extension IndexedText {
  /// The value of the whole text.
  var root: Value { Value(offset: skippingWhiteSpace(from: 0), container: 0) }

  /// The first byte of a value, which decides about its kind.
  func byte(of value: Value) -> UInt8 { bytes[value.offset] }

  /// The number of members or elements of an object or array.
  func count(of container: Value) -> Int { containers[container.container].count }

  /// The first member or element of an object or array, or its closing bracket.
  func first(in container: Value) -> Value {
    Value(
      offset: skippingWhiteSpace(from: container.offset + 1), container: container.container + 1)
  }

  /// The offset after a value, and the number of objects and arrays that start before it.
  func end(of value: Value) -> Value {
    switch bytes[value.offset] {
    case UInt8(ascii: "{"), UInt8(ascii: "["):
      let container = containers[value.container]
      return Value(offset: container.end, container: container.next)
    case UInt8(ascii: "\""):
      return Value(offset: string(at: value.offset).end, container: value.container)
    default:
      var offset = value.offset
      while offset < bytes.count, !endsScalar(bytes[offset]) { offset += 1 }
      return Value(offset: offset, container: value.container)
    }
  }

  /// The member or element after one that ends at `end`, or the closing bracket.
  func next(after end: Value) -> Value {
    var offset = skippingWhiteSpace(from: end.offset)
    if bytes[offset] == UInt8(ascii: ",") { offset = skippingWhiteSpace(from: offset + 1) }
    return Value(offset: offset, container: end.container)
  }

  /// The value of the member whose key ends at an offset.
  func value(afterKeyEndingAt offset: Int, container: Int) -> Value {
    let colon = skippingWhiteSpace(from: offset)
    return Value(offset: skippingWhiteSpace(from: colon + 1), container: container)
  }

  /// The bytes of a value.
  func text(of value: Value) -> ArraySlice<UInt8> { bytes[value.offset..<end(of: value).offset] }

  /// The offset after the string that starts at an offset, and whether it contains escapes.
  func string(at offset: Int) -> (end: Int, isEscaped: Bool) {
    bytes.withUnsafeBytes { $0.endOfString(at: offset) }
  }

  private func skippingWhiteSpace(from start: Int) -> Int {
    var offset = start
    while offset < bytes.count, isWhiteSpace(bytes[offset]) { offset += 1 }
    return offset
  }
}

// MARK: - Strings

extension IndexedText {
  /// The string between two quotes, unescaped.
  ///
  /// - Parameters:
  ///   - range: The bytes without the quotes.
  ///   - isEscaped: Whether they contain a backslash.
  func string(in range: Range<Int>, isEscaped: Bool) -> String {
    bytes.withUnsafeBytes { text in
      let inner = UnsafeRawBufferPointer(rebasing: text[range])
      return isEscaped
        ? String(decoding: unescaped(inner), as: UTF8.self)
        : String(decoding: inner, as: UTF8.self)
    }
  }

  private func unescaped(_ inner: UnsafeRawBufferPointer) -> [UInt8] {
    var result: [UInt8] = []
    result.reserveCapacity(inner.count)
    var rest = inner[...]
    while let backslash = rest.firstIndex(of: UInt8(ascii: "\\")) {
      result.append(contentsOf: rest[..<backslash])
      let letter = inner[backslash + 1]
      rest = inner[(backslash + 2)...]
      switch letter {
      case UInt8(ascii: "b"): result.append(0x08)
      case UInt8(ascii: "t"): result.append(0x09)
      case UInt8(ascii: "n"): result.append(0x0A)
      case UInt8(ascii: "f"): result.append(0x0C)
      case UInt8(ascii: "r"): result.append(0x0D)
      case UInt8(ascii: "u"):
        var code = hexadecimal(rest.prefix(4))
        rest = rest.dropFirst(4)
        if code & 0xFC00 == 0xD800 {
          // The text is valid, so the escape of a low surrogate follows.
          code = 0x10000 + (code & 0x3FF) << 10 + hexadecimal(rest.dropFirst(2).prefix(4)) & 0x3FF
          rest = rest.dropFirst(6)
        }
        if let scalar = Unicode.Scalar(code) {
          result.append(contentsOf: UTF8.encode(scalar) ?? .init())
        }
      default: result.append(letter)
      }
    }
    result.append(contentsOf: rest)
    return result
  }

  private func hexadecimal(_ digits: Slice<UnsafeRawBufferPointer>) -> UInt32 {
    digits.reduce(0) { value, digit in
      value << 4 | UInt32(digit < 0x3A ? digit - 0x30 : (digit | 0x20) - 0x57)
    }
  }
}

extension UnsafeRawBufferPointer {
  /// The offset after the string that starts at `start`, and whether it contains escapes.
  fileprivate func endOfString(at start: Int) -> (end: Int, isEscaped: Bool) {
    var offset = start + 1
    var isEscaped = false
    while true {
      offset += JSONWriter.firstToEscape(in: Self(rebasing: self[offset...]))
      // A string may contain tabs and line feeds only as escapes, so this is a quote or a backslash.
      if self[offset] == UInt8(ascii: "\"") { return (offset + 1, isEscaped) }
      isEscaped = true
      offset += 2
    }
  }
}

private func isWhiteSpace(_ byte: UInt8) -> Bool {
  byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09
}

/// Whether a byte follows a number or literal.
private func endsScalar(_ byte: UInt8) -> Bool {
  byte == UInt8(ascii: ",") || byte == UInt8(ascii: "}") || byte == UInt8(ascii: "]")
    || isWhiteSpace(byte)
}
