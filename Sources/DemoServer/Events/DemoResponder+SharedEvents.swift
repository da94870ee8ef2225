import GQLRunJSON
import GQLRunLanguage
import HTTPTypes
import Hummingbird
import NIOCore

/// Event streams for several operations.
///
/// https://github.com/enisdenjo/graphql-sse/blob/master/PROTOCOL.md#single-connection-mode
extension DemoResponder {
  private static let tokenField = HTTPField.Name("X-GraphQL-Event-Stream-Token")
  /// The maximum length of an operation's id in bytes.
  private static let maxIDBytes = 256

  /// The response to a request that reserves or uses a shared event stream; `nil` for all others.
  func shared(
    _ request: Request, _ parameters: QueryParameters, _ body: [UInt8], _ wish: Misbehaviour,
    _ context: Context
  ) -> Response? {
    if request.method == .put {
      guard let token = state.eventStreams.reserve() else {
        return Response(
          .serviceUnavailable,
          error: .badRequest("All \(ReservedEventStreams.most) event streams are in use."))
      }
      return Response(.created, contentType: "text/plain; charset=utf-8", token)
    }
    guard let token = Self.tokenField.flatMap({ request.headers[$0] }) ?? parameters["token"] else {
      return nil
    }
    guard let stream = state.eventStreams.stream(token) else {
      return Response(
        .notFound,
        error: .badRequest("There is no event stream with this token; reserve one by PUT."))
    }
    switch request.method {
    case .get: return events(of: stream, token, wish, context.channel)
    case .post: return start(body, on: stream, wish)
    case .delete:
      guard let id = parameters["operationId"] else { return Self.needsID }
      return stream.stop(id)
        ? Response(status: .ok)
        : Response(.notFound, error: .badRequest("There is no operation with this id."))
    default:
      return .methodNotAllowed(
        "\(request.method) is not supported.", allowed: "GET, POST, PUT, DELETE")
    }
  }

  private static var needsID: Response {
    Response(
      .badRequest,
      error: .badRequest(
        "An operation on a shared event stream needs extensions.operationId, a text of 1 to "
          + "\(maxIDBytes) letters, digits, `-` and `_`; DELETE has the parameter operationId."))
  }

  /// The response with the events of all operations.
  private func events(
    of stream: ReservedEventStream, _ token: String, _ wish: Misbehaviour, _ channel: any Channel
  ) -> Response {
    guard stream.open() else {
      return Response(.conflict, error: .badRequest("The event stream is open already."))
    }
    let streams = state.eventStreams
    channel.closeFuture.whenComplete { _ in streams.remove(token) }
    let format = EventFormat.serverSentEvents
    let steps = steps(stream.messages.map(Step.event), channel)
    return Response(events: format) { writer in
      defer { streams.remove(token) }
      var limit = EventFaults(wish)
      try await Self.carryOut(limit.fault, channel)
      for try await step in steps {
        switch step {
        case .heartbeat: try await writer.write(ByteBuffer(string: format.heartbeat))
        case .event(let message):
          try await writer.write(ByteBuffer(bytes: message))
          limit.count()
          try await Self.carryOut(limit.fault, channel)
        case .end: return try await writer.finish(nil)
        }
      }
    }
  }

  /// Starts an operation, whose events are sent on the stream.
  private func start(
    _ body: [UInt8], on stream: ReservedEventStream, _ wish: Misbehaviour
  ) -> Response {
    let operation: PlannedOperation
    let id: String
    do throws(RequestError) {
      var request = try OperationRequest(body: body)
      guard let given = request.extensions["operationId"]?.stringValue, Self.isID(given) else {
        return Self.needsID
      }
      id = given
      request.query = try state.persistedQueries.document(of: request)
      switch executor.prepare(request, failing: wish.errors) {
      case .refused(let errors):
        return Response(
          .badRequest, contentType: ResponseMediaType.json.contentType,
          RequestError.response(errors))
      case .ready(let ready): operation = ready
      }
    } catch {
      return Response(.badRequest, error: error)
    }
    let start = stream.start(id, most: configuration.maxOperations) { stream in
      await operate(id, operation, on: stream)
    }
    switch start {
    case .started: return Response(status: .accepted)
    case .exists:
      return Response(.conflict, error: .badRequest("An operation with this id runs already."))
    case .tooMany:
      return Response(
        .tooManyRequests,
        error: .badRequest(
          "An event stream has at most \(configuration.maxOperations) operations at a time."))
    }
  }

  private static func isID(_ id: String) -> Bool {
    (1...maxIDBytes).contains(id.utf8.count)
      && id.utf8.allSatisfy {
        switch $0 {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x5F: true
        default: false
        }
      }
  }

  private func operate(
    _ id: String, _ operation: PlannedOperation, on stream: ReservedEventStream
  ) async {
    guard operation.type == .subscription else {
      await stream.next(
        executor.start(operation).rest(upTo: DemoExecutor.maxEventBytes)
          ?? RequestError.response([DemoExecutor.tooLarge]), of: id)
      return await stream.complete(id)
    }
    do throws(RequestError) {
      let source = try executor.subscribe(operation, sleep: configuration.sleep)
      do {
        for try await event in source {
          await stream.next(executor.response(to: event, of: operation), of: id)
        }
      } catch {
        // Only cancellation ends a source stream early: the operation was stopped.
        return
      }
    } catch {
      await stream.next(RequestError.response([error]), of: id)
    }
    if !Task.isCancelled { await stream.complete(id) }
  }
}
