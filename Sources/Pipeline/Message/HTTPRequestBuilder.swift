import GQLRunCache
import GQLRunJSON
import GQLRunLanguage
import GQLRunSupport
import HTTPTypes
import Synchronization

/// Builds HTTP requests from GraphQL requests.
///
/// https://graphql.github.io/graphql-over-http/draft/
final class HTTPRequestBuilder: Sendable {
  let endpoint: Endpoint
  /// A GET with a longer path and query is sent as POST.
  static let maxURLLength = 8_000
  /// What carries subscriptions, as far as an answer of the endpoint has shown it; shared by all operations of a runner.
  private let transport = Atomic(Transport.none)
  /// Whether the endpoint has refused the method QUERY.
  private let refusesQuery = Atomic(false)
  /// The head of a POST without header fields of its own, as most requests have it.
  private let plainPost: HTTPRequest

  init(endpoint: Endpoint) {
    self.endpoint = endpoint
    plainPost = Self.head(
      .post, target: endpoint.target(for: .query, isSocket: false), fields: Self.postFields,
      added: [endpoint.headers])
  }

  private static let postFields: HTTPFields = [.contentType: "application/json"]

  /// The media types of results, and those of event streams, which only subscriptions accept: some servers would
  /// answer a query with them. A compressed event stream may be delayed by its compression.
  private static let accept = "application/graphql-response+json, application/json;q=0.9"
  private var eventFields: HTTPFields {
    let types = ["text/event-stream", "multipart/mixed;subscriptionSpec=1.0"]
    let wanted =
      switch endpoint.subscriptions?.transport {
      case .sse: types[0]
      case .multipart: types[1]
      default: types.joined(separator: ", ")
      }
    return [
      .contentType: "application/json", .acceptEncoding: "identity",
      .accept: "\(wanted), \(Self.accept)",
    ]
  }

  /// For operations with `@defer` or `@stream`. Other operations do not accept responses in parts.
  private static let acceptParts =
    "multipart/mixed;incrementalSpec=v0.2, multipart/mixed;deferSpec=20220824, \(accept)"

  /// The message for a request.
  ///
  /// - Throws: `ChainError` if the connection parameters need a value that the request does not have.
  func message(for request: GraphQLRequest) throws(ChainError) -> HTTPRequestMessage {
    if usesSocket(for: request) {
      guard request.uploads.isEmpty else {
        throw ChainError(
          notSent: .invalidRequest,
          "files cannot be sent over WebSocket; use an endpoint with http:// or https://")
      }
      return try socket(request)
    }
    guard request.uploads.isEmpty else { return multipart(request) }
    guard request.operationType == .query else { return post(request) }
    switch request.method ?? endpoint.method {
    case .get:
      let path = path(for: request)
      return path.utf8.count <= Self.maxURLLength ? get(path, request) : post(request)
    case .post: return post(request)
    case .query:
      return post(request, as: refusesQuery.load(ordering: .relaxed) ? .post : .query)
    }
  }

  /// The message by POST for a query whose method or URL the endpoint has refused; `nil` if the status does not mean
  /// this. A refused method is remembered.
  func post(
    insteadOf message: HTTPRequestMessage, for request: GraphQLRequest, after status: Int
  ) -> HTTPRequestMessage? {
    guard message.webSocket == nil else { return nil }
    switch (message.head.method, status) {
    case (.query, 405), (.query, 501): refusesQuery.store(true, ordering: .relaxed)
    // The URL is too long for this server.
    case (.get, 414): break
    default: return nil
    }
    return post(request)
  }

  /// A message with the request in its body.
  private func post(
    _ request: GraphQLRequest, as method: HTTPRequest.Method = .post
  ) -> HTTPRequestMessage {
    var fields = Self.postFields
    let isSubscription = request.operationType == .subscription
    // With one event stream for all subscriptions, the answer has no events.
    let isOnSharedStream = isSubscription && usesSharedStream
    if isSubscription, !isOnSharedStream {
      fields = eventFields
    } else if !isSubscription, request.operation?.hasDeferredParts == true {
      fields[.accept] = Self.acceptParts
    }
    let isPlain =
      !isSubscription && request.additionalHeaders.isEmpty && fields[.accept] == nil
      && method == .post
    var message = HTTPRequestMessage(
      head: isPlain ? plainPost : head(method, for: request, fields: fields),
      body: body(of: request))
    if isOnSharedStream { message.eventStream = EventStreamRequest() }
    return message
  }

