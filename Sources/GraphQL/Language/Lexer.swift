import GQLRunSupport

/// Splits UTF-8 text into tokens, one per `next()`, in linear time.
///
/// Tokens are byte ranges; a `String` is created only for what becomes part of the document. The
/// text must be valid UTF-8, which `Document.init(parsingUTF8:)` checks.
///
/// https://spec.graphql.org/September2025/#sec-Language.Source-Text
struct Lexer {
  let bytes: [UInt8]
  /// The edition whose escape sequences are accepted.
  private(set) var edition = Edition.newest
  /// The value of the latest string or block string token.
  var text = ""

  var position = 0
  /// The number of bytes examined, including those examined again; for tests of the cost.
  var examined = 0
  private(set) var line = 1
  private(set) var lineStart = 0
  /// The UTF-8 continuation bytes since `lineStart`, which columns do not count.
  private(set) var continuations = 0

  /// The next token; at the end of the text, `endOfFile` on every call.
  mutating func next() throws(GraphQLSyntaxError) -> Token {
    let start = position
    defer { examined += position - start }
    skipIgnored()
    guard position < bytes.count else { return token(.endOfFile, length: 0) }
    let byte = bytes[position]
    if byte.isNameStart { return name() }
    if let kind = Token.Kind(punctuator: byte) { return token(kind, length: 1) }
    switch byte {
    case UInt8(ascii: "\""):
      return isTripleQuote(at: position) ? try blockString() : try string()
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"):
      return try number()
    case UInt8(ascii: ".")
    where self.byte(at: position + 1) == byte && self.byte(at: position + 2) == byte:
      return token(.spread, length: 3)
    case UInt8(ascii: "'"):
      throw error(
        at: position,
        "Unexpected single quote character ('), did you mean to use a double quote (\")?")
    default:
      throw error(at: position, "Unexpected character: \(scalarDescription(at: position)).")
    }
  }

  /// The source text of a token.
  func source(of token: Token) -> String {
    String(decoding: bytes[token.start..<token.end], as: UTF8.self)
  }

  func byte(at index: Int) -> UInt8? {
    index < bytes.count ? bytes[index] : nil
  }

  func isTripleQuote(at index: Int) -> Bool {
    index + 2 < bytes.count && bytes[index] == UInt8(ascii: "\"")
      && bytes[index + 1] == UInt8(ascii: "\"") && bytes[index + 2] == UInt8(ascii: "\"")
  }

  func error(at offset: Int, _ message: String) -> GraphQLSyntaxError {
    GraphQLSyntaxError(
      message: "Syntax Error: " + message,
      location: SourceLocation(ofByteAt: offset, in: bytes))
  }

  // MARK: - Tokens

  /// A token that starts at `position` and whose bytes are ASCII, on one line.
  private mutating func token(_ kind: Token.Kind, length: Int) -> Token {
    let token = openToken(kind)
    position += length
    return closed(token)
  }

  /// A token that starts at `position`; `closed(_:)` sets its end.
  func openToken(_ kind: Token.Kind) -> Token {
    Token(
      kind: kind, start: position, end: position, line: line,
      column: 1 + position - lineStart - continuations)
  }

  /// The token with its end at `position`.
  func closed(_ token: Token) -> Token {
    var token = token
    token.end = position
    return token
  }

  /// Starts a new line at `position`.
  mutating func startLine() {
    line += 1
    lineStart = position
    continuations = 0
  }

  /// Advances over one byte of any scalar that is not a line terminator.
  mutating func stepOverText(_ byte: UInt8) {
    if byte & 0xC0 == 0x80 { continuations += 1 }
    position += 1
  }

  /// Advances over a line terminator: LF, CR or CRLF.
  mutating func stepOverLineEnd() {
    let isCR = bytes[position] == UInt8(ascii: "\r")
    position += isCR && byte(at: position + 1) == UInt8(ascii: "\n") ? 2 : 1
    startLine()
  }

