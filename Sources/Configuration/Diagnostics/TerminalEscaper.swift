import Foundation

/// Escapes what a terminal would obey or hide, in text that comes in pieces.
///
/// These are escaped as `\u009b`: control characters other than tab and line ends, U+007F to U+009F, the marks
/// that change the direction of text, the separators of lines and paragraphs, and bytes that are not UTF-8. In JSON
/// text they can occur in strings only, so that its meaning stays. Text that does not go to a terminal is not
/// escaped.
package struct TerminalEscaper: Sendable {
  /// The beginning of what the next piece continues: a character, or a carriage return.
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

  /// How many bytes the character has that begins with a byte.
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

  /// Whether a terminal obeys the character, or shows the text around it otherwise than it is.
  package static func isHarmful(_ scalar: UInt32) -> Bool {
    switch scalar {
    case 0x09, 0x0A: false
    case 0..<0x20, 0x7F...0x9F: true
    case 0x061C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069, 0xFEFF: true
    default: false
    }
  }
}
