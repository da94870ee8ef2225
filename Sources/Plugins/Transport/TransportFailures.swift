import AsyncHTTPClient
import Foundation
import GQLRunPipeline
import GQLRunSupport
import HTTPTypes
import NIOCore
import NIOHTTP1
import NIOHTTP2
import NIOPosix
import NIOSSL

/// Maps network errors to ``ChainError``: message, code, and how far the request got.
struct TransportFailures: Sendable {
  let request: HTTPRequestMessage
  let limits: HTTPLimits
  let route: ConnectionRoute

  /// Scheme and authority.
  var origin: String {
    "\(request.head.scheme ?? "http")://\(request.head.authority ?? "")"
  }

  /// The proxy that the request goes through, or `nil`.
  var proxy: HTTPProxy? { route.proxy }

  func failure(
    _ code: ChainError.Code, _ message: String, _ delivery: ChainError.Delivery
  ) -> ChainError {
    ChainError(.transport, code, message, delivery: delivery)
  }
}

// MARK: Before the head

extension TransportFailures {
  /// Maps an error that occurred before the head of the response.
  @inline(never)
  func beforeHead(_ error: any Error) -> any Error {
    switch error {
    case is CancellationError, is ChainError: return error
    case let error as TLSSettings.UnusableFile: return unusable(error)
    case let error as NIOConnectionError: return connection(error)
    case let error as HTTPClientError: return client(error)
    case let error as HTTPParserError: return parser(error)
    case let error as IOError: return system(error)
    case ChannelError.connectTimeout: return client(.connectTimeout)
    case is ChannelError:
      // A pooled connection usually ends this way if it was closed while the request was sent on
      // it.
      return client(.remoteConnectionClosed)
    case is NIOHTTPDecoderError:
      return failure(
        .connectionClosed,
        "\(origin) sent a response without a request, and the connection was closed before this "
          + "request was answered", .unknown)
    default: break
    }
    if let failure = secure(error) ?? multiplexed(error) ?? socks(error) { return failure }
    return failure(
      .connectionFailed, "the request to \(origin) failed: \(ErrorWords.text(error))", .unknown)
  }

  @inline(never)
  func shutDown() -> ChainError {
    failure(
      .connectionFailed,
      "the request to \(origin) was not sent: the transport was shut down", .notSent)
  }

  @inline(never)
  func headTimedOut() -> ChainError {
    failure(
      .timedOut,
      "\(origin) did not answer within \(limits.total.optionText); raise --timeout, or the option timeout of "
        + "fetch",
      .unknown)
  }

  @inline(never)
  func headIdle(for idle: Duration) -> ChainError {
    failure(
      .timedOut,
      "\(origin) did not answer: no data arrived for \(idle.optionText); raise the option "
        + "idle_timeout of fetch if it is that slow", .unknown)
  }

  /// All connections that `max_connections` permits were in use for a whole time limit.
  @inline(never)
  func noConnection(within time: Duration) -> ChainError {
    failure(
      .timedOut,
      "the request was not sent: no connection to \(origin) was free for \(time.optionText), because "
        + "\(connectionsInUse)",
      .notSent)
  }

  /// What uses all connections, and what would help.
  var connectionsInUse: String {
    let most = limits.connection.maximumPerHost
    return
      "all \(most) are in use, such as by subscriptions; raise the option max_connections of fetch, or "
      + "use a transport that shares connections: WebSocket, single_connection: true, or HTTP/2"
  }

  @inline(never)
  func headTooLarge() -> ChainError {
    failure(
      .limitExceeded,
      "the header fields from \(origin) are larger than \(limits.headerBytes); raise the option "
        + "max_headers of fetch if they may be", .answered)
  }

  @inline(never)
  func badStatus(_ code: Int) -> ChainError {
    failure(
      .malformedResponse,
      "\(origin) answered with the status \(code), which is not valid", .answered)
  }

  private func parser(_ error: HTTPParserError) -> ChainError {
    switch error {
    case .invalidEOFState, .closedConnection:
      return failure(
        .connectionClosed, "\(origin) closed the connection before it answered", .unknown)
    case .headerOverflow:
      return failure(
        .limitExceeded,
        "\(origin) sent more header fields than supported: at most 256, of 80 KiB each", .unknown)
    default:
      let other = request.head.scheme == "https" ? "http" : "https"
      return failure(
        .malformedResponse,
        "\(origin) did not answer with HTTP (\(ErrorWords.text(error))); is the URL's scheme and port right, or "
          + "does it speak \(other)?", .unknown)
    }
  }

  private func system(_ error: IOError) -> ChainError {
    // Only a new connection can be refused; the other errors also end open ones.
    if error.errnoCode == ECONNREFUSED {
      // A proxy that is given by its IP address.
      if let proxy { return refused(by: proxy, Self.reason(error)) }
      return failure(
        .connectionFailed,
        "cannot connect to \(origin): connection refused; is the server running?", .notSent)
    }
    if let path = limits.connection.unixSocket,
      [ENOENT, EACCES, ENOTSOCK].contains(error.errnoCode)
    {
      return failure(
        .connectionFailed,
        "cannot connect to the Unix domain socket \(path): \(Self.reason(error)); it is named with "
          + "--unix-socket or the option unix_socket of fetch", .notSent)
    }
    if [EHOSTUNREACH, ENETUNREACH, EADDRNOTAVAIL].contains(error.errnoCode) {
      return failure(.connectionFailed, "cannot reach \(origin): \(Self.reason(error))", .unknown)
    }
    return failure(
      .connectionClosed,
      "the connection to \(origin) was lost before a response arrived: "
        + "\(Self.reason(error))", .unknown)
  }

