/// Why a JSON text was refused.
///
/// The message is the program's own and holds no unescaped bytes of the text, so it is safe to print.
public struct JSONError: Error, Hashable, Sendable, CustomStringConvertible {
  /// What kind of refusal this is.
  public enum Code: String, Hashable, Sendable {
    /// The bytes are not UTF-8 text: wrong UTF-8, a byte order mark, UTF-16, a lone surrogate escape.
    case invalidText
    /// The text breaks the grammar of RFC 8259.
    case syntax
    /// The text ends before its value does, or is empty.
    case unexpectedEnd
    /// Something other than white space follows the value.
    case trailingData
    /// A limit of ``JSONLimits`` was exceeded.
    case limitExceeded
    /// An object has two members with one key, and duplicates are refused.
    case duplicateKey
    /// A handler cancelled for a reason of its own; the reason is in its ``JSONEventScope/failure``.
    case cancelled
    /// The parser could not be allocated.
    case outOfMemory
  }

  public var code: Code
  /// What was found, in words; without the place.
  public var message: String
  /// How many bytes of the text come before the place where it was refused.
  public var offset: Int

  public init(code: Code, message: String, offset: Int) {
    self.code = code
    self.message = message
    self.offset = offset
  }

  public var description: String {
    "invalid JSON at byte \(offset): \(message)"
  }
}
