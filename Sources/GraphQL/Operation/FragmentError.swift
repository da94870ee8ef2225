/// An error in the fragments of a document, with its source location.
public struct FragmentError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The kind of error.
  public enum Code: Sendable, Hashable {
    /// Two fragments have the same name; located at the second.
    case duplicateName
    /// A spread names an undefined fragment; located at the spread.
    case undefined
    /// A fragment contains itself; located at the spread that closes the cycle.
    case cycle
  }

  /// The kind of error.
  public var code: Code
  /// The message, as in the reference implementation.
  public var message: String
  /// The source location of the error.
  public var location: SourceLocation

  /// `line:column: message`.
  public var description: String { "\(location.line):\(location.column): \(message)" }
}
