import GQLRunJSON
import GQLRunLanguage
import HTTPTypes
import Hummingbird
import NIOCore

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
    let body: RequestContent
    do {
      body = try await content(of: request)
    } catch is NIOTooManyBytesError {
      state.log.add(RequestLog.Entry(request, body: []))
      let limit = configuration.maxBodyBytes
      return Response(
        .contentTooLarge, error: .badRequest("A request body has at most \(limit) bytes."))
    } catch let error as RequestError {
      state.log.add(RequestLog.Entry(request, body: []))
      return Response(.badRequest, error: error)
    }
    state.log.add(RequestLog.Entry(request, body: body.operations))
    var wish = state.misbehaviour
    do throws(Misbehaviour.Failure) {
      try wish.add(parameters: parameters, headers: request.headers)
    } catch {
      return Response(.badRequest, error: .badRequest(error.message))
    }
    if let times = wish.times, !state.isWithin(times, key: wish.key ?? "") {
      wish = Misbehaviour()
    }
    if let delay = wish.delay { try await configuration.sleep(delay) }
    return misbehave(wish, context, for: request) {
      answer(request, parameters, body, wish, context)
    }
  }

  /// The body of a request, as it is read before anything else happens.
  private enum RequestContent {
    case bytes([UInt8], isJSON: Bool)
    /// A form whose files have arrived, with the bytes of its part `operations`.
    case form(OperationRequest, [UInt8])

    var operations: [UInt8] {
      switch self {
      case .bytes(let bytes, _), .form(_, let bytes): bytes
      }
    }
  }

  private func content(of request: Request) async throws -> RequestContent {
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

  private func answer(
    _ request: Request, _ parameters: QueryParameters, _ body: RequestContent,
    _ wish: Misbehaviour, _ context: Context
  ) -> Response {
    if case .bytes(let bytes, _) = body,
      let response = shared(request, parameters, bytes, wish, context)
    {
      return response
    }
    guard request.method == .get || request.method == .post else {
      return .methodNotAllowed("\(request.method) is not supported.", allowed: "GET, POST, PUT")
    }
    let accept = request.headers[.accept].map { AcceptedRange.all(in: $0) }
    let format = EventFormat.preferred(accept: accept)
    let single = ResponseMediaType.preferred(accept: accept)
    let parts = PartFormat.preferred(accept: accept)
    guard let type = single ?? (format != nil || parts != nil ? .json : nil) else {
      let types = ResponseMediaType.allCases.map(\.rawValue).joined(separator: " or ")
      return Response(.notAcceptable, error: .badRequest("The response is \(types)."))
    }
    var operationRequest: OperationRequest
    do throws(RequestError) {
      switch body {
      case .form(let request, _): operationRequest = request
      case .bytes where request.method == .get:
        operationRequest = try OperationRequest(parameters: parameters)
      case .bytes(let bytes, let isJSON):
        guard isJSON else {
          return Response(
            .unsupportedMediaType,
            error: .badRequest("A request body is application/json or multipart/form-data."))
        }
        if bytes.first(where: { !$0.isJSONSpace }) == UInt8(ascii: "[") {
          return batch(bytes, wish, type)
        }
        operationRequest = try OperationRequest(body: bytes)
      }
    } catch {
      return Response(.badRequest, error: error, type)
    }
    do throws(RequestError) {
      operationRequest.query = try state.persistedQueries.document(of: operationRequest)
    } catch {
      return Response(type == .json ? .ok : .badRequest, error: error, type)
    }
    let preparation = executor.prepare(
      operationRequest, failing: wish.errors, isIncremental: parts != nil)
    switch preparation {
    case .refused(let errors):
      if single == nil, let format {
        return events([RequestError.response(errors)], as: format)
      }
      return Response(
        type == .json ? .ok : refusalStatus(errors), contentType: type.contentType,
        RequestError.response(errors))
    case .ready(let operation) where operation.type == .subscription:
      guard let format else { return Response(.notAcceptable, error: Self.needsEvents, type) }
      return events(of: operation, as: format, wish, context.channel)
    case .ready(let operation):
      if request.method == .get, operation.type != .query {
        return .methodNotAllowed(
          "A \(operation.type.rawValue) must be sent by POST.", allowed: "POST")
      }
      if let parts, operation.hasParts {
        return self.parts(of: operation, as: parts, wish, context.channel)
      }
      let execution = executor.start(operation)
      if single == nil, let format {
        let response =
          execution.rest(upTo: DemoExecutor.maxEventBytes)
          ?? RequestError.response([DemoExecutor.tooLarge])
        return events([response], as: format)
      }
      return stream(execution, as: type)
    }
  }

  /// The status of an operation that is not executed.
  private func refusalStatus(_ errors: [RequestError]) -> HTTPResponse.Status {
    let isParsed = errors.allSatisfy { $0.code != RequestError.Code.parseFailed.rawValue }
    return configuration.usesNewStatuses && isParsed ? .unprocessableContent : .badRequest
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
      let isPartial = configuration.usesNewStatuses && execution.errorList != nil
      let status: HTTPResponse.Status = isPartial && type == .graphQLResponse ? .partial : .ok
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
