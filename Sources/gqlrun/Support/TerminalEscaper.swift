import GQLRunSupport

/// Makes JSON text safe for a terminal without changing its meaning.
///
/// JSON escapes the control characters below U+0020 and no others. The other scalars that `Printable` calls
/// unsafe are escaped, too. In JSON text they occur in strings only, where `\u009b` means the same.
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
      let length = byte == 0xc2 ? 2 : byte == 0xe2 || byte == 0xef ? 3 : 1
      if index + length > bytes.count {
        pending = Array(bytes[index...])
        break
      }
      let scalar =
        switch length {
        case 2: UInt32(bytes[index + 1])
        case 3:
          UInt32(byte & 0x0f) << 12 + UInt32(bytes[index + 1] & 0x3f) << 6
            + UInt32(bytes[index + 2] & 0x3f)
        default: UInt32(byte)
        }
      if Printable.isUnsafe(scalar) && (length > 1 || byte == 0x7f) {
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
}
