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
  func write(to writer: inout JSONWriter, path: [JSONValue]? = nil) {
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
      JSONValue.array(path).write(to: &writer)
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
    var result = ""
    var rest = self[...]
    while let open = rest.firstIndex(of: "'") {
      result += rest[..<open]
      let quoted = rest[rest.index(after: open)...]
      guard let close = quoted.firstIndex(of: "'"), quoted[..<close].allSatisfy(isPartOfName)
      else {
        result += "'"
        rest = quoted
        continue
      }
      result += "\"\(quoted[..<close])\""
      rest = quoted[quoted.index(after: close)...]
    }
    return result + rest
  }
}

private func isPartOfName(_ character: Character) -> Bool {
  let isAlphanumeric = character.isASCII && (character.isLetter || character.isNumber)
  return isAlphanumeric || "_![]@$. {}".contains(character)
}
