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
