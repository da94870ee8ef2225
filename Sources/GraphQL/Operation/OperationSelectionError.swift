/// Why a document did not yield the one operation to run.
public struct OperationSelectionError: Error, Sendable, Hashable, CustomStringConvertible {
  public enum Code: Sendable, Hashable {
    /// The document has no operation.
    case noOperation
    /// It has several, and none was named.
    case nameRequired
    /// None has the name asked for.
    case unknownName
    /// Several have the name asked for.
    case duplicateName
  }

  public var code: Code
  public var message: String
  /// The second operation of the name, when there are several.
  public var location: SourceLocation?

  public var description: String {
    location.map { "\($0.line):\($0.column): \(message)" } ?? message
  }
}