  private var usesSharedStream: Bool {
    guard let subscriptions = endpoint.subscriptions else { return false }
    return subscriptions.transport == .sse && subscriptions.usesSingleConnection
  }

  /// Servers that prevent cross-site request forgery refuse forms without one of these fields.
  private static let preflightFields = [
    "Apollo-Require-Preflight", "GraphQL-Preflight", "GraphQL-Require-Preflight",
  ].compactMap { HTTPField.Name($0) }

  private func multipart(_ request: GraphQLRequest) -> HTTPRequestMessage {
    let multipart = MultipartBody(operations: body(of: request), uploads: request.uploads)
    var fields: HTTPFields = [.contentType: multipart.contentType]
    for name in Self.preflightFields { fields[name] = "1" }
    var head = head(.post, for: request, fields: fields)
    // A field of the endpoint would lack the boundary.
    head.headerFields[.contentType] = multipart.contentType
    var message = HTTPRequestMessage(head: head)
    message.multipart = multipart
    return message
  }

  /// The JSON text of ``members(of:)``.
  private func body(of request: GraphQLRequest) -> [UInt8] {
    var writer = JSONWriter()
    writer.reserveCapacity(request.document.utf8.count + 256)
    writer.beginObject()
    Self.forEachMember(of: request) { key, value in
      writer.key(key)
      value.write(to: &writer)
    }
    writer.endObject()
    return writer.takeBytes()
  }

  private func get(_ path: String, _ request: GraphQLRequest) -> HTTPRequestMessage {
    var fields = HTTPFields()
    if request.operation?.hasDeferredParts == true { fields[.accept] = Self.acceptParts }
    // Servers that prevent cross-site request forgery refuse a GET without such a field.
    if let preflight = HTTPField.Name("Apollo-Require-Preflight") { fields[preflight] = "true" }
    var head = head(.get, for: request, fields: fields)
    head.path = path
    return HTTPRequestMessage(head: head)
  }

  private func head(
    _ method: HTTPRequest.Method, for request: GraphQLRequest, isSocket: Bool = false,
    fields: HTTPFields
  ) -> HTTPRequest {
    Self.head(
      method, target: endpoint.target(for: request.operationType, isSocket: isSocket),
      fields: fields, added: [endpoint.headers, request.additionalHeaders])
  }

  private static func head(
    _ method: HTTPRequest.Method, target: Endpoint.Target, fields: HTTPFields, added: [HTTPFields]
  ) -> HTTPRequest {
    var fields = fields
    let isSocket = Endpoint.webSocketSchemes.contains(target.scheme)
    if fields[.accept] == nil, !isSocket { fields[.accept] = accept }
    for added in added { fields.merge(added) }
    return HTTPRequest(
      method: method, scheme: target.scheme, authority: target.authority, path: target.path,
      headerFields: fields)
  }

  private enum Transport: UInt8, AtomicRepresentable {
    case none, http, socket
  }

  private var choice: Transport {
    get { transport.load(ordering: .relaxed) }
    set { transport.store(newValue, ordering: .relaxed) }
  }

  private func usesSocket(for request: GraphQLRequest) -> Bool {
    let (type, choice) = (request.operationType, choice)
    if type == .subscription, choice != .none { return choice == .socket }
    return !endpoint.subprotocols(for: type).isEmpty
  }

  /// Whether neither URL nor pipeline says how subscriptions are sent.
  private var isTransportOpen: Bool {
    !endpoint.isWebSocket && endpoint.subscriptions?.transport ?? .auto == .auto
  }

  /// Whether a subscription that was sent over HTTP may be sent over WebSocket, too: the transport is not declared,
  /// not chosen by a header field, and WebSocket was not refused before.
  func mayUseSocket(insteadOf message: HTTPRequestMessage) -> Bool {
    isTransportOpen && choice == .none && message.webSocket == nil
      && message.eventStream == nil
      && message.head.headerFields[.accept] == eventFields[.accept]
  }

  /// Whether a status is about credentials or the server's load, and not about the transport of a subscription.
  static func isOfAnyTransport(_ status: Int) -> Bool {
    [401, 403, 407, 408, 425, 429].contains(status) || status >= 500 && status != 501
  }

  /// Notes that the server sends events over HTTP.
  func noteStream() { choice = .http }

  /// Notes that the server sends events over WebSocket.
  func noteSocket() { choice = .socket }

  /// Notes that the server opens no WebSocket connection, if that is what the error means.
  func noteNoSocket(_ error: ChainError) {
    if error.code == .webSocketRefused, error.refusesWebSocket { choice = .http }
  }

