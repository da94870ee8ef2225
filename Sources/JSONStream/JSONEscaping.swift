extension JSONWriter {
  /// Returns the index of the first byte that a JSON string must escape: `"`, `\` or a control
  /// character.
  ///
  /// Returns `bytes.count` if there is none. Examines eight bytes at a time.
  @inlinable
  public static func firstToEscape(in bytes: UnsafeRawBufferPointer) -> Int {
    guard let base = bytes.baseAddress else { return 0 }
    let count = bytes.count
    let ones: UInt64 = 0x0101_0101_0101_0101
    let highs: UInt64 = 0x8080_8080_8080_8080
    var offset = 0
    while offset &+ 8 <= count {
      let word = UInt64(
        littleEndian: base.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
      // A byte that is zero after the exclusive or borrows into its high bit; so does one below
      // 0x20. A borrow from a lower byte only adds hits above a true one, so the lowest hit is
      // always true.
      let quote = word ^ (ones &* 0x22)
      let backslash = word ^ (ones &* 0x5C)
      let hits =
        (((quote &- ones) & ~quote) | ((backslash &- ones) & ~backslash)
          | ((word &- ones &* 0x20) & ~word)) & highs
      if hits != 0 { return offset &+ hits.trailingZeroBitCount >> 3 }
      offset &+= 8
    }
    while offset < count {
      let byte = base.load(fromByteOffset: offset, as: UInt8.self)
      if byte < 0x20 || byte == 0x22 || byte == 0x5C { return offset }
      offset &+= 1
    }
    return count
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
      appendEscape(of: rest[clean], to: &output)
      rest = UnsafeRawBufferPointer(rebasing: rest[(clean + 1)...])
    }
  }

  private static func appendEscape(of byte: UInt8, to output: inout [UInt8]) {
    output.append(UInt8(ascii: "\\"))
    switch byte {
    case 0x08: output.append(UInt8(ascii: "b"))
    case 0x09: output.append(UInt8(ascii: "t"))
    case 0x0A: output.append(UInt8(ascii: "n"))
    case 0x0C: output.append(UInt8(ascii: "f"))
    case 0x0D: output.append(UInt8(ascii: "r"))
    case 0x22, 0x5C: output.append(byte)
    default:
      let low = byte & 0x0F
      output.append(contentsOf: "u00".utf8)
      output.append(UInt8(ascii: "0") + byte >> 4)
      output.append(low < 10 ? UInt8(ascii: "0") + low : UInt8(ascii: "a") + low - 10)
    }
  }
}
