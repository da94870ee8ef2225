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

/// The failures of the transport: one row for each cause, with how far the request got, its code, its text, and what
/// would help.
///
/// A class, so that the coroutine frames of a request do not hold copies of the request, its limits and its route.
final class TransportFailures: Sendable {
  let request: HTTPRequestMessage
  let limits: HTTPLimits
  let route: ConnectionRoute

  init(request: HTTPRequestMessage, limits: HTTPLimits, route: ConnectionRoute) {
    self.request = request
    self.limits = limits
    self.route = route
  }

  /// Scheme and authority.
  var origin: String { request.head.origin }

  /// The proxy that the request goes through, or `nil`.
  var proxy: HTTPProxy? { route.proxy }

  /// The option of `fetch` that limits the time without data.
  private var silenceOption: String { limits.isSubscription ? "event_timeout" : "idle_timeout" }

  /// A failure of a request that was not sent, or not processed.
  func notSent(
    _ code: ChainError.Code, _ text: String, remedy: String? = nil, cause: (any Error)? = nil
  ) -> ChainError {
    ChainError(
      .transport, code: code, message: Self.message(text, remedy), cause: cause, delivery: .notSent)
  }

  /// A failure before the head of the response, of a request that the server may have processed.
  func unanswered(
    _ code: ChainError.Code, _ text: String, remedy: String? = nil
  ) -> ChainError {
    ChainError(.transport, code: code, message: Self.message(text, remedy), delivery: .unknown)
  }

  /// A failure of a request whose response has begun.
  func answered(
    _ code: ChainError.Code, _ text: String, remedy: String? = nil
  ) -> ChainError {
    ChainError(.transport, code: code, message: Self.message(text, remedy), delivery: .answered)
  }

  private static func message(_ text: String, _ remedy: String?) -> String {
    remedy.map { "\(text); \($0)" } ?? text
  }
}

// MARK: What the transport finds

extension TransportFailures {
  /// A cause that the transport itself finds.
  enum Cause {
    case shutDown
    /// The request was given to a connection when its server announced to end it.
    case connectionEnding
    /// All connections that `max_connections` permits were in use for a whole time limit.
    case noConnection(within: Duration)
    case handshakeTimedOut
    case headTimedOut
    case headIdle(for: Duration)
    case headTooLarge
    case badStatus(Int)
    case bodyTooLarge
    case bodyTimedOut(received: Int)
    case bodyIdle(received: Int)
    case bodyTooSlow(received: Int)
    case eventStreamEnded
  }

  // Not inlined, as the other functions that create errors: their variables would be in the frame of every request.
  @inline(never)
  func failure(_ cause: Cause) -> ChainError {
    switch cause {
    case .shutDown:
      notSent(
        .connectionFailed, "the request to \(origin) was not sent: the transport was shut down")
    case .connectionEnding:
      notSent(.connectionClosed, "\(origin) accepted no more requests on this connection")
    case .noConnection(let time):
      notSent(
        .timedOut,
        "the request was not sent: no connection to \(origin) was free for \(time.optionText), because "
          + connectionsInUse)
    case .handshakeTimedOut:
      notSent(
        .timedOut,
        "\(origin) did not answer the WebSocket handshake within \(limits.connect.optionText)")
    case .headTimedOut:
      unanswered(
        .timedOut, "\(origin) did not answer within \(limits.total.optionText)",
        remedy: "raise --timeout, or the option timeout of fetch")
    case .headIdle(let idle):
      unanswered(
        .timedOut, "\(origin) did not answer: no data arrived for \(idle.optionText)",
        remedy: "raise the option \(silenceOption) of fetch if it is that slow")
    case .headTooLarge:
      answered(
        .limitExceeded, "the header fields from \(origin) are larger than \(limits.headerBytes)",
        remedy: "raise the option max_headers of fetch if they may be")
    case .badStatus(let code):
      answered(
        .malformedResponse, "\(origin) answered with the status \(code), which is not valid")
    case .bodyTooLarge:
      answered(
        .limitExceeded,
        "the body from \(origin) is larger than \(limits.bodyBytes)\(ratioHint ?? ";") raise the option "
          + "max_body of fetch if it may be")
    case .bodyTimedOut(let received):
      answered(
        .timedOut,
        "\(origin) took longer than \(limits.total.optionText): \(Quantity.count(received, "byte")) of the body "
          + "had arrived", remedy: "raise --timeout, or the option timeout of fetch")
    case .bodyIdle(let received):
      answered(
        .timedOut,
        "\(origin) stopped sending after \(received) bytes of the body: no data arrived for "
          + limits.idle.optionText,
        remedy: "raise the option \(silenceOption) of fetch if it is that slow")
    case .bodyTooSlow(let received):
      answered(
        .timedOut,
        "\(origin) sends fewer than \(limits.minimumThroughput) per second: "
          + "\(Quantity.count(received, "byte")) of the body had arrived",
        remedy: "lower the option min_throughput of fetch")
    case .eventStreamEnded:
      unanswered(
        .connectionClosed,
        "\(origin) ended the event stream before its subscriptions were complete")
    }
  }

