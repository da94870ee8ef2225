/// RFC 8259 in the plainest code, to hold the parser against: byte by byte, recursive, no speed.
///
/// Shares no code with the parser. Refuses what we refuse by choice, too: text that is not well-formed Unicode and more
/// than 512 levels.
struct StrictOracle {
  private struct Refused: Error {}

  private let text: [UInt8]
  private var position = 0
  private var depth = 0

  static func accepts(_ text: [UInt8]) -> Bool {
    var oracle = StrictOracle(text: text)
    do {
      oracle.skipWhiteSpace()
      try oracle.value()
      oracle.skipWhiteSpace()
      return oracle.position == text.count
    } catch {
      return false
    }
  }

  private init(text: [UInt8]) {
    self.text = text
  }

  private var next: UInt8? { position < text.count ? text[position] : nil }

  private mutating func skipWhiteSpace() {
    while let byte = next, [0x20, 0x09, 0x0A, 0x0D].contains(byte) { position += 1 }
  }

  private mutating func take(_ allowed: Set<Character>) throws -> Character {
    guard let byte = next, byte < 0x80 else { throw Refused() }
    let character = Character(Unicode.Scalar(byte))
    guard allowed.contains(character) else { throw Refused() }
    position += 1
    return character
  }

  private mutating func word(_ word: String) throws {
    for byte in word.utf8 {
      guard next == byte else { throw Refused() }
      position += 1
    }
  }

  private mutating func value() throws {
    switch next {
    case UInt8(ascii: "{"): try object()
    case UInt8(ascii: "["): try array()
    case UInt8(ascii: "\""): try string()
    case UInt8(ascii: "t"): try word("true")
    case UInt8(ascii: "f"): try word("false")
    case UInt8(ascii: "n"): try word("null")
    default: try number()
    }
  }

  private mutating func object() throws {
    try enter("{")
    if next != UInt8(ascii: "}") {
      while true {
        skipWhiteSpace()
        try string()
        skipWhiteSpace()
        try word(":")
        skipWhiteSpace()
        try value()
        skipWhiteSpace()
        if next == UInt8(ascii: "}") { break }
        try word(",")
      }
    }
    position += 1
    depth -= 1
  }

  private mutating func array() throws {
    try enter("[")
    if next != UInt8(ascii: "]") {
      while true {
        skipWhiteSpace()
        try value()
        skipWhiteSpace()
        if next == UInt8(ascii: "]") { break }
        try word(",")
      }
    }
    position += 1
    depth -= 1
  }

  private mutating func enter(_ bracket: String) throws {
    try word(bracket)
    depth += 1
    if depth > 512 { throw Refused() }
    skipWhiteSpace()
  }

  private mutating func number() throws {
    if next == UInt8(ascii: "-") { position += 1 }
    if try take(Set("0123456789")) != "0" { skipDigits() }
    if next == UInt8(ascii: ".") {
      position += 1
      _ = try take(Set("0123456789"))
      skipDigits()
    }
    if next == UInt8(ascii: "e") || next == UInt8(ascii: "E") {
      position += 1
      if next == UInt8(ascii: "+") || next == UInt8(ascii: "-") { position += 1 }
      _ = try take(Set("0123456789"))
      skipDigits()
    }
  }

  private mutating func skipDigits() {
    while let byte = next, byte >= 0x30, byte <= 0x39 { position += 1 }
  }

  private mutating func string() throws {
    try word("\"")
    while let byte = next {
      if byte == UInt8(ascii: "\"") {
        position += 1
        return
      }
      if byte < 0x20 { throw Refused() }
      if byte == UInt8(ascii: "\\") {
        position += 1
        if try take(Set("\"\\/bfnrtu")) == "u" { try unicodeEscape() }
      } else {
        try character()
      }
    }
    throw Refused()
  }

  private mutating func unicodeEscape() throws {
    let unit = try hex()
    if (0xDC00...0xDFFF).contains(unit) { throw Refused() }
    if (0xD800...0xDBFF).contains(unit) {
      try word("\\u")
      guard (0xDC00...0xDFFF).contains(try hex()) else { throw Refused() }
    }
  }

  private mutating func hex() throws -> Int {
    var unit = 0
    for _ in 0..<4 {
      unit = unit * 16 + (try take(Set("0123456789abcdefABCDEF")).hexDigitValue ?? 0)
    }
    return unit
  }

  /// One character, checked by decoding it and encoding it again.
  private mutating func character() throws {
    let lead = text[position]
    let count = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4
    guard position + count <= text.count else { throw Refused() }
    let bytes = Array(text[position..<position + count])
    var code = count == 1 ? UInt32(lead) : UInt32(lead) & (0x7F >> UInt32(count))
    for byte in bytes.dropFirst() { code = code << 6 | UInt32(byte & 0x3F) }
    guard let scalar = Unicode.Scalar(code), Array(String(scalar).utf8) == bytes else {
      throw Refused()
    }
    position += count
  }
}
