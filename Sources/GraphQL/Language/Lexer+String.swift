extension Lexer {
  /// Reads the quoted string at `position`, and stores its value in `text`.
  ///
  /// https://spec.graphql.org/September2025/#sec-String-Value
  mutating func string() throws(GraphQLSyntaxError) -> Token {
    let token = openToken(.string)
    position += 1
    var chunkStart = position
    var value = ""
    while position < bytes.count {
      let byte = bytes[position]
      switch byte {
      case UInt8(ascii: "\""):
        let chunk = String(decoding: bytes[chunkStart..<position], as: UTF8.self)
        text = value.isEmpty ? chunk : value + chunk
        position += 1
        return closed(token)
      case UInt8(ascii: "\\"):
        value += String(decoding: bytes[chunkStart..<position], as: UTF8.self)
        value.unicodeScalars.append(try escape())
        chunkStart = position
      case UInt8(ascii: "\n"), UInt8(ascii: "\r"):
        throw error(at: position, "Unterminated string.")
      default:
        stepOverText(byte)
      }
    }
    throw error(at: position, "Unterminated string.")
  }

  /// Reads the block string at `position`, and stores its value in `text`.
  ///
  /// https://spec.graphql.org/September2025/#sec-String-Value.Block-Strings
  mutating func blockString() throws(GraphQLSyntaxError) -> Token {
    let token = openToken(.blockString)
    position += 3
    var lines: [Range<Int>] = []
    var currentLine = position
    var hasEscapes = false
    while position < bytes.count {
      let byte = bytes[position]
      switch byte {
      case UInt8(ascii: "\"") where isTripleQuote(at: position):
        lines.append(currentLine..<position)
        text = BlockString.value(ofLines: lines, in: bytes, unescaping: hasEscapes)
        examined += lines.reduce(0) { $0 + $1.count }
        position += 3
        return closed(token)
      case UInt8(ascii: "\\") where isTripleQuote(at: position + 1):
        hasEscapes = true
        position += 4
      case UInt8(ascii: "\n"), UInt8(ascii: "\r"):
        lines.append(currentLine..<position)
        stepOverLineEnd()
        currentLine = position
      default:
        stepOverText(byte)
      }
    }
    throw error(at: position, "Unterminated string.")
  }

  /// Reads the escape sequence at `position`.
  private mutating func escape() throws(GraphQLSyntaxError) -> Unicode.Scalar {
    let scalar: Unicode.Scalar
    switch byte(at: position + 1) {
    case UInt8(ascii: "u"):
      return byte(at: position + 2) == UInt8(ascii: "{")
        ? try variableWidthEscape() : try fixedWidthEscape()
    case UInt8(ascii: "\""): scalar = "\""
    case UInt8(ascii: "\\"): scalar = "\\"
    case UInt8(ascii: "/"): scalar = "/"
    case UInt8(ascii: "b"): scalar = "\u{8}"
    case UInt8(ascii: "f"): scalar = "\u{C}"
    case UInt8(ascii: "n"): scalar = "\n"
    case UInt8(ascii: "r"): scalar = "\r"
    case UInt8(ascii: "t"): scalar = "\t"
    default:
      let sequence = excerpt(from: position, scalars: 2)
      throw error(at: position, "Invalid character escape sequence: '\(sequence)'.")
    }
    position += 2
    return scalar
  }

  /// Reads `\u{1F600}`: at most twelve characters, as in the reference implementation.
  private mutating func variableWidthEscape() throws(GraphQLSyntaxError) -> Unicode.Scalar {
    var value: UInt32 = 0
    var size = 3
    while size < 12, let byte = byte(at: position + size) {
      size += 1
      if byte == UInt8(ascii: "}") {
        guard size >= 5, let scalar = Unicode.Scalar(value) else { break }
        position += size
        return scalar
      }
      guard let digit = byte.hexDigitValue else { break }
      value = value << 4 | digit
    }
    throw invalidUnicodeEscape(scalars: size)
  }

  /// Reads `\u00E9`, or a surrogate pair of two such escapes.
  private mutating func fixedWidthEscape() throws(GraphQLSyntaxError) -> Unicode.Scalar {
    guard let first = hexCode(at: position + 2) else { throw invalidUnicodeEscape(scalars: 6) }
    if let scalar = Unicode.Scalar(first) {
      position += 6
      return scalar
    }
    guard first < 0xDC00, byte(at: position + 6) == UInt8(ascii: "\\"),
      byte(at: position + 7) == UInt8(ascii: "u"),
      let second = hexCode(at: position + 8), (0xDC00...0xDFFF).contains(second),
      let scalar = Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00))
    else { throw invalidUnicodeEscape(scalars: 6) }
    position += 12
    return scalar
  }

  private func hexCode(at index: Int) -> UInt32? {
    var value: UInt32 = 0
    for offset in 0..<4 {
      guard let digit = byte(at: index + offset)?.hexDigitValue else { return nil }
      value = value << 4 | digit
    }
    return value
  }

  private func invalidUnicodeEscape(scalars: Int) -> GraphQLSyntaxError {
    let sequence = excerpt(from: position, scalars: scalars)
    return error(at: position, "Invalid Unicode escape sequence: '\(sequence)'.")
  }
}

extension UInt8 {
  fileprivate var hexDigitValue: UInt32? {
    switch self {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(self - UInt8(ascii: "0"))
    case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt32(self - UInt8(ascii: "a") + 10)
    case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt32(self - UInt8(ascii: "A") + 10)
    default: nil
    }
  }
}
