/// An error that a GraphQL server put into its response.
///
/// https://spec.graphql.org/September2025/#sec-Errors
public struct GraphQLError: Error, Sendable, Hashable {
  public var message: String
  /// Where in the response it happened; `nil` when the server does not say.
  public var path: [PathElement]?
  /// Where in the document; line and column are counted from 1.
  public var locations: [Location]
  /// A JSON object.
  public var extensions: JSONText?
  /// `extensions.code`
  public var code: String?

  public init(
    message: String, path: [PathElement]? = nil, locations: [Location] = [],
    extensions: JSONText? = nil, code: String? = nil
  ) {
    self.message = message
    self.path = path
    self.locations = locations
    self.extensions = extensions
    self.code = code
  }

  public enum PathElement: Sendable, Hashable, CustomStringConvertible {
    case key(String)
    case index(Int)

    public var description: String {
      switch self {
      case .key(let key): key
      case .index(let index): String(index)
      }
    }
  }

  public struct Location: Sendable, Hashable {
    public var line: Int
    public var column: Int

    public init(line: Int, column: Int) {
      self.line = line
      self.column = column
    }
  }
}

extension GraphQLError: CustomStringConvertible {
  /// "viewer.repos.0: not allowed [FORBIDDEN]"
  public var description: String {
    let place = path.map { "\($0.map(\.description).joined(separator: ".")): " } ?? ""
    return Printable.line(place + message + (code.map { " [\($0)]" } ?? ""))
  }
}
