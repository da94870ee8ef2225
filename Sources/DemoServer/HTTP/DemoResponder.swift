import GQLRunJSON
import GQLRunLanguage
import HTTPTypes
import Hummingbird
import NIOCore

/// A request to the endpoint whose body has arrived.
struct ReceivedRequest {
  /// The body, as it is read before anything else happens.
  enum Body {
    case bytes([UInt8], isJSON: Bool)
    /// A form whose files have arrived, with the bytes of its part `operations`.
    case form(OperationRequest, [UInt8])

    var operations: [UInt8] {
      switch self {
      case .bytes(let bytes, _), .form(_, let bytes): bytes
      }
    }
  }

  let request: Request
  let parameters: QueryParameters
  let body: Body
  let misbehaviour: Misbehaviour
  let channel: any Channel
}

/// Handles HTTP requests: GraphQL at `/graphql`, the schema at `/schema.graphql`, and `/health`.
///
/// https://graphql.github.io/graphql-over-http/draft/
struct DemoResponder: HTTPResponder {
  /// The context of a request, with its connection, which misbehaviour can close.
  struct Context: InitializableFromSource {
    let channel: any Channel

    init(source: ApplicationRequestContextSource) {
      channel = source.channel
    }
  }

  let executor: DemoExecutor
  let state: ServerState
  let configuration: DemoServer.Configuration

  func respond(to request: Request, context: Context) async throws -> Response {
    let response = try await route(request, context)
    return request.method == .head ? response.createHeadResponse() : response
  }

  private func route(_ request: Request, _ context: Context) async throws -> Response {
    switch request.uri.path {
    case "/graphql": try await graphQL(request, context)
    case "/health": Response(json: "{\"status\":\"ok\"}")
    case "/schema.graphql": Response(.ok, contentType: "text/plain; charset=utf-8", SchemaSDL.text)
    default:
      Response(.notFound, error: .badRequest("There is nothing here; GraphQL is at /graphql."))
    }
  }

  private func graphQL(_ request: Request, _ context: Context) async throws -> Response {
    let parameters = QueryParameters(request.uri.query)
    let body: ReceivedRequest.Body
    do {
      body = try await self.body(of: request)
    } catch is NIOTooManyBytesError {
      state.log.add(RequestLog.Entry(request, body: []))
      let limit = configuration.maxBodyBytes
      return Response(
        refused: [.badRequest("A request body has at most \(limit) bytes.")], as: .contentTooLarge)
    } catch let error as RequestError {
      state.log.add(RequestLog.Entry(request, body: []))
      return Response(refused: [error], as: .badRequest)
    }
    state.log.add(RequestLog.Entry(request, body: body.operations))
    let misbehaviour: Misbehaviour
    do throws(Misbehaviour.Failure) {
      misbehaviour = try state.misbehaviour(parameters: parameters, headers: request.headers)
    } catch {
      return Response(.badRequest, error: .badRequest(error.message))
    }
    if let delay = misbehaviour.delay { try await configuration.sleep(delay) }
    let received = ReceivedRequest(
      request: request, parameters: parameters, body: body, misbehaviour: misbehaviour,
      channel: context.channel)
    return misbehave(received) { answer(received) }
  }

  private func body(of request: Request) async throws -> ReceivedRequest.Body {
    let limit = configuration.maxBodyBytes
    let type = request.headers[.contentType].map { ContentType($0) }
    if request.method == .post, let type, type.isForm {
      var form = try UploadForm(request, limit: limit)
      let (operation, bytes) = try await form.read()
      return .form(operation, bytes)
    }
    let bytes = Array(try await request.body.collect(upTo: limit).readableBytesView)
    return .bytes(bytes, isJSON: type?.isJSON ?? false)
  }

  // MARK: GraphQL

