import AsyncHTTPClient
import HTTPTypes
public import NIOCore
import NIOHTTP1
import NIOHTTPCompression
public import Pipeline

/// Sends HTTP requests with async-http-client: streamed, pooled, HTTP/1.1 and HTTP/2.
///
/// Redirects are not followed: its way of following them turns POST into GET and takes secret fields
/// along. Its limits of time are not used: one ends with the head of the response, the other counts
/// the time in which we are busy with what came; ``Exchange`` keeps ours.
public struct AsyncHTTPTransport: HTTPTransport {
  private let clients: Clients
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

  /// - Parameter meter: Watches the connections.
  package init(
    clock: ServiceClock = ServiceClock(ContinuousClock()), userAgent: String = "gqlrun",
    meter: ConnectionMeter?
  ) {
    clients = Clients(meter: meter)
    self.clock = clock
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
    let failures = TransportFailures(request: request, limits: limits)
    let client: HTTPClient
    do {
      guard let found = try await clients.client(for: limits, proxy: failures.proxy) else {
        throw failures.shutDown()
      }
      client = found
    } catch let error as TLSSettings.UnusableFile {
      throw failures.unusable(error)
    }
    let origin = failures.origin
    let mayMeetKeptConnection = await clients.keepsConnection(to: origin)
    let exchange = Exchange(limits: limits, clock: clock, failures: failures) { [clients] in
      await clients.note(connectionIsKept: $0, to: origin)
    }
    let outgoing = outgoing(request, decompresses: limits.connection.decompresses)
    do {
      let head = try await exchange.head {
        try await client.execute(outgoing, deadline: .distantFuture)
      }
      return HTTPResponseMessage(
        head: head, body: HTTPBody(pull: { try await exchange.next() }))
    } catch var error as ChainError where error.code == .connectionClosed {
      await clients.note(connectionIsKept: false, to: origin)
      if mayMeetKeptConnection { error.cause = KeptConnectionClosed() }
      throw error
    } catch let error as ChainError where error.cause is CertificateRefused {
      throw await failures.explained(error)
    }
  }

  private func outgoing(_ request: HTTPRequestMessage, decompresses: Bool) -> HTTPClientRequest {
    let head = request.head
    var outgoing = HTTPClientRequest(
      url: "\(head.scheme ?? "http")://\(head.authority ?? "")\(head.path ?? "/")")
    outgoing.method = HTTPMethod(rawValue: head.method.rawValue)
    for field in head.headerFields {
      outgoing.headers.add(name: field.name.rawName, value: field.value)
    }
    if !outgoing.headers.contains(name: "User-Agent") {
      outgoing.headers.add(name: "User-Agent", value: userAgent)
    }
    if decompresses, !outgoing.headers.contains(name: "Accept-Encoding") {
      outgoing.headers.add(name: "Accept-Encoding", value: "gzip, deflate")
    }
    if let body = request.body { outgoing.body = .bytes(ByteBuffer(bytes: body)) }
    return outgoing
  }
}

/// The cause of a failure that may only mean that the server closed an idle connection as the
/// request went out on it.
///
/// https://www.rfc-editor.org/rfc/rfc9112#section-9.3.1
struct KeptConnectionClosed: Error, CustomStringConvertible {
  var description: String { "the connection was kept from an earlier request" }
}

/// One client per combination of what async-http-client keeps per client.
private actor Clients {
  private struct Key: Hashable {
    var connect: Duration
    var bodyBytes: Int
    var ratio: Int?
    var connection: HTTPConnection
    var proxy: HTTPProxy?
  }

  private let meter: ConnectionMeter?
  private var clients: [Key: HTTPClient] = [:]
  private var isShutDown = false
  /// Where a connection was left open after an answer.
  private var keptOrigins: Set<String> = []

  init(meter: ConnectionMeter?) { self.meter = meter }

  /// `nil` after the shutdown.
  func client(
    for limits: HTTPLimits, proxy: HTTPProxy?
  ) throws(TLSSettings.UnusableFile) -> HTTPClient? {
    guard !isShutDown else { return nil }
    let key = Key(
      connect: limits.connect, bodyBytes: limits.bodyBytes.bytes, ratio: limits.decompressionRatio,
      connection: limits.connection, proxy: proxy)
    if let client = clients[key] { return client }
    let connection = limits.connection
    var configuration = HTTPClient.Configuration()
    configuration.redirectConfiguration = .disallow
    configuration.timeout.connect = .nanoseconds(limits.connect.nanoseconds)
    configuration.tlsConfiguration = try connection.tls.configuration()
    configuration.httpVersion = connection.usesHTTP2 ? .automatic : .http1Only
    configuration.proxy = proxy.map { proxy in
      .server(
        host: proxy.host, port: proxy.port,
        authorization: proxy.user.map {
          .basic(username: $0, password: proxy.password?.reveal() ?? "")
        })
    }
    if connection.decompresses {
      // The size is measured by the exchange, too; here it stops a bomb before it is unpacked.
      configuration.decompression = .enabled(
        limit: limits.decompressionRatio.map { .ratio($0) } ?? .size(limits.bodyBytes.bytes))
    }
    // A refused connection is told at once; waiting is the business of max-retry.
    configuration.connectionPool.retryConnectionEstablishment = false
    configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit =
      connection.maximumPerHost
    configuration.http2StreamChannelDebugInitializer = { channel in
      channel.eventLoop.makeCompletedFuture {
        try channel.pipeline.syncOperations.addHandler(GoAwayHandler(), position: .first)
      }
    }
    if let meter {
      configuration.http1_1ConnectionDebugInitializer = { meter.watch($0) }
      configuration.http2ConnectionDebugInitializer = { meter.watch($0) }
    }
    configuration.connectionPool.idleTimeout = .nanoseconds(connection.keepAlive.nanoseconds)
    let client = HTTPClient(
      eventLoopGroup: HTTPClient.defaultEventLoopGroup, configuration: configuration)
    clients[key] = client
    return client
  }

  func keepsConnection(to origin: String) -> Bool { keptOrigins.contains(origin) }

  func note(connectionIsKept: Bool, to origin: String) {
    if connectionIsKept { keptOrigins.insert(origin) } else { keptOrigins.remove(origin) }
  }

  func shutdown() async {
    isShutDown = true
    let open = clients.values
    clients = [:]
    for client in open { try? await client.shutdown() }
  }
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
