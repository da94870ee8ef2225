import AsyncHTTPClient
import HTTPTypes
public import NIOCore
import NIOHTTP1
import NIOHTTPCompression
import NIOPosix
public import Pipeline

/// Sends HTTP requests with async-http-client: streamed, pooled, HTTP/1.1 and HTTP/2.
///
/// Redirects are not followed: its way of following them turns POST into GET and takes secret fields
/// along. Its own timeout ends with the head of the response, so the deadline over
/// the body is kept here.
public struct AsyncHTTPTransport: HTTPTransport {
  private let clients: Clients
  private let clock: ServiceClock

  /// A transport with its own pool of connections; ``shutdown()`` closes them.
  public init(clock: ServiceClock = ServiceClock(ContinuousClock())) {
    clients = Clients()
    self.clock = clock
  }

  /// Closes all connections. The transport cannot be used afterwards.
  public func shutdown() async { await clients.shutdown() }

  public func send(
    _ request: HTTPRequestMessage, limits: HTTPLimits
  ) async throws -> HTTPResponseMessage {
    let deadline = clock.now() + limits.total
    let client = await clients.client(for: limits)
    let failures = TransportFailures(request: request, limits: limits)
    let response: HTTPClientResponse
    do {
      response = try await client.execute(
        try outgoing(request), deadline: .now() + .nanoseconds(limits.total.nanoseconds))
    } catch {
      throw failures.beforeHead(error)
    }
    var head = HTTPTypes.HTTPResponse(
      status: .init(code: Int(response.status.code), reasonPhrase: response.status.reasonPhrase))
    for (name, value) in response.headers {
      guard let name = HTTPField.Name(name) else { continue }
      head.headerFields.append(HTTPField(name: name, value: value))
    }
    let body = BodyReader(
      response.body, deadline: deadline, clock: clock, limit: limits.bodyBytes.bytes,
      failures: failures)
    return HTTPResponseMessage(head: head, body: HTTPBody(pull: { try await body.next() }))
  }

  private func outgoing(_ request: HTTPRequestMessage) throws -> HTTPClientRequest {
    let head = request.head
    var outgoing = HTTPClientRequest(
      url: "\(head.scheme ?? "http")://\(head.authority ?? "")\(head.path ?? "/")")
    outgoing.method = HTTPMethod(rawValue: head.method.rawValue)
    for field in head.headerFields {
      outgoing.headers.add(name: field.name.rawName, value: field.value)
    }
    if !outgoing.headers.contains(name: "User-Agent") {
      outgoing.headers.add(name: "User-Agent", value: "gqlrun")
    }
    if !outgoing.headers.contains(name: "Accept-Encoding") {
      outgoing.headers.add(name: "Accept-Encoding", value: "gzip, deflate")
    }
    if let body = request.body { outgoing.body = .bytes(ByteBuffer(bytes: body)) }
    return outgoing
  }
}

/// One client per combination of the limits that async-http-client keeps per client.
private actor Clients {
  private struct Key: Hashable {
    var connect: Duration
    var idle: Duration
    var bodyBytes: Int
  }

  private var clients: [Key: HTTPClient] = [:]

  func client(for limits: HTTPLimits) -> HTTPClient {
    let key = Key(
      connect: limits.connect, idle: limits.idle, bodyBytes: limits.bodyBytes.bytes)
    if let client = clients[key] { return client }
    var configuration = HTTPClient.Configuration()
    configuration.redirectConfiguration = .disallow
    configuration.timeout.connect = .nanoseconds(limits.connect.nanoseconds)
    configuration.timeout.read = .nanoseconds(limits.idle.nanoseconds)
    configuration.decompression = .enabled(limit: .size(limits.bodyBytes.bytes))
    // A refused connection is told at once; waiting is the business of max-retry.
    configuration.connectionPool.retryConnectionEstablishment = false
    configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 256
    let client = HTTPClient(eventLoopGroup: HTTPClient.defaultEventLoopGroup, configuration: configuration)
    clients[key] = client
    return client
  }

  func shutdown() async {
    for client in clients.values { try? await client.shutdown() }
    clients = [:]
  }
}

/// Reads a body under a deadline and a size limit.
private actor BodyReader {
  private var iterator: HTTPClientResponse.Body.AsyncIterator?
  private let deadline: Duration
  private let clock: ServiceClock
  private let limit: Int
  private let failures: TransportFailures
  private var received = 0

  init(
    _ body: HTTPClientResponse.Body, deadline: Duration, clock: ServiceClock, limit: Int,
    failures: TransportFailures
  ) {
    iterator = body.makeAsyncIterator()
    self.deadline = deadline
    self.clock = clock
    self.limit = limit
    self.failures = failures
  }

  func next() async throws -> (any BodyChunk)? {
    // The iterator is out while it runs, so that nobody else disturbs it.
    guard var iterator = iterator.take() else { return nil }
    let chunk: ByteBuffer?
    do {
      chunk = try await iterator.next(isolation: self)
    } catch {
      throw failures.inBody(error, received: received)
    }
    guard let chunk else { return nil }
    received += chunk.readableBytes
    guard received <= limit else { throw failures.tooLarge(limit) }
    guard clock.now() < deadline else { throw failures.tookTooLong(received: received) }
    self.iterator = iterator
    return chunk
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
