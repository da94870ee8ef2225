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
      if byte == 0x0D {
        guard index + 1 < bytes.count else {
          pending = [byte]
          break
        }
        if bytes[index + 1] == 0x0A { result.append(byte) } else { Self.append(0x0D, to: &result) }
        index += 1
        continue
      }
      if byte < 0x80 {
        if Self.isHarmful(UInt32(byte)) {
          Self.append(UInt32(byte), to: &result)
        } else {
          result.append(byte)
        }
        index += 1
        continue
      }
      guard let length = Self.length(byte) else {
        Self.append(0xFFFD, to: &result)
        index += 1
        continue
      }
      guard index + length <= bytes.count else {
        pending = Array(bytes[index...])
        break
      }
      guard
        let scalar = String(validating: bytes[index..<(index + length)], as: UTF8.self)?
          .unicodeScalars.first
      else {
        Self.append(0xFFFD, to: &result)
        index += 1
        continue
      }
      if Self.isHarmful(scalar.value) {
        Self.append(scalar.value, to: &result)
      } else {
        result += bytes[index..<(index + length)]
      }
      index += length
    }
    return result
  }

  /// The number of bytes of a character with this first byte.
  private static func length(_ byte: UInt8) -> Int? {
    switch byte {
    case 0xC2...0xDF: 2
    case 0xE0...0xEF: 3
    case 0xF0...0xF4: 4
    default: nil
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