  /// The head is that of the handshake, and the body is the payload of the operation.
  func socket(_ request: GraphQLRequest) throws(ChainError) -> HTTPRequestMessage {
    let type = request.operationType
    let declared = endpoint.subprotocols(for: type)
    var message = HTTPRequestMessage(
      head: head(.get, for: request, isSocket: true, fields: [:]), body: body(of: request))
    message.webSocket = WebSocketRequest(
      subprotocols: declared.isEmpty
        ? Endpoint.Subscriptions.Transport.auto.subprotocols : declared,
      connectionParameters: try endpoint.subscriptions?.connectionParameters?.json(for: request),
      isSubscription: type == .subscription)
    return message
  }

  /// The message for another attempt over HTTP, if the transport may be chosen and the server has opened no
  /// WebSocket connection. The choice is remembered.
  func fallback(
    for request: GraphQLRequest, after error: ChainError
  ) throws(ChainError) -> HTTPRequestMessage? {
    guard request.operationType == .subscription, isTransportOpen,
      error.code == .webSocketRefused, error.refusesWebSocket
    else { return nil }
    choice = .http
    return try message(for: request)
  }

  func members(of request: GraphQLRequest) -> JSONObject {
    var members = JSONObject()
    Self.forEachMember(of: request) { members[$0] = $1 }
    return members
  }

  /// Calls a closure with the members of the protocol that the request has, in order; a URL that has an empty one would
  /// differ from that of the same request without it.
  private static func forEachMember(
    of request: GraphQLRequest, _ body: (_ key: String, _ value: JSONValue) -> Void
  ) {
    func name() {
      if let name = request.operationName, !name.isEmpty { body("operationName", .string(name)) }
    }
    func variables() {
      if !request.variables.isEmpty { body("variables", .object(request.variables)) }
    }
    if let id = request.documentID {
      // The order in which the draft wants them in URLs.
      body("documentId", .string(id))
      name()
      variables()
    } else {
      if request.sendsDocument { body("query", .string(request.document)) }
      variables()
      name()
    }
    if let onError = request.onError { body("onError", .string(onError.rawValue.uppercased())) }
    if !request.extensions.isEmpty { body("extensions", .object(request.extensions)) }
  }

  /// The endpoint's path with the request as its query. Objects are in canonical form, so that
  /// equal requests have equal URLs and can be cached by proxies.
  private func path(for request: GraphQLRequest) -> String {
    let query = members(of: request).map { member in
      let value = member.value.stringValue ?? member.value.canonicalText
      return "\(QuotedText.url(member.key))=\(QuotedText.url(value))"
    }
    return endpoint.path + (endpoint.path.contains("?") ? "&" : "?") + query.joined(separator: "&")
  }
}

extension HTTPResponseMessage {
  /// The most bytes of a single result that are read to see whether it has data.
  private static let maxLookahead = 64 << 10

  private var mediaType: String {
    // Scalars: a semicolon and a combining character after it are one `Character`.
    let type = (head.headerFields[.contentType] ?? "").unicodeScalars.prefix { $0 != ";" }
    return String(type).lowercased().filter { !$0.isWhitespace }
  }

  /// Whether the body is a stream of events.
  package var isStream: Bool {
    deliversResults || ["text/event-stream", "multipart/mixed"].contains(mediaType)
  }

  /// Whether the body is a single result with data, or too long to see. The body can be read as before.
  mutating func hasResult() async throws -> Bool {
    let type = mediaType
    guard ["", "application/json", "text/json"].contains(type) || type.hasSuffix("+json") else {
      return false
    }
    let (bytes, isWhole) = try await takeBeginning(Self.maxLookahead)
    guard isWhole, let result = try? JSONValue(parsing: bytes) else { return true }
    return result["data"].map { $0 != .null } ?? false
  }
}

extension ChainError {
  /// Whether the status means that the server does not take subscriptions this way.
  var refusesStream: Bool {
    guard code == .httpStatus, let status = http?.status else { return false }
    return status >= 400 && !HTTPRequestBuilder.isOfAnyTransport(status)
  }

  /// Whether the status of a refused handshake is about WebSocket. Some servers answer 403 where they have no WebSocket.
  fileprivate var refusesWebSocket: Bool {
    guard let status = http?.status else { return true }
    return status == 403 || !HTTPRequestBuilder.isOfAnyTransport(status)
  }
}
