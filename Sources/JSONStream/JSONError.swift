/// An error in a JSON text, with the offset of the first offending byte.
///
/// The message contains no unescaped bytes of the text, so it is safe to print.
public struct JSONError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kind of error.
  public enum Code: String, Hashable, Sendable {
    /// The bytes are not UTF-8 text: wrong UTF-8, a byte order mark, UTF-16, a lone surrogate
    /// escape.
    case invalidText
    /// The text breaks the grammar of RFC 8259.
    case syntax
    /// The text ends before its value does, or is empty.
    case unexpectedEnd
    /// Something other than white space follows the value.
    case trailingData
    /// A limit of ``JSONLimits`` was exceeded.
    case limitExceeded
    /// An object has two members with the same key, and duplicates are not allowed.
    case duplicateKey
    /// A handler cancelled the parse; its ``JSONEventScope/failure`` has the reason.
    case cancelled
    /// The parser could not be allocated.
    case outOfMemory
  }

  /// The kind of error.
  public var code: Code
  /// What is wrong, without the offset.
  public var message: String
  /// The number of bytes of the text before the error.
  public var offset: Int

  /// Creates an error.
  ///
  /// - Parameters:
  ///   - code: The kind of error.
  ///   - message: What is wrong, without the offset and without bytes of the text.
  ///   - offset: The number of bytes of the text before the error.
  public init(code: Code, message: String, offset: Int) {
    self.code = code
    self.message = message
    self.offset = offset
  }

  /// The offset and the message, on one line.
  public var description: String {
    "invalid JSON at byte \(offset): \(message)"
  }
}

/// Why a handler cancelled the parse: one byte, so that setting it is cheap on the hot path.
///
/// Raw values from ``firstHandlerCode`` on are for the handlers' own codes.
@frozen
public struct JSONFailureCode: RawRepresentable, Hashable, Sendable {
  /// The code as a byte.
  public var rawValue: UInt8

  /// Creates a code from its byte.
  @inlinable
  public init(rawValue: UInt8) {
    self.rawValue = rawValue
  }

  /// Nothing has failed.
  @inlinable public static var none: Self { Self(rawValue: 0) }
  /// More containers are open than ``JSONLimits/maxDepth``.
  @inlinable public static var depthExceeded: Self { Self(rawValue: 1) }
  /// A string is longer than ``JSONLimits/maxStringBytes``.
  @inlinable public static var stringTooLong: Self { Self(rawValue: 2) }
  /// A key is longer than ``JSONLimits/maxKeyBytes``.
  @inlinable public static var keyTooLong: Self { Self(rawValue: 3) }
  /// A number is longer than ``JSONLimits/maxNumberBytes``.
  @inlinable public static var numberTooLong: Self { Self(rawValue: 4) }
  /// An object has two members with the same key.
  @inlinable public static var duplicateKey: Self { Self(rawValue: 5) }
  /// The handler needs no more events, or its task was cancelled.
  @inlinable public static var cancelled: Self { Self(rawValue: 6) }
  /// The first raw value available for the handlers' own codes.
  @inlinable public static var firstHandlerCode: UInt8 { 128 }
}

extension JSONFailureCode {
  /// The code of the error that the cancelled parse throws.
  var code: JSONError.Code {
    switch self {
    case .depthExceeded, .stringTooLong, .keyTooLong, .numberTooLong: .limitExceeded
    case .duplicateKey: .duplicateKey
    default: .cancelled
    }
  }

  /// The error message.
  func explanation(_ limits: JSONLimits) -> String {
    switch self {
    case .depthExceeded: "nested deeper than the limit of \(limits.maxDepth) levels"
    case .stringTooLong: "a string is longer than the limit of \(limits.maxStringBytes) bytes"
    case .keyTooLong: "a key is longer than the limit of \(limits.maxKeyBytes) bytes"
    case .numberTooLong: "a number is longer than the limit of \(limits.maxNumberBytes) bytes"
    case .duplicateKey: "an object has two members with the same key"
    default: "reading was cancelled"
    }
  }
}

/// The kind of a yajl error, identified by the start of yajl's message.
///
/// yajl's messages are never shown to a user, because they may contain bytes of the text.
enum YajlErrorKind: String, CaseIterable {
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

  /// Whether the error is about a token, which may have begun in an earlier chunk.
  private var isAboutToken: Bool {
    switch self {
    case .token, .colon, .afterMember, .afterElement, .key: true
    default: false
    }
  }