  private mutating func name() -> Token {
    var end = position + 1
    while end < bytes.count, bytes[end].isNameContinue { end += 1 }
    return token(.name, length: end - position)
  }

  // MARK: - Ignored tokens

  /// Skips white space, line terminators, commas, comments and byte order marks.
  private mutating func skipIgnored() {
    while position < bytes.count {
      switch bytes[position] {
      case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: ","):
        position += 1
      case UInt8(ascii: "\n"), UInt8(ascii: "\r"):
        stepOverLineEnd()
      case UInt8(ascii: "#"):
        while position < bytes.count {
          let byte = bytes[position]
          if byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") { break }
          stepOverText(byte)
        }
      case 0xEF where byte(at: position + 1) == 0xBB && byte(at: position + 2) == 0xBF:
        position += 3
        continuations += 2
      default:
        return
      }
    }
  }
}

extension Lexer {
  /// The scalar at `offset` as error messages show it: `'x'`, `U+00E9`, `<EOF>`.
  func scalarDescription(at offset: Int) -> String {
    guard let scalar = excerpt(from: offset, scalars: 1).unicodeScalars.first else {
      return "<EOF>"
    }
    switch scalar.value {
    case 0x22: return "'\"'"
    case 0x20...0x7E: return "'\(scalar)'"
    default:
      let digits = String(scalar.value, radix: 16, uppercase: true)
      return "U+" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }
  }

  /// At most `count` scalars of the text, starting at `offset`.
  func excerpt(from offset: Int, scalars count: Int) -> String {
    var end = min(offset, bytes.count)
    for _ in 0..<count where end < bytes.count {
      end += 1
      while end < bytes.count, bytes[end] & 0xC0 == 0x80 { end += 1 }
    }
    return String(decoding: bytes[min(offset, end)..<end], as: UTF8.self)
  }
}

extension UInt8 {
  var isDigit: Bool { self &- UInt8(ascii: "0") < 10 }
  var isNameStart: Bool {
    (self | 0x20) &- UInt8(ascii: "a") < 26 || self == UInt8(ascii: "_")
  }
  var isNameContinue: Bool { isNameStart || isDigit }
}

extension Lexer {
  /// Reads the integer or float at `position`.
  ///
  /// https://spec.graphql.org/September2025/#sec-Int-Value,
  /// https://spec.graphql.org/September2025/#sec-Float-Value
  mutating func number() throws(GraphQLSyntaxError) -> Token {
    var token = openToken(.int)
    if byte(at: position) == UInt8(ascii: "-") { position += 1 }
    if byte(at: position) == UInt8(ascii: "0") {
      position += 1
      if byte(at: position)?.isDigit == true {
        throw error(
          at: position,
          "Invalid number, unexpected digit after 0: \(scalarDescription(at: position)).")
      }
    } else {
      try stepOverDigits()
    }
    if byte(at: position) == UInt8(ascii: ".") {
      token.kind = .float
      position += 1
      try stepOverDigits()
    }
    if let exponent = byte(at: position), exponent | 0x20 == UInt8(ascii: "e") {
      token.kind = .float
      position += 1
      if let sign = byte(at: position), sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") {
        position += 1
      }
      try stepOverDigits()
    }
    if let byte = byte(at: position), byte == UInt8(ascii: ".") || byte.isNameStart {
      throw expectedDigit()
    }
    return closed(token)
  }

  private mutating func stepOverDigits() throws(GraphQLSyntaxError) {
    guard byte(at: position)?.isDigit == true else { throw expectedDigit() }
    while byte(at: position)?.isDigit == true { position += 1 }
  }

  private func expectedDigit() -> GraphQLSyntaxError {
    error(
      at: position,
      "Invalid number, expected digit but got: \(scalarDescription(at: position)).")
  }
}

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
    guard LanguageAddition.braceEscape.edition <= edition else {
      throw invalidUnicodeEscape(scalars: 6).explained(by: .braceEscape, edition: edition)
    }
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
      value = value << 4 | UInt32(digit)
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
      value = value << 4 | UInt32(digit)
    }
    return value
  }

  private func invalidUnicodeEscape(scalars: Int) -> GraphQLSyntaxError {
    let sequence = excerpt(from: position, scalars: scalars)
    return error(at: position, "Invalid Unicode escape sequence: '\(sequence)'.")
  }
}

