import GQLRunJSON
import GQLRunLanguage

/// An error of a request or a field: an entry of the response's `errors`.
struct RequestError: Error, Sendable {
  /// The value of `extensions.code`.
  enum Code: String, Sendable {
    case badRequest = "BAD_REQUEST"
    case parseFailed = "GRAPHQL_PARSE_FAILED"
    case validationFailed = "GRAPHQL_VALIDATION_FAILED"
    case badUserInput = "BAD_USER_INPUT"
    case notFound = "NOT_FOUND"
    case unauthenticated = "UNAUTHENTICATED"
    case operationResolutionFailed = "OPERATION_RESOLUTION_FAILURE"
    case persistedQueryNotFound = "PERSISTED_QUERY_NOT_FOUND"
    case persistedQueryNotSupported = "PERSISTED_QUERY_NOT_SUPPORTED"
    case internalServerError = "INTERNAL_SERVER_ERROR"
  }

  var message: String
  /// The text of `extensions.code`.
  var code: String
  var locations: [SourceLocation] = []

  init(_ code: Code, _ message: String, at locations: [SourceLocation] = []) {
    self.init(code: code.rawValue, message, at: locations)
  }

  init(code: String, _ message: String, at locations: [SourceLocation] = []) {
    self.message = message
    self.code = code
    self.locations = locations
  }

  static func badRequest(_ message: String) -> Self { Self(.badRequest, message) }

  /// The error as an element of `errors`, with the path of its field.
  func json(path: [JSONValue]? = nil) -> JSONValue {
    var members: JSONObject = ["message": .string(message)]
    if !locations.isEmpty {
      members["locations"] = .array(
        locations.map { location in
          [
            "line": .number(JSONNumber(location.line)),
            "column": .number(JSONNumber(location.column)),
          ]
        })
    }
    members["path"] = path.map(JSONValue.array)
    members["extensions"] = ["code": .string(code)]
    return .object(members)
  }

  /// A complete response with errors and without data.
  static func response(_ errors: [RequestError]) -> [UInt8] {
    JSONValue.object(["errors": .array(errors.map { $0.json() })]).jsonBytes()
  }
}

/// Several errors.
struct RequestErrors: Error {
  let all: [RequestError]
}

extension Document {
  /// The validation errors of the document for a schema; empty if it is valid.
  ///
  /// Messages quote names as servers in JavaScript do: `Cannot query field "x" on type "Y".`
  func requestErrors(against schema: Schema) -> [RequestError] {
    validate(against: schema).map { error in
      RequestError(.validationFailed, error.message.doublyQuoted, at: error.locations)
    }
  }
}

extension String {
  /// The message with names in `"` instead of `'`.
  ///
  /// Only changes apostrophes around names and types.
  var doublyQuoted: String {
    replacing(#/'([A-Za-z0-9_!\[\]@$. {}]*)'/#) { "\"\($0.output.1)\"" }
  }
}