  /// What uses all connections, and what would help.
  var connectionsInUse: String {
    "all \(limits.connection.maxPerHost) are in use, such as by subscriptions; raise the option max_connections of "
      + "fetch, or use a transport that shares connections: WebSocket, single_connection: true, or HTTP/2"
  }

  private var ratioHint: String? {
    limits.decompressionRatio.map {
      ", or than \($0) times what was sent: raise the option max_ratio,"
    }
  }
}

// MARK: Before the head

extension TransportFailures {
  /// Maps an error that occurred before the head of the response.
  @inline(never)
  func beforeHead(_ error: any Error) -> any Error {
    switch error {
    case is CancellationError, is ChainError: error
    case let error as TLSSettings.UnusableFile: insecure(error.message)
    case let error as NIOConnectionError: connection(error)
    case let error as HTTPClientError: client(error)
    case let error as HTTPParserError: parser(error)
    case let error as IOError: system(error)
    case ChannelError.connectTimeout: client(.connectTimeout)
    // A pooled connection usually ends this way if it was closed while the request was sent on it.
    case is ChannelError: client(.remoteConnectionClosed)
    case is UnaskedBytes:
      notSent(
        .connectionClosed,
        "\(origin) sent a response without a request, and the connection was closed before this request was sent",
        cause: ReusedConnectionClosed())
    case is EndBeforeRequest:
      notSent(
        .connectionClosed, "\(origin) closed the connection before this request was sent",
        cause: ReusedConnectionClosed())
    case is NIOHTTPDecoderError:
      unanswered(
        .connectionClosed,
        "\(origin) sent a response without a request, and the connection was closed before this request was "
          + "answered")
    default:
      secure(error) ?? multiplexed(error) ?? socks(error)
        ?? unanswered(
          .connectionFailed, "the request to \(origin) failed: \(ErrorWords.text(error))")
    }
  }

  private func parser(_ error: HTTPParserError) -> any Error {
    switch error {
    case .invalidEOFState, .closedConnection: client(.remoteConnectionClosed)
    case .headerOverflow:
      unanswered(
        .limitExceeded,
        "\(origin) sent more header fields than supported: at most 256, of 80 KiB each")
    default:
      unanswered(
        .malformedResponse, "\(origin) did not answer with HTTP (\(ErrorWords.text(error)))",
        remedy: "is the URL's scheme and port right, or does it speak "
          + "\(request.head.scheme == "https" ? "http" : "https")?")
    }
  }

  private func system(_ error: IOError) -> ChainError {
    let reason = Self.reason(error)
    switch (error.errnoCode, limits.connection.unixSocket) {
    case (ECONNREFUSED, let path?), (ENOENT, let path?), (EACCES, let path?), (ENOTSOCK, let path?):
      return notSent(
        .connectionFailed, "cannot connect to the Unix domain socket \(path): \(reason)",
        remedy: error.errnoCode == ECONNREFUSED
          ? "is the server running?"
          : "it is named with --unix-socket or the option unix_socket of fetch")
    // Only a new connection can be refused; the other errors also end open ones.
    case (ECONNREFUSED, nil):
      // A proxy that is given by its IP address.
      return proxy.map { refused(by: $0, reason) } ?? notConnected("connection refused")
    case (EHOSTUNREACH, _), (ENETUNREACH, _), (EADDRNOTAVAIL, _):
      return unanswered(.connectionFailed, "cannot reach \(origin): \(reason)")
    default:
      return unanswered(
        .connectionClosed,
        "the connection to \(origin) was lost before a response arrived: \(reason)")
    }
  }

