import GQLRunJSON
import GQLRunPipeline
import HTTPTypes

/// The requests of a shared event stream: "single connection mode" of graphql-sse.
///
/// https://github.com/enisdenjo/graphql-sse/blob/master/PROTOCOL.md#single-connection-mode
struct EventStreamOpening: Sendable {
  /// The request of the first operation.
  let request: HTTPRequestMessage
  let limits: HTTPLimits
  let failures: TransportFailures
  let sender: HTTPSender
  let observer: (@Sendable (NetworkEvent) -> Void)?

  /// Time limit of the requests beside the event stream.
  private static let requestTime = Duration.seconds(30)
  private static let maxTokenBytes = 4096
  private static let mode =
    "an event stream for all subscriptions (single_connection: true)"

  private var requestLimits: HTTPLimits {
    var limits = limits
    limits.total = Self.requestTime
    limits.idle = Self.requestTime
    return limits
  }

  /// Reserves and opens an event stream. Returns it with the token of the reservation.
  ///
  /// Does so once more if the server just closed the reused connection, with another token: a stream that was opened
  /// in between cannot be opened again.
  func open() async throws -> (stream: HTTPResponseMessage, token: String) {
    do {
      let token = try await reserve()
      return (try await connect(token), token)
    } catch let error as ChainError where error.cause is ReusedConnectionClosed {
      let token = try await reserve()
      return (try await connect(token), token)
    }
  }

  private func reserve() async throws -> String {
    let response = try await sender.send(message(.put), limits: requestLimits)
    guard response.head.status == .created else {
      throw try await refusal(response, of: "the reservation of \(Self.mode)", "201 Created")
    }
    let text = String(
      decoding: try await response.body.prefix(Self.maxTokenBytes + 1), as: UTF8.self)
    guard (1...Self.maxTokenBytes).contains(text.utf8.count),
      text.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
    else {
      throw failures.notSent(
        .malformedResponse,
        "\(failures.origin) answered the reservation of \(Self.mode) with a token that is not 1 to "
          + "\(Self.maxTokenBytes) printable ASCII characters, so that no header field can contain it"
      )
    }
    return text
  }

  private func connect(_ token: String) async throws -> HTTPResponseMessage {
    var message = message(.get, token)
    message.head.headerFields[.accept] = "text/event-stream"
    let response = try await sender.send(message, limits: limits)
    let type = ResponseCheck.mediaType(response.head)
    guard response.head.status == .ok, type == "text/event-stream" else {
      throw try await refusal(
        response,
        of: "the request for \(Self.mode)"
          + (type.map { " (with a body of type \($0))" } ?? ""), "200 OK with text/event-stream")
    }
    return response
  }

  /// Starts an operation. Returns `nil` if its events arrive on the event stream, otherwise the server's answer.
  func start(
    _ id: Int, request: HTTPRequestMessage, token: String
  ) async throws -> HTTPResponseMessage? {
    var request = request
    request.eventStream = nil
    request.body = try body(of: request, id)
    request.head.headerFields[Self.tokenField] = token
    let response = try await sender.send(request, limits: requestLimits)
    guard response.head.status == .accepted else { return response }
    // Reading a short body to its end returns the connection to the pool.
    _ = try? await response.body.prefix(16 << 10)
    return nil
  }

  private func body(of request: HTTPRequestMessage, _ id: Int) throws -> [UInt8] {
    guard var body = (try? JSONValue(parsing: request.body ?? []))?.objectValue else {
      throw failures.notSent(
        .invalidRequest,
        "the body of a subscription on a shared event stream is not a JSON object, so that it cannot contain "
          + "extensions.operationId")
    }
    var extensions = body["extensions"]?.objectValue ?? [:]
    extensions["operationId"] = .string("\(id)")
    body["extensions"] = .object(extensions)
    return JSONValue.object(body).jsonBytes()
  }

  /// Stops an operation. A failure does no harm: further events of the operation are ignored.
  func stop(_ id: Int, _ token: String) async {
    var message = message(.delete, token)
    let path = message.head.path ?? ""
    message.head.path = path + (path.contains("?") ? "&" : "?") + "operationId=\(id)"
    _ = try? await sender.send(message, limits: requestLimits).body.prefix(16 << 10)
  }

  private static let tokenField: HTTPField.Name = {
    guard let name = HTTPField.Name("X-GraphQL-Event-Stream-Token") else {
      preconditionFailure("the name of a field is valid")
    }
    return name
  }()

  /// A request without a body, with the fields of the first operation that do not describe one.
  private func message(_ method: HTTPRequest.Method, _ token: String? = nil) -> HTTPRequestMessage {
    var head = request.head
    head.method = method
    for name in [HTTPField.Name.contentType, .accept] + (request.eventStream?.operationFields ?? [])
    {
      head.headerFields[name] = nil
    }
    // A compressed event stream may be delayed by its compression.
    head.headerFields[.acceptEncoding] = "identity"
    head.headerFields[Self.tokenField] = token
    return HTTPRequestMessage(head: head)
  }

  private func refusal(
    _ response: HTTPResponseMessage, of step: String, _ expected: String
  ) async throws -> ChainError {
    let body = try await response.body.prefix(16 << 10)
    if let target = response.head.shownLocation, response.head.status.kind == .redirection {
      return failures.notSent(
        .redirectRefused,
        "\(failures.origin) redirects \(step) to \(target), which is not followed: the token of the stream belongs to "
          + "one URL", remedy: "set `subscriptions: { url: … }` of the endpoint to that URL")
    }
    return failures.refusal(
      by: response.head, body: String(decoding: body, as: UTF8.self), .httpStatus, of: step,
      expected: expected)
  }
}
