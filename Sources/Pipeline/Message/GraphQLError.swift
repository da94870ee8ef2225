public import GQLRunCache
public import GQLRunJSON
import GQLRunLanguage
import GQLRunSupport

/// An error that a GraphQL server put into its response.
///
/// https://spec.graphql.org/September2025/#sec-Errors
public struct GraphQLError: Error, Sendable, Hashable {
  public var message: String
  /// Where in the response it happened; `nil` when the server does not say.
  public var path: [PathElement]?
  /// Where in the document; line and column are counted from 1.
  public var locations: [Location]
  public var extensions: JSONObject?
  /// What GitHub says beside the members of the specification: `RATE_LIMITED`, `NOT_FOUND`.
  public var type: String?

  public init(
    message: String, path: [PathElement]? = nil, locations: [Location] = [],
    extensions: JSONObject? = nil
  ) {
    self.message = message
    self.path = path
    self.locations = locations
    self.extensions = extensions
  }

  /// Reads an element of a response's `errors`. What is not as the specification has it is left
  /// out: servers differ, and an error is worth showing whatever its shape.
  public init(_ value: JSONValue) {
    self.init(
      message: value["message"]?.stringValue ?? value.stringValue ?? "an error without a message",
      path: value["path"]?.arrayValue?.compactMap { element in
        element.stringValue.map(PathElement.key) ?? element.intValue.map(PathElement.index)
      },
      locations: (value["locations"]?.arrayValue ?? []).compactMap { location in
        guard let line = location["line"]?.intValue, let column = location["column"]?.intValue
        else { return nil }
        return Location(line: line, column: column)
      },
      extensions: value["extensions"]?.objectValue)
    type = value["type"]?.stringValue
  }

  /// `extensions.code`
  public var code: String? { extensions?["code"]?.stringValue }

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

extension GraphQLError {
  /// The error of a response to `request`, with its locations in the document that the caller wrote.
  ///
  /// Servers locate errors in the document they got, which is printed anew and has identifying fields that
  /// the caller did not ask for. An error without locations costs nothing here. Locations stay as they are
  /// when the request is not that of `operation`.
  public func located(in operation: PreparedOperation, sentBy request: GraphQLRequest)
    -> GraphQLError
  {
    guard !locations.isEmpty, operation.document.utf8.elementsEqual(request.document.utf8) else {
      return self
    }
    var error = self
    error.locations = locations.map { location in
      let source = operation.sourceLocation(ofSentLine: location.line, column: location.column)
      return source.map { Location(line: $0.line, column: $0.column) } ?? location
    }
    return error
  }
}

extension GraphQLError {
  /// The error as a message, with its first location in the file that the document was read from:
  /// `country: not allowed [FORBIDDEN] (country.graphql:3:5)`.
  ///
  /// - Parameter file: The name of the file; without one, ``description``.
  public func description(in file: String?) -> String {
    guard let file, let location = locations.first else { return description }
    return description + Printable.line(" (\(file):\(location.line):\(location.column))")
  }
}

extension GraphQLError: CustomStringConvertible {
  /// "viewer.repos.0: not allowed [FORBIDDEN]"
  public var description: String {
    let place = path.map { "\($0.map(\.description).joined(separator: ".")): " } ?? ""
    return Printable.line(place + message + (code.map { " [\($0)]" } ?? ""))
  }
}
