import GQLRunJSON
import GQLRunLanguage
import HTTPTypes

/// Builds HTTP requests from GraphQL requests.
///
/// https://graphql.github.io/graphql-over-http/draft/
struct HTTPRequestBuilder {
  let endpoint: Endpoint
  /// A GET with a longer path and query is sent as POST.
  var maximumURLLength = 8_000
  /// The head of a POST without header fields of its own, as most requests have it.
  private let plainPost: HTTPRequest

  init(endpoint: Endpoint) {
    self.endpoint = endpoint
    plainPost = Self.head(.post, endpoint.path, Self.postFields, endpoint, [:])
  }

  private static let postFields: HTTPFields = [.contentType: "application/json"]

  /// The media types of results, and those of event streams, which only subscriptions accept: some servers would
  /// answer a query with them. A compressed event stream may be delayed by its compression.
  private static let accept = "application/graphql-response+json, application/json;q=0.9"
  private static let eventFields: HTTPFields = [
    .contentType: "application/json", .acceptEncoding: "identity",
    .accept: "text/event-stream, multipart/mixed;subscriptionSpec=1.0, \(accept)",
  ]

  func message(for request: GraphQLRequest) -> HTTPRequestMessage {
    let wanted = request.method ?? endpoint.method
    if wanted == .get, request.operationType == .query {
      let path = path(for: request)
      if path.utf8.count <= maximumURLLength { return get(path, request) }
    }
    return post(request)
  }

  private func post(_ request: GraphQLRequest) -> HTTPRequestMessage {
    let added = request.additionalHeaders
    let fields = request.operationType == .subscription ? Self.eventFields : Self.postFields
    return HTTPRequestMessage(
      head: added.isEmpty && request.operationType != .subscription
        ? plainPost : Self.head(.post, endpoint.path, fields, endpoint, added),
      body: body(of: request))
  }

  /// The JSON text of ``members(of:)``.
  private func body(of request: GraphQLRequest) -> [UInt8] {
    // A further member may replace one of the usual members.
    guard request.bodyMembers.isEmpty else {
      return JSONValue.object(members(of: request)).jsonBytes()
    }
    var writer = JSONWriter()
    writer.reserveCapacity(request.document.utf8.count + 256)
    writer.beginObject()
    Self.forEachUsualMember(of: request) { key, value in
      writer.key(key)
      value.write(to: &writer)
    }
    writer.endObject()
    return writer.takeBytes()
  }

  private func get(_ path: String, _ request: GraphQLRequest) -> HTTPRequestMessage {
    var fields = HTTPFields()
    // Servers that prevent cross-site request forgery refuse a GET without such a field.
    if let preflight = HTTPField.Name("Apollo-Require-Preflight") { fields[preflight] = "true" }
    return HTTPRequestMessage(
      head: Self.head(.get, path, fields, endpoint, request.additionalHeaders))
  }

  private static func head(
    _ method: HTTPRequest.Method, _ path: String, _ fields: HTTPFields, _ endpoint: Endpoint,
    _ additional: HTTPFields
  ) -> HTTPRequest {
    var fields = fields
    if fields[.accept] == nil { fields[.accept] = accept }
    for added in [endpoint.headers, additional] {
      for name in Set(added.map(\.name)) {
        fields[fields: name] = added[fields: name]
      }
    }
    return HTTPRequest(
      method: method, scheme: endpoint.scheme, authority: endpoint.authority, path: path,
      headerFields: fields)
  }

  func members(of request: GraphQLRequest) -> JSONObject {
    var members = JSONObject()
    Self.forEachUsualMember(of: request) { members[$0] = $1 }
    for member in request.bodyMembers { members[member.key] = member.value }
    return members
  }

  /// Calls a closure with the members that the protocol defines, in order.
  private static func forEachUsualMember(
    of request: GraphQLRequest, _ body: (_ key: String, _ value: JSONValue) -> Void
  ) {
    if request.sendsDocument { body("query", .string(request.document)) }
    if !request.variables.isEmpty { body("variables", .object(request.variables)) }
    if let name = request.operationName { body("operationName", .string(name)) }
    if !request.extensions.isEmpty { body("extensions", .object(request.extensions)) }
  }

  /// The endpoint's path with the request as its query. Objects are in canonical form, so that
  /// equal requests have equal URLs and can be cached by proxies.
  private func path(for request: GraphQLRequest) -> String {
    let query = members(of: request).map { member in
      let value = member.value.stringValue ?? member.value.canonicalText
      return "\(Self.percentEncoded(member.key))=\(Self.percentEncoded(value))"
    }
    return endpoint.path + (endpoint.path.contains("?") ? "&" : "?") + query.joined(separator: "&")
  }

  /// Encodes all characters but the unreserved ones, including `+` and `;`.
  ///
  /// https://www.rfc-editor.org/rfc/rfc3986#section-2.3
  private static func percentEncoded(_ text: String) -> String {
    let digits = Array("0123456789ABCDEF".utf8)
    var bytes: [UInt8] = []
    for byte in text.utf8 {
      switch byte {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E: bytes.append(byte)
      default: bytes += [0x25, digits[Int(byte >> 4)], digits[Int(byte & 15)]]
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
