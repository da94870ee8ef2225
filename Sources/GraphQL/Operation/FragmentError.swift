/// What is wrong with the fragments of a document, and where.
public struct FragmentError: Error, Sendable, Hashable, CustomStringConvertible {
  public enum Code: Sendable, Hashable {
    /// Two fragments have one name; located at the second.
    case duplicateName
    /// A fragment is spread that the document does not define; located at the spread.
    case undefined
    /// A fragment contains itself; located at the spread that closes the circle.
    case cycle
  }

  public var code: Code
  public var message: String
  public var location: SourceLocation

  public var description: String { "\(location.line):\(location.column): \(message)" }
}
