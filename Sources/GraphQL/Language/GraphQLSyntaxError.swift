/// A syntax error in a GraphQL document, with its source location.
///
/// The messages are those of the reference implementation (graphql-js, graphql-core).
public struct GraphQLSyntaxError: Error, Sendable, Hashable, CustomStringConvertible {
  /// For example `Syntax Error: Expected Name, found <EOF>.`
  public var message: String
  /// The source location of the error.
  public var location: SourceLocation

  /// Creates an error.
  public init(message: String, location: SourceLocation) {
    self.message = message
    self.location = location
  }

  /// `line:column: message`.
  public var description: String { "\(location.line):\(location.column): \(message)" }
}
