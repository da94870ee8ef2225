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

  /// Writes the error as an object of `errors`, with the path of its field.
  func write(to writer: inout JSONWriter, path: [PathElement]? = nil) {
    writer.beginObject()
    writer.key("message")
    writer.writeString(message)
    if !locations.isEmpty {
      writer.key("locations")
      writer.beginArray()
      for location in locations {
        writer.beginObject()
        writer.key("line")
        writer.writeNumber(location.line)
        writer.key("column")
        writer.writeNumber(location.column)
        writer.endObject()
      }
      writer.endArray()
    }
    if let path {
      writer.key("path")
      writer.beginArray()
      for element in path {
        switch element {
        case .key(let key): writer.writeString(key)
        case .index(let index): writer.writeNumber(index)
        }
      }
      writer.endArray()
    }
    writer.key("extensions")
    writer.beginObject()
    writer.key("code")
    writer.writeString(code)
    writer.endObject()
    writer.endObject()
  }

  /// A complete response with errors and without data.
  static func response(_ errors: [RequestError]) -> [UInt8] {
    var writer = JSONWriter()
    writer.beginObject()
    writer.key("errors")
    writer.beginArray()
    for error in errors { error.write(to: &writer) }
    writer.endArray()
    writer.endObject()
    return writer.bytes
  }
}

/// A response key or list index of a path.
enum PathElement: Sendable, Hashable {
  case key(String)
  case index(Int)
}