  /// The index of the offending byte, or of the start of the offending token, in the chunk that
  /// yajl rejected.
  ///
  /// If the token began in an earlier chunk, the index is 0.
  ///
  /// - Parameters:
  ///   - bytes: The chunk.
  ///   - consumed: yajl's count of consumed bytes: after the offending token or unknown character,
  ///     and at the offending byte for other errors.
  func index(in bytes: UnsafeRawBufferPointer, consumed: Int) -> Int {
    if self == .character { return max(consumed - 1, 0) }
    guard isAboutToken, consumed > 0, consumed <= bytes.count else { return consumed }
    if self == .afterMember { return Self.tokenStart(in: bytes, near: consumed) }
    return Self.tokenStart(in: bytes, end: consumed)
  }

  /// The error message.
  ///
  /// - Parameters:
  ///   - bytes: The chunk.
  ///   - index: The result of ``index(in:consumed:)``.
  ///   - end: yajl's count of consumed bytes.
  func explanation(in bytes: UnsafeRawBufferPointer, at index: Int, end: Int) -> String {
    let found: String
    if isAboutToken {
      // The last byte of a token identifies its kind.
      let decisive = self == .afterMember ? index : end - 1
      let isKnown = decisive > 0 || end == 1
      found = isKnown && decisive < bytes.count ? ", found \(bytes[decisive].tokenName)" : ""
    } else {
      found = index < bytes.count ? ", found \(bytes[index].shownName)" : ""
    }
    switch self {
    case .character: return "unexpected character\(found)"
    case .unescaped: return "a control character in a string must be escaped\(found)"
    case .word: return "expected true, false or null\(found)"
    case .digit: return "expected a digit\(found)"
    case .comment: return "comments are not allowed in JSON"
    case .token: return "expected a value\(found)"
    case .colon: return "expected ':' after an object key\(found)"
    case .afterMember: return "expected ',' or '}' after a member\(found)"
    case .afterElement: return "expected ',' or ']' after an element\(found)"
    case .key: return "expected an object key in quotes\(found)"
    case .end: return "unexpected end of JSON"
    }
  }

  /// The start of a token for which yajl subtracted the token's length from its end; for a string,
  /// yajl's length excludes the quotes.
  private static func tokenStart(in bytes: UnsafeRawBufferPointer, near index: Int) -> Int {
    guard index >= 2, bytes[index - 2] == UInt8(ascii: "\"") else { return index }
    let isAfterSpace = bytes[index - 1].isJSONWhiteSpace
    let startsToken = index < bytes.count && "-0123456789tfn{[:".utf8.contains(bytes[index])
    return isAfterSpace && startsToken ? index : index - 2
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
      return numberStart(in: bytes, last: start)
    case UInt8(ascii: "a")...UInt8(ascii: "z"):
      while start > 0, (0x61...0x7A).contains(bytes[start - 1]) { start -= 1 }
    default: break
    }
    return start
  }

  private static func isEscaped(_ bytes: UnsafeRawBufferPointer, _ index: Int) -> Bool {
    var first = index
    while first > 0, bytes[first - 1] == UInt8(ascii: "\\") { first -= 1 }
    return (index - first) % 2 == 1
  }

  private static func numberStart(in bytes: UnsafeRawBufferPointer, last: Int) -> Int {
    var start = last
    while start > 0 {
      let byte = bytes[start - 1]
      let isAfterExponent = start > 1 && bytes[start - 2] | 0x20 == UInt8(ascii: "e")
      if byte == UInt8(ascii: "-"), !isAfterExponent {
        start -= 1
        break
      }
      guard byte.isDigit || "+-.eE".utf8.contains(byte) else { break }
      start -= 1
    }
    // yajl reads digits after a leading zero as the next number.
    let zero = bytes[start] == UInt8(ascii: "-") ? start + 1 : start
    let followsZero = zero < last && bytes[zero] == UInt8(ascii: "0") && bytes[zero + 1].isDigit
    return followsZero ? zero + 1 : start
  }
}

extension UInt8 {
  var isDigit: Bool { self >= UInt8(ascii: "0") && self <= UInt8(ascii: "9") }

  /// The character if it is printable ASCII, else the value of the byte.
  var shownName: String {
    if self > 0x20 && self < 0x7F { return "'\(Character(Unicode.Scalar(self)))'" }
    let hex = String(self, radix: 16, uppercase: true)
    return self < 0x10 ? "byte 0x0\(hex)" : "byte 0x\(hex)"
  }

  /// The kind of the token that starts or ends with this byte.
  var tokenName: String {
    switch self {
    case UInt8(ascii: "\""): "a string"
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"): "a number"
    case UInt8(ascii: "a")...UInt8(ascii: "z"): "a literal"
    default: shownName
    }
  }
}
