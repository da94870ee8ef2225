import AsyncAlgorithms
import GQLRunJSON
import GQLRunSupport
import HTTPTypes
import Hummingbird
import NIOCore

/// The event streams that clients have reserved, by their tokens.
///
/// https://github.com/enisdenjo/graphql-sse/blob/master/PROTOCOL.md#single-connection-mode
final class ReservedEventStreams: Sendable {
  /// The maximum number of reservations; a further one replaces the oldest that is not open.
  static let maxReservations = 1_000
  /// The names of the parameters in the URL of a request.
  static let parameterNames = ["token", "operationId"]

  private struct State {
    var streams: [String: ReservedEventStream] = [:]
    /// The tokens in the order of their reservations.
    var tokens: [String] = []
  }

  private let state = Locked(State())

  /// Reserves a stream. Returns its token, or `nil` if all reservations are in use.
  func reserve() -> String? {
    let token = QuotedText.hexadecimal((0..<16).map { _ in UInt8.random(in: 0...UInt8.max) })
    return state.withLock { state in
      if state.streams.count >= Self.maxReservations {
        guard let old = state.tokens.firstIndex(where: { state.streams[$0]?.isOpen != true }) else {
          return nil
        }
        state.streams.removeValue(forKey: state.tokens.remove(at: old))?.close()
      }
      state.streams[token] = ReservedEventStream()
      state.tokens.append(token)
      return token
    }
  }

  func stream(_ token: String) -> ReservedEventStream? { state.withLock { $0.streams[token] } }

  /// Ends a stream and its operations.
  func remove(_ token: String) {
    let stream = state.withLock { state in
      state.tokens.removeAll { $0 == token }
      return state.streams.removeValue(forKey: token)
    }
    stream?.close()
  }
}

/// An event stream for several operations, which may begin before it is open.
final class ReservedEventStream: Sendable {
  private struct State {
    var isOpen = false
    var isOver = false
    var tasks: [String: Task<Void, Never>] = [:]
  }

  /// The messages of all operations. Each one waits until the one before it was written.
  let messages = AsyncThrowingChannel<[UInt8], any Error>()
  private let state = Locked(State())

  var isOpen: Bool { state.withLock { $0.isOpen } }

  /// Opens the stream. Returns `false` if it is open already.
  func open() -> Bool {
    state.withLock { state in
      defer { state.isOpen = true }
      return !state.isOpen
    }
  }

  /// What `start` does.
  enum Start {
    case started, exists, tooMany
  }

  /// Starts an operation. It ends itself with ``complete(_:)``.
  func start(
    _ id: String, maxOperations: Int,
    _ body: @escaping @Sendable (ReservedEventStream) async -> Void
  ) -> Start {
    state.withLock { state in
      guard state.tasks[id] == nil else { return .exists }
      guard state.tasks.count < maxOperations, !state.isOver else { return .tooMany }
      state.tasks[id] = Task { await body(self) }
      return .started
    }
  }

  /// Sends the event `next`, with a response that has no line breaks.
  func next(_ response: [UInt8], of id: String) async {
    await messages.send(
      Array(#"event: next\#ndata: {"id":"\#(id)","payload":"#.utf8) + response
        + Array("}\n\n".utf8))
  }

  /// Sends the event `complete`.
  func complete(_ id: String) async {
    state.withLock { state in state.tasks[id] = nil }
    await messages.send(Array("event: complete\ndata: {\"id\":\"\(id)\"}\n\n".utf8))
  }

  /// Stops an operation without an event. Returns `false` if there is none.
  func stop(_ id: String) -> Bool {
    let task = state.withLock { $0.tasks.removeValue(forKey: id) }
    task?.cancel()
    return task != nil
  }

  /// Stops all operations.
  func close() {
    let tasks = state.withLock { state in
      state.isOver = true
      defer { state.tasks = [:] }
      return state.tasks.values
    }
    for task in tasks { task.cancel() }
    messages.finish()
  }
}

/// Event streams for several operations.
///
/// https://github.com/enisdenjo/graphql-sse/blob/master/PROTOCOL.md#single-connection-mode
extension DemoResponder {
  private static let tokenField = HTTPField.Name("X-GraphQL-Event-Stream-Token")
  /// The maximum length of an operation's id in bytes.
  private static let maxIDBytes = 256

  /// The response to a request that reserves or uses a shared event stream; `nil` for all others.
  func reservedStreamResponse(to received: ReceivedRequest, _ body: [UInt8]) -> Response? {
    let request = received.request
    let parameters = received.parameters
    if request.method == .put {
      guard let token = state.eventStreams.reserve() else {
        return Response(
          .serviceUnavailable,
          error: .badRequest(
            "All \(ReservedEventStreams.maxReservations) event streams are in use."))
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
    case .get: return events(of: stream, token: token, to: received)
    case .post: return start(body, on: stream, failing: received.misbehaviour.errors)
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
    of stream: ReservedEventStream, token: String, to received: ReceivedRequest
  ) -> Response {
    guard stream.open() else {
      return Response(.conflict, error: .badRequest("The event stream is open already."))
    }
    let streams = state.eventStreams
    received.channel.closeFuture.whenComplete { _ in streams.remove(token) }
    return response(
      stream.messages, as: .serverSentEvents, to: received, end: "",
      onEnd: { streams.remove(token) }, bytes: { $0 })
  }

  /// Starts an operation, whose events are sent on the stream.
  private func start(
    _ body: [UInt8], on stream: ReservedEventStream, failing: Bool
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
      switch executor.prepare(request, failing: failing) {
      case .refused(let errors):
        return Response(
          .badRequest, contentType: ResponseMediaType.json.contentType,
          RequestError.response(errors))
      case .ready(let ready): operation = ready
      }
    } catch {
      return Response(.badRequest, error: error)
    }
    let start = stream.start(id, maxOperations: configuration.maxOperations) { stream in
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
      && id.utf8.allSatisfy { $0.isASCIIAlphanumeric || "-_".utf8.contains($0) }
  }

  private func operate(
    _ id: String, _ operation: PlannedOperation, on stream: ReservedEventStream
  ) async {
    do throws(RequestError) {
      let executions = try executor.executions(of: operation, sleep: configuration.sleep)
      do {
        for try await execution in executions { await stream.next(execution.event(), of: id) }
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
