import AsyncHTTPClient
public import GQLRunPipeline
import HTTPTypes
public import NIOCore
import NIOHTTP1
import NIOHTTPCompression

/// Sends HTTP requests with async-http-client: streamed, pooled, HTTP/1.1 and HTTP/2.
///
/// Redirects are not followed: its way of following them turns POST into GET and takes secret fields
/// along. Its limits of time are not used: one ends with the head of the response, the other counts
/// the time in which we are busy with what came; ``Exchange`` keeps ours. What comes goes from its event
/// loop straight to the reader (``Reception``), without a task in between.
public struct AsyncHTTPTransport: HTTPTransport {
  private let clients: Clients
  private let register: ExchangeRegister
  private let clock: ServiceClock
  private let userAgent: String

  /// A transport with its own pool of connections; ``shutdown()`` closes them.
  ///
  /// - Parameter userAgent: The field `User-Agent` of requests that bring none.
  public init(
    clock: ServiceClock = ServiceClock(ContinuousClock()), userAgent: String = "gqlrun"
  ) {
    self.init(clock: clock, userAgent: userAgent, meter: nil)
  }

  /// - Parameters:
  ///   - meter: Counts bytes and connections.
  ///   - traces: Whether each request is a span of the tracer that the process was bootstrapped with.
  package init(
    clock: ServiceClock = ServiceClock(ContinuousClock()), userAgent: String = "gqlrun",
    meter: ConnectionMeter?, traces: Bool = true
  ) {
    clients = Clients(meter: meter, traces: traces)
    self.clock = clock
    register = ExchangeRegister(
      clock: clock, loops: Array(HTTPClient.defaultEventLoopGroup.makeIterator()))
    self.userAgent = userAgent
  }

  public var executors: [any TaskExecutor] {
    HTTPClient.defaultEventLoopGroup.makeIterator().map { LoopExecutor($0) }
  }

  /// Closes all connections. The transport cannot be used afterwards.
  public func shutdown() async { await clients.shutdown() }

  public func send(
    _ request: HTTPRequestMessage, limits: HTTPLimits
  ) async throws -> HTTPResponseMessage {
    let line = try line(for: request, limits)
    let failures = TransportFailures(request: request, limits: limits, passage: line.passage)
    let mayMeetKeptConnection = line.peer.keepsConnection
    let exchange = Exchange(
      line, limits: limits, clock: clock, failures: failures, register: register)
    do {
      let (head, version) = try await exchange.head(
        try line.outgoing(request, userAgent: userAgent))
      if let refusal = failures.refusal(by: head) { throw refusal }
      var response = HTTPResponseMessage(
        head: head, body: HTTPBody(pull: { try await exchange.next() }))
      response.version = version
      return response
    } catch var error as ChainError where error.code == .connectionClosed {
      line.peer.note(connectionIsKept: false)
      if mayMeetKeptConnection { error.cause = KeptConnectionClosed() }
      throw error
    } catch let error as ChainError where error.cause is CertificateRefused {
      throw await failures.explained(error)
    }
  }

  private func line(for request: HTTPRequestMessage, _ limits: HTTPLimits) throws -> Line {
    var failures: TransportFailures {
      TransportFailures(
        request: request, limits: limits, passage: Passage(request.head, limits.connection))
    }
    do {
      guard let line = try clients.line(for: request.head, limits) else {
        throw failures.shutDown()
      }
      return line
    } catch let error as TLSSettings.UnusableFile {
      throw failures.unusable(error)
    }
  }
}

/// The cause of a failure that may only mean that the server closed an idle connection as the
/// request went out on it.
///
/// https://www.rfc-editor.org/rfc/rfc9112#section-9.3.1
struct KeptConnectionClosed: Error, CustomStringConvertible {
  var description: String { "the connection was kept from an earlier request" }
}

extension ByteBuffer: BodyChunk {
  public var count: Int { readableBytes }

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
