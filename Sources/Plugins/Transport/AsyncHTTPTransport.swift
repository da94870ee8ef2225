import AsyncHTTPClient
public import GQLRunPipeline
public import NIOCore
import NIOHTTP1

/// Sends HTTP requests with async-http-client: streamed, pooled, HTTP/1.1 and HTTP/2.
///
/// Does not use the library's redirects, which turn POST into GET and forward secret header fields.
/// Does not use the library's timeouts either: one ends with the head of the response, the other
/// includes the time in which this program processes data; `Exchange` enforces the limits
/// instead. Received data goes from the event loop to the reader (`ResponseReader`) without a task
/// in between.
public struct AsyncHTTPTransport: HTTPTransport {
  private let sender: HTTPSender
  private let connections: OperationConnections

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
    sender = HTTPSender(
      clients: Clients(meter: meter, traces: traces, observer: observer),
      register: ExchangeRegister(
        clock: clock, loops: Array(HTTPClient.defaultEventLoopGroup.makeIterator())),
      clock: clock, userAgent: userAgent)
    connections = OperationConnections(sender, meter: meter, observer: observer)
  }

  /// The event loops of the network.
  public var executors: [any TaskExecutor] {
    HTTPClient.defaultEventLoopGroup.makeIterator().map { LoopExecutor($0) }
  }

  /// Closes all connections. The transport cannot be used afterwards.
  public func shutdown() async {
    await connections.shutdown()
    await sender.clients.shutdown()
  }

  /// Sends a request, and returns when the head of its response has arrived, or when the operation was sent
  /// over WebSocket or begins on a shared event stream.
  ///
  /// - Parameters:
  ///   - request: The request.
  ///   - limits: The limits of the exchange; they also apply to the body.
  /// - Throws: `ChainError` of the layer `transport`, with its `delivery` set.
  public func send(
    _ request: HTTPRequestMessage, limits: HTTPLimits
  ) async throws -> HTTPResponseMessage {
    if request.webSocket != nil || request.eventStream != nil {
      return try await connections.send(request, limits)
    }
    return try await sender.send(request, limits: limits)
  }
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
    let whole = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    let sum = whole.partialValue.addingReportingOverflow(attoseconds / 1_000_000_000)
    return whole.overflow || sum.overflow ? .max : sum.partialValue
  }
}
