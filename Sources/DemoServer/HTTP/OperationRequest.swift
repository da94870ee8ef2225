import Foundation
import GQLRunCrypto
import GQLRunJSON
import GQLRunSupport

/// A GraphQL-over-HTTP request: document, operation name and variables.
///
/// https://graphql.github.io/graphql-over-http/draft/#sec-Request-Parameters
struct OperationRequest: Sendable {
  /// The document; `nil` if the request has only its hash or its identifier.
  var query: String?
  /// The identifier of a persisted document.
  var documentID: String?
  var operationName: String?
  var variables: JSONObject = [:]
  var extensions: JSONObject = [:]
  var onError = ErrorBehaviour.propagate
  /// The files by the paths of their variables, such as `input.attachments.0`; null in `variables`.
  var files: [String: UploadedFile] = [:]

  /// The names of the parameters in a body or a URL.
  static let parameterNames = [
    "query", "documentId", "operationName", "variables", "extensions", "onError",
  ]
}

extension OperationRequest {
  /// Parses the body of a POST request.
  init(body: [UInt8]) throws(RequestError) {
    let json: JSONValue
    do throws(JSONError) {
      json = try JSONValue(parsing: body)
    } catch {
      throw RequestError(.invalidJSON, "The request body is \(error).")
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
      "documentId": parameters["documentId"].map(JSONValue.string),
      "operationName": parameters["operationName"].map(JSONValue.string),
      "variables": try json("variables"),
      "extensions": try json("extensions"),
      "onError": parameters["onError"].map(JSONValue.string),
    ]
    try self.init { values[$0] ?? nil }
  }

  private init(_ parameter: (String) -> JSONValue?) throws(RequestError) {
    query = try Self.text(parameter("query"), "query")
    documentID = try Self.text(parameter("documentId"), "documentId")
    operationName = try Self.text(parameter("operationName"), "operationName")
    variables = try Self.object(parameter("variables"), "variables")
    extensions = try Self.object(parameter("extensions"), "extensions")
    onError = try ErrorBehaviour(parameter: parameter("onError"))
    if operationName == "" { operationName = nil }
    if query == nil, documentID == nil, extensions["persistedQuery"] == nil {
      throw .badRequest("The parameter query is missing.")
    }
    if query != nil, documentID != nil {
      throw .badRequest("The parameters query and documentId exclude each other.")
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

/// The parameters in a URL's query, with form encoding: both `+` and `%20` are a space.
struct QueryParameters: Sendable {
  /// In the order of the URL.
  private(set) var all: [(name: String, value: String)] = []

  /// Parses the text between `?` and `#`. A text with invalid escapes is kept as it is.
  init(_ query: String?) {
    for part in (query ?? "").split(separator: "&") {
      let sides = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        .map { text in
          let text = text.replacing("+", with: " ")
          return text.removingPercentEncoding ?? String(text)
        }
      all.append((sides[0], sides.count > 1 ? sides[1] : ""))
    }
  }

  /// The first parameter with this name.
  subscript(name: String) -> String? {
    all.first { $0.name == name }?.value
  }
}

/// The documents that the server was given, and those that clients have registered by hash: automatic persisted queries.
///
/// A request refers to a document with `documentId` or `extensions.persistedQuery`; with the latter and the document, it
/// registers it. Stored in memory with a limit, so a client may have to register a document again.
///
/// https://github.com/graphql/graphql-over-http/pull/264
final class PersistedQueries: Sendable {
  static let maxDocuments = 256
  static let maxDocumentBytes = 64 << 10

  private static let prefix = "sha256:"

  /// The registered documents, by their hashes.
  private let documents = Locked<[String: String]>([:])
  /// The documents that the server was given, by their identifiers: those it was given for them, and their hashes.
  private let known: [String: String]

  /// - Parameter known: The documents that the server is given, by their identifiers.
  init(known: [String: String] = [:]) {
    let hashed = known.values.map {
      (Self.prefix + QuotedText.hexadecimal(HashFunction.sha256.hash($0)), $0)
    }
    self.known = known.merging(hashed) { given, _ in given }
  }

  /// The document of a request, after registering it or looking it up by its identifier or hash.
  func document(of request: OperationRequest) throws(RequestError) -> String {
    if let id = request.documentID {
      guard let document = document(identifiedBy: id) else {
        throw RequestError(.persistedDocumentNotFound, "The server does not know the document.")
      }
      return document
    }
    guard let entry = request.extensions["persistedQuery"] else {
      guard let query = request.query else {
        throw .badRequest("The parameter query is missing.")
      }
      return query
    }
    guard entry["version"]?.intValue == 1, let hash = entry["sha256Hash"]?.stringValue else {
      throw RequestError(
        .badUserInput, "extensions.persistedQuery needs the version 1 and a sha256Hash.")
    }
    guard let query = request.query else {
      guard let known = document(identifiedBy: Self.prefix + hash) else {
        throw RequestError(.persistedQueryNotFound, "PersistedQueryNotFound")
      }
      return known
    }
    guard QuotedText.hexadecimal(HashFunction.sha256.hash(query)) == hash else {
      throw RequestError(.badUserInput, "provided sha does not match query")
    }
    if query.utf8.count <= Self.maxDocumentBytes {
      documents.withLock { documents in
        if documents.count >= Self.maxDocuments { documents.removeAll() }
        documents[hash] = query
      }
    }
    return query
  }

  private func document(identifiedBy id: String) -> String? {
    if let document = known[id] { return document }
    guard id.hasPrefix(Self.prefix) else { return nil }
    let hash = String(id.dropFirst(Self.prefix.count))
    return documents.withLock { $0[hash] }
  }
}
