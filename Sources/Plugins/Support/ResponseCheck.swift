import GQLRunJSON
import GQLRunPipeline
import HTTPTypes

/// Checks by status and content type whether a response can be parsed as GraphQL.
///
/// https://graphql.github.io/graphql-over-http/draft/#sec-Processing-a-response
enum ResponseCheck {
  /// The number of bytes of a rejected body that are kept for the message.
  static let keptBytes = 1024

  /// The values of most servers, with their types.
  private static let usual: KeyValuePairs = [
    "application/json": "application/json",
    "application/json; charset=utf-8": "application/json",
    "application/graphql-response+json": "application/graphql-response+json",
    "application/graphql-response+json; charset=utf-8": "application/graphql-response+json",
  ]

  static func mediaType(_ head: HTTPResponse) -> String? { mediaType(head.headerFields) }

  static func mediaType(_ fields: HTTPFields) -> String? {
    guard let text = fields.only(.contentType) else { return nil }
    if let type = usual.first(where: { $0.key == text })?.value { return type }
    // Scalars: a semicolon and a combining character after it are one `Character`.
    let type = String(text.unicodeScalars.prefix { $0 != ";" })
    return type.lowercased().filter { !$0.isWhitespace }
  }

  /// Whether a body is text for people, by its type.
  static func isPlainText(_ fields: HTTPFields) -> Bool {
    ["text/plain", "text/html"].contains(mediaType(fields))
  }

  /// Rejects a response whose content type is not JSON. A response without one is accepted.
  static func requireJSON(_ response: HTTPResponseMessage, location: String) async throws {
    let coding = response.head.headerFields.only(.contentEncoding)
    guard
      coding.map({ ["gzip", "x-gzip", "deflate", "identity", ""].contains($0.lowercased()) })
        ?? true
    else {
      throw ChainError(
        .transport, code: .malformedResponse,
        message: "the body is encoded as \(coding ?? ""), where gzip or deflate was requested",
        entry: location, delivery: .answered)
    }
    guard let type = mediaType(response.head), !type.isEmpty else { return }
    let isJSON =
      type == "application/json" || type == "text/json" || type.hasSuffix("+json")
    guard !isJSON else { return }
    throw try await refusal(
      response, code: .unexpectedContentType,
      message:
        "the server answered \(response.head.status.shown) of type \(type), where JSON was requested",
      location: location)
  }

  /// The error for a response that is not parsed, with the first line of its body.
  static func refusal(
    _ response: HTTPResponseMessage, code: ChainError.Code, message: String, location: String
  ) async throws -> ChainError {
    // A secret that begins in the kept part is read to its end, in its longest encoding, and hidden
    // as a whole.
    let more = (response.secrets.map { $0.reveal().utf8.count }.max() ?? 0) * 6
    let beginning = try await beginning(of: response.body, keptBytes + more)
    let shown = SecretHiding(response.secrets).text(String(decoding: beginning, as: UTF8.self))
    let prefix = Array(shown.utf8.prefix(keptBytes))
    return ChainError(
      .transport, code: code,
      message: message + (ChainError.quoted(of: prefix).map { ": \($0)" } ?? ""), entry: location,
      http: .init(
        status: response.head.status.code, headers: response.head.headerFields, bodyPrefix: prefix),
      delivery: .answered)
  }

  /// The first bytes of a body, as far as they arrive. The rest stays unread, which closes the
  /// connection.
  private static func beginning(of body: HTTPBody, _ count: Int) async throws -> [UInt8] {
    var bytes: [UInt8] = []
    do {
      for try await chunk in body {
        chunk.withUnsafeBytes { bytes.append(contentsOf: $0.prefix(count - bytes.count)) }
        if bytes.count == count { break }
      }
    } catch let error as CancellationError {
      throw error
    } catch {
      // The status matters more than the failure to read its explanation.
    }
    return bytes
  }
}

extension HTTPResponse {
  /// The target of a redirect for messages.
  var shownLocation: Substring? {
    headerFields[.location].map { Self.shown(location: $0).prefix(200) }
  }

  /// The target of a redirect without its query and fragment, which may contain keys, and without user and password.
  static func shown(location: String) -> String {
    let shown = String(location.unicodeScalars.prefix { $0 != "?" && $0 != "#" })
    guard let start = shown.firstRange(of: "//")?.upperBound,
      let at = shown[start...].prefix(while: { $0 != "/" }).lastIndex(of: "@")
    else { return shown }
    return "\(shown[..<start])\(SecretString.redacted)\(shown[at...])"
  }
}

extension HTTPFields {
  /// The value of a field, as the subscript returns it. Most fields occur once; this builds no
  /// index.
  func only(_ name: HTTPField.Name) -> String? {
    var found: String?
    for field in self where field.name == name {
      if found != nil { return self[name] }
      found = field.value
    }
    return found
  }
}

extension GraphQLError {
  /// The errors of a response.
  static func all(in response: JSONValue) -> [GraphQLError] {
    (response["errors"]?.arrayValue ?? []).map { GraphQLError($0) }
  }
}

extension ChainError {
  /// The GraphQL errors in the kept part of a rejected response's body.
  ///
  /// The body is not trusted as a result, but its errors about persisted queries and credentials
  /// are used.
  var refusedErrors: [GraphQLError] {
    (refusedResponses ?? []).flatMap { GraphQLError.all(in: $0) }
  }

  /// The responses in the kept part of the body; `nil` if it is no JSON, as one that was cut.
  private var refusedResponses: [JSONValue]? {
    // The response to an HTTP batch is an array.
    http.flatMap { try? JSONValue(parsing: $0.bodyPrefix) }.map { $0.arrayValue ?? [$0] }
  }

  /// Whether the kept part of the body shows that the operation was executed, at least in part: it has data, or an
  /// error of a field.
  var showsExecution: Bool {
    guard let prefix = http?.bodyPrefix else { return false }
    if let refusedResponses {
      return refusedResponses.contains { response in
        if let data = response["data"], data != .null { return true }
        return GraphQLError.all(in: response).contains { $0.path != nil }
      }
    }
    // A long body was cut. Quotation marks in texts are escaped, so that this finds members only.
    let text = String(decoding: prefix, as: UTF8.self).filter { !$0.isWhitespace }
    return text.contains("\"path\":[")
      || text.ranges(of: "\"data\":").contains { !text[$0.upperBound...].hasPrefix("null") }
  }

  /// Whether the errors of the body are about the whole request: none has a location, a path, or a code that is not
  /// `BAD_REQUEST`.
  var refusesRequest: Bool {
    let errors = refusedErrors
    return !errors.isEmpty
      && errors.allSatisfy {
        $0.path == nil && $0.locations.isEmpty && ($0.code == nil || $0.code == "BAD_REQUEST")
      }
  }
}
