/// The bytes of JSON strings that a parser has accepted.
enum StringText {
  /// Returns the offset of the first quotation mark or backslash, or `bytes.count`.
  ///
  /// Compares eight bytes at once: a byte is zero if it equals the one that is searched for, and only zero
  /// borrows from its highest bit ([Hacker's Delight](https://en.wikipedia.org/wiki/Hacker%27s_Delight), 6-1).
  @inline(__always)
  static func firstSpecial(in bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> Int {
    var offset = start
    while offset + 8 <= bytes.count {
      let word = UnsafeRawBufferPointer(bytes)
        .loadUnaligned(fromByteOffset: offset, as: UInt64.self).littleEndian
      let quote = word ^ 0x2222_2222_2222_2222
      let backslash = word ^ 0x5C5C_5C5C_5C5C_5C5C
      let found =
        (((quote &- ones) & ~quote) | ((backslash &- ones) & ~backslash)) & 0x8080_8080_8080_8080
      // A borrow may mark a byte after the first one found, never one before it.
      if found != 0 { return offset + found.trailingZeroBitCount / 8 }
      offset += 8
    }
    while offset < bytes.count, bytes[offset] != UInt8(ascii: "\""),
      bytes[offset] != UInt8(ascii: "\\")
    { offset += 1 }
    return offset
  }

  private static let ones: UInt64 = 0x0101_0101_0101_0101

  /// The string with the given text between its quotation marks.
  static func string(_ content: UnsafeBufferPointer<UInt8>) -> String {
    let plain = firstSpecial(in: content, from: 0)
    if plain == content.count { return String(decoding: content, as: UTF8.self) }
    return String(unsafeUninitializedCapacity: content.count) { output in
      var writer = Unescaper(input: content, output: output)
      writer.run()
      return writer.count
    }
  }
}

/// Replaces the escape sequences of RFC 8259 section 7. The result is never longer than the text.
private struct Unescaper {
  let input: UnsafeBufferPointer<UInt8>
  let output: UnsafeMutableBufferPointer<UInt8>
  private var offset = 0
  private(set) var count = 0

  init(input: UnsafeBufferPointer<UInt8>, output: UnsafeMutableBufferPointer<UInt8>) {
    self.input = input
    self.output = output
  }

  mutating func run() {
    while offset < input.count {
      copyPlain()
      guard offset + 1 < input.count else { return }
      let escape = input[offset + 1]
      offset += 2
      switch escape {
      case UInt8(ascii: "n"): append(0x0A)
      case UInt8(ascii: "t"): append(0x09)
      case UInt8(ascii: "r"): append(0x0D)
      case UInt8(ascii: "b"): append(0x08)
      case UInt8(ascii: "f"): append(0x0C)
      case UInt8(ascii: "u"): appendScalar()
      default: append(escape)
      }
    }
  }

  /// Copies the text before the next escape sequence.
  private mutating func copyPlain() {
    let end = StringText.firstSpecial(in: input, from: offset)
    UnsafeMutableRawBufferPointer(output)[count...]
      .copyBytes(from: UnsafeRawBufferPointer(input)[offset..<end])
    count += end - offset
    offset = end
  }

  private mutating func append(_ byte: UInt8) {
    output[count] = byte
    count += 1
  }

  /// Appends the character of four hexadecimal digits, or of a pair of surrogates.
  private mutating func appendScalar() {
    var value = UInt32(hexadecimal())
    if value & 0xFC00 == 0xD800, offset + 2 <= input.count {
      offset += 2
      value = 0x10000 + (value & 0x3FF) << 10 + UInt32(hexadecimal()) & 0x3FF
    }
    let scalar = Unicode.Scalar(value) ?? "\u{FFFD}"
    for byte in UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter { append(byte) }
  }

  private mutating func hexadecimal() -> UInt16 {
    var value: UInt16 = 0
    for _ in 0..<4 where offset < input.count {
      let byte = input[offset]
      let digit = byte < 0x3A ? byte & 0xF : (byte & 0xF) &+ 9
      value = value << 4 | UInt16(digit & 0xF)
      offset += 1
    }
    return value
  }
}
