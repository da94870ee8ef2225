import GQLRunTestSupport

/// Random JSON texts, and random damage to them.
struct JSONFuzz {
  private var random: SeededRandom

  init(seed: UInt64) {
    random = SeededRandom(seed)
  }

  /// A valid text. Keys within an object are unique.
  mutating func text() -> [UInt8] {
    var text: [UInt8] = []
    space(&text)
    value(&text, depth: 0)
    space(&text)
    return text
  }

  /// The same text with one to three random changes.
  mutating func damaged(_ text: [UInt8]) -> [UInt8] {
    var text = text
    for _ in 0..<Int.random(in: 1...3, using: &random) {
      let position = Int.random(in: 0...text.count, using: &random)
      switch Int.random(in: 0..<7, using: &random) {
      case 0:
        if position < text.count { text[position] = UInt8.random(in: 0...255, using: &random) }
      case 1:
        if position < text.count { text[position] ^= 1 << UInt8.random(in: 0..<8, using: &random) }
      case 2: if position < text.count { text.remove(at: position) }
      case 3: text.insert(UInt8.random(in: 0...255, using: &random), at: position)
      case 4: text.removeSubrange(position...)
      case 5:
        let from = Int.random(in: 0...text.count, using: &random)
        let piece = Array(text[from..<min(from + 8, text.count)])
        text.insert(contentsOf: piece, at: position)
      default:
        text.insert(contentsOf: Self.splinters.randomElement(using: &random) ?? [], at: position)
      }
    }
    return text
  }

  mutating func cuts() -> Cuts {
    .random(seed: random.next())
  }

  private static let splinters: [[UInt8]] =
    [
      "\"", "\\", "\\u", "\\u0", "\\ud800", "\\udc00", "\\ud83d\\ude00", "\\\"", "\\\\", "[", "]",
      "{",
      "}", ",", ":", "-", "+", ".", "e", "E1", "0", "00", "1", "true", "fals", "null", "NaN", "//",
      "/**/",
      " ", "\n", "\t", "\r", "\u{0C}", "\u{0B}", "\u{7F}", "é", "😀", "\u{FEFF}", "\u{2028}", "'",
      "#",
    ].map { Array($0.utf8) } + [
      [0x00], [0x1F], [0x80], [0xC0, 0x80], [0xC3], [0xE0, 0x80, 0x80], [0xED, 0xA0, 0x80],
      [0xF4, 0x90, 0x80, 0x80], [0xF0, 0x9F], [0xFF],
    ]

  private mutating func space(_ text: inout [UInt8]) {
    guard Int.random(in: 0..<4, using: &random) == 0 else { return }
    text.append([0x20, 0x09, 0x0A, 0x0D].randomElement(using: &random) ?? 0x20)
  }

  private mutating func value(_ text: inout [UInt8], depth: Int) {
    switch Int.random(in: 0..<(depth < 5 ? 11 : 7), using: &random) {
    case 0: text.append(contentsOf: "null".utf8)
    case 1: text.append(contentsOf: "true".utf8)
    case 2: text.append(contentsOf: "false".utf8)
    case 3, 4: text.append(contentsOf: (Self.numbers.randomElement(using: &random) ?? "0").utf8)
    case 5, 6: string(&text)
    case 7, 8: array(&text, depth: depth)
    default: object(&text, depth: depth)
    }
  }

  private mutating func array(_ text: inout [UInt8], depth: Int) {
    text.append(UInt8(ascii: "["))
    for element in 0..<Int.random(in: 0...4, using: &random) {
      if element > 0 { text.append(UInt8(ascii: ",")) }
      space(&text)
      value(&text, depth: depth + 1)
      space(&text)
    }
    text.append(UInt8(ascii: "]"))
  }

  private mutating func object(_ text: inout [UInt8], depth: Int) {
    text.append(UInt8(ascii: "{"))
    for member in 0..<Int.random(in: 0...4, using: &random) {
      if member > 0 { text.append(UInt8(ascii: ",")) }
      space(&text)
      text.append(contentsOf: "\"\(member)".utf8)
      if Bool.random(using: &random) { text.append(contentsOf: "é\\n\\u0041".utf8) }
      text.append(contentsOf: "\"".utf8)
      space(&text)
      text.append(UInt8(ascii: ":"))
      space(&text)
      value(&text, depth: depth + 1)
      space(&text)
    }
    text.append(UInt8(ascii: "}"))
  }

  private mutating func string(_ text: inout [UInt8]) {
    text.append(UInt8(ascii: "\""))
    for _ in 0..<Int.random(in: 0...12, using: &random) {
      text.append(contentsOf: (Self.stringParts.randomElement(using: &random) ?? "").utf8)
    }
    text.append(UInt8(ascii: "\""))
  }

  private static let numbers = [
    "0", "-0", "7", "-12", "3.25", "1e5", "-1E-7", "2.50e+3", "12345678901234567890", "1e999",
  ]
  private static let stringParts = [
    "a", "bc", " ", "\\n", "\\\"", "\\\\", "\\/", "\\u00e9", "\\ud83d\\ude00", "\\u0000", "é", "東京",
    "😀", "a longer run of plain text without anything special in it", "'", "[", "}", ",", ":",
  ]
}