  private func answer(_ received: ReceivedRequest) -> Response {
    let request = received.request
    if case .bytes(let bytes, _) = received.body,
      let response = reservedStreamResponse(to: received, bytes)
    {
      return response
    }
    guard [.get, .post, .query].contains(request.method) else {
      return .methodNotAllowed(
        "\(request.method) is not supported.", allowed: "GET, POST, PUT, QUERY")
    }
    let accept = request.headers[.accept].map { AcceptedRange.all(in: $0) }
    let format = EventFormat.preferred(accept: accept)
    let single = ResponseMediaType.preferred(accept: accept)
    let parts = PartFormat.preferred(accept: accept)
    guard let type = single ?? (format != nil || parts != nil ? .json : nil) else {
      let types = ResponseMediaType.allCases.map(\.rawValue).joined(separator: " or ")
      return Response(refused: [.badRequest("The response is \(types).")], as: .notAcceptable)
    }
    var operationRequest: OperationRequest
    do throws(RequestError) {
      switch received.body {
      case .form(let request, _): operationRequest = request
      case .bytes where request.method == .get:
        operationRequest = try OperationRequest(parameters: received.parameters)
      case .bytes(let bytes, let isJSON):
        guard isJSON else {
          return Response(
            refused: [.badRequest("A request body is application/json or multipart/form-data.")],
            as: .unsupportedMediaType)
        }
        if bytes.first(where: { !$0.isJSONWhiteSpace }) == UInt8(ascii: "[") {
          return batch(bytes, failing: received.misbehaviour.errors, as: type)
        }
        operationRequest = try OperationRequest(body: bytes)
      }
      operationRequest.query = try state.persistedQueries.document(of: operationRequest)
    } catch {
      return Response(refused: [error])
    }
    let preparation = executor.prepare(
      operationRequest, failing: received.misbehaviour.errors, isIncremental: parts != nil)
    switch preparation {
    case .refused(let errors):
      if single == nil, let format {
        return Response(event: RequestError.response(errors), as: format)
      }
      return Response(refused: errors)
    case .ready(let operation) where operation.type == .subscription:
      guard let format else { return Response(refused: [Self.needsEvents], as: .notAcceptable) }
      return events(of: operation, as: format, to: received)
    case .ready(let operation):
      if request.method != .post, operation.type != .query {
        return .methodNotAllowed(
          "A \(operation.type.rawValue) must be sent by POST.", allowed: "POST")
      }
      if let parts, operation.hasParts {
        return self.parts(of: operation, as: parts, to: received)
      }
      if single == nil, let format {
        return Response(event: executor.start(operation).event(), as: format)
      }
      return stream(executor.start(operation), as: type)
    }
  }

  private static let needsEvents = RequestError.badRequest(
    "A subscription needs the header field \"Accept: text/event-stream\" or "
      + "\"Accept: multipart/mixed;subscriptionSpec=1.0\", or a WebSocket connection.")

  /// A response whose body is written during execution; if it fits in one chunk, it has a
  /// `Content-Length`.
  private func stream(_ execution: OperationExecution, as type: ResponseMediaType) -> Response {
    var execution = execution
    let first = execution.next() ?? []
    if execution.isFinished {
      // Elsewhere, the meaning of 294 is not defined.
      let isPartial = execution.errorList != nil && type == .graphQLResponse
      let status: HTTPResponse.Status = isPartial ? .partial : .ok
      return Response(status, contentType: type.contentType, first)
    }
    let body = ResponseBody { [execution] writer in
      var execution = execution
      try await writer.write(ByteBuffer(bytes: first))
      while let piece = execution.next() {
        try await writer.write(ByteBuffer(bytes: piece))
      }
      try await writer.finish(nil)
    }
    return Response(status: .ok, headers: [.contentType: type.contentType], body: body)
  }
}

extension RequestLog.Entry {
  fileprivate init(_ request: Request, body: [UInt8]) {
    self.init(
      method: request.method.rawValue, path: request.uri.string, headers: request.headers,
      body: Array(body.prefix(RequestLog.keptBodyBytes)))
  }
}