  private func notConnected(_ reason: String) -> ChainError {
    notSent(
      .connectionFailed, "cannot connect to \(origin): \(reason)", remedy: "is the server running?")
  }

  static func reason(anyOf error: any Error) -> String {
    (error as? IOError).map(reason) ?? ErrorWords.text(error)
  }

  static func reason(_ error: IOError) -> String {
    String(cString: strerror(error.errnoCode)).lowercased()
  }

  private func connection(_ error: NIOConnectionError) -> ChainError {
    let hasNoAddress =
      error.connectionErrors.isEmpty && (error.dnsAError != nil || error.dnsAAAAError != nil)
    let reason =
      hasNoAddress
      ? "the name \(proxy?.host ?? error.host) has no address"
      : error.connectionErrors.first.map { Self.reason(anyOf: $0.error) } ?? "no address answered"
    if let proxy { return refused(by: proxy, reason) }
    return hasNoAddress
      ? notSent(.nameResolutionFailed, reason, remedy: "is it spelled right?")
      : notConnected(reason)
  }

  private func client(_ error: HTTPClientError) -> any Error {
    if let proxy, let failure = client(error, through: proxy) { return failure }
    switch error {
    case .cancelled: return CancellationError()
    case .connectTimeout:
      return notSent(
        .connectionFailed, "no connection to \(origin) within \(limits.connect.optionText)")
    case .tlsHandshakeTimeout:
      return notSent(.tlsFailed, "no secure connection to \(origin) in time")
    case .getConnectionFromPoolTimeout:
      return notSent(.timedOut, "no connection to \(origin) became available in time")
    case .remoteConnectionClosed:
      return unanswered(
        .connectionClosed, "\(origin) closed the connection before it answered")
    case .emptyHost, .emptyScheme, .invalidURL:
      return notSent(.invalidRequest, "\(origin) is not a URL to send to")
    default:
      return unanswered(
        .connectionFailed, "the request to \(origin) failed: \(error.shortDescription)")
    }
  }

