/// What yajl says is wrong with a text, told by the beginning of its message.
///
/// yajl's messages stay inside this room: they may repeat bytes of the text.
enum YajlComplaint: String, CaseIterable {
  case character = "lexical error: invalid char in json text"
  case unescaped = "lexical error: invalid character inside string"
  case word = "lexical error: invalid string in json text"
  case digit = "lexical error: malformed number"
  case comment = "lexical error: probable comment"
  case token = "parse error: unallowed token"
  case colon = "parse error: object key and value must be separated"
  case afterMember = "parse error: after key and value"
  case afterElement = "parse error: after array element"
  case key = "parse error: invalid object key"
  case end = "parse error: premature EOF"

  init?(message: String) {
    let found = Self.allCases.first { message.utf8.starts(with: $0.rawValue.utf8) }
    guard let found else { return nil }
    self = found
  }

  /// Whether the complaint is about a token as a whole, which may have begun in an earlier piece.
  private var isAboutToken: Bool {
    switch self {
    case .token, .colon, .afterMember, .afterElement, .key: true
    default: false
    }
  }

  /// Where the offending byte is, or the offending token starts, in the piece that yajl refused.
  ///
  /// A token that began in an earlier piece is said to start where this piece does.
  ///
  /// - Parameter consumed: yajl's own count of consumed bytes: after the offending token or unknown
  ///   character, at the offending byte of other tokens, and at the start of a token after a member.
  func place(in bytes: UnsafeRawBufferPointer, consumed: Int) -> Int {
    if self == .character { return max(consumed - 1, 0) }
    guard isAboutToken, self != .afterMember, consumed > 0, consumed <= bytes.count else {
      return consumed
    }
    return Self.tokenStart(in: bytes, end: consumed)
  }

  /// What is wrong, in our words. `byte` is the one at ``place(in:consumed:)``.
  func explanation(found byte: UInt8) -> String {
    let found = isAboutToken ? byte.tokenName : byte.shownName
    switch self {
    case .character: return "unexpected \(found)"
    case .unescaped: return "\(found) must be escaped in a string"
    case .word: return "expected true, false or null, found \(found)"
    case .digit: return "expected a digit, found \(found)"
    case .comment: return "comments are not allowed in JSON"
    case .token: return "unexpected \(found)"
    case .colon: return "expected ':' after an object key, found \(found)"
    case .afterMember: return "expected ',' or '}' after a member, found \(found)"
    case .afterElement: return "expected ',' or ']' after an element, found \(found)"
    case .key: return "expected an object key in quotes, found \(found)"
    case .end: return "unexpected end of JSON"
    }
  }

  private static func tokenStart(in bytes: UnsafeRawBufferPointer, end: Int) -> Int {
    var start = end - 1
    switch bytes[start] {
    case UInt8(ascii: "\""):
      while start > 0 {
        start -= 1
        if bytes[start] == UInt8(ascii: "\""), !isEscaped(bytes, start) { return start }
      }
      return 0
    case UInt8(ascii: "0")...UInt8(ascii: "9"):
      while start > 0, isNumberByte(bytes[start - 1]) { start -= 1 }
    case UInt8(ascii: "a")...UInt8(ascii: "z"):
      while start > 0, (0x61...0x7A).contains(bytes[start - 1]) { start -= 1 }
    default: break
    }
    return start
  }

  private static func isEscaped(_ bytes: UnsafeRawBufferPointer, _ place: Int) -> Bool {
    var first = place
    while first > 0, bytes[first - 1] == UInt8(ascii: "\\") { first -= 1 }
    return (place - first) % 2 == 1
  }

  private static func isNumberByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "+"),
      UInt8(ascii: "."), UInt8(ascii: "e"), UInt8(ascii: "E"):
      true
    default: false
    }
  }
}

extension UInt8 {
  /// A byte as it can be shown: the character if it is printable ASCII, its value otherwise.
  var shownName: String {
    if self > 0x20 && self < 0x7F { return "'\(Character(Unicode.Scalar(self)))'" }
    let hex = String(self, radix: 16, uppercase: true)
    return self < 0x10 ? "byte 0x0\(hex)" : "byte 0x\(hex)"
  }

  /// A token as it can be shown, told by its first byte.
  var tokenName: String {
    switch self {
    case UInt8(ascii: "\""): "a string"
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"): "a number"
    case UInt8(ascii: "a")...UInt8(ascii: "z"): "a literal"
    default: shownName
    }
  }
}