extension DemoResponder {
  /// The response to a request whose body is an array: an array of the operations' responses, in the
  /// same order.
  ///
  /// The response is written during execution, one operation after the other.
  func batch(_ body: [UInt8], failing: Bool, as type: ResponseMediaType) -> Response {
    let limit = configuration.maxBatch
    guard limit > 0 else {
      return Response(
        refused: [.badRequest("Operation batching is disabled: send one operation.")])
    }
    guard let elements = (try? JSONValue(parsing: body))?.arrayValue else {
      return Response(refused: [RequestError(.invalidJSON, "The request body is not valid JSON.")])
    }
    guard (1...limit).contains(elements.count) else {
      let message = "A request has 1 to \(limit) operations; it has \(elements.count)."
      return Response(refused: [.badRequest(message)])
    }
    let responder = self
    let stream = ResponseBody { writer in
      for (index, element) in elements.enumerated() {
        try await writer.write(ByteBuffer(string: index == 0 ? "[" : ","))
        switch responder.prepared(element, failing: failing) {
        case .refused(let errors):
          try await writer.write(ByteBuffer(bytes: RequestError.response(errors)))
        case .ready(let operation):
          var execution = responder.executor.start(operation)
          while let piece = execution.next() {
            try await writer.write(ByteBuffer(bytes: piece))
          }
        }
      }
      try await writer.write(ByteBuffer(string: "]"))
      try await writer.finish(nil)
    }
    return Response(status: .ok, headers: [.contentType: type.contentType], body: stream)
  }

  private func prepared(_ element: JSONValue, failing: Bool) -> Preparation {
    do throws(RequestError) {
      var request = try OperationRequest(payload: element)
      request.query = try state.persistedQueries.document(of: request)
      let preparation = executor.prepare(request, failing: failing)
      guard case .ready(let operation) = preparation, operation.type == .subscription else {
        return preparation
      }
      return .refused([DemoExecutor.needsEvents])
    } catch {
      return .refused([error])
    }
  }
}

extension RequestError {
  /// The status of a response with these errors and without data.
  ///
  /// https://graphql.github.io/graphql-over-http/draft/#sec-Status-Codes
  static func status(of errors: [RequestError]) -> HTTPResponse.Status {
    let codes = errors.compactMap { Code(rawValue: $0.code) }
    if codes.contains(.internalServerError) { return .internalServerError }
    let unread: [Code] = [
      .parseFailed, .invalidJSON, .persistedQueryNotFound, .persistedDocumentNotFound,
    ]
    return codes.contains { unread.contains($0) } ? .badRequest : .unprocessableContent
  }
}

extension HTTPResponse.Status {
  /// 294: data with errors.
  static let partial = Self(code: 294, reasonPhrase: "Partial Success")
}

extension Response {
  init(_ status: HTTPResponse.Status, contentType: String, _ body: [UInt8]) {
    self.init(
      status: status, headers: [.contentType: contentType],
      body: ResponseBody(byteBuffer: ByteBuffer(bytes: body)))
  }

  init(_ status: HTTPResponse.Status, contentType: String, _ body: String) {
    self.init(status, contentType: contentType, Array(body.utf8))
  }

  init(json: String) {
    self.init(.ok, contentType: ResponseMediaType.json.contentType, json)
  }

  /// A response with an error in JSON that is not GraphQL's own, as a gateway sends it.
  init(_ status: HTTPResponse.Status, error: RequestError) {
    self.init(
      status, contentType: ResponseMediaType.json.contentType, RequestError.response([error]))
  }

  /// The response to a request that is not executed: of GraphQL's own media type, also for clients that accept
  /// `application/json` only. They cannot rely on a body of that type unless the status is a success.
  ///
  /// - Parameter status: The status; by default that of the errors.
  init(refused errors: [RequestError], as status: HTTPResponse.Status? = nil) {
    self.init(
      status ?? RequestError.status(of: errors),
      contentType: ResponseMediaType.graphQLResponse.contentType, RequestError.response(errors))
  }

  static func methodNotAllowed(_ message: String, allowed: String) -> Self {
    var response = Self(refused: [.badRequest(message)], as: .methodNotAllowed)
    response.headers[.allow] = allowed
    return response
  }
}