  /// Maps an error of an HTTP/2 connection or stream; `nil` for others.
  private func multiplexed(_ error: any Error) -> ChainError? {
    switch error {
    // https://www.rfc-editor.org/rfc/rfc9113#section-8.7
    case let error as NIOHTTP2Errors.StreamClosed where error.errorCode == .refusedStream:
      notSent(
        .connectionClosed,
        "\(origin) accepted no more requests on this connection (REFUSED_STREAM)",
        remedy: "it did not process this one")
    case let error as NIOHTTP2Errors.StreamClosed:
      unanswered(
        .connectionClosed,
        "\(origin) ended the stream before it answered (\(Self.name(error.errorCode)))")
    case is any NIOHTTP2Error:
      unanswered(.malformedResponse, "\(origin) violated HTTP/2: \(ErrorWords.text(error))")
    default: nil
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

// MARK: In the body

extension TransportFailures {
  /// Maps an error within a body.
  @inline(never)
  func inBody(_ error: any Error, received: Int) -> any Error {
    switch error {
    case is CancellationError, is ChainError: error
    case let error as HTTPClientError where error == .cancelled: CancellationError()
    case let error as BodyDecoder.Failure: undecodable(error, received)
    default: lost(error as? BodyLoss ?? BodyLoss(error), received)
    }
  }

  private func lost(_ loss: BodyLoss, _ received: Int) -> ChainError {
    let end = "after \(received) bytes of the body: \(loss.reason)"
    return switch loss.kind {
    case .lost: answered(.truncatedResponse, "the connection to \(origin) was lost \(end)")
    case .http1: answered(.malformedResponse, "\(origin) violated HTTP \(end)")
    case .http2: answered(.malformedResponse, "\(origin) violated HTTP/2 \(end)")
    }
  }

  private func undecodable(_ error: BodyDecoder.Failure, _ received: Int) -> ChainError {
    let text = "the body from \(origin) cannot be decompressed: "
    return switch error {
    case .tooLarge: failure(.bodyTooLarge)
    case .truncated:
      answered(
        .truncatedResponse,
        "the compressed body from \(origin) ends in the middle, after \(Quantity.count(received, "byte"))"
      )
    case .damaged: answered(.malformedResponse, text + "it is damaged")
    case .trailingData: answered(.malformedResponse, text + "invalid trailing data")
    case .outOfMemory: answered(.malformedResponse, text + "there is not enough memory")
    }
  }
}

// MARK: Proxies

extension TransportFailures {
  private func refused(by proxy: HTTPProxy, _ reason: String) -> ChainError {
    notSent(
      .proxyFailed, "cannot connect to the proxy \(proxy): \(reason)",
      remedy:
        "it comes from --proxy, the option proxy of fetch, or from variables such as HTTPS_PROXY")
  }

  /// The error of a proxy that opened no tunnel; `nil` for other errors.
  private func client(_ error: HTTPClientError, through proxy: HTTPProxy) -> ChainError? {
    let noTunnel = "the proxy \(proxy) opened no tunnel to \(origin)"
    let noAnswer = "did not answer CONNECT for \(request.head.authority ?? origin)"
    let limit = limits.connect.optionText
    return switch error {
    case .proxyAuthenticationRequired: wantsCredentials(proxy)
    case .invalidProxyResponse:
      notSent(.proxyFailed, noTunnel + ": it refused, or is not an HTTP proxy")
    case .httpProxyHandshakeTimeout:
      notSent(.proxyFailed, "the proxy \(proxy) \(noAnswer) within \(limit)")
    case .socksHandshakeTimeout: notSent(.proxyFailed, "\(noTunnel) within \(limit)")
    // The HTTP client reports a tunnel that does not open in time as a connection that does not.
    case .connectTimeout:
      notSent(
        .proxyFailed,
        "no connection to the proxy \(proxy) within \(limit)"
          + (route.setting.isPassedOn
            ? "" : ", or it \(proxy.kind == .socks5 ? "opened no tunnel to \(origin)" : noAnswer)"))
    default: nil
    }
  }

  /// Maps an error of a request that was not sent: without a known cause, the proxy opened no tunnel. The HTTP client
  /// reports the end of a proxy's connection as that of any other.
  ///
  /// - Parameter hasTunnel: Whether the tunnel of a proxy is open, or none is needed.
  @inline(never)
  func beforeSending(_ error: any Error, hasTunnel: Bool) -> any Error {
    let mapped = beforeHead(error)
    guard !(error is ChainError), var failure = mapped as? ChainError, failure.delivery == .unknown
    else { return mapped }
    guard hasTunnel || route.setting.tunnel == nil || error is IOError else {
      return client(.invalidProxyResponse)
    }
    failure.delivery = .notSent
    return failure
  }

  /// Maps an error of a request that was sent, before the head of its response. A server that ends TLS for another reason
  /// than the client's certificate, which it refuses after its own handshake, may have processed the request.
  @inline(never)
  func afterSending(_ error: any Error) -> any Error {
    let text = "\(error)"
    guard error is NIOSSLError || error is BoringSSLError,
      !["CERTIFICATE", "UNKNOWN_CA", "ACCESS_DENIED", "HANDSHAKE_FAILURE", "DECRYPT_ERROR"]
        .contains(where: { text.contains($0) })
    else {
      let mapped = beforeHead(error)
      guard let failure = mapped as? ChainError, failure.code == .connectionFailed,
        failure.delivery == .unknown
      else { return mapped }
      // There was a connection.
      return unanswered(.connectionClosed, failure.message)
    }
    return unanswered(
      .connectionClosed,
      "the connection to \(origin) was lost before a response arrived: \(Self.reason(text) ?? "TLS was not ended")"
    )
  }

  private func wantsCredentials(_ proxy: HTTPProxy) -> ChainError {
    notSent(
      .proxyFailed,
      "the proxy \(proxy) requires credentials, or rejected those that were sent (407): put them into its URL, "
        + "http://user:password@\(proxy)")
  }

  /// The error in the response of a forwarding proxy; `nil` if the response is not about the proxy.
  @inline(never)
  func refusal(by response: HTTPResponse) -> ChainError? {
    guard route.setting.isPassedOn, let proxy, response.status.code == 407 else { return nil }
    return wantsCredentials(proxy)
  }

  /// The error of the SOCKS handshake; `nil` for other errors.
  private func socks(_ error: any Error) -> ChainError? {
    guard let proxy, proxy.kind == .socks5 else { return nil }
    return switch error {
    case let error as SOCKSError.ConnectionFailed:
      notSent(
        .proxyFailed,
        "the proxy \(proxy) opened no connection to \(origin): \(Self.reason(error.reply))")
    case is SOCKSError.NoValidAuthenticationMethod, is SOCKSError.InvalidAuthenticationSelection:
      notSent(
        .proxyFailed, "the proxy \(proxy) requires credentials, which is not supported for SOCKS")
    case is SOCKSError.InvalidProtocolVersion, is SOCKSError.InvalidReservedByte,
      is SOCKSError.InvalidAddressType, is SOCKSError.InvalidClientState,
      is SOCKSError.UnexpectedRead:
      notSent(
        .proxyFailed, "the proxy \(proxy) does not answer with SOCKS 5",
        remedy: "is it an HTTP proxy?")
    default: nil
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

// MARK: TLS

/// The cause of a failure that needs an inspection of the server's certificate.
struct CertificateRefused: Error, CustomStringConvertible {
  var description: String { "the server's certificate was refused" }
}

extension TransportFailures {
  /// Maps a TLS error; `nil` for other errors.
  func secure(_ error: any Error) -> ChainError? {
    switch error {
    case is NIOSSLError, is BoringSSLError: return handshake("\(error)")
    case let error as NIOSSLExtraError where error == .failedToValidateHostname:
      return insecure(
        "its certificate is for another name"
          + (limits.connection.tls.serverName.map {
            " than \($0), the option tls.server_name of fetch"
          }
            ?? "; is the URL right, and is it the server you mean?"))
    case is NIOSSLExtraError:
      // The text after the name of the error.
      let text = "\(error)"
      return insecure(
        text.firstRange(of: ": ").map { String(text[$0.upperBound...]) } ?? ErrorWords.text(error))
    default: return nil
    }
  }

  private func insecure(
    _ reason: String, remedy: String? = nil, cause: (any Error)? = nil
  ) -> ChainError {
    notSent(
      .tlsFailed, "no secure connection to \(origin): \(reason)", remedy: remedy, cause: cause)
  }

  private func handshake(_ text: String) -> ChainError {
    func has(_ names: String...) -> Bool { names.contains { text.contains($0) } }
    let tls = limits.connection.tls
    if has("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "HTTPS_PROXY_REQUEST") {
      return insecure(
        "it does not answer with TLS", remedy: "is the URL's scheme and port right?")
    }
    if has("CERTIFICATE_VERIFY_FAILED") {
      return insecure(
        "its certificate is signed by an unknown authority",
        remedy:
          "name a file with the authority's certificate with --cacert, or in the option tls.ca_file of fetch",
        cause: CertificateRefused())
    }
    if has("UNSUPPORTED_PROTOCOL", "PROTOCOL_VERSION") {
      return insecure(
        "it does not support TLS \(tls.minimumVersion.rawValue) or newer",
        remedy: tls.minimumVersion == .tls13
          ? "lower the option tls.min_version of fetch if 1.2 is enough"
          : "older versions are not safe")
    }
    let reason = Self.reason(text) ?? "the TLS handshake failed"
    guard has("CERTIFICATE_REQUIRED", "BAD_CERTIFICATE", "HANDSHAKE_FAILURE") else {
      return insecure(reason)
    }
    return insecure(
      "it refused this client, and may require a client certificate (--cert, or the option "
        + "tls.client_certificate of fetch): \(reason)")
  }

  /// The reason in an error of the TLS library, as words: `error:…:OPENSSL_internal:NO_SHARED_CIPHER at
  /// …` is `no shared cipher`; `nil` for other errors.
  private static func reason(_ text: String) -> String? {
    guard let start = text.firstRange(of: "OPENSSL_internal:")?.upperBound else { return nil }
    let words = text[start...].prefix { $0.isLetter || $0.isNumber || $0 == "_" }
    return words.lowercased().replacing("_", with: " ")
  }

  /// A failure with the result of the certificate's inspection.
  func explained(_ error: ChainError) async -> ChainError {
    var explained = error
    explained.cause = nil
    // There is no inspection through a tunnel or over a socket.
    let authority = Authority(request.head.authority ?? "")
    guard proxy == nil, route.unixSocket == nil, !authority.host.isEmpty,
      let problem = await CertificateProbe.problem(
        host: authority.host, name: limits.connection.tls.name(of: authority.host),
        port: authority.port ?? 443,
        connect: .nanoseconds(limits.connect.nanoseconds),
        now: Date().timeIntervalSince1970)
    else { return explained }
    explained.message =
      "no secure connection to \(origin): its certificate \(problem); is this machine's clock "
      + "right?"
    return explained
  }
}
