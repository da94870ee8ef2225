/// Splits UTF-8 text into tokens, one per `next()`, in linear time.
///
/// Tokens are byte ranges; a `String` is created only for what becomes part of the document. The
/// text must be valid UTF-8, which `Document.init(parsingUTF8:)` checks.
///
/// https://spec.graphql.org/September2025/#sec-Language.Source-Text
struct Lexer {
  let bytes: [UInt8]
  /// The value of the latest string or block string token.
  var text = ""

  var position = 0
  /// The number of bytes examined, including those examined again; for tests of the cost.
  var examined = 0
  private var line = 1
  private var lineStart = 0
  /// The UTF-8 continuation bytes since `lineStart`, which columns do not count.
  private var continuations = 0

  init(bytes: [UInt8]) {
    self.bytes = bytes
  }

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
