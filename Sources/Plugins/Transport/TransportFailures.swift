import AsyncHTTPClient
import Foundation
import GQLRunPipeline
import GQLRunSupport
import HTTPTypes
import NIOCore
import NIOHTTP1
import NIOHTTP2
import NIOPosix
import NIOSOCKS
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
    _ code: ChainError.Code, message: String, delivery: ChainError.Delivery
  ) -> ChainError {
    ChainError(.transport, code: code, message: message, delivery: delivery)
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
        message:
          "\(origin) sent a response without a request, and the connection was closed before this "
          + "request was answered", delivery: .unknown)
    default: break
    }
    if let failure = secure(error) ?? multiplexed(error) ?? socks(error) { return failure }
    return failure(
      .connectionFailed, message: "the request to \(origin) failed: \(ErrorWords.text(error))",
      delivery: .unknown)
  }

  @inline(never)
  func shutDown() -> ChainError {
    failure(
      .connectionFailed,
      message: "the request to \(origin) was not sent: the transport was shut down",
      delivery: .notSent)
  }

  @inline(never)
  func headTimedOut() -> ChainError {
    failure(
      .timedOut,
      message:
        "\(origin) did not answer within \(limits.total.optionText); raise --timeout, or the option timeout of "
        + "fetch",
      delivery: .unknown)
  }

  @inline(never)
  func headIdle(for idle: Duration) -> ChainError {
    failure(
      .timedOut,
      message: "\(origin) did not answer: no data arrived for \(idle.optionText); raise the option "
        + "idle_timeout of fetch if it is that slow", delivery: .unknown)
  }

  /// All connections that `max_connections` permits were in use for a whole time limit.
  @inline(never)
  func noConnection(within time: Duration) -> ChainError {
    failure(
      .timedOut,
      message:
        "the request was not sent: no connection to \(origin) was free for \(time.optionText), because "
        + "\(connectionsInUse)",
      delivery: .notSent)
  }

  /// What uses all connections, and what would help.
  var connectionsInUse: String {
    let most = limits.connection.maxPerHost
    return
      "all \(most) are in use, such as by subscriptions; raise the option max_connections of fetch, or "
      + "use a transport that shares connections: WebSocket, single_connection: true, or HTTP/2"
  }

  @inline(never)
  func headTooLarge() -> ChainError {
    failure(
      .limitExceeded,
      message:
        "the header fields from \(origin) are larger than \(limits.headerBytes); raise the option "
        + "max_headers of fetch if they may be", delivery: .answered)
  }

  @inline(never)
  func badStatus(_ code: Int) -> ChainError {
    failure(
      .malformedResponse,
      message: "\(origin) answered with the status \(code), which is not valid", delivery: .answered
    )
  }

  private func parser(_ error: HTTPParserError) -> ChainError {
    switch error {
    case .invalidEOFState, .closedConnection:
      return failure(
        .connectionClosed, message: "\(origin) closed the connection before it answered",
        delivery: .unknown)
    case .headerOverflow:
      return failure(
        .limitExceeded,
        message: "\(origin) sent more header fields than supported: at most 256, of 80 KiB each",
        delivery: .unknown)
    default:
      let other = request.head.scheme == "https" ? "http" : "https"
      return failure(
        .malformedResponse,
        message:
          "\(origin) did not answer with HTTP (\(ErrorWords.text(error))); is the URL's scheme and port right, or "
          + "does it speak \(other)?", delivery: .unknown)
    }
  }

  private func system(_ error: IOError) -> ChainError {
    // Only a new connection can be refused; the other errors also end open ones.
    if error.errnoCode == ECONNREFUSED {
      // A proxy that is given by its IP address.
      if let proxy { return refused(by: proxy, Self.reason(error)) }
      return failure(
        .connectionFailed,
        message: "cannot connect to \(origin): connection refused; is the server running?",
        delivery: .notSent)
    }
    if let path = limits.connection.unixSocket,
      [ENOENT, EACCES, ENOTSOCK].contains(error.errnoCode)
    {
      return failure(
        .connectionFailed,
        message:
          "cannot connect to the Unix domain socket \(path): \(Self.reason(error)); it is named with "
          + "--unix-socket or the option unix_socket of fetch", delivery: .notSent)
    }
    if [EHOSTUNREACH, ENETUNREACH, EADDRNOTAVAIL].contains(error.errnoCode) {
      return failure(
        .connectionFailed, message: "cannot reach \(origin): \(Self.reason(error))",
        delivery: .unknown)
    }
    return failure(
      .connectionClosed,
      message: "the connection to \(origin) was lost before a response arrived: "
        + "\(Self.reason(error))", delivery: .unknown)
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
        .nameResolutionFailed,
        message: "the name \(error.host) has no address; is it spelled right?",
        delivery: .notSent)
    }
    let causes = error.connectionErrors.map { Self.reason(anyOf: $0.error) }
    return failure(
      .connectionFailed,
      message:
        "cannot connect to \(origin): \(causes.first ?? "no address answered"); is the server "
        + "running?",
      delivery: .notSent)
  }

  private func client(_ error: HTTPClientError) -> any Error {
    if let proxy, let failure = client(error, through: proxy) { return failure }
    switch error {
    case .cancelled: return CancellationError()
    case .connectTimeout:
      return failure(
        .connectionFailed,
        message: "no connection to \(origin) within \(limits.connect.optionText)",
        delivery: .notSent)
    case .tlsHandshakeTimeout:
      return failure(
        .tlsFailed, message: "no secure connection to \(origin) in time", delivery: .notSent)
    case .getConnectionFromPoolTimeout:
      return failure(
        .timedOut, message: "no connection to \(origin) became available in time",
        delivery: .notSent)
    case .remoteConnectionClosed:
      return failure(
        .connectionClosed, message: "\(origin) closed the connection before it answered",
        delivery: .unknown)
    case .emptyHost, .emptyScheme, .invalidURL:
      return failure(
        .invalidRequest, message: "\(origin) is not a URL to send to", delivery: .notSent)
    default:
      return failure(
        .connectionFailed, message: "the request to \(origin) failed: \(error.shortDescription)",
        delivery: .unknown)
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
        message:
          "the connection to \(origin) was lost after \(received) bytes of the body: \(loss.reason)",
        delivery: .answered)
    }
    return failure(
      .malformedResponse,
      message: "\(origin) violated \(version) after \(received) bytes of the body: \(loss.reason)",
      delivery: .answered)
  }

  @inline(never)
  func tooLarge() -> ChainError {
    let ratio = limits.decompressionRatio.map {
      ", or than \($0) times what was sent: raise the option max_ratio,"
    }
    return failure(
      .limitExceeded,
      message:
        "the body from \(origin) is larger than \(limits.bodyBytes)\(ratio ?? ";") raise the option "
        + "max_body of fetch if it may be", delivery: .answered)
  }

  @inline(never)
  func bodyTimedOut(received: Int) -> ChainError {
    failure(
      .timedOut,
      message:
        "\(origin) took longer than \(limits.total.optionText): \(Quantity.count(received, "byte")) of the body had "
        + "arrived; raise --timeout, or the option timeout of fetch", delivery: .answered)
  }

  @inline(never)
  func idleInBody(received: Int) -> ChainError {
    failure(
      .timedOut,
      message: "\(origin) stopped sending after \(received) bytes of the body: no data arrived for "
        + "\(limits.idle.optionText); raise the option idle_timeout of fetch if it is that slow",
      delivery: .answered)
  }

  @inline(never)
  func tooSlow(received: Int) -> ChainError {
    failure(
      .timedOut,
      message:
        "\(origin) sends fewer than \(limits.minimumThroughput) per second: \(Quantity.count(received, "byte")) of the "
        + "body had arrived; lower the option min_throughput of fetch", delivery: .answered)
  }

  private func undecodable(_ error: BodyDecoder.Failure, _ received: Int) -> ChainError {
    let reason: String
    switch error {
    case .tooLarge: return tooLarge()
    case .truncated:
      return failure(
        .truncatedResponse,
        message:
          "the compressed body from \(origin) ends in the middle, after \(Quantity.count(received, "byte"))",
        delivery: .answered)
    case .damaged: reason = "it is damaged"
    case .trailingData: reason = "invalid trailing data"
    case .outOfMemory: reason = "there is not enough memory"
    }
    return failure(
      .malformedResponse, message: "the body from \(origin) cannot be decompressed: \(reason)",
      delivery: .answered)
  }
}

