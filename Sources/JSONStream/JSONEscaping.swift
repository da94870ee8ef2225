extension UnsafeRawBufferPointer {
  /// Returns the offset of the first quotation mark or backslash, or one that is not before the end if there is none.
  ///
  /// Compares eight bytes at once: a byte is zero if it equals the one that is searched for, and only zero
  /// borrows from its highest bit ([Hacker's Delight](https://en.wikipedia.org/wiki/Hacker%27s_Delight), 6-1).
  ///
  /// - Parameters:
  ///   - start: The offset of the first byte that is compared.
  ///   - orControl: Whether control characters are searched for, too.
  @inlinable
  @inline(__always)
  package func firstSpecial(from start: Int, orControl: Bool = false) -> Int {
    guard let base = baseAddress else { return start }
    let count = count
    let ones: UInt64 = 0x0101_0101_0101_0101
    let highs: UInt64 = 0x8080_8080_8080_8080
    var offset = start
    while offset &+ 8 <= count {
      let word = UInt64(littleEndian: base.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
      let quote = word ^ (ones &* 0x22)
      let backslash = word ^ (ones &* 0x5C)
      var hits = ((quote &- ones) & ~quote) | ((backslash &- ones) & ~backslash)
      if orControl { hits |= (word &- ones &* 0x20) & ~word }
      hits &= highs
      // A borrow may mark a byte after the first one found, never one before it.
      if hits != 0 { return offset &+ hits.trailingZeroBitCount &>> 3 }
      offset &+= 8
    }
    while offset < count {
      let byte = base.load(fromByteOffset: offset, as: UInt8.self)
      if byte == 0x22 || byte == 0x5C || orControl && byte < 0x20 { return offset }
      offset &+= 1
    }
    return offset
  }
}

extension JSONWriter {
  /// Returns the index of the first byte that a JSON string must escape: `"`, `\` or a control
  /// character.
  ///
  /// Returns `bytes.count` if there is none. Examines eight bytes at a time.
  @inlinable
  public static func firstToEscape(in bytes: UnsafeRawBufferPointer) -> Int {
    bytes.firstSpecial(from: 0, orControl: true)
  }

  /// Appends text, escaped for a JSON string, without quotes around it.
  ///
  /// Escapes only what RFC 8259 requires: `\"`, `\\`, `\b`, `\f`, `\n`, `\r`, `\t`, and `\u00xx`
  /// for the other control characters.
  ///
  /// - Parameters:
  ///   - bytes: UTF-8 text.
  ///   - output: The buffer to append to.
  public static func appendEscaped(_ bytes: UnsafeRawBufferPointer, to output: inout [UInt8]) {
    var rest = bytes
    while true {
      let clean = firstToEscape(in: rest)
      output.append(contentsOf: UnsafeRawBufferPointer(rebasing: rest[..<clean]))
      guard clean < rest.count else { return }
      appendEscape(of: rest[clean]) { output.append($0) }
      rest = UnsafeRawBufferPointer(rebasing: rest[(clean + 1)...])
    }
  }

  /// Appends the escape of a quotation mark, a backslash or a control character.
  package static func appendEscape(of byte: UInt8, _ append: (UInt8) -> Void) {
    append(UInt8(ascii: "\\"))
    switch byte {
    case 0x08: append(UInt8(ascii: "b"))
    case 0x09: append(UInt8(ascii: "t"))
    case 0x0A: append(UInt8(ascii: "n"))
    case 0x0C: append(UInt8(ascii: "f"))
    case 0x0D: append(UInt8(ascii: "r"))
    case 0x22, 0x5C: append(byte)
    default:
      let low = byte & 0x0F
      for character in "u00".utf8 { append(character) }
      append(UInt8(ascii: "0") + byte >> 4)
      append(low < 10 ? UInt8(ascii: "0") + low : UInt8(ascii: "a") + low - 10)
    }
  }
}

/// Replaces the escape sequences of JSON strings, which a parser has accepted or which come from a file.
///
/// https://www.rfc-editor.org/rfc/rfc8259#section-7
package struct JSONUnescaper {
  private let input: UnsafeRawBufferPointer
  private let output: UnsafeMutableRawBufferPointer
  private var offset = 0
  private var count = 0

  private init(_ input: UnsafeRawBufferPointer, _ output: UnsafeMutableRawBufferPointer) {
    self.input = input
    self.output = output
  }

  /// The string with the given text between its quotation marks.
  package static func string(_ content: UnsafeRawBufferPointer) -> String {
    let plain = content.firstSpecial(from: 0)
    if plain == content.count { return String(decoding: content, as: UTF8.self) }
    return String(unsafeUninitializedCapacity: content.count) { output in
      unescape(content, into: UnsafeMutableRawBufferPointer(output))
    }
  }

  /// Writes the characters of a string.
  ///
  /// An escape that is not valid becomes U+FFFD; one that is incomplete at the end is omitted.
  ///
  /// - Parameters:
  ///   - content: The text between its quotation marks.
  ///   - output: At least as many bytes as the text has; there are never more characters.
  /// - Returns: The number of bytes written.
  package static func unescape(
    _ content: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
  ) -> Int {
    var unescaper = Self(content, output)
    unescaper.run()
    return unescaper.count
  }

  private mutating func run() {
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
    let end = input.firstSpecial(from: offset)
    output[count...].copyBytes(from: input[offset..<end])
    count += end - offset
    offset = end
  }

  private mutating func append(_ byte: UInt8) {
    output[count] = byte
    count += 1
  }

  /// Appends the character of four hexadecimal digits, or of a pair of surrogates.
  private mutating func appendScalar() {
    guard offset + 4 <= input.count else {
      offset = input.count
      return
    }
    var value = hexadecimal(at: offset)
    offset += 4
    if let high = value, high & 0xFC00 == 0xD800, let low = hexadecimal(at: offset + 2),
      low & 0xFC00 == 0xDC00, input[offset] == UInt8(ascii: "\\"),
      input[offset + 1] == UInt8(ascii: "u")
    {
      value = 0x10000 + (high & 0x3FF) << 10 + low & 0x3FF
      offset += 6
    }
    let scalar = value.flatMap { Unicode.Scalar($0) } ?? "\u{FFFD}"
    for byte in UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter { append(byte) }
  }

  private func hexadecimal(at start: Int) -> UInt32? {
    guard start + 4 <= input.count else { return nil }
    var value: UInt32 = 0
    for byte in input[start..<start + 4] {
      let digit = byte.hexadecimalValue
      guard digit <= 0xF else { return nil }
      value = value << 4 | UInt32(digit)
    }
    return value
  }
}

extension UInt8 {
  /// The value of a hexadecimal digit, or more than 15.
  @inline(__always)
  var hexadecimalValue: UInt16 {
    let digit = self &- UInt8(ascii: "0")
    if digit < 10 { return UInt16(digit) }
    let letter = (self | 0x20) &- UInt8(ascii: "a")
    return letter < 6 ? UInt16(letter) + 10 : 0xFF
  }
}