/// A lexical token: its kind and its range of bytes.
///
/// https://spec.graphql.org/September2025/#sec-Appendix-Grammar-Summary.Lexical-Tokens
struct Token {
  /// The raw value of a punctuator of one byte is this byte; no other kind has the raw value of a
  /// printable character.
  enum Kind: UInt8 {
    case endOfFile, spread
    case name, int, float, string, blockString
    case bang = 0x21
    case dollar = 0x24
    case ampersand = 0x26
    case parenLeft = 0x28
    case parenRight = 0x29
    case colon = 0x3A
    case equals = 0x3D
    case at = 0x40
    case bracketLeft = 0x5B
    case bracketRight = 0x5D
    case braceLeft = 0x7B
    case pipe = 0x7C
    case braceRight = 0x7D
  }

  var kind: Kind
  var start: Int
  var end: Int
  var line: Int
  var column: Int

  var location: SourceLocation { SourceLocation(line: line, column: column, offset: start) }
}

extension Token.Kind {
  /// The kind as error messages show it: `'{'`, `Name`, `<EOF>`.
  var description: String {
    switch self {
    case .endOfFile: "<EOF>"
    case .spread: "'...'"
    case .name: "Name"
    case .int: "Int"
    case .float: "Float"
    case .string: "String"
    case .blockString: "BlockString"
    default: "'\(Unicode.Scalar(rawValue))'"
    }
  }

  var isPunctuator: Bool { self == .spread || rawValue > 0x20 }

  /// The kind of a punctuator of one byte; nil if `byte` is not one.
  init?(punctuator byte: UInt8) {
    guard byte > 0x20 else { return nil }
    self.init(rawValue: byte)
  }
}

/// The rules of block strings: their values, and how a value is printed as one.
///
/// https://spec.graphql.org/September2025/#BlockStringValue()
enum BlockString {
  /// The value of a block string with the raw lines `lines`: without common indentation and without
  /// blank lines at both ends; with `\"""` replaced by `"""` if `unescaping`.
  static func value(ofLines lines: [Range<Int>], in bytes: [UInt8], unescaping: Bool) -> String {
    var commonIndent = Int.max
    var firstFilled: Int?
    var lastFilled = 0
    for (number, line) in lines.enumerated() {
      let indent = indentation(of: line, in: bytes)
      guard indent < line.count else { continue }
      if firstFilled == nil { firstFilled = number }
      lastFilled = number
      if number > 0 { commonIndent = min(commonIndent, indent) }
    }
    guard let firstFilled else { return "" }
    if firstFilled == lastFilled, !unescaping {
      let line = lines[firstFilled]
      let start = firstFilled == 0 ? line.lowerBound : line.lowerBound + commonIndent
      return String(decoding: bytes[start..<line.upperBound], as: UTF8.self)
    }
    var value: [UInt8] = []
    value.reserveCapacity(lines[lastFilled].upperBound - lines[firstFilled].lowerBound)
    for number in firstFilled...lastFilled {
      if number > firstFilled { value.append(UInt8(ascii: "\n")) }
      let line = lines[number]
      let dropped = number == 0 ? 0 : min(commonIndent, line.count)
      let kept = bytes[(line.lowerBound + dropped)..<line.upperBound]
      if unescaping { appendUnescaped(kept, to: &value) } else { value.append(contentsOf: kept) }
    }
    return String(decoding: value, as: UTF8.self)
  }

