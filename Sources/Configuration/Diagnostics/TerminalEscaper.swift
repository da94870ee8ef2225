import Foundation
import GQLRunSupport

/// Escapes characters that a terminal would execute or hide, in text that arrives in pieces.
///
/// Escaped as `\u009b` are control characters except tab and line ends, U+007F to U+009F, marks
/// that change the text direction, line and paragraph separators, and bytes that are not UTF-8. In
/// JSON text they only occur in strings, so escaping does not change its meaning. Only text for a
/// terminal is escaped.
package struct TerminalEscaper: Sendable {
  /// The beginning of a character, or a carriage return, that the next piece continues.
  private var pending: [UInt8] = []

  package init() {}

  /// The escaped text of the next piece.
  package mutating func escape(_ piece: UnsafeRawBufferPointer) -> [UInt8] {
    let bytes = pending + piece
    pending = []
    var result: [UInt8] = []
    result.reserveCapacity(bytes.count)
    var index = 0
    while index < bytes.count {
      let byte = bytes[index]
      // Most characters, without a slice for each.
      if byte < 0x80, !Self.isHarmful(UInt32(byte)) {
        result.append(byte)
        index += 1
        continue
      }
      let length = Self.length(byte)
      // The byte after a carriage return tells whether both end a line.
      guard index + (byte == 0x0D ? 2 : length) <= bytes.count else {
        pending = Array(bytes[index...])
        break
      }
      let character = bytes[index..<(index + length)]
      let isLineEnd = byte == 0x0D && bytes[index + 1] == 0x0A
      let scalar =
        byte < 0x80
        ? UInt32(byte) : String(validating: character, as: UTF8.self)?.unicodeScalars.first?.value
      if let scalar, isLineEnd || !Self.isHarmful(scalar) {
        result += character
      } else {
        Self.append(scalar ?? 0xFFFD, to: &result)
      }
      index += scalar == nil ? 1 : length
    }
    return result
  }

  /// The number of bytes of a character with this first byte; 1 for a byte that begins none.
  private static func length(_ byte: UInt8) -> Int {
    switch byte {
    case 0xC2...0xDF: 2
    case 0xE0...0xEF: 3
    case 0xF0...0xF4: 4
    default: 1
    }
  }

  private static func append(_ scalar: UInt32, to result: inout [UInt8]) {
    let digits = String(scalar, radix: 16)
    result += Array(("\\u" + String(repeating: "0", count: 4 - digits.count) + digits).utf8)
  }

  /// Whether a terminal executes the character, or displays other text differently because of it.
  package static func isHarmful(_ scalar: UInt32) -> Bool {
    scalar != 0x09 && scalar != 0x0A && Printable.isUnsafe(scalar)
  }
}
