/// Makes JSON text harmless for a terminal without changing what it means.
///
/// JSON escapes the control characters below U+0020 and no others. These are escaped, too: U+007F to
/// U+009F, which terminals obey, and the marks that turn the direction of text. In JSON text they can
/// stand in strings only, so `\u009b` says the same.
struct TerminalEscaper {
  /// The beginning of a character that goes on in the next piece.
  private var pending: [UInt8] = []

  /// The escaped text of the next piece.
  mutating func escape(_ piece: UnsafeRawBufferPointer) -> [UInt8] {
    let bytes = pending + piece
    pending = []
    var result: [UInt8] = []
    result.reserveCapacity(bytes.count)
    var index = 0
    while index < bytes.count {
      let byte = bytes[index]
      let length = byte == 0xc2 ? 2 : byte == 0xe2 ? 3 : 1
      if index + length > bytes.count {
        pending = Array(bytes[index...])
        break
      }
      let scalar =
        switch length {
        case 2: UInt32(bytes[index + 1])
        case 3: 0x2000 + (UInt32(bytes[index + 1] & 0x3f) << 6) + UInt32(bytes[index + 2] & 0x3f)
        default: UInt32(byte)
        }
      if Self.isHarmful(scalar) && (length > 1 || byte == 0x7f) {
        let digits = String(scalar, radix: 16)
        result += Array("\\u".utf8) + Array(String(repeating: "0", count: 4 - digits.count).utf8)
        result += Array(digits.utf8)
      } else {
        result += bytes[index..<(index + length)]
      }
      index += length
    }
    return result
  }

  private static func isHarmful(_ scalar: UInt32) -> Bool {
    (0x7f...0x9f).contains(scalar) || (0x202a...0x202e).contains(scalar)
      || (0x2066...0x2069).contains(scalar)
  }
}