  /// Whether a block string can have the value `value`. True for every value parsed from one.
  static func canDenote(_ value: String) -> Bool {
    let bytes = Array(value.utf8)
    guard !bytes.isEmpty else { return true }
    guard !bytes.contains(UInt8(ascii: "\r")) else { return false }
    let lines = lines(of: bytes)
    guard let first = lines.first, indentation(of: first, in: bytes) < first.count,
      let last = lines.last, indentation(of: last, in: bytes) < last.count
    else { return false }
    if lines.count == 1 { return true }
    return lines.contains { line in
      !line.isEmpty && indentation(of: line, in: bytes) == 0
    }
  }

  /// `value` as a block string in graphql-core's layout; with as few lines as possible if
  /// `isMinimal`.
  static func printed(_ value: String, isMinimal: Bool = false) -> String {
    var escaped: [UInt8] = []
    var lineCount = 1
    var forcesLeadingNewLine = true
    let bytes = Array(value.utf8)
    var index = 0
    while index < bytes.count {
      let byte = bytes[index]
      if byte == UInt8(ascii: "\""), index + 2 < bytes.count, bytes[index + 1] == byte,
        bytes[index + 2] == byte
      {
        escaped += [UInt8(ascii: "\\"), byte, byte, byte]
        index += 3
        continue
      }
      escaped.append(byte)
      index += 1
      if byte == UInt8(ascii: "\n") {
        lineCount += 1
        if index < bytes.count, !bytes[index].isIndent, bytes[index] != byte {
          forcesLeadingNewLine = false
        }
      }
    }
    forcesLeadingNewLine = forcesLeadingNewLine && lineCount > 1

    let isSingleLine = lineCount == 1
    let hasTrailingTripleQuotes = escaped.suffix(4).elementsEqual("\\\"\"\"".utf8)
    let hasTrailingQuote = bytes.last == UInt8(ascii: "\"") && !hasTrailingTripleQuotes
    let forcesTrailingNewLine = hasTrailingQuote || bytes.last == UInt8(ascii: "\\")
    let isSpread =
      !isMinimal
      && (!isSingleLine || value.unicodeScalars.count > 70 || forcesTrailingNewLine
        || forcesLeadingNewLine || hasTrailingTripleQuotes)
    let startsWithIndent = isSingleLine && bytes.first?.isIndent == true
    let before = isSpread && !startsWithIndent || forcesLeadingNewLine ? "\n" : ""
    let after = isSpread || forcesTrailingNewLine ? "\n" : ""
    return "\"\"\"" + before + String(decoding: escaped, as: UTF8.self) + after + "\"\"\""
  }

  private static func indentation(of line: Range<Int>, in bytes: [UInt8]) -> Int {
    var index = line.lowerBound
    while index < line.upperBound, bytes[index].isIndent { index += 1 }
    return index - line.lowerBound
  }

  private static func lines(of bytes: [UInt8]) -> [Range<Int>] {
    var lines: [Range<Int>] = []
    var start = 0
    for (index, byte) in bytes.enumerated() where byte == UInt8(ascii: "\n") {
      lines.append(start..<index)
      start = index + 1
    }
    lines.append(start..<bytes.count)
    return lines
  }

  private static func appendUnescaped(_ line: ArraySlice<UInt8>, to value: inout [UInt8]) {
    let quotes = "\"\"\"".utf8
    var index = line.startIndex
    while index < line.endIndex {
      if line[index] == UInt8(ascii: "\\"), line[(index + 1)...].starts(with: quotes) {
        index += 1
        value.append(contentsOf: quotes)
        index += 3
      } else {
        value.append(line[index])
        index += 1
      }
    }
  }
}

extension UInt8 {
  fileprivate var isIndent: Bool { self == UInt8(ascii: " ") || self == UInt8(ascii: "\t") }
}
