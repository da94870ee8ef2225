import AsyncAlgorithms
package import HTTPTypes
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore

/// A request to a ``LocalServer``, with its body.
package struct LocalRequest: Sendable {
  package let method: HTTPRequest.Method
  /// The path of the URL, as it was sent.
  package let path: String
  /// Host and port that the client believes to be connected to; `nil` if it sent none.
  package let host: String?
  /// The port of this server.
  package let port: Int
  package let fields: HTTPFields
  package let body: [UInt8]
  let parameters: QueryParameters

  /// The first parameter of the URL with this name, decoded; `nil` if there is none.
  package subscript(parameter name: String) -> String? { parameters[name] }
}

/// The response of a ``LocalServer``.
package struct LocalResponse: Sendable {
  package enum Body: Sendable {
    case bytes([UInt8])
    /// Server-sent events as they happen. They end with the first sequence, which is asked for its next event after the
    /// one before was written.
    case events(
      AsyncThrowingStream<[UInt8], any Error>,
      beside: any AsyncSequence<[UInt8], Never> & Sendable)
  }

  package var status: HTTPResponse.Status
  package var fields: HTTPFields
  package var body: Body

  package init(_ status: HTTPResponse.Status, _ fields: HTTPFields, body: Body) {
    self.status = status
    self.fields = fields
    self.body = body
  }
}

/// An HTTP server for pages and metrics of the program.
package struct LocalServer: Sendable {
  /// The maximum size of a request body in bytes.
  package static let maxBodyBytes = 1 << 20
  /// The time between two signs of life of a response with events.
  private static let heartbeat = Duration.seconds(12)

  private let responder: Responder

  /// - Parameter respond: Answers a request.
  package init(_ respond: @escaping @Sendable (LocalRequest) async -> LocalResponse) {
    responder = Responder(respond: respond)
  }

  /// Serves until the task is cancelled; then closes all connections and returns.
  ///
  /// - Parameters:
  ///   - host: The address to listen on; by default that of the loopback interface.
  ///   - port: The port to listen on; 0 chooses a free one.
  ///   - onReady: Called once, with the port, when the server accepts requests.
  /// - Throws: ``DemoServer/Failure`` if the server cannot listen.
  package func run(
    host: String = "127.0.0.1", port: Int, onReady: @escaping @Sendable (Int) -> Void
  ) async throws {
    let connections = HeldConnections()
    defer { connections.close() }
    let application = connections.application(
      responder, at: .hostname(host, port: port), name: "gqlrun",
      logger: Logger(label: "gqlrun.page") { _ in SwiftLogNoOpLogHandler() },
      channel: { HTTP1Channel(responder: $0) }, onReady: onReady)
    do {
      // A client that does not read its response would delay the end of its connection for ever.
      try await withTaskCancellationHandler {
        try await application.run()
      } onCancel: {
        connections.close()
      }
    } catch {
      if Task.isCancelled || error is CancellationError { return }
      throw DemoServer.Failure(
        message: "cannot listen on \(host):\(port): \(DemoServer.Failure.reason(error))")
    }
  }

  private struct Responder: HTTPResponder {
    typealias Context = DemoResponder.Context

    let respond: @Sendable (LocalRequest) async -> LocalResponse

    func respond(to request: Request, context: Context) async throws -> Response {
      let body: [UInt8]
      do {
        body = Array(
          try await request.body.collect(upTo: LocalServer.maxBodyBytes).readableBytesView)
      } catch is NIOTooManyBytesError {
        return Response(status: .contentTooLarge)
      }
      let channel = context.channel
      let answer = await respond(
        LocalRequest(
          method: request.method, path: request.uri.path, host: request.head.authority,
          port: channel.localAddress?.port ?? 0, fields: request.headers, body: body,
          parameters: QueryParameters(request.uri.query)))
      switch answer.body {
      case .bytes(let bytes):
        return Response(
          status: answer.status, headers: answer.fields,
          body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
      case .events(let events, let others):
        return Response(
          status: answer.status, headers: answer.fields,
          body: LocalServer.body(of: events, beside: others, on: channel))
      }
    }
  }

  private static func body(
    of events: AsyncThrowingStream<[UInt8], any Error>,
    beside others: some AsyncSequence<[UInt8], Never> & Sendable, on channel: any Channel
  ) -> ResponseBody {
    let all = merge(
      chain(events.map { EventStep.event($0) }, CollectionOfOne(EventStep.end).async),
      others.map { EventStep.event($0) })
    let steps = EventStep.steps(all, until: channel, heartbeat: heartbeat) {
      try await Task.sleep(for: $0)
    }
    let format = EventFormat.serverSentEvents
    return ResponseBody { writer in
      try await writer.write(ByteBuffer(string: format.start))
      for try await step in steps {
        switch step {
        case .heartbeat: try await writer.write(ByteBuffer(string: format.heartbeat))
        case .event(let bytes): try await writer.write(ByteBuffer(bytes: bytes))
        case .end: return try await writer.finish(nil)
        }
      }
    }
  }
}
