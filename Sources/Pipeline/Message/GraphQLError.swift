public import GQLRunCache
public import GQLRunJSON
import GQLRunLanguage
import GQLRunSupport

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

extension GraphQLError {
  /// The error of a response to `request`, with locations in the document that the caller wrote.
  ///
  /// Servers locate errors in the document they received, which is reformatted and has added key
  /// fields. If a server refuses an empty selection set because it is of an older edition, the message has the reason
  /// and what to write instead. Costs nothing for an error without locations.
  ///
  /// - Parameters:
  ///   - operation: The operation of the caller.
  ///   - request: The request as it was sent. Locations do not change if it has another document.
  public func located(in operation: PreparedOperation, sentBy request: GraphQLRequest)
    -> GraphQLError
  {
    guard !locations.isEmpty || operation.hasEmptySelectionSets,
      operation.document.utf8.elementsEqual(request.document.utf8)
    else { return self }
    var error = self
    if let hint = emptySelectionSetHint(in: operation, sentBy: request) {
      error.message += " (\(hint))"
    }
    error.locations = locations.map { location in
      let source = operation.sourceLocation(ofSentLine: location.line, column: location.column)
      return source.map { Location(line: $0.line, column: $0.column) } ?? location
    }
    return error
  }

  /// Why a server of an older edition refuses the operation, and what to write instead, if that is because of an empty
  /// selection set.
  func emptySelectionSetHint(
    in operation: PreparedOperation, sentBy request: GraphQLRequest
  ) -> String? {
    guard path == nil, operation.hasEmptySelectionSets,
      operation.document.utf8.elementsEqual(request.document.utf8)
    else { return nil }
    return operation.emptySelectionSetHint(
      message: message, locations: locations.map { ($0.line, $0.column) })
  }
}

extension GraphQLError {
  /// The error with its first location in the document's file: `country: not allowed [FORBIDDEN]
  /// (country.graphql:3:5)`.
  ///
  /// - Parameter file: The name of the file; `nil` returns ``description``.
  public func description(in file: String?) -> String {
    guard let file, let location = locations.first else { return description }
    return description + Printable.line(" (\(file):\(location.line):\(location.column))")
  }
}

extension GraphQLError: CustomStringConvertible {
  /// Path, message and code: `viewer.repos.0: not allowed [FORBIDDEN]`.
  public var description: String {
    let location = path.map { "\($0.map(\.description).joined(separator: ".")): " } ?? ""
    return Printable.line(location + message + (code.map { " [\($0)]" } ?? ""))
  }
}