/// Maps the errors of proxies.
extension TransportFailures {
  func connection(_ error: NIOConnectionError, to proxy: HTTPProxy) -> ChainError {
    if error.connectionErrors.isEmpty, error.dnsAError != nil || error.dnsAAAAError != nil {
      return refused(by: proxy, "the name \(proxy.host) has no address")
    }
    let causes = error.connectionErrors.map { Self.reason(anyOf: $0.error) }
    return refused(by: proxy, causes.first ?? "no address answered")
  }

  func refused(by proxy: HTTPProxy, _ reason: String) -> ChainError {
    failure(
      .proxyFailed,
      message:
        "cannot connect to the proxy \(proxy): \(reason); it comes from --proxy, the option proxy of fetch, "
        + "or from variables such as HTTPS_PROXY", delivery: .notSent)
  }

  /// The error of a proxy that opened no tunnel; `nil` for other errors.
  func client(_ error: HTTPClientError, through proxy: HTTPProxy) -> ChainError? {
    switch error {
    case .proxyAuthenticationRequired: return wantsCredentials(proxy)
    case .invalidProxyResponse:
      return failure(
        .proxyFailed,
        message:
          "the proxy \(proxy) opened no tunnel to \(origin): it refused, or is not an HTTP proxy",
        delivery: .notSent)
    case .httpProxyHandshakeTimeout, .socksHandshakeTimeout:
      return failure(
        .proxyFailed,
        message:
          "the proxy \(proxy) opened no tunnel to \(origin) within \(limits.connect.optionText)",
        delivery: .notSent)
    case .connectTimeout:
      return failure(
        .proxyFailed,
        message: "no connection to the proxy \(proxy) within \(limits.connect.optionText)",
        delivery: .notSent)
    default: return nil
    }
  }

