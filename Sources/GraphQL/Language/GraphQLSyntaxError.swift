/// A text that is not GraphQL: what is wrong, and where.
///
/// The messages are those of the reference implementation (graphql-js, graphql-core).
public struct GraphQLSyntaxError: Error, Sendable, Hashable, CustomStringConvertible {
  /// For example `Syntax Error: Expected Name, found <EOF>.`
  public var message: String
  public var location: SourceLocation

  public init(message: String, location: SourceLocation) {
    self.message = message
    self.location = location
  }

  /// `line:column: message`, the way compilers and editors write it.
  public var description: String { "\(location.line):\(location.column): \(message)" }
}
