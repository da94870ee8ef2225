import GQLRunJSON

/// A GraphQL-over-HTTP request: document, operation name and variables.
///
/// https://graphql.github.io/graphql-over-http/draft/#sec-Request-Parameters
struct OperationRequest: Sendable {
  /// The document; `nil` if the request has only its hash.
  var query: String?
  var operationName: String?
  var variables: JSONObject = [:]
  var extensions: JSONObject = [:]
  /// The files by the paths of their variables, such as `input.attachments.0`; null in `variables`.
  var files: [String: UploadedFile] = [:]

  /// The names of the parameters in a body or a URL.
  static let parameterNames = ["query", "operationName", "variables", "extensions"]

  init(query: String?, operationName: String? = nil, variables: JSONObject = [:]) {
    self.query = query
    self.operationName = operationName
    self.variables = variables
  }

  /// Parses the body of a POST request.
  init(body: [UInt8]) throws(RequestError) {
    let json: JSONValue
    do throws(JSONError) {
      json = try JSONValue(parsing: body)
    } catch {
      throw .badRequest("The request body is \(error).")
    }
    guard let members = json.objectValue else {
      throw .badRequest("The request body is JSON of type \(json.kind); an object is needed.")
    }
    try self.init { members[$0] }
  }

  /// Parses the payload of a message that starts an operation.
  init(payload: JSONValue?) throws(RequestError) {
    guard let members = payload?.objectValue else {
      throw .badRequest("The payload is not an object.")
    }
    try self.init { members[$0] }
  }

  /// Parses the parameters of a GET request, whose variables and extensions are JSON text.
  init(parameters: QueryParameters) throws(RequestError) {
    func json(_ name: String) throws(RequestError) -> JSONValue? {
      guard let text = parameters[name], !text.isEmpty else { return nil }
      do throws(JSONError) {
        return try JSONValue(parsing: text)
      } catch {
        throw .badRequest("The parameter \(name) is \(error).")
      }
    }
    let values = [
      "query": parameters["query"].map(JSONValue.string),
      "operationName": parameters["operationName"].map(JSONValue.string),
      "variables": try json("variables"),
      "extensions": try json("extensions"),
    ]
    try self.init { values[$0] ?? nil }
  }

  private init(_ parameter: (String) -> JSONValue?) throws(RequestError) {
    query = try Self.text(parameter("query"), "query")
    operationName = try Self.text(parameter("operationName"), "operationName")
    variables = try Self.object(parameter("variables"), "variables")
    extensions = try Self.object(parameter("extensions"), "extensions")
    if operationName == "" { operationName = nil }
    if query == nil, extensions["persistedQuery"] == nil {
      throw .badRequest("The parameter query is missing.")
    }
  }

  private static func text(
    _ value: JSONValue?, _ name: String
  ) throws(RequestError) -> String? {
    switch value {
    case nil, .null: return nil
    case .string(let text): return text
    case let value?: throw .badRequest("The parameter \(name) is a \(value.kind), not a string.")
    }
  }

  private static func object(
    _ value: JSONValue?, _ name: String
  ) throws(RequestError) -> JSONObject {
    switch value {
    case nil, .null: return [:]
    case .object(let object): return object
    case let value?: throw .badRequest("The parameter \(name) is a \(value.kind), not an object.")
    }
  }
}
