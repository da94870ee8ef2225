import AsyncHTTPClient
import GQLRunPipeline
import GQLRunSupport
import HTTPTypes
import NIOCore
import NIOPosix

/// Sends single requests over the pooled connections of a transport.
struct HTTPSender: Sendable {
  let clients: Clients
  let register: ExchangeRegister
  let clock: ServiceClock
  let userAgent: String

  /// Sends a request, and returns when the head of its response has arrived.
  func send(
    _ request: HTTPRequestMessage, limits: HTTPLimits
  ) async throws -> HTTPResponseMessage {
    let origin = try origin(for: request, limits)
    let failures = TransportFailures(request: request, limits: limits, route: origin.route)
    let mayReuseConnection = origin.peer.keepsConnection
    let exchange = Exchange(
      origin, limits: limits, clock: clock, failures: failures, register: register)
    // Not for each one: thousands may follow.
    if origin.waiting == 1 {
      request.waits?("waits for a connection to \(failures.origin): \(failures.connectionsInUse)")
    }
    do {
      let outgoing = try origin.outgoing(request, userAgent: userAgent)
      let (head, version) = try await exchange.head(outgoing, request.multipart)
      if let refusal = failures.refusal(by: head) { throw refusal }
      var response = HTTPResponseMessage(
        head: head, body: HTTPBody(pull: { try await exchange.next() }))
      response.version = version
      response.interrupt = { [weak exchange] in exchange?.interrupt($0) }
      return response
    } catch var error as ChainError where error.code == .connectionClosed {
      // A kept connection that ended before the request was sent says nothing about others.
      if !(error.cause is ReusedConnectionClosed) { origin.peer.note(connectionIsKept: false) }
      if mayReuseConnection { error.cause = ReusedConnectionClosed() }
      throw error
    } catch let error as ChainError where error.cause is CertificateRefused {
      throw await failures.explained(error)
    }
  }

  @inline(never)
  private func origin(for request: HTTPRequestMessage, _ limits: HTTPLimits) throws -> OriginClient
  {
    var failures: TransportFailures {
      TransportFailures(
        request: request, limits: limits, route: ConnectionRoute(request.head, limits.connection))
    }
    do {
      guard let origin = try clients.origin(for: request.head, limits) else {
        throw failures.failure(.shutDown)
      }
      return origin
    } catch {
      throw failures.beforeHead(error)
    }
  }
}

/// The sending of a body with files, which an early response ends.
final class UploadSending: Sendable {
  private struct State {
    var isOver = false
    /// Fulfilled when the connection has taken the current piece.
    var piece: EventLoopPromise<Void>?
  }

  private let files: MultipartBody
  private let state = Locked(State())

  init(_ files: MultipartBody) { self.files = files }

  /// The body for the HTTP client: read piece by piece on a thread for files, each after the
  /// connection has taken the one before.
  ///
  /// - Parameter onPiece: Called when the connection has taken a piece.
  func body(onPiece: @escaping @Sendable () -> Void) -> HTTPClient.Body {
    .stream(contentLength: Int64(files.count)) { writer in
      HTTPClient.defaultEventLoopGroup.any().makeFutureWithTask { [self] in
        let reader = files.makeReader()
        while let piece = try await NIOThreadPool.singleton.runIfActive({ try reader.next() }) {
          try await send(piece, to: writer)
          onPiece()
        }
      }
    }
  }

  private func send(_ piece: [UInt8], to writer: HTTPClient.Body.StreamWriter) async throws {
    let taken = HTTPClient.defaultEventLoopGroup.any().makePromise(of: Void.self)
    let isOver = state.withLock { state in
      if !state.isOver { state.piece = taken }
      return state.isOver
    }
    guard !isOver else {
      taken.fail(CancellationError())
      throw CancellationError()
    }
    writer.write(.byteBuffer(ByteBuffer(bytes: piece))).cascade(to: taken)
    try await taken.futureResult.get()
  }

  /// Ends the sending. After a response that comes before the end of the request, the client takes no further pieces,
  /// and the futures of its writer stay unfulfilled.
  func stop() {
    state.withLock { state in
      state.isOver = true
      return state.piece.take()
    }?.fail(CancellationError())
  }
}