  static func reason(anyOf error: any Error) -> String {
    (error as? IOError).map(reason) ?? ErrorWords.text(error)
  }

  static func reason(_ error: IOError) -> String {
    String(cString: strerror(error.errnoCode)).lowercased()
  }

  private func connection(_ error: NIOConnectionError) -> ChainError {
    if let proxy { return connection(error, to: proxy) }
    if error.connectionErrors.isEmpty, error.dnsAError != nil || error.dnsAAAAError != nil {
      return failure(
        .nameResolutionFailed, "the name \(error.host) has no address; is it spelled right?",
        .notSent)
    }
    let causes = error.connectionErrors.map { Self.reason(anyOf: $0.error) }
    return failure(
      .connectionFailed,
      "cannot connect to \(origin): \(causes.first ?? "no address answered"); is the server "
        + "running?",
      .notSent)
  }

  private func client(_ error: HTTPClientError) -> any Error {
    if let proxy, let failure = client(error, through: proxy) { return failure }
    switch error {
    case .cancelled: return CancellationError()
    case .connectTimeout:
      return failure(
        .connectionFailed, "no connection to \(origin) within \(limits.connect.optionText)",
        .notSent)
    case .tlsHandshakeTimeout:
      return failure(.tlsFailed, "no secure connection to \(origin) in time", .notSent)
    case .getConnectionFromPoolTimeout:
      return failure(.timedOut, "no connection to \(origin) became available in time", .notSent)
    case .remoteConnectionClosed:
      return failure(
        .connectionClosed, "\(origin) closed the connection before it answered", .unknown)
    case .emptyHost, .emptyScheme, .invalidURL:
      return failure(.invalidRequest, "\(origin) is not a URL to send to", .notSent)
    default:
      return failure(
        .connectionFailed, "the request to \(origin) failed: \(error.shortDescription)", .unknown)
    }
  }
}

// MARK: In the body

extension TransportFailures {
  /// Maps an error within a body.
  @inline(never)
  func inBody(_ error: any Error, received: Int) -> any Error {
    switch error {
    case is CancellationError, is ChainError: return error
    case let error as HTTPClientError where error == .cancelled: return CancellationError()
    case let error as BodyDecoder.Failure: return undecodable(error, received)
    default: return lost(error as? BodyLoss ?? BodyLoss(error), received)
    }
  }

  private func lost(_ loss: BodyLoss, _ received: Int) -> ChainError {
    let version =
      switch loss.kind {
      case .lost: nil as String?
      case .http1: "HTTP"
      case .http2: "HTTP/2"
      }
    guard let version else {
      return failure(
        .truncatedResponse,
        "the connection to \(origin) was lost after \(received) bytes of the body: \(loss.reason)",
        .answered)
    }
    return failure(
      .malformedResponse,
      "\(origin) violated \(version) after \(received) bytes of the body: \(loss.reason)",
      .answered)
  }

  @inline(never)
  func tooLarge() -> ChainError {
    let ratio = limits.decompressionRatio.map {
      ", or than \($0) times what was sent: raise the option max_ratio,"
    }
    return failure(
      .limitExceeded,
      "the body from \(origin) is larger than \(limits.bodyBytes)\(ratio ?? ";") raise the option "
        + "max_body of fetch if it may be", .answered)
  }

  @inline(never)
  func bodyTimedOut(received: Int) -> ChainError {
    failure(
      .timedOut,
      "\(origin) took longer than \(limits.total.optionText): \(Quantity.count(received, "byte")) of the body had "
        + "arrived; raise --timeout, or the option timeout of fetch", .answered)
  }

  @inline(never)
  func idleInBody(received: Int) -> ChainError {
    failure(
      .timedOut,
      "\(origin) stopped sending after \(received) bytes of the body: no data arrived for "
        + "\(limits.idle.optionText); raise the option idle_timeout of fetch if it is that slow",
      .answered)
  }

  @inline(never)
  func tooSlow(received: Int) -> ChainError {
    failure(
      .timedOut,
      "\(origin) sends fewer than \(limits.minimumThroughput) per second: \(Quantity.count(received, "byte")) of the "
        + "body had arrived; lower the option min_throughput of fetch", .answered)
  }

  private func undecodable(_ error: BodyDecoder.Failure, _ received: Int) -> ChainError {
    let reason: String
    switch error {
    case .tooLarge: return tooLarge()
    case .truncated:
      return failure(
        .truncatedResponse,
        "the compressed body from \(origin) ends in the middle, after \(Quantity.count(received, "byte"))",
        .answered)
    case .damaged: reason = "it is damaged"
    case .trailingData: reason = "invalid trailing data"
    case .outOfMemory: reason = "there is not enough memory"
    }
    return failure(
      .malformedResponse, "the body from \(origin) cannot be decompressed: \(reason)", .answered)
  }
}