  func wantsCredentials(_ proxy: HTTPProxy) -> ChainError {
    failure(
      .proxyFailed,
      message:
        "the proxy \(proxy) requires credentials, or rejected those that were sent (407): put them "
        + "into its URL, http://user:password@\(proxy)", delivery: .notSent)
  }

  /// The error in the response of a forwarding proxy; `nil` if the response is not about the proxy.
  @inline(never)
  func refusal(by response: HTTPResponse) -> ChainError? {
    guard route.setting.isPassedOn, let proxy, response.status.code == 407 else { return nil }
    return wantsCredentials(proxy)
  }

  /// The error of the SOCKS handshake; `nil` for other errors.
  func socks(_ error: any Error) -> ChainError? {
    guard let proxy, proxy.kind == .socks5 else { return nil }
    switch error {
    case let error as SOCKSError.ConnectionFailed:
      return failure(
        .proxyFailed,
        message:
          "the proxy \(proxy) opened no connection to \(origin): \(Self.reason(error.reply))",
        delivery: .notSent)
    case is SOCKSError.NoValidAuthenticationMethod, is SOCKSError.InvalidAuthenticationSelection:
      return failure(
        .proxyFailed,
        message: "the proxy \(proxy) requires credentials, which is not supported for SOCKS",
        delivery: .notSent)
    case is SOCKSError.InvalidProtocolVersion, is SOCKSError.InvalidReservedByte,
      is SOCKSError.InvalidAddressType,
      is SOCKSError.InvalidClientState, is SOCKSError.UnexpectedRead:
      return failure(
        .proxyFailed,
        message: "the proxy \(proxy) does not answer with SOCKS 5; is it an HTTP proxy?",
        delivery: .notSent)
    default: return nil
    }
  }

  /// https://www.rfc-editor.org/rfc/rfc1928#section-6
  private static func reason(_ reply: SOCKSServerReply) -> String {
    switch reply.value {
    case 2: "its rules do not allow that"
    case 3: "the network cannot be reached"
    case 4: "the host cannot be reached, or its name has no address"
    case 5: "connection refused; is the server running?"
    default: "it gave the reason \(reply.value)"
    }
  }
}

/// The cause of a failure that needs an inspection of the server's certificate.
struct CertificateRefused: Error, CustomStringConvertible {
  var description: String { "the server's certificate was refused" }
}

extension TransportFailures {
  /// Maps a TLS error; `nil` for other errors.
  func secure(_ error: any Error) -> ChainError? {
    switch error {
    case let error as NIOSSLError: return handshake("\(error)")
    case let error as BoringSSLError: return handshake("\(error)")
    case let error as NIOSSLExtraError where error == .failedToValidateHostname:
      return insecure(
        "its certificate is for another name"
          + (limits.connection.tls.serverName.map {
            " than \($0), the option tls.server_name of fetch"
          }
            ?? "; is the URL right, and is it the server you mean?"))
    case let error as NIOSSLExtraError:
      // The text after the name of the error.
      let text = "\(error)"
      return insecure(
        text.firstRange(of: ": ").map { String(text[$0.upperBound...]) } ?? ErrorWords.text(error))
    default: return nil
    }
  }

  private func insecure(_ reason: String, cause: (any Error)? = nil) -> ChainError {
    var error = failure(
      .tlsFailed, message: "no secure connection to \(origin): \(reason)", delivery: .notSent)
    error.cause = cause
    return error
  }

