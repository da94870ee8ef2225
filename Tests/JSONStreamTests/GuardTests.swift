import Testing

@testable import GQLRunJSON

@Suite("JSON guard")
struct GuardTests {
  /// Where the guard stops, and whether the text ends between characters.
  private func scan(_ bytes: [UInt8], pieces length: Int = .max) -> (position: Int, whole: Bool) {
    var textGuard = JSONGuard()
    var position = 0
    while position < bytes.count {
      let piece = Array(bytes[position..<min(position + min(length, bytes.count), bytes.count)])
      let clean = piece.withUnsafeBytes { textGuard.scan($0) }
      position += clean
      if clean < piece.count { break }
    }
    return (position, textGuard.isBetweenCharacters)
  }

  private static let leads: [UInt8] = [
    0x00, 0x41, 0x7F, 0x80, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC, 0xED, 0xEE, 0xEF, 0xF0,
    0xF1, 0xF3, 0xF4, 0xF5, 0xF7, 0xF8, 0xFE, 0xFF,
  ]
  private static let others: [UInt8] = [
    0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC2, 0xE0, 0xFF,
  ]

  @Test("accepts exactly well-formed UTF-8, at every offset and split", arguments: leads)
  func utf8(_ lead: UInt8) {
    for second in Self.others {
      for third in Self.others {
        for fourth in Self.others {
          let character = [lead, second, third, fourth]
          let isRight = String(validating: character, as: UTF8.self) != nil && lead != 0
          let before = [UInt8](repeating: 0x20, count: Int(second & 7))
          let text = [0x20] + before + character + [UInt8](repeating: 0x61, count: 70)
          let whole = scan(text)
          #expect((whole.position == text.count) == isRight, "\(character)")
          #expect(scan(text, pieces: 1) == whole)
          let end = Array(text[..<(1 + before.count + 4)])
          let atEnd = scan(end)
          #expect((atEnd.position == end.count && atEnd.whole) == isRight)
          #expect(scan(end, pieces: 2) == atEnd)
        }
      }
    }
  }

  @Test("accepts exactly the escapes of the grammar")
  func escapes() {
    for letter in UInt8.min...UInt8.max where letter != UInt8(ascii: "u") {
      let isRight = "\"\\/bfnrt".utf8.contains(letter)
      for count in [0, 3, 80] {
        let text = [0x22, 0x5C, letter] + [UInt8](repeating: 0x20, count: count)
        #expect((scan(text).position == text.count) == isRight)
        #expect(scan(text, pieces: 1).position == scan(text).position)
        if !isRight { #expect(scan(text).position == 2) }
      }
    }
  }

  @Test("accepts exactly the pairs of surrogate escapes that name a character")
  func surrogates() {
    let units: [UInt16] = [
      0x0000, 0x00E9, 0xD7FF, 0xD800, 0xD83D, 0xDBFF, 0xDC00, 0xDE00, 0xDFFF, 0xE000, 0xFFFF,
    ]
    for first in units {
      for second in units {
        var decoder = UTF16()
        var iterator = [first, second].makeIterator()
        var isRight = true
        decoding: while true {
          switch decoder.decode(&iterator) {
          case .scalarValue: continue
          case .emptyInput: break decoding
          case .error:
            isRight = false
            break decoding
          }
        }
        let hex = [first, second].map { unit in
          let digits = String(unit, radix: 16, uppercase: unit % 2 == 0)
          return "\\u" + String(repeating: "0", count: 4 - digits.utf8.count) + digits
        }
        for tail in ["", "\"", String(repeating: " ", count: 80)] {
          let text = Array(("\"" + hex.joined() + tail).utf8)
          let whole = scan(text)
          #expect((whole.position == text.count && whole.whole) == isRight, "\(hex)")
          for piece in 1...7 { #expect(scan(text, pieces: piece) == whole) }
        }
      }
    }
  }

  @Test("accepts only three control characters, at every offset of a block")
  func controls() {
    for byte in UInt8.min..<0x80 where byte != 0x5C {
      let isRight = byte >= 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D
      for position in 0..<130 {
        var text = [UInt8](repeating: 0x61, count: 130)
        text[position] = byte
        #expect(scan(text).position == (isRight ? 130 : position))
      }
    }
  }

  @Test("counts how much shorter a text is without its escapes")
  func overhead() {
    let text = Array(#"a\n\"\u0041\u00e9\u4e2d\ud83d\ude00z"#.utf8)
    for piece in [1, 2, 5, 100] {
      var textGuard = JSONGuard()
      for start in stride(from: 0, to: text.count, by: piece) {
        let part = Array(text[start..<min(start + piece, text.count)])
        _ = part.withUnsafeBytes { textGuard.scan($0) }
      }
      #expect(text.count - textGuard.escapeOverhead == "a\n\"Aé中😀z".utf8.count)
    }
  }
}
