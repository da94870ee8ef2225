import AsyncHTTPClient
public import GQLRunPipeline
import HTTPTypes
public import NIOCore
import NIOHTTP1
import NIOHTTPCompression

/// Sends HTTP requests with async-http-client: streamed, pooled, HTTP/1.1 and HTTP/2.
///
/// Does not use the library's redirects, which turn POST into GET and forward secret header fields.
/// Does not use the library's timeouts either: one ends with the head of the response, the other
/// includes the time in which this program processes data; `Exchange` enforces the limits
/// instead. Received data goes from the event loop to the reader (`ResponseReader`) without a task
/// in between.
public struct AsyncHTTPTransport: HTTPTransport {
  private let clients: Clients
  private let sockets: SocketConnections
  private let register: ExchangeRegister
  private let clock: ServiceClock
  private let userAgent: String

  /// Creates a transport with its own connection pool; ``shutdown()`` closes it.
  ///
  /// - Parameters:
  ///   - clock: The clock of the time limits.
  ///   - userAgent: The field `User-Agent` of requests that have none.
  public init(
    clock: ServiceClock = ServiceClock(ContinuousClock()), userAgent: String = "gqlrun"
  ) {
    self.init(clock: clock, userAgent: userAgent, meter: nil)
  }

  /// Creates a transport with its own connection pool.
  ///
  /// - Parameters:
  ///   - meter: Counts bytes and connections.
  ///   - traces: Whether each request is a span of the process's bootstrapped tracer.
  ///   - observer: Called with connections, requests and responses, on the threads of the network.
  package init(
    clock: ServiceClock = ServiceClock(ContinuousClock()), userAgent: String = "gqlrun",
    meter: ConnectionMeter?, traces: Bool = true,
    observer: (@Sendable (NetworkEvent) -> Void)? = nil
  ) {
    clients = Clients(meter: meter, traces: traces, observer: observer)
    sockets = SocketConnections(
      clock: clock, userAgent: userAgent, meter: meter, observer: observer)
    self.clock = clock
    register = ExchangeRegister(
      clock: clock, loops: Array(HTTPClient.defaultEventLoopGroup.makeIterator()))
    self.userAgent = userAgent
  }

  /// The event loops of the network.
  public var executors: [any TaskExecutor] {
    HTTPClient.defaultEventLoopGroup.makeIterator().map { LoopExecutor($0) }
  }

  /// Closes all connections. The transport cannot be used afterwards.
  public func shutdown() async {
    await sockets.shutdown()
    await clients.shutdown()
  }

  /// Sends a request, and returns when the head of its response has arrived, or when the request was sent over
  /// WebSocket.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - limits: The limits of the exchange; they also apply to the body.
  /// - Throws: `ChainError` of the layer `transport`, with its `delivery` set.
  public func send(
    _ request: HTTPRequestMessage, limits: HTTPLimits
  ) async throws -> HTTPResponseMessage {
    if request.webSocket != nil { return try await sockets.send(request, limits) }
    let origin = try origin(for: request, limits)
    let failures = TransportFailures(request: request, limits: limits, route: origin.route)
    let mayReuseConnection = origin.peer.keepsConnection
    let exchange = Exchange(
      origin, limits: limits, clock: clock, failures: failures, register: register)
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
      origin.peer.note(connectionIsKept: false)
      if mayReuseConnection { error.cause = ReusedConnectionClosed() }
      throw error
    } catch let error as ChainError where error.cause is CertificateRefused {
      throw await failures.explained(error)
    }
  }

  private func origin(for request: HTTPRequestMessage, _ limits: HTTPLimits) throws -> OriginClient
  {
    var failures: TransportFailures {
      TransportFailures(
        request: request, limits: limits, route: ConnectionRoute(request.head, limits.connection))
    }
    do {
      guard let origin = try clients.origin(for: request.head, limits) else {
        throw failures.shutDown()
      }
      return origin
    } catch let error as TLSSettings.UnusableFile {
      throw failures.unusable(error)
    } catch {
      throw failures.beforeHead(error)
    }
  }
}

/// The cause of a failure that may only mean that the server closed an idle connection while the
/// request was sent on it.
///
/// https://www.rfc-editor.org/rfc/rfc9112#section-9.3.1
struct ReusedConnectionClosed: Error, CustomStringConvertible {
  var description: String { "the connection was reused" }
}

extension ByteBuffer: BodyChunk {
  /// The number of bytes.
  public var count: Int { readableBytes }

  /// Calls `body` with the bytes. The pointer is only valid during the call.
  public func withUnsafeBytes<Result>(
    _ body: (UnsafeRawBufferPointer) throws -> Result
  ) rethrows -> Result {
    try withUnsafeReadableBytes(body)
  }
}

extension Duration {
  var nanoseconds: Int64 {
    let (seconds, attoseconds) = components
    return seconds.multipliedReportingOverflow(by: 1_000_000_000).overflow
      ? .max : seconds * 1_000_000_000 + attoseconds / 1_000_000_000
  }
}
