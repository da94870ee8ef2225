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
  /// Whether all characters written are ASCII, and whether all are UTF-8. Known only if they are checked.
  private var isASCII = true
  private var isUTF8 = true

  /// The string with the given text between its quotation marks. Bytes that are not UTF-8 become U+FFFD.
  ///
  /// The characters are checked while they are copied: a string that is created from them is not checked again.
  package static func string(_ content: UnsafeRawBufferPointer) -> String {
    if content.isPlainASCII {
      let characters = content.assumingMemoryBound(to: UInt8.self).span
      return String(copying: UTF8Span(unchecked: characters, isKnownASCII: true))
    }
    return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: content.count) { buffer in
      var unescaper = Self(input: content, output: UnsafeMutableRawBufferPointer(buffer))
      unescaper.run(checksUTF8: true)
      let characters = UnsafeBufferPointer(rebasing: buffer[..<unescaper.count])
      guard unescaper.isUTF8 else { return String(decoding: characters, as: UTF8.self) }
      return String(
        copying: UTF8Span(unchecked: characters.span, isKnownASCII: unescaper.isASCII))
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
    var unescaper = Self(input: content, output: output)
    unescaper.run(checksUTF8: false)
    return unescaper.count
  }

  /// Copies eight bytes at once, up to an escape sequence.
  @inline(__always)
  private mutating func run(checksUTF8: Bool) {
    guard let source = input.baseAddress, let target = output.baseAddress else { return }
    let highest: UInt64 = checksUTF8 ? 0x8080_8080_8080_8080 : 0
    let (characters, steps) = (Self.characters, UTF8State.steps)
    var (offset, count, state) = (0, 0, UTF8State())
    while offset < input.count {
      if offset &+ 8 <= input.count {
        var word = source.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
        // Bytes after an escape sequence are overwritten. There is space: characters are not longer than their text.
        target.storeBytes(of: word, toByteOffset: count, as: UInt64.self)
        word = word.littleEndian
        let plain = word.backslashes.trailingZeroBitCount &>> 3
        if word & highest != 0 || !state.isBetweenCharacters {
          isASCII = false
          for _ in 0..<plain {
            state.read(UInt8(truncatingIfNeeded: word), steps)
            word &>>= 8
          }
        }
        offset &+= plain
        count &+= plain
        if plain == 8 { continue }
      } else {
        let byte = source.load(fromByteOffset: offset, as: UInt8.self)
        if byte != UInt8(ascii: "\\") {
          target.storeBytes(of: byte, toByteOffset: count, as: UInt8.self)
          if checksUTF8 { state.read(byte, steps) }
          if byte >= 0x80 { isASCII = false }
          offset &+= 1
          count &+= 1
          continue
        }
      }
      guard offset &+ 1 < input.count else { break }
      if !state.isBetweenCharacters { (isUTF8, state) = (false, UTF8State()) }
      let escape = source.load(fromByteOffset: offset &+ 1, as: UInt8.self)
      offset &+= 2
      let character = characters[Int(escape)]
      if character != 0 {
        target.storeBytes(of: character, toByteOffset: count, as: UInt8.self)
        count &+= 1
      } else if escape == UInt8(ascii: "u") {
        (self.offset, self.count) = (offset, count)
        appendScalar()
        (offset, count) = (self.offset, self.count)
      } else {
        offset &-= 1
      }
    }
    self.count = count
    if !state.isBetweenCharacters { isUTF8 = false }
  }

  /// The character of the letter after a backslash: itself, if it has no other. 0 for `u`, and if it is not ASCII.
  private static let characters: [UInt8] = (0...255).map { (letter: UInt8) in
    switch letter {
    case UInt8(ascii: "n"): 0x0A
    case UInt8(ascii: "t"): 0x09
    case UInt8(ascii: "r"): 0x0D
    case UInt8(ascii: "b"): 0x08
    case UInt8(ascii: "f"): 0x0C
    case UInt8(ascii: "u"), 0x80...: 0
    default: letter
    }
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
    if !scalar.isASCII { isASCII = false }
    for byte in UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter {
      output[count] = byte
      count += 1
    }
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

extension UnsafeRawBufferPointer {
  /// Whether the bytes are those of another buffer of the same size. Compares eight or four at once, the last of which may
  /// overlap the ones before them.
  @inline(__always)
  func hasBytes(_ other: UnsafeRawBufferPointer) -> Bool {
    guard let base = baseAddress, let other = other.baseAddress else { return true }
    @inline(__always)
    func differ<Word: FixedWidthInteger>(_ offset: Int, _ type: Word.Type) -> Bool {
      base.loadUnaligned(fromByteOffset: offset, as: type)
        != other.loadUnaligned(fromByteOffset: offset, as: type)
    }
    if count >= 8 {
      var offset = 0
      while offset &+ 8 < count {
        if differ(offset, UInt64.self) { return false }
        offset &+= 8
      }
      return !differ(count &- 8, UInt64.self)
    }
    if count >= 4 { return !differ(0, UInt32.self) && !differ(count &- 4, UInt32.self) }
    for offset in 0..<count where differ(offset, UInt8.self) { return false }
    return true
  }

  /// Whether the bytes are ASCII without backslashes.
  fileprivate var isPlainASCII: Bool {
    guard let base = baseAddress else { return true }
    func isPlain(_ word: UInt64) -> Bool {
      (word | word.backslashes) & 0x8080_8080_8080_8080 == 0
    }
    if count >= 8 {
      var offset = 0
      while offset &+ 8 < count {
        guard isPlain(base.loadUnaligned(fromByteOffset: offset, as: UInt64.self)) else {
          return false
        }
        offset &+= 8
      }
      return isPlain(base.loadUnaligned(fromByteOffset: count &- 8, as: UInt64.self))
    }
    var word: UInt64 = 0
    if count >= 4 {
      word = UInt64(base.loadUnaligned(as: UInt32.self)) &<< 32
      word |= UInt64(base.loadUnaligned(fromByteOffset: count &- 4, as: UInt32.self))
      return isPlain(word)
    }
    for byte in self { word = word &<< 8 | UInt64(byte) }
    return isPlain(word)
  }
}

extension UInt64 {
  /// The highest bit of each byte that is a backslash, and perhaps of bytes above the lowest such one.
  @inline(__always)
  fileprivate var backslashes: UInt64 {
    let ones: UInt64 = 0x0101_0101_0101_0101
    let difference = self ^ (ones &* 0x5C)
    return (difference &- ones) & ~difference & (ones &* 0x80)
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