  private func handshake(_ text: String) -> ChainError {
    if text.contains("WRONG_VERSION_NUMBER") || text.contains("HTTP_REQUEST")
      || text.contains("HTTPS_PROXY_REQUEST")
    {
      return insecure("it does not answer with TLS; is the URL's scheme and port right?")
    }
    if text.contains("CERTIFICATE_VERIFY_FAILED") {
      return insecure(Self.unknownAuthority, cause: CertificateRefused())
    }
    if text.contains("UNSUPPORTED_PROTOCOL") || text.contains("PROTOCOL_VERSION") {
      return insecure(
        "it does not support TLS \(limits.connection.tls.minimumVersion.rawValue) or newer; "
          + (limits.connection.tls.minimumVersion == .tls13
            ? "lower the option tls.min_version of fetch if 1.2 is enough"
            : "older versions are not safe"))
    }
    if text.contains("CERTIFICATE_REQUIRED") || text.contains("BAD_CERTIFICATE")
      || text.contains("HANDSHAKE_FAILURE")
    {
      return insecure(
        "it refused this client, and may require a client certificate (--cert, or the "
          + "option tls.client_certificate of fetch): \(Self.reason(text))")
    }
    return insecure(Self.reason(text))
  }

  /// The reason in an error of the TLS library, as words: `error:…:OPENSSL_internal:NO_SHARED_CIPHER at
  /// …` is `no shared cipher`.
  private static func reason(_ text: String) -> String {
    guard let start = text.firstRange(of: "OPENSSL_internal:")?.upperBound else {
      return "the TLS handshake failed"
    }
    let words = text[start...].prefix { $0.isLetter || $0.isNumber || $0 == "_" }
    return words.lowercased().replacing("_", with: " ")
  }

  private static let unknownAuthority =
    "its certificate is signed by an unknown authority; name a file with the authority's "
    + "certificate with --cacert, or in the option tls.ca_file of fetch"

  @inline(never)
  func unusable(_ file: TLSSettings.UnusableFile) -> ChainError {
    insecure(file.message)
  }

  /// A failure with the result of the certificate's inspection.
  func explained(_ error: ChainError) async -> ChainError {
    var explained = error
    explained.cause = nil
    // There is no inspection through a tunnel or over a socket.
    guard proxy == nil, route.unixSocket == nil, let (host, port) = address,
      let problem = await CertificateProbe.problem(
        host: host, name: limits.connection.tls.serverName, port: port,
        connect: .nanoseconds(limits.connect.nanoseconds),
        now: Date().timeIntervalSince1970)
    else { return explained }
    explained.message =
      "no secure connection to \(origin): its certificate \(problem); is this machine's clock "
      + "right?"
    return explained
  }

  private var address: (host: String, port: Int)? {
    let authority = request.head.authority ?? ""
    guard let url = URL(string: "https://\(authority)"), let host = url.host() else { return nil }
    return (host.filter { $0 != "[" && $0 != "]" }, url.port ?? 443)
  }
}

// MARK: HTTP/2

extension TransportFailures {
  /// Maps an error of an HTTP/2 connection or stream before the head of a response; `nil` for
  /// others.
  func multiplexed(_ error: any Error) -> ChainError? {
    switch error {
    case let error as NIOHTTP2Errors.StreamClosed where error.errorCode == .refusedStream:
      // https://www.rfc-editor.org/rfc/rfc9113#section-8.7
      return failure(
        .connectionClosed,
        message:
          "\(origin) accepted no more requests on this connection (REFUSED_STREAM); it did not "
          + "process this one", delivery: .notSent)
    case let error as NIOHTTP2Errors.StreamClosed:
      return failure(
        .connectionClosed,
        message: "\(origin) ended the stream before it answered (\(Self.name(error.errorCode)))",
        delivery: .unknown)
    case is any NIOHTTP2Error:
      return failure(
        .malformedResponse, message: "\(origin) violated HTTP/2: \(ErrorWords.text(error))",
        delivery: .unknown)
    default: return nil
    }
  }

  static func name(_ code: NIOHTTP2.HTTP2ErrorCode) -> String {
    switch code {
    case .internalError: "INTERNAL_ERROR"
    case .cancel: "CANCEL"
    case .refusedStream: "REFUSED_STREAM"
    case .protocolError: "PROTOCOL_ERROR"
    case .noError: "NO_ERROR"
    default: "error \(code.networkCode)"
    }
  }
}
