public import GQLRunJSON
public import GQLRunPipeline
import GQLRunSupport
public import GQLRunTyped
public import HTTPTypes

/// A transport whose responses a test prepares: requests pass the whole chain and use no network.
///
/// ```swift
/// let transport = ScriptedTransport()
/// transport.respond(to: CountryQuery.self, with: .init(country: .init(code: "PT", name: "Portugal")))
/// var configuration = PipelineClient.Configuration()
/// configuration.transport = transport
/// let client = try await PipelineClient(
///   endpoint: "https://example.com/graphql", configuration: configuration)
/// ```
/// A response belongs to the name of an operation, not to the order of requests, so concurrent
/// requests get the same responses in every run. An operation without a response is a `ChainError`
/// with code `unscripted_operation` that names it.
public final class ScriptedTransport: HTTPTransport {
  /// Returns the response of one request. It may suspend until the test lets it continue.
  public typealias Handler =
    @Sendable (ScriptedRequest) async throws -> ScriptedResponse

  private let handlers = Locked<[String: Handler]>([:])
  private let received = Locked<[ScriptedRequest]>([])

  /// Creates a transport without responses.
  public init() {}

  /// The requests received so far, in the order of their arrival.
  public var requests: [ScriptedRequest] { received.withLock { $0 } }

  /// Answers every request of an operation with `data`.
  ///
  /// Replaces an earlier response of the operation, also while the client is in use.
  public func respond<Operation: GraphQLOperation>(
    to operation: Operation.Type, with data: Operation.Data
  ) {
    respond(to: operation) { _ in .data(data) }
  }

  /// Answers every request of an operation with what `handler` returns or throws.
  ///
  /// ```swift
  /// transport.respond(to: FeedQuery.self) { request in
  ///   request.variables["after"] == nil ? .data(firstPage) : .data(secondPage)
  /// }
  /// ```
  public func respond<Operation: GraphQLOperation>(
    to operation: Operation.Type, with handler: @escaping Handler
  ) {
    respond(to: operation.operationName, with: handler)
  }

  /// Answers every request of the operation with a name, for operations without generated types.
  public func respond(to operationName: String, with handler: @escaping Handler) {
    handlers.withLock { $0[operationName] = handler }
  }

  /// Returns the response of the operation in the body of `request`.
  ///
  /// - Throws: Errors of the handler; `ChainError` if the request has no body with an operation, or
  ///   the operation has no response.
  public func send(
    _ request: HTTPRequestMessage, limits: HTTPLimits
  ) async throws -> HTTPResponseMessage {
    guard let scripted = ScriptedRequest(request) else {
      throw ChainError(
        .transport, code: .unscriptedOperation,
        message:
          "the scripted transport answers POST requests with one operation in JSON; this request is "
          + "something else", delivery: .notSent)
    }
    received.withLock { $0.append(scripted) }
    let (handler, known) = handlers.withLock { ($0[scripted.operationName], $0.keys.sorted()) }
    guard let handler else {
      throw ChainError(
        .transport, code: .unscriptedOperation,
        message:
          "the scripted transport has no response for the operation '\(scripted.operationName)', only for "
          + (known.isEmpty ? "none" : known.joined(separator: ", "))
          + "; call respond(to:with:) before the request", delivery: .notSent)
    }
    return try await handler(scripted).message
  }
}

extension ChainError.Code {
  /// A ``ScriptedTransport`` has no response for the operation.
  public static let unscriptedOperation = Self(rawValue: "unscripted_operation")
}

/// A request that a ``ScriptedTransport`` has received.
public struct ScriptedRequest: Sendable {
  /// The name of the operation; empty if it has none.
  public var operationName: String
  /// The GraphQL document; `nil` if only its hash was sent.
  public var document: String?
  /// The variables as they were sent.
  public var variables: JSONObject
  /// The header fields, such as `authorization`.
  public var headerFields: HTTPFields

  init?(_ message: HTTPRequestMessage) {
    guard let body = message.body, let object = try? JSONValue(parsing: body).objectValue else {
      return nil
    }
    operationName = object["operationName"]?.stringValue ?? ""
    document = object["query"]?.stringValue
    variables = object["variables"]?.objectValue ?? JSONObject()
    headerFields = message.head.headerFields
  }
}

/// A response of a ``ScriptedTransport``.
public struct ScriptedResponse: Sendable {
  let status: HTTPResponse.Status
  let mediaType: String
  let chunks: [[UInt8]]

  private init(_ texts: [String], status: HTTPResponse.Status, mediaType: String) {
    self.status = status
    self.mediaType = mediaType
    chunks = texts.map { Array($0.utf8) }
  }

  /// A response with data.
  public static func data(_ data: some GraphQLObject) -> Self {
    json(#"{"data":\#(data.json.jsonText())}"#)
  }

  /// A response with a GraphQL error and without data.
  ///
  /// - Parameters:
  ///   - message: The message of the error.
  ///   - code: The member `code` of its extensions, such as `NOT_FOUND`; `nil` for none.
  public static func error(_ message: String, code: String? = nil) -> Self {
    var error: JSONObject = ["message": .string(message)]
    if let code { error["extensions"] = .object(["code": .string(code)]) }
    return json(JSONValue.object(["errors": .array([.object(error)])]).jsonText())
  }

  /// A response with a body of JSON: partial data, or the error of a gateway.
  ///
  /// - Parameters:
  ///   - text: The body.
  ///   - status: The HTTP status.
  public static func json(_ text: String, status: HTTPResponse.Status = .ok) -> Self {
    Self([text], status: status, mediaType: "application/json")
  }

  /// The response of a file.
  public static func fixture(_ fixture: Fixture) -> Self { json(fixture.text) }

  /// The events of a subscription, which the server then completes.
  public static func events(_ events: [some GraphQLObject]) -> Self {
    let texts = events.map { "event: next\ndata: {\"data\":\($0.json.jsonText())}\n\n" }
    return Self(texts + ["event: complete\ndata:\n\n"], status: .ok, mediaType: "text/event-stream")
  }

  var message: HTTPResponseMessage {
    HTTPResponseMessage(
      head: HTTPResponse(status: status, headerFields: [.contentType: mediaType]),
      body: HTTPBody(chunks))
  }
}
