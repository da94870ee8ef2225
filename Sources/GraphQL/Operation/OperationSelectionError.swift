/// Why the operation to run could not be selected from a document.
public struct OperationSelectionError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The kind of error.
  public enum Code: Sendable, Hashable {
    /// The document has no operation.
    case noOperation
    /// It has several operations, and no name was given.
    case nameRequired
    /// No operation has the name.
    case unknownName
    /// Several operations have the name.
    case duplicateName
  }

  /// The kind of error.
  public var code: Code
  /// What the document has, and what is expected.
  public var message: String
  /// The location of the second operation with the name, or of an anonymous one among several.
  public var location: SourceLocation?

  /// The message, with the source location if there is one.
  public var description: String {
    location.map { "\($0.line):\($0.column): \(message)" } ?? message
  }
}
