public import GQLRunJSON

/// A GraphQL error: an entry of a response's `errors`.
///
/// https://spec.graphql.org/September2025/#sec-Errors
public struct GraphQLError: Error, Sendable, Hashable {
  /// The message of the server.
  public var message: String
  /// The path of the field in the response; `nil` if the server sent none.
  public var path: [PathElement]?
  /// The locations in the document.
  public var locations: [Location]
  /// The `extensions` of the error; `nil` if the server sent none.
  public var extensions: JSONObject?
  /// GitHub's kind of error, such as `RATE_LIMITED` or `NOT_FOUND`; not part of the specification.
  public var type: String?

  /// Creates an error.
  ///
  /// - Parameters:
  ///   - message: The message.
  ///   - path: The path of the field in the response.
  ///   - locations: The locations in the document.
  ///   - extensions: The `extensions` of the error.
  public init(
    message: String, path: [PathElement]? = nil, locations: [Location] = [],
    extensions: JSONObject? = nil
  ) {
    self.message = message
    self.path = path
    self.locations = locations
    self.extensions = extensions
  }

  /// Parses an element of a response's `errors`.
  ///
  /// Ignores members that do not follow the specification: servers differ, and every error is worth
  /// showing.
  ///
  /// - Parameter value: The element, of any kind.
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

  /// The string `extensions.code`, such as `FORBIDDEN`; `nil` if there is none.
  public var code: String? { extensions?["code"]?.stringValue }

  /// A step of a path: a response key or a list index.
  public enum PathElement: Sendable, Hashable, CustomStringConvertible {
    /// A response key.
    case key(String)
    /// The index of a list element, from 0.
    case index(Int)

    /// The key or the index as text.
    public var description: String {
      switch self {
      case .key(let key): key
      case .index(let index): String(index)
      }
    }
  }

  /// A location in a document.
  public struct Location: Sendable, Hashable {
    /// The line, from 1.
    public var line: Int
    /// The column, from 1.
    public var column: Int

    /// Creates a location.
    ///
    /// - Parameters:
    ///   - line: The line, from 1.
    ///   - column: The column, from 1.
    public init(line: Int, column: Int) {
      self.line = line
      self.column = column
    }
  }
}

/// The error of a field, which a generated type has where the operation catches it: an entry of the response's
/// `errors` with the path of the field.
///
/// ```swift
/// switch country.capital {
/// case .success(let capital): print(capital)
/// case .failure(let error): print(error.message)
/// }
/// ```
public typealias FieldError = GraphQLError
