extension JSONGuard.Finding {
  /// The code of the error.
  var code: JSONError.Code {
    switch self {
    case .byteOrderMark, .utf8, .loneHighSurrogate, .loneLowSurrogate: .invalidText
    case .control, .escape, .hexDigit: .syntax
    }
  }

  /// The error message for the offending byte.
  func explanation(of byte: UInt8, at offset: Int) -> String {
    switch self {
    case .byteOrderMark:
      return "the text starts with a byte order mark (\(byte.shownName)); send UTF-8 without one"
    case .control where byte == 0 && offset < 4:
      return "\(byte.shownName) at the start looks like UTF-16 or UTF-32; send UTF-8"
    case .control:
      return "unexpected control character, \(byte.shownName)"
    case .utf8:
      return "\(byte.shownName) is not valid UTF-8 here"
    case .escape:
      return "\(byte.shownName) after a backslash is not an escape"
    case .hexDigit:
      return "expected four hexadecimal digits after \\u, found \(byte.shownName)"
    case .loneHighSurrogate:
      return "a high surrogate escape has no low surrogate after it"
    case .loneLowSurrogate:
      return "a low surrogate escape has no high surrogate before it"
    }
  }
}
